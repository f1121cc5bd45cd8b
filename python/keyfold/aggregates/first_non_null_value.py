"""first_non_null_value: the first non-null input (Paimon FieldFirstNonNullValueAgg).

In a sequence group an older record takes over even with NULL, as in Paimon (FieldAggregator's
aggReversed: the function is asked with the older value as what is there).
"""

from typing import Any

import numpy as np

from keyfold.aggregates.declare import ANY, Inputs, Pick, Records
from keyfold.aggregates.first_value import first_valid
from keyfold.kernels.buffers import Rows, validity
from keyfold.kernels.ops import ADD, RESET, REVERSED


def _pick(inputs: Inputs) -> Rows:
    picks = np.empty(inputs.groups, dtype=np.int64)
    first_valid(validity(inputs.column), inputs.ops, inputs.order, inputs.starts, picks)
    return picks


def definition(records: Records) -> Any:
    """The first value that is not None."""
    result, is_found = None, False
    for op, value in records:
        if op == RESET:
            result = value
        elif op == ADD and not is_found and value is not None:
            result, is_found = value, True
        elif op == REVERSED and not is_found and result is not None:
            is_found = True
        elif op == REVERSED:
            result = value
    return result


FIRST_NON_NULL_VALUE = Pick(
    "first_non_null_value",
    ANY,
    definition,
    aliases=("first_not_null_value", "first_value_ignore_nulls"),
    reversal="own",
    pick=_pick,
    summary="the first value that is not NULL",
    nulls="ignored",
    retraction="refused",
)
