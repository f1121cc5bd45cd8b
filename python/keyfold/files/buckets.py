"""The buckets of the rows of a batch, by partition values and by Paimon's hash of the bucket
key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.files.paimon_values import hashes
from keyfold.options.declared import TableOptions
from keyfold.types.literals import manifest_value
from keyfold.wire.layout import TableLayout

Codes = npt.NDArray[np.int64]
_SMALL = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class BucketKey:
    """A bucket of a partition. Its values are as in manifests, () if there are no partitions."""

    partition: tuple[Any, ...]
    bucket: int


def split(
    layout: TableLayout, options: TableOptions, batch: pa.RecordBatch
) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
    """The rows of each bucket, in their order. A batch of one bucket is passed on as it is."""
    buckets = buckets_of(layout, options, batch)
    codes = partition_codes(layout, batch) * options.bucket + buckets
    for rows in grouped(codes):
        first = 0 if rows is None else int(rows[0])
        values = tuple(manifest_value(batch.column(name)[first]) for name in layout.partition_keys)
        part = batch if rows is None else batch.take(pa.array(rows))
        yield BucketKey(values, int(buckets[first])), part


def buckets_of(layout: TableLayout, options: TableOptions, batch: pa.RecordBatch) -> Codes:
    """The bucket of each row: abs(hash % buckets), Java's remainder. `batch` has the bucket key."""
    if options.bucket == 1:
        return np.zeros(batch.num_rows, dtype=np.int64)
    columns = [batch.column(name) for name in options.bucket_key]
    return np.abs(hashes(layout, options.bucket_key, columns)) % options.bucket


def grouped(codes: Codes) -> Iterator[npt.NDArray[np.int64] | None]:
    """Row numbers of each distinct code, ascending; a single None if all codes are equal."""
    if not len(codes):
        return
    low, high = codes.min(), codes.max()
    if low == high:
        yield None
        return
    dense = codes - low
    # A stable sort of 16-bit numbers is a radix sort.
    order = np.argsort(dense.astype(np.uint16) if high - low <= _SMALL else dense, kind="stable")
    ordered = dense[order]
    starts = np.flatnonzero(np.diff(ordered)) + 1
    yield from np.split(order, starts)


def partition_codes(layout: TableLayout, batch: pa.RecordBatch) -> Codes:
    """One number for each distinct combination of partition values in the batch."""
    codes = np.zeros(batch.num_rows, dtype=np.int64)
    for name in layout.partition_keys:
        encoded = batch.column(name).dictionary_encode(null_encoding="encode")
        codes = codes * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
    return codes
