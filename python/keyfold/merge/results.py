"""The four kinds of column result, by the aggregate's declaration: an array, a value a group."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declare import (
    Aggregate,
    BadRecord,
    Combine,
    Fold,
    FoldResult,
    Gather,
    Inputs,
    Pick,
)
from keyfold.errors import FoldOverflowError, TableError
from keyfold.kernels.buffers import Rows, validity
from keyfold.kernels.ops import SKIP
from keyfold.merge.columns import indices, take
from keyfold.merge.declare import Folded, Step
from keyfold.merge.functions import wider
from keyfold.merge.kinds import is_retract
from keyfold.types import java_text
from keyfold.wire.layout import TableLayout


def folded_column(
    layout: TableLayout, step: Step, name: str, aggregate: Aggregate, inputs: Inputs
) -> pa.Array:
    """The folded column of one step; errors name table, column and key.

    Raises FoldOverflowError if a value does not fit the type. Raises TableError if the aggregate
    can't fold a record. The groups of `inputs` are those of the step.
    """
    try:
        result = column_result(aggregate, inputs)
    except BadRecord as error:
        where = f"table {layout.name}, column {name}, key ({_key(layout, step, error.group)})"
        raise TableError(f"{where}: {error}") from error
    if result.overflowed >= 0:
        key = _key(layout, step, result.overflowed)
        raise FoldOverflowError(
            f"table {layout.name}, column {name}: the {aggregate.name} for key ({key}) "
            f"{wider(layout.name, layout.column(name))}"
        )
    return result.array


def _key(layout: TableLayout, step: Step, group: int) -> str:
    return key_words(layout, step.columns, int(step.last[group]))


def key_words(layout: TableLayout, columns: Mapping[str, pa.Array], row: int) -> str:
    """The key of a row, for an error."""
    return ", ".join(f"{name} = {java_text.shown(columns[name][row])}" for name in layout.key)


def check_not_null(layout: TableLayout, schema: pa.Schema, step: Step, folded: Folded) -> None:
    """Raises TableError, with column and key, if a row that is not a delete has NULL in a NOT NULL
    column. A retraction may leave that NULL, or a record without a sequence.
    """
    for array, field in zip(folded.arrays, schema, strict=True):
        if field.nullable or not array.null_count:
            continue
        missing = validity(array) == 0
        if folded.kinds is not None:
            missing &= ~is_retract(folded.kinds)
        groups = np.flatnonzero(missing)
        if len(groups):
            key = key_words(layout, step.columns, int(folded.last[groups[0]]))
            raise TableError(
                f"table {layout.name}, column {field.name}, key ({key}): merging left NULL in "
                "a NOT NULL column: a retraction took its value back, or no record of its sequence "
                "group had a sequence; make the column nullable, or see ignore-delete and "
                f"fields.{field.name}.ignore-retract"
            )


def check_unique(layout: TableLayout, step: Step, *, counts_deletes: bool = False) -> None:
    """Raises TableError, with the key, if a key has two records that are not deletes, or that may
    be if `counts_deletes`.
    """
    if len(step.starts) - 1 == len(step.order):
        return
    adds = np.ones(len(step.order), bool)
    if step.kinds is not None and not counts_deletes:
        adds = ~is_retract(step.kinds)
    counts = np.add.reduceat(adds[step.order].astype(np.int64), step.starts[:-1])
    groups = np.flatnonzero(counts > 1)
    if len(groups):
        raise TableError(
            f"table {layout.name}: the statement writes key ({_key(layout, step, groups[0])}) "
            f"{counts[groups[0]]} times (MERGE_CARDINALITY_VIOLATION): one row of the source may "
            "write a key; leave out the others, or aggregate them before"
        )


def column_result(aggregate: Aggregate, inputs: Inputs) -> FoldResult:
    """The folded column of one step; the aggregate accepts the column's type."""
    match aggregate:
        case Pick():
            return FoldResult(take(inputs.column, indices(aggregate.pick(inputs))))
        case Fold():
            return aggregate.fold(inputs)
        case Gather():
            rows, offsets = aggregate.gather(inputs)
            taken = take(inputs.column, pa.array(rows))
            return FoldResult(aggregate.finish(taken, offsets, inputs.column.type))
        case Combine():
            return FoldResult(_combined(aggregate, inputs))


def _combined(aggregate: Combine, inputs: Inputs) -> pa.Array:
    """The column, by one call a group of several; lone states don't become Python objects."""
    sizes = np.diff(inputs.starts)
    several = np.flatnonzero(sizes > 1)
    first = inputs.starts[:-1]
    picks = np.where(inputs.ops[first] == SKIP, -1, inputs.order[first])
    if not len(several):
        return take(inputs.column, indices(picks))
    made = _combined_groups(aggregate, inputs, several, sizes)
    if len(several) == len(sizes):
        return made
    picks[several] = len(inputs.column) + np.arange(len(several))
    return take(pa.concat_arrays([inputs.column, made]), indices(picks))


def _combined_groups(aggregate: Combine, inputs: Inputs, groups: Rows, sizes: Rows) -> pa.Array:
    is_taken = np.repeat(sizes > 1, sizes)
    states = take(inputs.column, pa.array(inputs.order[is_taken])).to_pylist()
    records = list(zip(inputs.ops[is_taken].tolist(), states, strict=True))
    bounds = np.concatenate(([0], np.cumsum(sizes[groups]))).tolist()
    values = []
    for group, (start, stop) in zip(groups.tolist(), pairwise(bounds), strict=True):
        try:
            values.append(aggregate.combine(records[start:stop]))
        except BadRecord as error:
            raise BadRecord(group, str(error)) from error
    return pa.array(values, inputs.column.type)
