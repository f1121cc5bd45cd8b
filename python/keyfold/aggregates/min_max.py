"""min, max, bool_and, bool_or: the least or the greatest non-null input, of any comparable type
(Paimon FieldMinAgg, FieldMaxAgg, FieldBoolAndAgg, FieldBoolOrAgg; Fluss and Doris MIN, MAX). The
least boolean is true if all are true, the greatest if any is true.
"""

from functools import partial
from typing import Any

from keyfold.aggregates.declaration import BOOLEAN, COMPARABLE, Accepts, Inputs, Pick, Records
from keyfold.aggregates.group_totals import extremes
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.extremes import pick_extremes, rank
from keyfold.kernels.ops import ADD, RESET


def _pick(is_least: bool, inputs: Inputs) -> Rows:
    column, numbers = inputs.column, inputs.number()
    return pick_extremes(column, inputs.records, is_least=is_least, numbers=numbers)


def definition(is_least: bool, records: Records) -> Any:
    """The least or greatest value that is not None; NaN is greater than any number."""
    result = None
    for op, value in records:
        if op == RESET or (op == ADD and result is None):
            result = value
        elif op == ADD and value is not None:
            is_less = rank(value) < rank(result)
            result = value if is_less == is_least else result
    return result


def _declared(name: str, accepts: Accepts, is_least: bool, summary: str) -> Pick:
    return Pick(
        name,
        accepts,
        partial(definition, is_least),
        reversal="append",
        pick=partial(_pick, is_least),
        over_records="MIN" if is_least else "MAX",
        unites=True,
        running=partial(extremes, is_least),
        summary=summary,
        nulls="ignored",
        retraction="refused",
    )


_ORDER = "; NaN is greater than any number, text and bytes compare as bytes"
MIN = _declared("min", COMPARABLE, True, f"the least value{_ORDER}")
MAX = _declared("max", COMPARABLE, False, f"the greatest value{_ORDER}")
BOOL_AND = _declared("bool_and", BOOLEAN, True, "false if any value is")
BOOL_OR = _declared("bool_or", BOOLEAN, False, "true if any value is")
