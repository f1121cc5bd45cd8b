"""The places where the rows of a key may be, as the driver plans a lookup once, and its request
for plans that tasks make for their own keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.lazy import cached_property
from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.options.parsing import parse
from keyfold.wire.codec import Wire
from keyfold.wire.layout import TableLayout
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import DataFile, ScanSpec, Split

ANY_BUCKET = 0


@dataclass(frozen=True)
class BucketOfKeys(Wire):
    """The files of a bucket. `ends` has the trimmed key's columns, and two rows for each file of
    the split, in its order: the first and the last key. `buckets` are those of the partition, or
    ANY_BUCKET if the hash of a key does not tell its bucket. `indexes` has the index of each file
    (`lookup.indexes`), and nothing if no file has one.
    """

    split: Split
    buckets: int
    ends: pa.RecordBatch
    indexes: tuple[str, ...] = ()

    @cached_property
    def files(self) -> list[DataFile]:
        """The files of the split, in its order."""
        return [file for section in self.split.sections for run in section for file in run]


@dataclass(frozen=True)
class LookupPlan(Wire):
    """The lookups of `columns` in one snapshot. `scan` reads them, and the trimmed key."""

    columns: tuple[str, ...]
    scan: ScanSpec
    places: tuple[BucketOfKeys, ...]

    @cached_property
    def merge(self) -> MergePlan:
        """The merge of the records of a key."""
        return plan_merge(self.scan.layout, self.scan.columns)

    @cached_property
    def bucket_key(self) -> tuple[str, ...]:
        """The columns whose hash tells the bucket of a key."""
        return parse(self.scan.layout).bucket_key

    @cached_property
    def by_partition(self) -> dict[str, list[BucketOfKeys]]:
        """The buckets of each partition, by a text of its values: NaN and -0.0 are values too."""
        found: dict[str, list[BucketOfKeys]] = {}
        for place in self.places:
            found.setdefault(repr(place.split.partition.values), []).append(place)
        return found


@dataclass(frozen=True)
class LookupRequest(Wire):
    """The request by which look-ups of `columns` are planned, in a snapshot that `tag` keeps if it
    has a name. `parts` are those of nested columns that are read.
    """

    columns: tuple[str, ...]
    layout: TableLayout
    snapshot: Mapping[str, Any]
    tag: str
    filters: tuple[Predicate, ...]
    parts: Mapping[str, Any]
