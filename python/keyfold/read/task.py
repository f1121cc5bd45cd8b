"""Reads the splits of one Spark partition, one after another (executor side)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa

from keyfold.merge.plan import plan_merge
from keyfold.read import provenance, reader
from keyfold.read.folds import summary
from keyfold.stores.snapshot_folder import reading_each
from keyfold.wire.specs import ScanSpec, Split

# Batches up to this size are joined: each costs the JVM as much as a thousand rows.
MOST_ROWS = 1 << 12
MOST_BYTES = 1 << 20


def schema_of(scan: ScanSpec) -> pa.Schema:
    """The Arrow schema of a scan's results: its columns, in its order, then its metadata
    columns, or those of groups.
    """
    if scan.aggregate is not None:
        return summary.schema_of(scan.layout, scan.aggregate)
    own = [scan.layout.column(name).arrow_field for name in scan.columns]
    return pa.schema([*own, *provenance.fields(scan.layout, scan.metadata)])


def read_task(scan: ScanSpec, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
    """The rows of all splits, or their groups; at most `scan.limit` rows, with `scan.is_top` of
    each split.
    """
    if scan.aggregate is not None:
        return joined(reading_each(scan, summary.summarized(scan, splits)))
    merge = plan_merge(scan.layout, scan.columns)  # once: splits of a few rows cost less than it
    batches: Iterator[pa.RecordBatch] = itertools.chain.from_iterable(
        reader.read(scan, split, merge) for split in splits
    )
    if scan.limit is not None and not scan.is_top:
        batches = reader.limited(batches, scan.limit)
    return joined(batches)


def joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows whose neighbouring small batches become one batch of at most MOST_ROWS."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > MOST_ROWS or size > MOST_BYTES:
            if held:
                yield pa.concat_batches(held)
            held, rows, size = [], batch.num_rows, batch.nbytes
        if rows > MOST_ROWS or size > MOST_BYTES:
            yield batch
            rows = size = 0
        else:
            held.append(batch)
    if held:
        yield pa.concat_batches(held)
