"""max: the greatest non-null input, of any comparable type (Paimon FieldMaxAgg; Fluss MAX; Doris
MAX).
"""

from typing import Any

from keyfold.aggregates.declare import COMPARABLE, Inputs, Pick, Records
from keyfold.kernels.buffers import Rows
from keyfold.kernels.extremes import pick_extremes, rank
from keyfold.kernels.ops import ADD, RESET


def _pick(inputs: Inputs) -> Rows:
    return pick_extremes(inputs.column, inputs.ops, inputs.order, inputs.starts, is_least=False)


def definition(records: Records) -> Any:
    """The greatest value that is not None; NaN is greater than any number."""
    result = None
    for op, value in records:
        if op == RESET or (
            op == ADD and value is not None and (result is None or rank(value) > rank(result))
        ):
            result = value
    return result


MAX = Pick(
    "max",
    COMPARABLE,
    definition,
    reversal="append",
    pick=_pick,
    summary="the greatest value; NaN is greater than any number, text and bytes compare as bytes",
    nulls="ignored",
    retraction="refused",
)
