"""What one Spark partition reads: its splits, one after another (executor side)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pyarrow as pa

from keyfold.journey import ScanSpec, Split
from keyfold.read import reader, summary


def schema_of(scan: ScanSpec) -> pa.Schema:
    """The Arrow schema of what a scan returns: its columns, in its order, or its summary."""
    if scan.aggregate is not None:
        return summary.schema_of(scan.layout, scan.aggregate)
    return pa.schema([scan.layout.column(name).arrow_field for name in scan.columns])


def read_task(scan: ScanSpec, splits: Sequence[Split]) -> Iterator[pa.RecordBatch]:
    """The rows of all splits, or a summary of each; at most `scan.limit` rows."""
    read = reader.read if scan.aggregate is None else summary.summarized
    batches = itertools.chain.from_iterable(read(scan, split) for split in splits)
    return batches if scan.limit is None else reader.limited(batches, scan.limit)
