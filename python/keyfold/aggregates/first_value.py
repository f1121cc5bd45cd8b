"""first_value: the first input, null too (Paimon FieldFirstValueAgg; Fluss' document, not its
code). first_non_null_value: the first non-null input (Paimon FieldFirstNonNullValueAgg).

A -D that removes the row is the first of what follows, if it has a value to give: what came before
it does not count any more. In a sequence group an older record takes over even with NULL, as in
Paimon (FieldAggregator's aggReversed passes the older value to the function as the accumulator).
"""

from functools import partial
from typing import Any

import numpy as np

from keyfold.aggregates.declaration import ANY, Inputs, Pick, Records
from keyfold.aggregates.group_totals import ends
from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Mask, Rows, ones, validity
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, RESET, REVERSED


@kernel("void(uint8[::1], Groups, int64[::1])")
def first_valid(valid: Mask, groups: Groups, out: Rows) -> None:
    """out[g] is the first valid added row of group g, else -1. A reset row replaces it, and counts
    as a first if it is valid: it may be stored without the rows before it. An older row takes
    over, valid or not, once there was a first.
    """
    ops, order, starts = groups
    for g in range(len(out)):
        pick, is_found = -1, False
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if ops[at] == RESET:
                pick, is_found = row, valid[row] == 1
            elif ops[at] == ADD and not is_found and valid[row]:
                pick, is_found = row, True
            elif ops[at] == REVERSED:
                if is_found or pick < 0 or not valid[pick]:
                    pick = row
                else:
                    is_found = True
        out[g] = pick


def _picked(valid: Mask, inputs: Inputs) -> Rows:
    picks = np.empty(inputs.groups, dtype=np.int64)
    first_valid(valid, inputs.records, picks)
    return picks


def _pick(inputs: Inputs) -> Rows:
    return _picked(ones(len(inputs.column)), inputs)


def _pick_non_null(inputs: Inputs) -> Rows:
    return _picked(validity(inputs.column), inputs)


def definition(records: Records) -> Any:
    """The value of the first added record, whatever it is."""
    result, is_there, is_found = None, False, False
    for op, value in records:
        if op == RESET or (op == ADD and not is_found):
            result, is_found = value, True
        elif op == REVERSED and (is_found or not is_there):
            result = value
        elif op == REVERSED:
            is_found = True
        is_there = is_there or op in (RESET, ADD, REVERSED)
    return result


def definition_non_null(records: Records) -> Any:
    """The first value that is not None."""
    result, is_found = None, False
    for op, value in records:
        if op == RESET:
            result, is_found = value, value is not None
        elif op == ADD and not is_found and value is not None:
            result, is_found = value, True
        elif op == REVERSED and not is_found and result is not None:
            is_found = True
        elif op == REVERSED:
            result = value
    return result


FIRST_VALUE = Pick(
    "first_value",
    ANY,
    definition,
    passes_nulls=False,
    retains_null=True,
    reversal="own",
    pick=_pick,
    goes_by_place=True,
    running=partial(ends, True, True),
    summary="the first record's value",
    nulls="a first NULL stays",
    retraction="refused",
)

FIRST_NON_NULL_VALUE = Pick(
    "first_non_null_value",
    ANY,
    definition_non_null,
    aliases=("first_not_null_value", "first_value_ignore_nulls"),
    reversal="own",
    pick=_pick_non_null,
    goes_by_place=True,
    running=partial(ends, True, False),
    summary="the first value that is not NULL",
    nulls="ignored",
    retraction="refused",
)
