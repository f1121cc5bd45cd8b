"""The columns of Doris' CREATE TABLE: type, aggregation, nullability, DEFAULT and COMMENT."""

import re
from dataclasses import dataclass

from keyfold.dialects import dialect_types
from keyfold.dialects.dialect_types import AGG_STATE, AGGREGATIONS, NESTED, NUMBERS, TAKES, Type
from keyfold.dialects.statement import ColumnText, text
from keyfold.dialects.tokens import Cursor, Token
from keyfold.errors import KeyfoldError, NotSupportedError, TableError

_PREFIX = {"DATE": "DATE ", "DATETIME": "TIMESTAMP_NTZ ", "TIMESTAMPTZ": "TIMESTAMP "}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_NO_LITERAL = {*NESTED, "HLL", "QUANTILE_STATE", "PERCENTILE", "VARBINARY", "AGG_STATE"}
_REFUSED = {
    "GENERATED": "GENERATED ALWAYS AS",
    "ON": "ON UPDATE",
}


@dataclass(frozen=True)
class DorisColumn:
    """A column as declared; `default` is a token, whose kind says what it is."""

    name: str
    type: Type
    aggregation: str | None = None
    is_nullable: bool = True
    default: Token | None = None
    comment: str | None = None
    is_marked_key: bool = False
    is_numbered: bool = False  # AUTO_INCREMENT


def read(cursor: Cursor) -> DorisColumn:
    """One column. Raises NotSupportedError if a part of it has no counterpart."""
    name = cursor.name()
    try:
        found = _read(cursor, name)
        _check(found)
    except KeyfoldError as refused:
        raise type(refused)(f"column {name}: {refused}") from None
    return found


def _read(cursor: Cursor, name: str) -> DorisColumn:
    kind = dialect_types.doris(cursor)
    aggregation, default, comment = ("GENERIC" if kind.state else None), None, None
    is_nullable, is_key, is_numbered = True, False, False
    while not (cursor.sees(",") or cursor.sees(")")):
        word = cursor.next.value.upper() if cursor.next.kind == "word" else ""
        if word in AGGREGATIONS:
            aggregation = cursor.take().value.upper()
        elif cursor.accept("NOT", "NULL"):
            is_nullable = False
        elif cursor.accept("KEY"):
            is_key = True
        elif cursor.accept("AUTO_INCREMENT"):
            is_numbered = True
            if cursor.sees("("):
                raise NotSupportedError("AUTO_INCREMENT begins at 1: leave its first number out")
        elif cursor.accept("DEFAULT"):
            default = _default(cursor)
        elif cursor.accept("COMMENT"):
            comment = cursor.text()
        elif word in _REFUSED:
            raise NotSupportedError(f"{_REFUSED[word]} is not supported")
        elif not cursor.accept("NULL"):
            cursor.fail("an aggregation, NULL, DEFAULT or COMMENT")
    is_nullable = is_nullable or is_numbered  # so that an INSERT may leave it out
    return DorisColumn(name, kind, aggregation, is_nullable, default, comment, is_key, is_numbered)


def _default(cursor: Cursor) -> Token:
    """A literal or a function's name; a sign before a number becomes part of it."""
    token = cursor.take()
    if token.is_sign("-"):
        number = cursor.take()
        return Token("number", f"-{number.value}", token.start, token.line)
    if token.kind == "word" and cursor.sees("("):
        cursor.skip_parentheses()
    return token


def _check(column: DorisColumn) -> None:
    """Check Doris' rules for one column, as AggregateType and ColumnDefinition do."""
    kind, root = column.aggregation, column.type.root
    takes = TAKES.get(kind or "", {root} - {AGG_STATE})
    if kind is not None and root not in takes:
        raise TableError(
            f"aggregation {kind} is not compatible with type {root}"
            + (f"; it takes {', '.join(sorted(takes))}" if takes else "; GENERIC is")
        )
    if kind == "REPLACE_IF_NOT_NULL" and not column.is_nullable:
        raise TableError("aggregation REPLACE_IF_NOT_NULL needs a column that may be NULL")
    if column.default is not None and column.default.is_word("NULL") and not column.is_nullable:
        raise TableError("DEFAULT NULL contradicts NOT NULL")


def spark_column(column: DorisColumn) -> ColumnText:
    """The column in Spark's words; raises TableError if its DEFAULT is not a value of the type."""
    kind, default = column.type, column.default
    made = None if default is None else _spark_default(column.name, kind, default)
    return ColumnText(column.name, kind.spark, column.is_nullable, made, column.comment)


def _spark_default(name: str, kind: Type, default: Token) -> str | None:
    if default.is_word("NULL"):
        return "NULL"
    if default.is_word("BITMAP_EMPTY") and kind.root == "BITMAP":
        return None  # a bitmap that is left out adds nothing: NULL does the same
    if default.is_word("CURRENT_TIMESTAMP") and kind.root in _PREFIX:
        return f"CAST(current_timestamp() AS {kind.spark})"
    if default.is_word("CURRENT_DATE") and kind.root == "DATE":
        return "current_date()"
    if kind.root in _NO_LITERAL or kind.root == "BITMAP":
        raise TableError(f"column {name}: type {kind.root} takes no DEFAULT but NULL")
    if kind.root == "BOOLEAN" and default.value.lower() in ("0", "1", "true", "false"):
        return "true" if default.value.lower() in ("1", "true") else "false"
    if kind.root in NUMBERS and _NUMBER.fullmatch(default.value):
        return default.value
    if kind.root in NUMBERS or default.kind == "word":
        raise TableError(
            f"column {name}: DEFAULT {default.value} is not a value of type {kind.root}"
        )
    return _PREFIX.get(kind.root, "") + text(default.value)
