"""last_non_null_value: the last non-null input; retracting a non-null value leaves null
(FieldLastNonNullValueAgg).
"""

from typing import Any

import numpy as np

from keyfold.aggregates.declare import ADD, ANY, RESET, RETRACT, Inputs, Pick, Records
from keyfold.kernels.buffers import Mask, Rows, Signs, validity
from keyfold.kernels.jit import kernel


@kernel("void(uint8[::1], int8[::1], int64[::1], int64[::1], int64[::1])")
def last_valid(valid: Mask, ops: Signs, order: Rows, starts: Rows, out: Rows) -> None:
    """out[g] is the last valid added row of group g, -1 if a valid retraction follows it or there
    is none.
    """
    for g in range(len(out)):
        pick = -1
        for at in range(starts[g + 1] - 1, starts[g] - 1, -1):
            row = order[at]
            if ops[at] == RESET or (valid[row] and ops[at] != 0):
                if ops[at] != RETRACT:
                    pick = row
                break
        out[g] = pick


def pick_last_valid(inputs: Inputs, valid: Mask) -> Rows:
    """`last_valid` over a column with this validity."""
    picks = np.empty(inputs.groups, dtype=np.int64)
    last_valid(valid, inputs.ops, inputs.order, inputs.starts, picks)
    return picks


def _pick(inputs: Inputs) -> Rows:
    return pick_last_valid(inputs, validity(inputs.column))


def definition(records: Records) -> Any:
    """The last value that is not None."""
    result = None
    for op, value in records:
        if op == RESET or (op == ADD and value is not None):
            result = value
        elif op == RETRACT and value is not None:
            result = None
    return result


LAST_NON_NULL_VALUE = Pick("last_non_null_value", ANY, definition, is_retractable=True, pick=_pick)
