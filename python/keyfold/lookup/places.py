"""What a lookup knows of a table, made once on the driver: where the rows of a key may be."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from keyfold.wire.codec import Wire
from keyfold.wire.specs import ScanSpec, Split

ANY_BUCKET = 0


@dataclass(frozen=True)
class BucketOfKeys(Wire):
    """The files of a bucket. `ends` has the trimmed key's columns, and two rows for each file of
    the split, in its order: the first and the last key. `buckets` are those of the partition, or
    ANY_BUCKET if the hash of a key does not tell its bucket.
    """

    split: Split
    buckets: int
    ends: pa.RecordBatch


@dataclass(frozen=True)
class LookupPlan(Wire):
    """The lookups of `columns` in one snapshot. `scan` reads them, and the trimmed key."""

    columns: tuple[str, ...]
    scan: ScanSpec
    places: tuple[BucketOfKeys, ...]
