"""Arrow's compute expressions as predicates, as far as they can leave out files.

Arrow shows no parts of an expression, but the form in which it pickles one does: a file of Arrow
with calls, fields and places of constants as metadata, and the constants as rows. Conditions that
are not read here are only applied by Arrow itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class _Constant:
    """A constant of an expression."""

    value: Any


@dataclass(frozen=True)
class _Call:
    """A call of a function with its arguments; or a part of a kind that is not read here."""

    name: str
    arguments: Sequence[Any] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


Part = Column | _Constant | _Call


def conjuncts(layout: TableLayout, expression: pc.Expression) -> tuple[list[Predicate], bool]:
    """Predicates that all rows satisfy for which the expression is true, and whether the converse
    holds too. Raises TableError if a column is unknown.
    """
    try:
        parts, constants = _parts(expression)
        return _conjuncts(layout, _next(layout, parts[::-1], constants))
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


def _next(layout: TableLayout, parts: list[tuple[str, str]], constants: pa.RecordBatch) -> Any:
    """The next of these parts, the last of the list, with all that belongs to it. It is a `Part`,
    the options of a call, or None at the end of one.
    """
    kind, name = parts.pop()
    match kind:
        case "end":
            return None
        case "options":
            return constants.column(int(name))[0].as_py()
        case "field_ref":
            return layout.column(name)
        case "literal":
            return _Constant(constants.column(int(name))[0].as_py())
        case "call":
            found = list(iter(lambda: _next(layout, parts, constants), None))
            options = next((one for one in found if isinstance(one, dict)), {})
            return _Call(name, [one for one in found if not isinstance(one, dict)], options)
    return _Call(kind)


def _conjuncts(layout: TableLayout, part: Part) -> tuple[list[Predicate], bool]:
    """The predicates of a part, whose ANDs are taken apart."""
    match part:
        case _Call("and_kleene" | "and", [left, right]):
            (one, has_one), (other, has_other) = (_conjuncts(layout, p) for p in (left, right))
            return one + other, has_one and has_other
    try:
        return [_condition(layout, part)], True
    except _Unread:
        return [], False


def _condition(layout: TableLayout, part: Part) -> Predicate:
    match part:
        case Column() if leaves.is_boolean(part):
            return leaves.is_true(part)
        case _Constant(bool(value)):
            return leaves.node("ALWAYS_TRUE" if value else "ALWAYS_FALSE")
        case _Call("and_kleene" | "or_kleene" | "and" | "or" as name, [left, right]):
            op = name.partition("_")[0].upper()
            return leaves.node(op, _condition(layout, left), _condition(layout, right))
        case _Call("invert", [inner]):
            return leaves.node("NOT", _condition(layout, inner))
        case _Call("is_null", [Column() as column], options) if not options.get("nan_is_null"):
            return leaves.is_null(column)
        case _Call("is_valid", [Column() as column]):
            return leaves.node("NOT", leaves.is_null(column))
        case _Call("is_in", [Column() as column], options):
            return _among(layout, column, options["value_set"])
        case _Call("starts_with", [Column() as column], options) if not options.get("ignore_case"):
            _check(layout, column, options["pattern"])
            return leaves.starts_with(column, options["pattern"])
        case _Call(name, [Column() as column, _Constant(value)]) if name in _COMPARISONS:
            return _compared(layout, column, _COMPARISONS[name], value)
        case _Call(name, [_Constant(value), Column() as column]) if name in _COMPARISONS:
            op = _COMPARISONS[name]
            return _compared(layout, column, leaves.FLIPPED.get(op, op), value)
    raise _Unread


def _among(layout: TableLayout, column: Column, values: Any) -> Predicate:
    """Arrow's `isin` is false for NULL, and true if NULL is among the values."""
    if not isinstance(values, list) or None in values:
        raise _Unread
    for value in values:
        _check(layout, column, value)
    is_there = leaves.node("NOT", leaves.is_null(column))
    return leaves.node("AND", is_there, leaves.among(column, values))


def _compared(layout: TableLayout, column: Column, op: str, value: Any) -> Predicate:
    _check(layout, column, value)
    return leaves.compared(column, op, value)


def _check(layout: TableLayout, column: Column, value: Any) -> None:
    """Raises _Unread where Arrow compares otherwise, or casts the column first."""
    is_cast = isinstance(value, float) or bool(getattr(value, "nanosecond", 0))
    if is_cast or not is_exact(layout, column.name):
        raise _Unread
    try:
        leaves.compared(column, "=", value)
    except TableError as error:
        raise _Unread from error
