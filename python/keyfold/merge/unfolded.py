"""Records as they came, ascending by key and not folded: those of a key in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.by_key import merge_groups, sort_in_groups
from keyfold.kernels.keys.closed import encode_closed
from keyfold.kernels.keys.words import ordered
from keyfold.merge import kinds as row_kinds
from keyfold.merge.buffer import in_order
from keyfold.merge.column_results import Columns, sliced
from keyfold.merge.kinds import VALUE_KIND
from keyfold.merge.marks.mark_columns import FIELDS, mark_columns
from keyfold.merge.plan import MergePlan
from keyfold.merge.run import OUTPUT_ROWS
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.window import rounds
from keyfold.resources.merge_room import MergeRoom
from keyfold.resources.metering import metered

_TOGETHER = 1 << 14  # rows of a batch, unless one key has more


@metered("merge")
def sort_records(
    plan: MergePlan,
    batches: Sequence[pa.RecordBatch],
    *,
    ordinal: str | None = None,
    marks: bool = False,
) -> list[pa.RecordBatch]:
    """The records of a write that `fold_unsorted` would fold: `plan.reads`, `_VALUE_KIND` (int8),
    the int64 column `ordinal` if there is one, and the marks of records if they are asked for. No
    key is in two batches.
    """
    found = in_order(plan, batches, ordinal, is_folded=False)
    if found is None:
        return []
    step, ordinals = found
    order, kinds = step.order, step.kinds
    arrays = step.columns.taken(plan.reads, order)
    fields = [plan.layout.column(name).arrow_field for name in plan.reads]
    arrays.append(row_kinds.to_array(None if kinds is None else kinds[order], len(order)))
    fields.append(pa.field(VALUE_KIND, pa.int8(), False))
    if ordinals is not None:
        arrays.append(take(ordinals, indices(order)))
        fields.append(pa.field(ordinal, pa.int64(), False))
    if marks and step.marks is not None:
        columns = mark_columns(step.marks, step.columns.num_rows)
        arrays += [take(column, indices(order)) for column in columns]
        fields += FIELDS
    return _cut(arrays, pa.schema(fields), step.starts, _TOGETHER)


def _cut(
    arrays: list[pa.Array], schema: pa.Schema, starts: Rows, together: int
) -> list[pa.RecordBatch]:
    """Batches of about `together` rows, which end where a key does."""
    wanted = np.arange(0, starts[-1], together)
    bounds = np.unique(starts[np.searchsorted(starts, np.append(wanted, starts[-1]))])
    return [
        batch
        for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        for batch in sliced([a.slice(start, stop - start) for a in arrays], schema, stop - start)
    ]


def merge_records(
    plan: MergePlan, runs: Sequence[SortedRun], *, ordinal: str | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of runs that `sort_records` made, oldest run first, as one such run without the
    ordinal; about 128 Ki rows in a batch. No key is in two batches.
    """
    schema = pa.schema([*plan.schema, pa.field(VALUE_KIND, pa.int8(), False)])
    for pieces in rounds(runs, plan.key, plan.layout.nullable_key, MergeRoom.now().round):
        lengths = [sum(batch.num_rows for batch in parts) for parts in pieces]
        extra = () if ordinal is None else (ordinal,)
        columns = Columns([b for parts in pieces for b in parts], (*schema.names, *extra))
        keys = encode_closed([columns[name] for name in plan.key], lengths)
        order, starts = merge_groups(keys, lengths)
        if ordinal is not None:
            sort_in_groups(order, starts, ordered(columns[ordinal]))
        yield from _cut(columns.taken(schema.names, order), schema, starts, OUTPUT_ROWS)
