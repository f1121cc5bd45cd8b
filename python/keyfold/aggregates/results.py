"""The results of aggregates as a column: a value a group."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Aggregate, BadRecord, FoldResult, Inputs, Pick, Records
from keyfold.kernels.buffers import Rows, validity
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.ops import RESET, SKIP

Combine = Callable[[Records], Any]


def column_result(aggregate: Aggregate, inputs: Inputs) -> FoldResult:
    """The folded column of one step; the aggregate accepts the column's type."""
    if isinstance(aggregate, Pick):
        return FoldResult(take(inputs.column, indices(aggregate.pick(inputs))))
    return aggregate.fold(inputs)


def counted(inputs: Inputs, *, sees_nulls: bool = False) -> tuple[Rows, Rows]:
    """The rows that count: those added since the last reset of their group, without NULLs unless
    `sees_nulls`; and the offsets of groups among them.
    """
    keeps = inputs.ops > SKIP
    if not sees_nulls:
        keeps &= validity(inputs.column)[inputs.order] == 1
    resets = np.flatnonzero(inputs.ops == RESET)
    if len(resets):
        first = inputs.starts[:-1].copy()
        group = np.searchsorted(inputs.starts, resets, side="right") - 1
        np.maximum.at(first, group, resets)
        keeps &= np.arange(len(keeps)) >= np.repeat(first, np.diff(inputs.starts))
    offsets = np.concatenate(([0], np.cumsum(keeps)))[inputs.starts]
    return inputs.order[keeps], offsets.astype(np.int64)


def spread(array: pa.Array, groups: Rows, count: int) -> pa.Array:
    """The values of some groups in a column with a value for each of `count`, others NULL."""
    places = np.full(count, -1, dtype=np.int64)
    places[groups] = np.arange(len(groups))
    return array.take(indices(places))


def by_group(combine: Combine) -> Callable[[Inputs], FoldResult]:
    """A fold in plain Python, for opaque states: `combine` folds the records of one group. It is
    called once a group of several; lone values don't become Python objects.
    """
    return partial(_combined, combine)


def _combined(combine: Combine, inputs: Inputs) -> FoldResult:
    sizes = np.diff(inputs.starts)
    several = np.flatnonzero(sizes > 1)
    first = inputs.starts[:-1]
    picks = np.where(inputs.ops[first] == SKIP, -1, inputs.order[first])
    if not len(several):
        return FoldResult(take(inputs.column, indices(picks)))
    made = _combined_groups(combine, inputs, several, sizes)
    if len(several) == len(sizes):
        return FoldResult(made)
    picks[several] = len(inputs.column) + np.arange(len(several))
    return FoldResult(take(pa.concat_arrays([inputs.column, made]), indices(picks)))


def _combined_groups(combine: Combine, inputs: Inputs, groups: Rows, sizes: Rows) -> pa.Array:
    is_taken = np.repeat(sizes > 1, sizes)
    states = take(inputs.column, pa.array(inputs.order[is_taken])).to_pylist()
    records = list(zip(inputs.ops[is_taken].tolist(), states, strict=True))
    bounds = np.concatenate(([0], np.cumsum(sizes[groups]))).tolist()
    values = []
    for group, (start, stop) in zip(groups.tolist(), pairwise(bounds), strict=True):
        try:
            values.append(combine(records[start:stop]))
        except BadRecord as error:
            raise BadRecord(group, str(error)) from error
    return pa.array(values, inputs.column.type)
