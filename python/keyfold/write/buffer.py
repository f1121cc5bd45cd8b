"""The write buffer of one task: rows in order of arrival, per bucket, within a bound of bytes.

Over the bound the largest buckets are folded and spilled as sorted runs, until half of the bound is
free. At the end the runs and the rest are merged. If jobs carry ordinals, map tasks arrive in any
order. The ordinal itself then decides for an engine that keeps whole records (deduplicate). All
other engines spill one run for each map task, since the ordinals of these don't interleave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.files.buckets import BucketKey, grouped
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import MergePlan
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.spill import Spilled, SpillFile
from keyfold.merge.unfolded import merge_records, sort_records
from keyfold.resources import budget
from keyfold.wire.specs import ORDINAL, SEQUENCE

# Spark's monotonically_increasing_id: the map partition in the high bits, its row in the low ones.
ORDINAL_ROW_BITS = 33
_BATCH_BYTES = 16 << 20  # about what the JVM sends at once
_ON_THEIR_WAY = 5  # batches: received, queued (2), waiting to be, and split
_ALONE = 3  # if none is taken ahead: received, the one before, and split
AHEAD_FROM = 16 * _BATCH_BYTES  # with less memory than that, the buffer uses it better
_RAW_BYTES = 512 << 20  # a task's first spills are not compressed
_ARRAY_BYTES = 512  # of an array besides its values: buckets may get few rows of a batch
# Options for merging the runs of one job: the table's older runs are below them.
_ABOVE_OTHERS: dict[str, Any] = {
    "system_columns": True,
    "drop_deletes": False,
    "has_oldest": False,
    "is_job": True,
}

Filled = Callable[[BucketKey, Sequence[pa.RecordBatch]], list[pa.RecordBatch]]
Folded = tuple[list[pa.RecordBatch], tuple[int, int]]


@dataclass
class Bucket:
    """The rows of one bucket: batches in memory, and what is spilled of others: folded, and if
    records are kept, those too.
    """

    batches: list[pa.RecordBatch] = field(default_factory=list)
    bytes: int = 0
    runs: list[Spilled] = field(default_factory=list)
    rows: int = 0
    records: list[Spilled] = field(default_factory=list)


class WriteBuffer:
    """Rows of one task until they are written; `limit` bytes of them stay in memory. With
    `keeps_records` the records can be had as they came, too. `filled` is what becomes of rows of a
    bucket before they fold.
    """

    def __init__(
        self,
        plan: MergePlan,
        has_ordinal: bool,
        limit: int,
        *,
        keeps_records: bool = False,
        filled: Filled = lambda _, batches: list(batches),
    ) -> None:
        self._plan = plan
        self._filled = filled
        self.keeps_records = keeps_records
        self._ordinal = ORDINAL if has_ordinal else None
        self._limit = limit
        self._buckets: dict[BucketKey, Bucket] = {}
        self._bytes = self._spilled = 0

    @property
    def places(self) -> list[BucketKey]:
        """The buckets that have rows, in order of first arrival."""
        return list(self._buckets)

    def add(self, place: BucketKey, batch: pa.RecordBatch) -> None:
        """Take rows of one bucket; spill if the buffer holds too much."""
        bucket = self._buckets.setdefault(place, Bucket())
        bucket.batches.append(batch)
        bucket.rows += batch.num_rows
        size = batch.nbytes + _ARRAY_BYTES * batch.num_columns
        bucket.bytes += size
        self._bytes += size
        if self._bytes > self._limit:
            # There is one file for many buckets, because descriptors are few.
            file = SpillFile(is_compressed=self._spilled >= _RAW_BYTES)
            while self._bytes > self._limit // 2:
                self._spill(max(self._buckets, key=lambda b: self._buckets[b].bytes), file)

    def released(self, place: BucketKey) -> Bucket:
        """A bucket that is finished and whose records were kept."""
        return self._buckets.pop(place)

    def records(self, bucket: Bucket) -> Iterator[pa.RecordBatch]:
        """Its records as they came, with `_VALUE_KIND`, ascending by key, those of a key in order
        of arrival.
        """
        runs = [run.open() for run in bucket.records]
        runs.append(SortedRun(iter(self._sorted(bucket)), (0, 0), repeats=True))
        return merge_records(self._plan, runs, ordinal=self._ordinal)

    def finish(self, place: BucketKey) -> Iterator[pa.RecordBatch]:
        """The folded rows of a bucket, ascending by key, each key once. The bucket is released,
        unless records are kept.
        """
        bucket = self._buckets[place] if self.keeps_records else self._buckets.pop(place)
        self._bytes -= bucket.bytes
        bucket.batches = self._filled(place, bucket.batches)
        if not bucket.runs:
            folded = fold_unsorted(self._plan, bucket.batches, ordinal=self._ordinal)
            self._clear(bucket)
            yield from folded
            return
        rest = self._fold(bucket)
        self._clear(bucket)
        runs = [run.open() for run in bucket.runs]
        runs += [SortedRun(iter(batches), sequence) for batches, sequence in rest]
        yield from merge_runs(self._plan, runs, **_ABOVE_OTHERS)

    def _clear(self, bucket: Bucket) -> None:
        if not self.keeps_records:
            bucket.batches.clear()

    def _sorted(self, bucket: Bucket) -> list[pa.RecordBatch]:
        return sort_records(self._plan, bucket.batches, ordinal=self._ordinal)

    def _spill(self, place: BucketKey, file: SpillFile) -> None:
        bucket = self._buckets[place]
        bucket.batches = self._filled(place, bucket.batches)
        if self.keeps_records:
            bucket.records.append(file.append(self._sorted(bucket), (0, 0), repeats=True))
        bucket.runs += [file.append(batches, sequence) for batches, sequence in self._fold(bucket)]
        self._bytes -= bucket.bytes
        self._spilled += bucket.bytes
        bucket.bytes = 0
        bucket.batches = []

    def _fold(self, bucket: Bucket) -> list[Folded]:
        """The rows of a bucket as sorted runs. Later runs have greater sequence numbers, unless the
        ordinal decides.
        """
        if self._ordinal is None:
            number = len(bucket.runs)
            return self._folded(bucket.batches, (number, number))
        if self._plan.keeps_records:
            return self._folded(bucket.batches, None)
        by_task = _by_map_task(bucket.batches)
        return [run for batches in by_task for run in self._folded(batches, None)]

    def _folded(
        self, batches: Sequence[pa.RecordBatch], sequence: tuple[int, int] | None
    ) -> list[Folded]:
        folded = fold_unsorted(self._plan, batches, ordinal=self._ordinal)
        return [(folded, sequence or _range(folded))] if folded else []


def allowance(wanted: int) -> int:
    """The bytes a buffer may hold: `wanted`, but at most a fifth of the memory that this process
    may still allocate besides the batches on their way. Folding needs the rows again in one piece,
    the folded rows, and the words that sort each row: for narrow rows as much as another copy.
    """
    free = budget.bytes()
    batches = _ON_THEIR_WAY if free >= AHEAD_FROM else _ALONE
    return max(1 << 20, min(wanted, (free - batches * _BATCH_BYTES) // 5))


def _range(batches: Sequence[pa.RecordBatch]) -> tuple[int, int]:
    bounds: list[Any] = [pc.min_max(batch.column(SEQUENCE)).as_py() for batch in batches]
    return min(bound["min"] for bound in bounds), max(bound["max"] for bound in bounds)


def _by_map_task(batches: Sequence[pa.RecordBatch]) -> list[list[pa.RecordBatch]]:
    tasks: dict[int, list[pa.RecordBatch]] = {}
    for batch in batches:
        codes = batch.column(ORDINAL).to_numpy() >> np.int64(ORDINAL_ROW_BITS)
        for rows in grouped(codes):
            part = batch if rows is None else batch.take(pa.array(rows))
            tasks.setdefault(int(codes[0 if rows is None else rows[0]]), []).append(part)
    return list(tasks.values())
