"""first_value: the first input, null too (Paimon FieldFirstValueAgg; Fluss' document, not its
code).
"""

from typing import Any

import numpy as np

from keyfold.aggregates.declare import ANY, Inputs, Pick, Records
from keyfold.kernels.buffers import Mask, Rows, Signs, ones
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, RESET, REVERSED


@kernel("void(uint8[::1], int8[::1], int64[::1], int64[::1], int64[::1])")
def first_valid(valid: Mask, ops: Signs, order: Rows, starts: Rows, out: Rows) -> None:
    """out[g] is the first valid added row of group g, else -1; a reset row replaces it and is
    itself no first. An older row takes over, valid or not, once there was a first.
    """
    for g in range(len(out)):
        pick, is_found = -1, False
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if ops[at] == RESET:
                pick = row
            elif ops[at] == ADD and not is_found and valid[row]:
                pick, is_found = row, True
            elif ops[at] == REVERSED:
                if is_found or pick < 0 or not valid[pick]:
                    pick = row
                else:
                    is_found = True
        out[g] = pick


def _pick(inputs: Inputs) -> Rows:
    picks = np.empty(inputs.groups, dtype=np.int64)
    first_valid(ones(len(inputs.column)), inputs.ops, inputs.order, inputs.starts, picks)
    return picks


def definition(records: Records) -> Any:
    """The value of the first added record, whatever it is."""
    result, is_there, is_found = None, False, False
    for op, value in records:
        if op == RESET or (op == REVERSED and (is_found or not is_there)):
            result = value
        elif op == ADD and not is_found:
            result, is_found = value, True
        elif op == REVERSED:
            is_found = True
        is_there = is_there or op in (RESET, ADD, REVERSED)
    return result


FIRST_VALUE = Pick(
    "first_value",
    ANY,
    definition,
    passes_nulls=False,
    retains_null=True,
    reversal="own",
    pick=_pick,
    summary="the first record's value",
    nulls="a first NULL stays",
    retraction="refused",
)
