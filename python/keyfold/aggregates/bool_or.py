"""bool_or: true if any input is, over non-null inputs (Paimon FieldBoolOrAgg)."""

from typing import Any

from keyfold.aggregates.declare import BOOLEAN, Inputs, Pick, Records
from keyfold.kernels.buffers import Rows
from keyfold.kernels.extremes import pick_extremes
from keyfold.kernels.ops import ADD, RESET


def _pick(inputs: Inputs) -> Rows:
    return pick_extremes(inputs.column, inputs.ops, inputs.order, inputs.starts, is_least=False)


def definition(records: Records) -> Any:
    """All non-null values joined by `or`."""
    result = None
    for op, value in records:
        if op == RESET or (op == ADD and result is None):
            result = value
        elif op == ADD and value is not None:
            result = result or value
    return result


BOOL_OR = Pick(
    "bool_or",
    BOOLEAN,
    definition,
    reversal="append",
    pick=_pick,
    summary="true if any value is",
    nulls="ignored",
    retraction="refused",
)
