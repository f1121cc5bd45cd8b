"""Folding a write buffer: rows in arrival order become one sorted run, each key once."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from keyfold.errors import TableError
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.groups.by_key import group_starts
from keyfold.kernels.keys.closed import encode_closed
from keyfold.kernels.keys.order import sort_order
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_BEFORE
from keyfold.merge import kinds as row_kinds
from keyfold.merge.column_results import Columns, combine, sliced
from keyfold.merge.engine import MergeStep
from keyfold.merge.kinds import SEQUENCE_NUMBER, VALUE_KIND, Kinds, is_retract
from keyfold.merge.marks.mark_columns import FIELDS, Marks, mark_columns, marks_of
from keyfold.merge.plan import MergePlan
from keyfold.merge.run import OUTPUT_ROWS, fold_step
from keyfold.merge.sequence import sort_rows
from keyfold.options.declared import TableOptions
from keyfold.resources.metering import metered


@metered("merge")
def fold_unsorted(
    plan: MergePlan, batches: Sequence[pa.RecordBatch], *, ordinal: str | None = None
) -> list[pa.RecordBatch]:
    """Rows of a write, ascending by key, one row per key: `plan.output`, then `_VALUE_KIND` (int8).

    Input batches hold `plan.reads`; `_VALUE_KIND` (all +I if absent) and marks are optional. Rows
    of a key fold in order of arrival, or of the int64 column `ordinal`. With it the output has
    `_SEQUENCE_NUMBER` before the kind: the ordinal of the last folded row. Deletes stay, except
    those that `ignore-delete` and `ignore-update-before` drop here. Under a plan with `marks` the
    last columns are `_NAMED` and `_OVERWRITTEN`.
    """
    found = in_order(plan, batches, ordinal, is_folded=True)
    if found is None:
        return []
    step, ordinals = found
    folded = fold_step(plan, step, drop_deletes=False, has_oldest=False, is_job=True)
    arrays, fields = list(folded.arrays), list(plan.schema)
    if ordinals is not None:
        arrays.append(take(ordinals, indices(folded.last)))
        fields.append(pa.field(SEQUENCE_NUMBER, pa.int64(), False))
    arrays.append(row_kinds.to_array(folded.kinds, len(folded.last)))
    fields.append(pa.field(VALUE_KIND, pa.int8(), False))
    if plan.marks:
        arrays += mark_columns(folded.marks, len(folded.last))
        fields += FIELDS
    return sliced(arrays, pa.schema(fields), OUTPUT_ROWS)


def in_order(
    plan: MergePlan, batches: Sequence[pa.RecordBatch], ordinal: str | None, *, is_folded: bool
) -> tuple[MergeStep, pa.Array | None] | None:
    """The accepted rows of a write by key, those of a key in order, and their ordinals; None if
    there are no rows. The order is that of arrival, before it that of the ordinals, and of sequence
    fields if the rows are to be folded.
    """
    batches = [batch for batch in batches if batch.num_rows]
    kinds = row_kinds.of_all(batches) if batches else None
    marks = marks_of(plan.bits, batches)
    rows = accepted(plan, kinds, sum(batch.num_rows for batch in batches), marks)
    if not len(rows):
        return None
    columns = Columns(batches, plan.reads)
    ordinals = None if ordinal is None else combine([batch.column(ordinal) for batch in batches])
    by_fields = is_folded and (marks is None or not marks.has_whole)
    rows = sort_rows(plan, columns, ordinals, rows, by_fields=by_fields)
    keys = encode_closed([columns[name] for name in plan.key])
    words, order = sort_order(keys, rows)
    return MergeStep(columns, kinds, order, group_starts(keys, words, order), marks), ordinals


def accepted(plan: MergePlan, kinds: Kinds | None, length: int, marks: Marks | None = None) -> Rows:
    """The rows that `ignore-delete` and `ignore-update-before` don't drop. Raises TableError if the
    table, or its engine, refuses a kind. A -D that overwrites is always taken.
    """
    options = plan.options
    if kinds is None:
        return np.arange(length, dtype=np.int64)
    if marks is not None:
        kinds = np.where(marks.is_marked, np.int8(INSERT), kinds)
    check_deletes(plan.layout.name, options, kinds)
    if options.ignore_delete:
        rows = np.flatnonzero(~is_retract(kinds))
    elif options.ignore_update_before:
        rows = np.flatnonzero(kinds != UPDATE_BEFORE)
    else:
        rows = np.arange(length, dtype=np.int64)
    plan.check_kinds(kinds[rows])
    return rows


def check_deletes(table: str, options: TableOptions, kinds: Kinds) -> None:
    """Raises TableError if there is a -D and the table has deletes disabled."""
    if options.delete_behavior == "disable" and (kinds == DELETE).any():
        raise TableError(
            f"table {table}: Delete operations are disabled for this table. "
            "The table.delete.behavior is set to 'disable'."
        )
