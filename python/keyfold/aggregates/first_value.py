"""first_value: the first input, null too (Paimon FieldFirstValueAgg; Fluss' document, not its
code).
"""

from typing import Any

import numpy as np

from keyfold.aggregates.declare import ADD, ANY, RESET, Inputs, Pick, Records
from keyfold.kernels.buffers import Mask, Rows, Signs, ones
from keyfold.kernels.jit import kernel


@kernel("void(uint8[::1], int8[::1], int64[::1], int64[::1], int64[::1])")
def first_valid(valid: Mask, ops: Signs, order: Rows, starts: Rows, out: Rows) -> None:
    """out[g] is the first valid added row of group g, else -1; a reset row replaces it and is
    itself no first.
    """
    for g in range(len(out)):
        pick, is_found = -1, False
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if ops[at] == RESET:
                pick = row
            elif ops[at] == ADD and not is_found and valid[row]:
                pick, is_found = row, True
        out[g] = pick


def _pick(inputs: Inputs) -> Rows:
    picks = np.empty(inputs.groups, dtype=np.int64)
    first_valid(ones(len(inputs.column)), inputs.ops, inputs.order, inputs.starts, picks)
    return picks


def definition(records: Records) -> Any:
    """The value of the first added record, whatever it is."""
    result, is_found = None, False
    for op, value in records:
        if op == RESET:
            result = value
        elif op == ADD and not is_found:
            result, is_found = value, True
    return result


FIRST_VALUE = Pick("first_value", ANY, definition, pick=_pick)
