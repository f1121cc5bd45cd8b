"""The four kinds of column result: one array, a value a group, from what an aggregate declares."""

from itertools import pairwise

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
from keyfold.layout import TableLayout
from keyfold.merge.columns import indices, take
from keyfold.merge.declare import Step
from keyfold.merge.functions import wider


def folded_column(
    layout: TableLayout, step: Step, name: str, aggregate: Aggregate, inputs: Inputs
) -> pa.Array:
    """The folded column of one step; errors name table, column and key.

    FoldOverflowError where a value has no place in the type, TableError for a record that the
    aggregate can't fold. Groups of `inputs` are those of the step.
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
    row = int(step.last[group])
    return ", ".join(f"{name} = {step.columns[name][row].as_py()}" for name in layout.key)


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
    """One call a group; a state that is alone is not opened."""
    states = take(inputs.column, pa.array(inputs.order)).to_pylist()
    ops = inputs.ops.tolist()
    values = [
        states[start]
        if stop - start == 1
        else aggregate.combine(list(zip(ops[start:stop], states[start:stop], strict=True)))
        for start, stop in pairwise(inputs.starts.tolist())
    ]
    return pa.array(values, inputs.column.type)
