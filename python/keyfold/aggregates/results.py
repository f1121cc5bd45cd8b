"""The four kinds of column result, by the aggregate's declaration: an array, a value a group."""

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
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.ops import SKIP


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
