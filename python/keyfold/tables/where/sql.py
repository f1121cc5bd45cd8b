"""A condition in SQL: comparisons of columns with constants, AND, OR, NOT, IN, BETWEEN, IS NULL,
LIKE. Everything else is refused by name.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from keyfold.dialects.tokens import Cursor, SyntaxMismatch, tokens
from keyfold.errors import TableError
from keyfold.tables.where import leaves
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.predicates import Predicate

_SIGNS = ("<=>", "<>", "!=", "<=", ">=", "==", "=", "<", ">")
_SAME = {"!=": "<>", "==": "="}
_CONSTANTS: dict[str, Any] = {"NULL": None, "TRUE": True, "FALSE": False, "NAN": float("nan")}
_WORDS = {"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "LIKE"}


def parse(layout: TableLayout, text: str) -> Predicate:
    """The predicate of a condition. Raises TableError if it is not one, or names no column."""
    reader = _Reader(layout, Cursor(tokens(text, has_escapes=True)))
    try:
        found = reader.disjunction()
        if reader.cursor.next.kind != "end":
            reader.cursor.fail("AND, OR or the end")
    except SyntaxMismatch as error:
        raise TableError(
            f"condition on table {layout.name}: {error} in `{text}`; a condition compares columns "
            "with constants, by =, <>, <, <=, >, >=, <=>, IN, BETWEEN, IS NULL, LIKE, AND, OR, NOT"
        ) from None
    except TableError as error:
        raise TableError(f"condition on table {layout.name}: {error}") from None
    except RecursionError:
        raise too_deep(layout.name) from None
    return found


def too_deep(table: str) -> TableError:
    """The error for a condition that holds others in too many steps."""
    return TableError(
        f"condition on table {table}: NOT and parentheses are nested too deeply; expected some "
        "hundred steps at most"
    )


class _Reader:
    """Reads one condition, from the weakest operator to the strongest."""

    def __init__(self, layout: TableLayout, cursor: Cursor) -> None:
        self._layout = layout
        self.cursor = cursor

    def disjunction(self) -> Predicate:
        """A condition."""
        found = [self._conjunction()]
        while self.cursor.accept("OR"):
            found.append(self._conjunction())
        return found[0] if len(found) == 1 else leaves.node("OR", *found)

    def _conjunction(self) -> Predicate:
        found = [self._negation()]
        while self.cursor.accept("AND"):
            found.append(self._negation())
        return found[0] if len(found) == 1 else leaves.node("AND", *found)

    def _negation(self) -> Predicate:
        if self.cursor.accept("NOT"):
            return leaves.node("NOT", self._negation())
        if self.cursor.accept("("):
            found = self.disjunction()
            self.cursor.expect(")")
            return found
        return self._comparison()

    def _comparison(self) -> Predicate:
        if not self._sees_column():
            value, op = self.constant(), self._sign()
            if op is None:
                return self._truth(value)
            return leaves.compared(self._column(), leaves.FLIPPED.get(op, op), value)
        column = self._column()
        op = self._sign()
        if op is not None:
            return leaves.compared(column, op, self.constant())
        if self.cursor.accept("IS"):
            return self._is(column)
        if self.cursor.accept("NOT"):
            return leaves.node("NOT", self._worded(column) or self.cursor.fail("IN or BETWEEN"))
        found = self._worded(column)
        if found is None and not leaves.is_boolean(column):
            self.cursor.fail(f"a comparison of column {column.name}")
        return found or leaves.is_true(column)

    def _worded(self, column: Column) -> Predicate | None:
        """IN, BETWEEN or LIKE, None if none of them comes."""
        if self.cursor.accept("IN"):
            return leaves.among(column, self.cursor.listed(self.constant))
        if self.cursor.accept("BETWEEN"):
            low = leaves.compared(column, ">=", self.constant())
            self.cursor.expect("AND")
            return leaves.node("AND", low, leaves.compared(column, "<=", self.constant()))
        if self.cursor.accept("LIKE"):
            return leaves.like(column, self.cursor.text())
        return None

    def _is(self, column: Column) -> Predicate:
        is_not = self.cursor.accept("NOT")
        if self.cursor.accept("NULL"):
            found = leaves.is_null(column)
        elif self.cursor.accept("TRUE") or self.cursor.accept("FALSE"):
            self.cursor.at -= 1
            found = leaves.compared(column, "<=>", self.constant())
        else:
            self.cursor.fail("NULL, TRUE or FALSE")
        return leaves.node("NOT", found) if is_not else found

    def _truth(self, value: Any) -> Predicate:
        if not isinstance(value, bool):
            self.cursor.fail("a comparison")
        return leaves.node("ALWAYS_TRUE" if value else "ALWAYS_FALSE")

    def _sign(self) -> str | None:
        """The comparison that comes next, None if none does. Its signs have no blank in between."""
        for sign in _SIGNS:
            start, at = self.cursor.next.start, self.cursor.at
            if self.cursor.accept(*sign):
                if self.cursor.before.start == start + len(sign) - 1:
                    return _SAME.get(sign, sign)
                self.cursor.at = at
        return None

    def _sees_column(self) -> bool:
        token = self.cursor.next
        if token.kind == "name":
            return True
        is_word = token.kind == "word" and token.value.upper() not in {*_CONSTANTS, *_WORDS}
        return is_word and self.cursor.following.kind != "text"  # as of DATE '2026-01-01'

    def _column(self) -> Column:
        name = self.cursor.name()
        if self.cursor.sees("("):
            self.cursor.fail(f"a comparison (the function {name} is not supported here)")
        if self.cursor.sees("."):
            self.cursor.fail(f"a comparison (fields of the column {name} are not supported here)")
        if not self._layout.has_column(name):
            alike = [c for c in self._layout.columns if c.name.lower() == name.lower()]
            if len(alike) == 1:
                return alike[0]
        return self._layout.column(name)

    def constant(self) -> Any:
        """A constant as Python has it."""
        cursor, sign = self.cursor, 1
        while cursor.sees("-") or cursor.sees("+"):
            sign = -sign if cursor.take().value == "-" else sign
        token = cursor.next
        if token.kind == "number" or cursor.accept("."):
            return sign * self._number(is_fraction=token.kind != "number")
        if token.kind == "text":
            return cursor.text()
        if token.kind == "word" and cursor.following.kind == "text":
            return self._typed(cursor.take().value.upper())
        if token.kind == "word" and token.value.upper() in _CONSTANTS:
            return _CONSTANTS[cursor.take().value.upper()]
        return cursor.fail("a constant")

    def _number(self, *, is_fraction: bool) -> Decimal:
        token = self.cursor.next
        if token.kind != "number":
            self.cursor.fail("a number")
        return Decimal(f"{'.' if is_fraction else ''}{self.cursor.take().value}")

    def _typed(self, word: str) -> Any:
        text = self.cursor.next.value
        try:
            if word == "X":
                found: Any = bytes.fromhex(text)
            elif word == "DATE":
                found = datetime.date.fromisoformat(text.strip())
            elif word == "TIME":
                found = datetime.time.fromisoformat(text.strip())
            elif word in ("TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"):
                found = text
            else:
                self.cursor.fail(f"a constant ({word} '…' is not supported here)")
        except ValueError:
            self.cursor.fail(f"a constant of {word}")
        self.cursor.take()
        return found


def constant(text: str) -> Any:
    """The value of a constant in SQL. Raises TableError if the text is not one."""
    reader = _Reader(TableLayout("", "", 0, ()), Cursor(tokens(text, has_escapes=True)))
    try:
        found = reader.constant()
        if reader.cursor.next.kind != "end":
            reader.cursor.fail("the end")
    except SyntaxMismatch as error:
        raise TableError(f"{error} in `{text}`") from None
    return found
