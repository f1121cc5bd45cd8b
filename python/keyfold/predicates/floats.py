"""Comparisons of FLOAT and DOUBLE columns in Spark's order: NaN equals NaN and is greatest, -0.0 is
0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.types.literals import NAN_TOP, Members, Unknown
from keyfold.types.logical import DataType
from keyfold.wire.predicates import Predicate

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_OF_NAN = {"=": True, ">=": True, "<>": False, "<": False}  # `NaN op NaN`, or not `other op NaN`


def truth(predicate: Predicate, column: pa.Array, kind: DataType) -> pa.BooleanArray:
    """The truth of a comparison with constants, NULL where SQL's is. Raises Unknown if the operator
    is not one, or a constant is not of the column's type.
    """
    op = predicate.op
    if op == "IN":
        return _among(column, predicate.members(kind))
    if op not in (*COMPARISONS, "<=>"):
        raise Unknown
    value = predicate.value(kind)
    if value is None:
        return pc.is_null(column) if op == "<=>" else pa.nulls(len(column), pa.bool_())
    if op == "<=>":
        return pc.fill_null(_compared("=", column, value), False)
    return _compared(op, column, value)


def _compared(op: str, column: pa.Array, value: tuple[int, float]) -> pa.BooleanArray:
    is_nan = pc.is_nan(column)
    if value != NAN_TOP:
        found = COMPARISONS[op](column, pa.scalar(value[1], column.type))
        return pc.or_(found, is_nan) if op in (">", ">=") else found
    if op in (">", "<="):  # nothing is above NaN
        return pc.if_else(is_nan, op == "<=", op == "<=")
    return is_nan if _OF_NAN[op] else pc.invert(is_nan)


def _among(column: pa.Array, values: Members) -> pa.BooleanArray:
    numbers = [value[1] + 0.0 for value in values.ordered if value != NAN_TOP]
    plain = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 becomes 0.0
    found = pc.is_in(plain, value_set=pa.array(numbers, column.type))
    if NAN_TOP in values.ordered:
        found = pc.or_(found, pc.fill_null(pc.is_nan(column), False))
    return with_unknown(found, column, values)


def with_unknown(found: pa.BooleanArray, column: pa.Array, values: Members) -> pa.BooleanArray:
    """The truth of `column IN (values)`. It is NULL for a NULL; if the list has a NULL, also for a
    value that is not in the list.
    """
    unknown = pa.scalar(None, pa.bool_())
    if values.has_null:
        return pc.if_else(found, found, unknown)
    if values.is_empty or not column.null_count:
        return found
    return pc.if_else(pc.is_valid(column), found, unknown)
