"""last_value: the last input, null or not; a retraction leaves null (Paimon FieldLastValueAgg).
last_non_null_value: the last non-null input; retracting a non-null value leaves null (Paimon
FieldLastNonNullValueAgg).
"""

from functools import partial
from typing import Any

import numpy as np

from keyfold.aggregates.declaration import ANY, Inputs, Pick, Records
from keyfold.aggregates.group_totals import ends
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Mask, Rows, validity
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, RESET, RETRACT, REVERSED, SKIP


@kernel("void(Groups, int64[::1])")
def last(groups: Groups, out: Rows) -> None:
    """out[g] is the last row of group g that is neither skipped nor older than another, -1 if that
    is a retraction or if there is no such row.
    """
    ops, order, starts = groups
    for g in range(len(out)):
        at = starts[g + 1] - 1
        while at >= starts[g] and (ops[at] == SKIP or ops[at] == REVERSED):
            at -= 1
        out[g] = order[at] if at >= starts[g] and ops[at] != RETRACT else -1


@kernel("void(uint8[::1], Groups, int64[::1])")
def last_valid(valid: Mask, groups: Groups, out: Rows) -> None:
    """out[g] is the last valid added row of group g, -1 if a valid retraction follows it or there
    is no such row. If it would be null, out[g] is the first valid older row behind that.
    """
    ops, order, starts = groups
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


def _pick(inputs: Inputs) -> Rows:
    picks = np.empty(inputs.groups, dtype=np.int64)
    last(inputs.records, picks)
    return picks


def _pick_non_null(inputs: Inputs) -> Rows:
    picks = np.empty(inputs.groups, dtype=np.int64)
    last_valid(validity(inputs.column), inputs.records, picks)
    return picks


def definition(records: Records) -> Any:
    """The value of the last record, None behind a retraction; older records don't count."""
    result = None
    for op, value in records:
        if op in (ADD, RESET):
            result = value
        elif op == RETRACT:
            result = None
    return result


def definition_non_null(records: Records) -> Any:
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


LAST_VALUE = Pick(
    "last_value",
    ANY,
    definition,
    is_retractable=True,
    retracts_alone=True,
    passes_nulls=False,
    aliases=("replace",),
    reversal="own",
    pick=_pick,
    goes_by_place=True,
    running=partial(ends, False, True),
    summary="the last record's value",
    nulls="a last NULL stays",
    retraction="leaves NULL",
)

LAST_NON_NULL_VALUE = Pick(
    "last_non_null_value",
    ANY,
    definition_non_null,
    is_retractable=True,
    retracts_alone=True,
    aliases=("last_value_ignore_nulls", "replace_if_not_null"),
    reversal="own",
    pick=_pick_non_null,
    goes_by_place=True,
    running=partial(ends, False, False),
    summary="the last value that is not NULL; what a column without a function has",
    nulls="ignored",
    retraction="of a value leaves NULL",
)
