"""The four kinds of column result: one array, a value a group, from what an aggregate declares."""

from itertools import pairwise

import pyarrow as pa

from keyfold.aggregates.declare import Aggregate, Combine, Fold, FoldResult, Gather, Inputs, Pick
from keyfold.merge.columns import indices, take


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
