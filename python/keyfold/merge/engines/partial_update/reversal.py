"""Older records of a sequence group, put in front of all others as Paimon's aggReversed does.

The row just moves to the front if nothing was taken back before it came. Otherwise the records
before it are folded first, and the value takes their place.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from keyfold.aggregates.declaration import Inputs
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Rows, Signs
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, LATE_RETRACT, RETRACT, REVERSED, SEED
from keyfold.merge.engines.partial_update.group_events import arrange

# One folded value per group.
Fold = Callable[[Inputs], pa.Array]


@kernel("void(int8[::1], int64[::1], int64[::1])")
def splits(events: Signs, starts: Rows, out: Rows) -> None:
    """out[g] is the place of the first older record of group g behind a retraction, or -1."""
    for g in range(len(out)):
        has_retract = False
        out[g] = -1
        for at in range(starts[g], starts[g + 1]):
            if events[at] == REVERSED and has_retract:
                out[g] = at
                break
            if events[at] in (RETRACT, LATE_RETRACT, SEED):
                has_retract = True


def arranged(inputs: Inputs, is_front: bool) -> Inputs:
    """Events as the ops of an aggregate, older records in front if `is_front`."""
    events, seeds = inputs.ops, int((inputs.ops == SEED).sum())
    if not seeds and not (is_front and (events == REVERSED).any()):
        ops = np.where(events == LATE_RETRACT, np.int8(RETRACT), events)
        return Inputs(inputs.column, ops, inputs.order, inputs.starts)
    order = np.empty(len(inputs.order) + seeds, dtype=np.int64)
    ops, starts = np.empty(len(order), dtype=np.int8), np.empty_like(inputs.starts)
    arrange(inputs.records, is_front, Groups(ops, order, starts))
    return Inputs(inputs.column, ops, order, starts)


def materialized(inputs: Inputs, fold: Fold) -> Inputs:
    """Events of which no older record comes behind a retraction: the records before it become
    one record with their folded value, in a row behind the column's own.
    """
    while True:
        places = np.empty(inputs.groups, dtype=np.int64)
        splits(inputs.ops, inputs.starts, places)
        groups = np.flatnonzero(places >= 0)
        if not len(groups):
            return inputs
        inputs = _folded_before(inputs, groups, places[groups], fold)


def _folded_before(inputs: Inputs, groups: Rows, places: Rows, fold: Fold) -> Inputs:
    lengths = places - inputs.starts[groups]
    ends = np.cumsum(lengths)
    before = np.repeat(places - ends, lengths) + np.arange(ends[-1])
    starts = np.concatenate(([0], ends)).astype(np.int64)
    there = Inputs(inputs.column, inputs.ops[before], inputs.order[before], starts)
    column = pa.concat_arrays([inputs.column, fold(there)])
    order, ops = inputs.order.copy(), inputs.ops.copy()
    order[places - 1] = len(inputs.column) + np.arange(len(groups))
    ops[places - 1] = ADD
    stays = np.ones(len(order), dtype=np.bool_)
    stays[before] = False
    stays[places - 1] = True
    left = np.concatenate(([0], np.cumsum(stays)))[inputs.starts]
    return Inputs(column, ops[stays], order[stays], left.astype(np.int64))
