"""Flink's types, which Paimon and Fluss share, as Spark spells them."""

from keyfold.dialects.cursor import Cursor
from keyfold.dialects.statement import quoted, text
from keyfold.errors import NotSupportedError

MICROS = 6
_UNLIMITED = 2**31 - 1
_SAME = {"STRING", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE"}
_OTHER = {"INTEGER": "INT", "BYTES": "BINARY"}
_REFUSED = {"MULTISET", "TIME", "INTERVAL", "RAW", "VARIANT", "NULL", "STRUCTURED"}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")


def read(cursor: Cursor) -> str:
    """One type, without a NOT NULL of its own; NotSupportedError names what has no counterpart."""
    word = cursor.name().upper()
    if word in _REFUSED:
        raise NotSupportedError(f"type {word} is not supported")
    made = _named(cursor, word)
    while cursor.accept("ARRAY"):
        made = f"ARRAY<{made}>"
    return made


def _named(cursor: Cursor, word: str) -> str:
    if word in _SAME:
        cursor.accept("PRECISION")
        return word
    if word in _OTHER:
        return _OTHER[word]
    if word in _DECIMALS:
        sizes = _sizes(cursor) or [10]
        return f"DECIMAL({sizes[0]},{sizes[1] if len(sizes) > 1 else 0})"
    if word in ("CHAR", "VARCHAR"):
        size = (_sizes(cursor) or [1])[0]
        return "STRING" if size == _UNLIMITED else f"{word}({size})"
    if word in ("BINARY", "VARBINARY"):
        return _binary(cursor, word)
    if word in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return _timestamp(cursor, word)
    if word in ("ARRAY", "MAP", "ROW"):
        return _nested(cursor, word)
    raise NotSupportedError(f"type {word} is not known")


def _sizes(cursor: Cursor) -> list[int]:
    return cursor.listed(cursor.whole) if cursor.sees("(") else []


def _binary(cursor: Cursor, word: str) -> str:
    """VARBINARY without a length is one byte in Flink, but Paimon's documents keep whole sketches
    in such columns, and Flink lets them.
    """
    sizes = _sizes(cursor)
    if word == "VARBINARY" and sizes in ([], [_UNLIMITED]):
        return "BINARY"
    raise NotSupportedError(f"type {word} of limited length is not supported, use BYTES")


def _timestamp(cursor: Cursor, word: str) -> str:
    """Stored with microseconds whatever fewer digits are asked for."""
    digits = (_sizes(cursor) or [MICROS])[0]
    if digits > MICROS:
        raise NotSupportedError(f"type {word}({digits}) is not supported, at most {word}({MICROS})")
    cursor.accept("WITHOUT", "TIME", "ZONE")
    is_local = cursor.accept("WITH", "LOCAL", "TIME", "ZONE") or word == "TIMESTAMP_LTZ"
    return "TIMESTAMP" if is_local else "TIMESTAMP_NTZ"


def _nested(cursor: Cursor, word: str) -> str:
    closing = ")" if word == "ROW" and cursor.accept("(") else ">"
    if closing == ">":
        cursor.expect("<")
    item = _field if word == "ROW" else _part
    parts = [item(cursor)]
    while cursor.accept(","):
        parts.append(item(cursor))
    cursor.expect(closing)
    return f"{'STRUCT' if word == 'ROW' else word}<{', '.join(parts)}>"


def _part(cursor: Cursor) -> str:
    """An element, key or value: Spark's DDL has no NOT NULL for it."""
    made = read(cursor)
    nullability(cursor)
    return made


def _field(cursor: Cursor) -> str:
    name = cursor.name()
    made = read(cursor)
    is_nullable = nullability(cursor)
    comment = f" COMMENT {text(cursor.text())}" if cursor.next.kind == "text" else ""
    return f"{quoted(name)}: {made}{'' if is_nullable else ' NOT NULL'}{comment}"


def nullability(cursor: Cursor) -> bool:
    """`[NOT] NULL`, nullable where nothing is said."""
    if cursor.accept("NOT", "NULL"):
        return False
    cursor.accept("NULL")
    return True
