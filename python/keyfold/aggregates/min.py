"""min: the least non-null input, of any comparable type (Paimon FieldMinAgg; Fluss MIN; Doris
MIN).
"""

from typing import Any

from keyfold.aggregates.declare import COMPARABLE, Inputs, Pick, Records
from keyfold.kernels.buffers import Rows
from keyfold.kernels.extremes import pick_extremes, rank
from keyfold.kernels.ops import ADD, RESET


def _pick(inputs: Inputs) -> Rows:
    return pick_extremes(inputs.column, inputs.ops, inputs.order, inputs.starts, is_least=True)


def definition(records: Records) -> Any:
    """The least value that is not None; NaN is greater than any number."""
    result = None
    for op, value in records:
        if op == RESET or (
            op == ADD and value is not None and (result is None or rank(value) < rank(result))
        ):
            result = value
    return result


MIN = Pick(
    "min",
    COMPARABLE,
    definition,
    reversal="append",
    pick=_pick,
    summary="the least value; NaN is greater than any number, text and bytes compare as bytes",
    nulls="ignored",
    retraction="refused",
)
