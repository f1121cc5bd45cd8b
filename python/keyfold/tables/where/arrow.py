"""Arrow's compute expressions as predicates, as far as they can leave out files.

Arrow shows no parts of an expression, but the form in which it pickles one does: a file of Arrow
with calls, fields and places of constants as metadata, and the constants as rows. Conditions that
are not read here are only applied by Arrow itself.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.predicates.condition import is_exact
from keyfold.tables.where import leaves
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.predicates import Predicate

_LINE = re.compile(r"^(call|end|field_ref|nested_field_ref|literal|options): '(.*)'$")
_METADATA = "-- schema metadata --"
_COMPARISONS = {
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}


class _Unread(Exception):
    """A part that is left to Arrow."""


class _Constant:
    """A constant of an expression."""

    def __init__(self, value: Any) -> None:
        self.value = value


Part = Predicate | Column | _Constant


def conjuncts(layout: TableLayout, expression: pc.Expression) -> tuple[list[Predicate], bool]:
    """Predicates that all rows satisfy for which the expression is true, and whether the converse
    holds too. Raises TableError if a column is unknown.
    """
    try:
        return _Reader(layout, *_parts(expression)).conjuncts()
    except (_Unread, pa.ArrowException, ValueError, IndexError):
        return [], False


def fields(expression: pc.Expression) -> set[str] | None:
    """The columns that an expression names; None if that can't be read."""
    try:
        parts, _ = _parts(expression)
    except (_Unread, pa.ArrowException, ValueError):
        return None
    is_nested = any(kind == "nested_field_ref" for kind, _ in parts)
    return None if is_nested else {name for kind, name in parts if kind == "field_ref"}


def _parts(expression: pc.Expression) -> tuple[list[tuple[str, str]], pa.RecordBatch]:
    """The metadata in order, whose names repeat, and the constants."""
    (buffer,) = expression.__reduce__()[1]
    file = pa.ipc.open_file(buffer)
    shown = file.schema.to_string(truncate_metadata=False, show_field_metadata=False)
    lines = shown.rpartition(f"{_METADATA}\n")[2].splitlines() if _METADATA in shown else []
    found = [_LINE.match(line) for line in lines]
    pairs = [(match[1], match[2]) for match in found if match is not None]
    if len(pairs) != len(lines):
        raise _Unread
    return pairs, file.get_batch(0)


class _Reader:
    """Reads the parts of one expression in order."""

    def __init__(
        self, layout: TableLayout, parts: list[tuple[str, str]], constants: pa.RecordBatch
    ) -> None:
        self._layout = layout
        self._parts = parts
        self._constants = constants
        self._at = 0

    def _take(self) -> tuple[str, str]:
        self._at += 1
        return self._parts[self._at - 1]

    def conjuncts(self) -> tuple[list[Predicate], bool]:
        """The predicates of the next part, whose ANDs are taken apart."""
        kind, name = self._take()
        if (kind, name) in (("call", "and_kleene"), ("call", "and")):
            (left, has_left), (right, has_right) = self.conjuncts(), self.conjuncts()
            if self._take() != ("end", name):
                raise _Unread
            return left + right, has_left and has_right
        arguments, options = self._rest(kind, name)
        try:
            return [_condition(self._made(kind, name, arguments, options))], True
        except _Unread:
            return [], False

    def _next(self) -> Any:
        """The next part; an exception in place of one that is left to Arrow."""
        kind, name = self._take()
        arguments, options = self._rest(kind, name)
        try:
            return self._made(kind, name, arguments, options)
        except _Unread as unread:
            return unread

    def _rest(self, kind: str, name: str) -> tuple[list[Any], dict[str, Any]]:
        """The arguments and options of a call, read to its end."""
        if kind != "call":
            return [], {}
        found: list[Any] = []
        options: dict[str, Any] = {}
        while (coming := self._parts[self._at]) != ("end", name):
            if coming[0] == "options":
                options = self._constants.column(int(self._take()[1]))[0].as_py()
            else:
                found.append(self._next())
        self._at += 1
        return found, options

    def _made(self, kind: str, name: str, arguments: list[Any], options: dict[str, Any]) -> Part:
        if any(isinstance(argument, _Unread) for argument in arguments):
            raise _Unread
        if kind == "field_ref":
            return self._layout.column(name)
        if kind == "literal":
            return _Constant(self._constants.column(int(name))[0].as_py())
        if kind != "call":
            raise _Unread
        return self._called(name, arguments, options)

    def _called(self, name: str, arguments: list[Any], options: dict[str, Any]) -> Predicate:
        match name, arguments:
            case (("and_kleene" | "or_kleene" | "and" | "or"), [left, right]):
                op = name.partition("_")[0].upper()
                return leaves.node(op, _condition(left), _condition(right))
            case "invert", [argument]:
                return leaves.node("NOT", _condition(argument))
            case "is_null", [Column() as column] if not options.get("nan_is_null"):
                return leaves.is_null(column)
            case "is_valid", [Column() as column]:
                return leaves.node("NOT", leaves.is_null(column))
            case "is_in", [Column() as column]:
                return self._among(column, options)
            case "starts_with", [Column() as column] if not options.get("ignore_case"):
                self._check(column, options["pattern"])
                return leaves.starts_with(column, options["pattern"])
            case _, [Column() as column, _Constant() as constant] if name in _COMPARISONS:
                return self._compared(column, _COMPARISONS[name], constant.value)
            case _, [_Constant() as constant, Column() as column] if name in _COMPARISONS:
                op = _COMPARISONS[name]
                return self._compared(column, leaves.FLIPPED.get(op, op), constant.value)
        raise _Unread

    def _among(self, column: Column, options: dict[str, Any]) -> Predicate:
        """Arrow's `isin` is false for NULL, and true if NULL is among the values."""
        values = options["value_set"]
        if not isinstance(values, list) or None in values:
            raise _Unread
        for value in values:
            self._check(column, value)
        is_there = leaves.node("NOT", leaves.is_null(column))
        return leaves.node("AND", is_there, leaves.among(column, values))

    def _compared(self, column: Column, op: str, value: Any) -> Predicate:
        self._check(column, value)
        return leaves.compared(column, op, value)

    def _check(self, column: Column, value: Any) -> None:
        """Raises _Unread where Arrow compares otherwise, or casts the column first."""
        is_cast = isinstance(value, float) or bool(getattr(value, "nanosecond", 0))
        if is_cast or not is_exact(self._layout, column.name):
            raise _Unread
        try:
            leaves.compared(column, "=", value)
        except TableError as error:
            raise _Unread from error


def _condition(part: Any) -> Predicate:
    if isinstance(part, Column) and leaves.is_boolean(part):
        return leaves.is_true(part)
    if isinstance(part, _Constant) and isinstance(part.value, bool):
        return leaves.node("ALWAYS_TRUE" if part.value else "ALWAYS_FALSE")
    if isinstance(part, Column | _Constant):
        raise _Unread
    found: Predicate = part
    return found
