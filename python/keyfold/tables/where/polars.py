"""Expressions of Polars as predicates, as far as they can leave out files.

Polars shows the parts of an expression as JSON, whose form may change from version to version. So
what is not read here is no condition, and Polars applies the whole expression to what is read.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

from keyfold.errors import TableError
from keyfold.tables.rows import optional
from keyfold.tables.where import leaves
from keyfold.types.logical import name_of
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.predicates import Predicate

_COMPARISONS = {
    "Eq": "=",
    "NotEq": "<>",
    "Lt": "<",
    "LtEq": "<=",
    "Gt": ">",
    "GtEq": ">=",
    "EqValidity": "<=>",
}
_JOINED = {"And": "AND", "Or": "OR"}
_BOUNDS = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}


class _Unread(Exception):
    """A part that is left to Polars."""


def conjuncts(layout: TableLayout, expression: Any, schema: Any) -> list[Predicate]:
    """Predicates that all rows satisfy for which the expression is true. `schema` has the types of
    Polars that the columns have.
    """
    errors = optional.library("polars.exceptions", "to_polars")
    try:
        parts = json.loads(expression.meta.serialize(format="json"))
    except (errors.PolarsError, ValueError):  # such as a function of the user's
        return []
    return _Reader(layout, schema).conjuncts(parts)


class _Reader:
    """Reads expressions over the columns of a table."""

    def __init__(self, layout: TableLayout, schema: Any) -> None:
        self._layout = layout
        self._schema = schema
        self._polars = optional.library("polars", "to_polars")

    def conjuncts(self, parts: Any) -> list[Predicate]:
        """The predicates of an expression, whose ANDs are taken apart."""
        match parts:
            case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
                return self.conjuncts(left) + self.conjuncts(right)
        try:
            return [self._condition(parts)]
        except (_Unread, TableError):
            return []

    def _condition(self, parts: Any) -> Predicate:
        match parts:
            case {"BinaryExpr": {"left": left, "op": str(op), "right": right}} if op in _JOINED:
                return leaves.node(_JOINED[op], self._condition(left), self._condition(right))
            case {"BinaryExpr": {"left": left, "op": str(op), "right": right}}:
                return self._comparison(left, op, right)
            case {"Function": {"input": list(inputs), "function": {"Boolean": function}}}:
                return self._function(function, inputs)
            case {"Function": {"input": [column, start], "function": {"StringExpr": "StartsWith"}}}:
                return leaves.starts_with(*self._pair(column, start))
            case {"Column": _} if leaves.is_boolean(column := self._column(parts)):
                return leaves.is_true(column)
        raise _Unread

    def _function(self, function: Any, inputs: Sequence[Any]) -> Predicate:
        match function, inputs:
            case "IsNull", [column]:
                return leaves.is_null(self._column(column))
            case "IsNotNull", [column]:
                return leaves.node("NOT", leaves.is_null(self._column(column)))
            case "Not", [part]:
                return leaves.node("NOT", self._condition(part))
            case {"IsIn": {"nulls_equal": False}}, [column, values]:
                return self._among(self._column(column), values)
            case {"IsBetween": {"closed": str(closed)}}, [column, *bounds] if closed in _BOUNDS:
                (low, high), (least, most) = _BOUNDS[closed], bounds
                ends = self._compared(column, low, least), self._compared(column, high, most)
                return leaves.node("AND", *ends)
        raise _Unread

    def _comparison(self, left: Any, op: str, right: Any) -> Predicate:
        if op not in _COMPARISONS:
            raise _Unread
        name = _COMPARISONS[op]
        if isinstance(left, dict) and "Literal" in left:
            left, right, name = right, left, leaves.FLIPPED.get(name, name)
        return self._compared(left, name, right)

    def _compared(self, column: Any, op: str, constant: Any) -> Predicate:
        found, value = self._pair(column, constant)
        return leaves.compared(found, op, value)

    def _among(self, column: Column, parts: Any) -> Predicate:
        """Polars and SQL differ in what NULL among the values means."""
        kind, (values,) = self._literal(parts)
        if not isinstance(values, list) or None in values:
            raise _Unread
        self._check(column, kind.inner)
        return leaves.among(column, values)

    def _pair(self, column: Any, constant: Any) -> tuple[Column, Any]:
        """A column and a constant of its type: otherwise Polars casts one of them."""
        found, (kind, (value,)) = self._column(column), self._literal(constant)
        self._check(found, kind)
        return found, value

    def _check(self, column: Column, kind: Any) -> None:
        own = self._schema[column.name]
        are_decimals = own == self._polars.Decimal == kind  # of any digits
        is_padded = name_of(column.type) == "CHAR"
        if is_padded or (own != kind and not are_decimals):
            raise _Unread

    def _column(self, parts: Any) -> Column:
        match parts:
            case {"Column": str(name)}:
                return self._layout.column(name)
        raise _Unread

    def _literal(self, parts: Any) -> tuple[Any, list[Any]]:
        """The type and the value of a constant, which Polars reads itself."""
        if not isinstance(parts, dict) or list(parts) != ["Literal"]:
            raise _Unread
        try:
            text = io.StringIO(json.dumps(parts))
            expression = self._polars.Expr.deserialize(text, format="json")
            found = self._polars.select(expression).to_series()
        except self._polars.exceptions.PolarsError as error:  # NaN, which JSON lacks
            raise _Unread from error
        if len(found) != 1:
            raise _Unread
        return found.dtype, found.to_list()
