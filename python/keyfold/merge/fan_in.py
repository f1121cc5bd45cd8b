"""Merging more runs than fit: neighbours in sequence order become one run on disk first.

Engines that keep whole records fold them on the way, which changes no result. All others get them
in order and unfolded, so that a result never depends on the amount of memory.
"""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.by_key import merge_groups
from keyfold.kernels.keys.closed import encode_closed
from keyfold.merge import kinds as row_kinds
from keyfold.merge import origins as row_origins
from keyfold.merge.column_results import combine
from keyfold.merge.kinds import SEQUENCE_NUMBER, VALUE_KIND
from keyfold.merge.marks.mark_columns import FIELDS, mark_columns, marks_of
from keyfold.merge.plan import MergePlan
from keyfold.merge.sorted_run import SortedRun, numbers_of
from keyfold.merge.spill import BATCH_BYTES, BATCH_ROWS, SpillFile
from keyfold.merge.window import rounds
from keyfold.resources.merge_room import MergeRoom

OPEN_BYTES = 64 << 10  # of any run, even if nothing is known about it
_SPILLED_BYTES = 2 * BATCH_BYTES


Fold = Callable[[Sequence[SortedRun]], Iterator[pa.RecordBatch]]


def reduced(
    plan: MergePlan,
    runs: Sequence[SortedRun],
    room: MergeRoom,
    *,
    numbers: bool,
    folding: Callable[[], Fold | None] = lambda: None,
) -> list[SortedRun]:
    """Runs, oldest first, few enough to be open at once. With `numbers` the sequence number of
    every row is needed. `folding` gives what merges some of the runs, if that is allowed.
    """
    runs = list(runs)
    while len(runs) > 1 and sum(map(_held, runs)) > room.readers:
        start, stop = cheapest(runs, room.readers)
        group = runs[start:stop]
        sequence = min(r.sequence[0] for r in group), max(r.sequence[1] for r in group)
        fold = folding()
        merged = _ordered(plan, group, room, numbers) if fold is None else fold(group)
        runs[start:stop] = [SpillFile().append(merged, sequence, repeats=fold is None).open()]
    return runs


def _held(run: SortedRun) -> int:
    return max(run.held, OPEN_BYTES)


def cheapest(runs: Sequence[SortedRun], room: int) -> tuple[int, int]:
    """The neighbours whose spilling costs least for the memory it saves. They are just enough, or
    as many as can be open at once (two, however large they are).
    """
    held = [_held(run) for run in runs]
    excess = sum(held) - room
    best, least = (0, 2), float("inf")
    for start in range(len(runs) - 1):
        stop, total = start, 0
        while stop < len(runs) and (total + held[stop] <= room or stop < start + 2):
            total += held[stop]
            stop += 1
            if stop >= start + 2 and total - _SPILLED_BYTES >= excess:
                break
        if stop < start + 2:
            continue
        saved = min(max(total - _SPILLED_BYTES, 1), excess)
        cost = (1 + sum(run.stored for run in runs[start:stop])) / saved
        if cost < least:
            best, least = (start, stop), cost
    return best


def _ordered(
    plan: MergePlan, runs: Sequence[SortedRun], room: MergeRoom, numbers: bool
) -> Iterator[pa.RecordBatch]:
    """Every row of the runs: by key, then by run."""
    greatest = [run.sequence[1] for run in runs]
    for pieces in rounds(runs, plan.key, plan.layout.nullable_key, room.round):
        yield from _in_order(plan, pieces, greatest if numbers else None)


def _in_order(
    plan: MergePlan, pieces: Sequence[list[pa.RecordBatch]], greatest: Sequence[int] | None
) -> Iterator[pa.RecordBatch]:
    flat = [batch for parts in pieces for batch in parts]
    lengths = [sum(batch.num_rows for batch in parts) for parts in pieces]
    columns = {name: combine([batch.column(name) for batch in flat]) for name in plan.reads}
    keys = encode_closed([columns[name] for name in plan.key], lengths)
    order, starts = merge_groups(keys, lengths)
    fields = [plan.layout.column(name).arrow_field for name in plan.reads]
    arrays = list(columns.values())
    if greatest is not None:
        fields.append(pa.field(SEQUENCE_NUMBER, pa.int64(), False))
        arrays.append(numbers_of(pieces, greatest))
    kinds, marks = row_kinds.of_all(flat), marks_of(plan.bits, flat)
    if kinds is not None:
        fields.append(pa.field(VALUE_KIND, pa.int8(), False))
        arrays.append(row_kinds.to_array(kinds, len(order)))
    if marks is not None:
        fields += FIELDS
        arrays += mark_columns(marks, len(order))
    origins = row_origins.of_all(flat)
    if origins is not None:
        fields.append(row_origins.FIELD)
        arrays.append(origins)
    schema = pa.schema(fields)
    for start, stop in _whole_keys(starts, sum(array.nbytes for array in arrays)):
        picked = indices(order[start:stop])
        taken = [take(array, picked).cast(f.type) for array, f in zip(arrays, fields, strict=True)]
        yield pa.RecordBatch.from_arrays(taken, schema=schema)


def _whole_keys(starts: Rows, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of ordered rows that end with a key, about as large as a spilled batch."""
    rows = int(starts[-1])
    step = max(1, min(BATCH_ROWS, rows * BATCH_BYTES // max(size, 1)))
    start = 0
    while start < rows:
        group = int(starts.searchsorted(min(start + step, rows), side="left"))
        stop = int(starts[group])
        yield start, stop
        start = stop
