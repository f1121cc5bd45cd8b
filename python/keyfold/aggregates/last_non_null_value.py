"""last_non_null_value: the last non-null input; retracting a non-null value leaves null
(FieldLastNonNullValueAgg).
"""

from typing import Any

import numpy as np

from keyfold.aggregates.declare import ANY, Inputs, Pick, Records
from keyfold.kernels.buffers import Mask, Rows, Signs, validity
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, RESET, RETRACT, REVERSED, SKIP


@kernel("void(uint8[::1], int8[::1], int64[::1], int64[::1], int64[::1])")
def last_valid(valid: Mask, ops: Signs, order: Rows, starts: Rows, out: Rows) -> None:
    """out[g] is the last valid added row of group g, -1 if a valid retraction follows it or there
    is none; where it would be null, the first valid older row behind that.
    """
    for g in range(len(out)):
        pick = -1
        for at in range(starts[g + 1] - 1, starts[g] - 1, -1):
            row, op = order[at], ops[at]
            if op == REVERSED and valid[row]:
                pick = row
            elif op == RESET or (op != SKIP and valid[row]):
                if op != RETRACT and (valid[row] or pick < 0):
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
        elif op == REVERSED and result is None:
            result = value
    return result


LAST_NON_NULL_VALUE = Pick(
    "last_non_null_value",
    ANY,
    definition,
    is_retractable=True,
    aliases=("last_value_ignore_nulls", "replace_if_not_null"),
    reversal="own",
    pick=_pick,
    summary="the last value that is not NULL; what a column without a function has",
    nulls="ignored",
    retraction="of a value leaves NULL",
)
