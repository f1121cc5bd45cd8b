"""Merging sorted runs: streaming, round by round, in memory bounded by a few batches per run.

A round whose rows come from one run, or hold no key twice, passes through: a key with one record
keeps it as it is. All other rounds go, ordered and grouped, to the engine of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.by_key import merge_groups
from keyfold.kernels.keys.closed import encode_closed
from keyfold.merge import kinds as row_kinds
from keyfold.merge import origins as row_origins
from keyfold.merge.change_images import ChangeImages
from keyfold.merge.column_results import Columns, sliced
from keyfold.merge.engine import Folded, MergeStep, picked, shown
from keyfold.merge.fan_in import Fold, reduced
from keyfold.merge.kinds import SEQUENCE_NUMBER, VALUE_KIND, is_retract
from keyfold.merge.marks.folding import decided, fold_marked, settled
from keyfold.merge.marks.mark_columns import FIELDS, mark_columns, marks_of
from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.merge.results import check_not_null, check_unique
from keyfold.merge.sequence import sort_by_arrival, sort_by_fields
from keyfold.merge.sorted_run import SortedRun, by_age, numbers_of, sequences_overlap
from keyfold.merge.window import Batch, rounds
from keyfold.resources.merge_room import MergeRoom
from keyfold.resources.metering import each, metered

OUTPUT_ROWS = 1 << 17
Passes = Callable[[Batch], npt.NDArray[np.bool_]]
_SYSTEM_FIELDS = [
    pa.field(SEQUENCE_NUMBER, pa.int64(), False),
    pa.field(VALUE_KIND, pa.int8(), False),
]


def merge_runs(
    plan: MergePlan,
    runs: Sequence[SortedRun],
    *,
    system_columns: bool = False,
    drop_deletes: bool = True,
    has_oldest: bool = True,
    is_job: bool = False,
    room: MergeRoom | None = None,
    round_rows: int | None = None,
    images: ChangeImages | None = None,
    passes: Passes | None = None,
) -> Iterator[pa.RecordBatch]:
    """Batches of `plan.output`, ascending by key, one row per key; at most 128 Ki rows each.

    Runs are taken in the order of their sequence ranges. If ranges overlap and the runs have the
    column, `_SEQUENCE_NUMBER` decides inside a key. `system_columns` adds the number of the last
    merged record (the greatest of its run if the column is absent) and the kind. `drop_deletes`
    leaves out -U and -D results. Without `has_oldest` something older may be below the runs, so
    marks stay (under a plan with `marks`). With it they are settled, and stay only if it matters
    that a column was never named (first_value). Runs with deletes of some columns (a -D with
    `_OVERWRITTEN`) then need all columns as output. Results have `_ORIGIN` if rows have it. Memory
    stays within `room`, by default the free memory: if more runs are given than can be open, some
    are merged on disk. `is_job`: these are all records of a job. `round_rows` are merged at once:
    few if the caller may stop soon. `images` takes the rows before and after of two runs, one of
    which is `in_changelog`. `passes` flags the rows of a batch that the caller would keep, if none
    has marks: where a result is one of the records, the columns of others are not looked at. The
    caller filters the results all the same.
    """
    room = room or MergeRoom.now()
    overlap = sequences_overlap([run.sequence for run in runs])
    with metered("merge"):
        folding = partial(_folding, plan, overlap, room)
        runs = reduced(plan, by_age(runs), room, numbers=system_columns or overlap, folding=folding)
    merge = _Merge(plan, runs, overlap, system_columns, drop_deletes, has_oldest, images, passes)
    merge = replace(merge, is_job=is_job)
    yield from _merged(merge, room, round_rows)


def merge_key(
    plan: MergePlan, records: Sequence[tuple[tuple[int, int], pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """The row of one key as `merge_runs` gives it. Each run has one record of it at most; beside
    each stand the least and greatest sequence number of its run.
    """
    ordered = sorted(records, key=lambda record: record[0][::-1])
    runs = [SortedRun(iter(()), numbers) for numbers, _ in ordered]
    overlap = sequences_overlap([run.sequence for run in runs])
    merge = _Merge(plan, runs, overlap, False, True, True, is_one_key=True)
    yield from merge.round([[batch] for _, batch in ordered])


def _folding(whole: MergePlan, overlap: bool, room: MergeRoom) -> Fold | None:
    """The fold of some of the runs of a merge; None if only all runs may fold together."""
    if not whole.keeps_records or whole.is_unique:
        return None
    part = plan_merge(whole.layout, whole.reads, marks=True)
    if part.reads != whole.reads:
        return None
    return lambda runs: _merged(_Merge(part, runs, overlap, True, False, False), room)


def _merged(
    merge: _Merge, room: MergeRoom, round_rows: int | None = None
) -> Iterator[pa.RecordBatch]:
    plan = merge.plan
    cuts = rounds(merge.runs, plan.key, plan.layout.nullable_key, room.round, round_rows)
    for pieces in each("merge", cuts):
        for batch in each("merge", merge.round(pieces)):
            for start in range(0, batch.num_rows, OUTPUT_ROWS):
                yield batch.slice(start, OUTPUT_ROWS)


@dataclass(frozen=True)
class _Merge:
    """One merge: the plan, the runs, and the caller's choices."""

    plan: MergePlan
    runs: Sequence[SortedRun]
    ranges_overlap: bool
    system_columns: bool
    drop_deletes: bool
    has_oldest: bool
    images: ChangeImages | None = None
    passes: Passes | None = None
    is_one_key: bool = False
    is_job: bool = False

    @property
    def keeps_marks(self) -> bool:
        """Whether results carry marks."""
        return self.plan.marks and (not self.has_oldest or bool(self.plan.retaining))

    def round(self, pieces: Sequence[list[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
        """The merged rows of one round."""
        busy = [run for run, parts in enumerate(pieces) if parts]
        if len(busy) == 1 and not self.runs[busy[0]].repeats:
            for batch in pieces[busy[0]]:
                yield from self._pass(batch, busy[0])
        elif busy:
            yield from self._fold(pieces)

    def _pass(self, batch: pa.RecordBatch, run: int) -> list[pa.RecordBatch]:
        """The rows of one run, as they are; without retractions if those are dropped."""
        if self.passes is not None:
            flags = self.passes(batch)
            if not flags.any():
                return []
            batch = batch if flags.all() else batch.filter(pa.array(flags))
        kinds, marks = row_kinds.of(batch), marks_of(self.plan.bits, [batch])
        numbers = self._numbers([[batch] if at == run else [] for at in range(len(self.runs))])
        arrays = [batch.column(name) for name in self.plan.output]
        if marks is not None and kinds is not None and self.has_oldest:
            kinds = decided(self.plan, arrays, kinds, marks.is_pending(kinds))
        passed = Folded(arrays, kinds, np.arange(batch.num_rows), marks)
        if self.images is not None and not self.runs[run].in_changelog:
            self.images.after.add(self.plan.schema, shown(passed).arrays)
        if marks is not None and self.has_oldest:
            passed = settled(self.plan, passed, self.drop_deletes)
        elif self.drop_deletes:
            passed = shown(passed)
        origins = row_origins.of_all([batch])
        if len(passed.last) < batch.num_rows:
            picks = indices(passed.last)
            numbers = None if numbers is None else take(numbers, picks)
            origins = None if origins is None else take(origins, picks)
        return self._batches(passed, numbers, origins)

    def _fold(self, pieces: Sequence[list[pa.RecordBatch]]) -> list[pa.RecordBatch]:
        lengths = [sum(batch.num_rows for batch in parts) for parts in pieces]
        flat = [batch for parts in pieces for batch in parts]
        flags = None
        if self.passes is not None and self.plan.keeps_records:
            flags = np.concatenate([self.passes(batch) for batch in flat])
            if not flags.any():
                return []
        columns = Columns(flat, self.plan.reads)
        kinds, marks = row_kinds.of_all(flat), marks_of(self.plan.bits, flat)
        order, starts = self._groups(columns, lengths)
        numbers = self._numbers(pieces)
        sort_by_arrival(numbers if self.ranges_overlap else None, kinds, order, starts)
        if marks is None or not marks.has_whole:
            sort_by_fields(self.plan, columns, order, starts)
        step = MergeStep(columns, kinds, order, starts, marks, flags)
        folded = fold_step(
            self.plan,
            step,
            drop_deletes=self.drop_deletes,
            has_oldest=self.has_oldest,
            is_job=self.is_job,
        )
        if self.images is not None:
            at = [run.in_changelog for run in self.runs].index(True)
            start = sum(lengths[:at])
            self.images.folded(self.plan.schema, step, folded, (start, start + lengths[at]))
        taken = take(numbers, indices(folded.last)) if self.system_columns else None
        origins = row_origins.of_all(flat)
        if origins is not None:
            is_record = self.plan.keeps_records and marks is None
            origins = row_origins.of_results(origins, step, folded.last, is_record=is_record)
        return self._batches(folded, taken, origins)

    def _groups(self, columns: Columns, lengths: Sequence[int]) -> tuple[Rows, Rows]:
        """The rows in the order of keys and runs, and where each key begins."""
        if self.is_one_key:
            return np.arange(sum(lengths)), np.array([0, sum(lengths)])
        keys = encode_closed([columns[name] for name in self.plan.key], lengths)
        return merge_groups(keys, lengths)

    def _numbers(self, batches: Sequence[list[pa.RecordBatch]]) -> pa.Array | None:
        """The sequence numbers of all rows, run by run; None if they are not needed."""
        if not self.system_columns and not self.ranges_overlap:
            return None
        return numbers_of(batches, [run.sequence[1] for run in self.runs])

    def _batches(
        self, folded: Folded, numbers: pa.Array | None, origins: pa.Array | None
    ) -> list[pa.RecordBatch]:
        arrays, rows = folded.arrays, len(folded.last)
        schema = self.plan.schema
        if self.system_columns:
            schema = pa.schema([*schema, *_SYSTEM_FIELDS])
            arrays = [*arrays, numbers, row_kinds.to_array(folded.kinds, rows)]
        if self.keeps_marks:
            schema = pa.schema([*schema, *FIELDS])
            arrays = [*arrays, *mark_columns(folded.marks, rows)]
        if origins is not None:
            schema = schema.append(row_origins.FIELD)
            arrays = [*arrays, origins]
        if not arrays:
            return [pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))]
        if any(array.type != field.type for array, field in zip(arrays, schema, strict=True)):
            return sliced(arrays, schema, OUTPUT_ROWS)
        return [pa.RecordBatch.from_arrays(arrays, schema=schema)]


def fold_step(
    plan: MergePlan,
    step: MergeStep,
    *,
    drop_deletes: bool,
    has_oldest: bool,
    is_job: bool = False,
) -> Folded:
    """One row per group, by the engine; if no group has two rows, they stay as they are. Rows are
    in merge order, or in order of arrival if some replace everything.
    """
    if plan.is_unique:
        check_unique(plan.layout, step, counts_deletes=plan.counts_deletes)
    is_part = plan.marks and not has_oldest
    step = replace(step, is_part=is_part and not (is_job and plan.engine.begins_jobs(plan.options)))
    folded = _folded_step(plan, step, drop_deletes=drop_deletes, has_oldest=has_oldest)
    check_not_null(plan.layout, plan.schema, step, folded)
    return _with_firsts(plan, step, folded) if plan.firsts else folded


def _with_firsts(plan: MergePlan, step: MergeStep, folded: Folded) -> Folded:
    """The rows with the values of the first record of each in the columns that it decides."""
    first = np.empty(step.columns.num_rows, dtype=np.int64)
    first[step.order] = np.repeat(step.order[step.starts[:-1]], np.diff(step.starts))
    arrays, rows = list(folded.arrays), indices(first[folded.last])
    for name in plan.firsts:
        arrays[plan.output.index(name)] = take(step.columns[name], rows)
    return replace(folded, arrays=arrays)


def _folded_step(
    plan: MergePlan, step: MergeStep, *, drop_deletes: bool, has_oldest: bool
) -> Folded:
    has_several = len(step.starts) - 1 < len(step.order)
    clears = plan.marks and not has_oldest and plan.deletes_clear
    marks = plan.marks_retractions and (not has_oldest or bool(plan.retaining))
    may_mark = clears or (marks and has_several)
    has_deletes = may_mark and step.kinds is not None and bool(is_retract(step.kinds).any())
    if step.marks is not None or has_deletes:
        return fold_marked(plan, step, has_oldest=has_oldest, drop_deletes=drop_deletes)
    if has_several:
        return plan.fold(step, drop_deletes)
    return picked(step, plan.output, step.order, drop_deletes)
