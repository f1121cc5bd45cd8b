"""Types of Doris, StarRocks and Flink as Spark spells them, and the types that each of Doris'
aggregations takes.

Paimon and Fluss document their tables with Flink's types.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keyfold.aggregates.states.bound_signatures import parse
from keyfold.dialects.statement import text
from keyfold.dialects.tokens import Cursor
from keyfold.errors import NotSupportedError
from keyfold.wire.layout import quoted

AGG_STATE = "AGG_STATE"
_WHOLE = {"TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT"}
_REAL = {"FLOAT", "DOUBLE"}
_TIME = {"DATE", "DATETIME", "TIMESTAMPTZ"}
_TEXT = {"CHAR", "VARCHAR", "STRING"}
_STATES = {"BITMAP", "HLL", "QUANTILE_STATE", "PERCENTILE", AGG_STATE}
NESTED = {"ARRAY", "MAP", "STRUCT"}
NUMBERS = _WHOLE | _REAL | {"DECIMAL"}
ORDERED = NUMBERS | _TIME | _TEXT
NO_KEY = _REAL | NESTED | _STATES | {"STRING", "VARBINARY"}
# The types an aggregation takes; all if it is not listed. Doris: AggregateType.java.
TAKES = {
    "SUM": NUMBERS,
    "MAX": ORDERED,
    "MIN": ORDERED,
    "BITMAP_UNION": {"BITMAP"},
    "HLL_UNION": {"HLL"},
    "QUANTILE_UNION": {"QUANTILE_STATE"},
    "PERCENTILE_UNION": {"PERCENTILE"},
    "GENERIC": {AGG_STATE},
}
AGGREGATIONS = {*TAKES, "REPLACE", "REPLACE_IF_NOT_NULL"}

_PLAIN = {name: name for name in (*_WHOLE - {"LARGEINT"}, *_REAL, "BOOLEAN", "DATE", "STRING")}
# Types without relevant sizes, in Spark's words.
_DORIS = _PLAIN | dict.fromkeys(_STATES | {"VARBINARY"}, "BINARY")
_DORIS |= {"LARGEINT": "DECIMAL(38,0)", "DATETIME": "TIMESTAMP_NTZ", "TIMESTAMPTZ": "TIMESTAMP"}
_FLINK = _PLAIN | {"BYTES": "BINARY", "VARIANT": "VARIANT"}
_SYNONYMS = {
    **dict.fromkeys(("DATEV1", "DATEV2"), "DATE"),
    **dict.fromkeys(("DATETIMEV1", "DATETIMEV2"), "DATETIME"),
    **dict.fromkeys(("DECIMALV2", "DECIMALV3", "DECIMAL32", "DECIMAL64", "DECIMAL128"), "DECIMAL"),
    "INTEGER": "INT",
    "BOOL": "BOOLEAN",
    "TEXT": "STRING",
}
_FLINK_SYNONYMS = {"INTEGER": "INT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL"}
_FLINK_LACKS = {"MULTISET", "INTERVAL", "RAW", "NULL", "STRUCTURED"}
_MICROS = 6
_UNLIMITED = 2**31 - 1


@dataclass(frozen=True)
class Type:
    """Doris' root name, the whole type as Spark spells it, and what an AGG_STATE is of."""

    root: str
    spark: str
    state: str = ""


def doris(cursor: Cursor) -> Type:
    """One type of Doris; raises NotSupportedError if it has no counterpart."""
    word = cursor.name().upper()
    root = _SYNONYMS.get(word, word)
    if root == AGG_STATE:
        return Type(root, "BINARY", _state(cursor))
    if root in NESTED:
        item = _doris_field if root == "STRUCT" else _doris_part
        return Type(root, _nested(cursor, root, item, "<", ">"))
    sizes = cursor.sizes()
    if root == "DECIMAL":
        if not sizes:
            raise NotSupportedError(f"type {word} needs its digits: {word}(precision, scale)")
        return Type(root, _decimal(sizes))
    if root in ("CHAR", "VARCHAR"):  # CHAR is CHAR(1), VARCHAR has its greatest length
        sizes = sizes or ([1] if root == "CHAR" else [_UNLIMITED])
        return Type(root, _text(root, sizes[0]))
    if root in ("DATETIME", "TIMESTAMPTZ") and sizes and sizes[0] > _MICROS:
        raise NotSupportedError(f"type {word}({sizes[0]}) is not supported, at most {_MICROS}")
    return Type(root, _plain(_DORIS, root, word))


def _state(cursor: Cursor) -> str:
    """The signature of a state: `<sum(int not null)>`; until 2.1.0 without brackets."""
    is_enclosed = cursor.accept("<")
    name = cursor.name()
    arguments = [] if cursor.accept("(", ")") else cursor.listed(lambda: _argument(cursor))
    if is_enclosed:
        cursor.expect(">")
    return parse(f"{name}({', '.join(arguments)})").declared


def _argument(cursor: Cursor) -> str:
    made = doris(cursor).spark
    return made if cursor.is_nullable() else f"{made} NOT NULL"


def _doris_part(cursor: Cursor) -> str:
    made = doris(cursor).spark
    cursor.is_nullable()
    return made


def _doris_field(cursor: Cursor) -> str:
    name = cursor.name()
    cursor.expect(":")
    return f"{quoted(name)}: {_doris_part(cursor)}"


def flink(cursor: Cursor) -> str:
    """One type of Flink, without a NOT NULL of its own. Raises NotSupportedError if it has no
    counterpart.
    """
    word = cursor.name().upper()
    made = _flink(cursor, word, _FLINK_SYNONYMS.get(word, word))
    while cursor.accept("ARRAY"):
        made = f"ARRAY<{made}>"
    return made


def _flink(cursor: Cursor, word: str, root: str) -> str:
    if root in ("ARRAY", "MAP"):
        return _nested(cursor, root, _flink_part, "<", ">")
    if root == "ROW":
        brackets = ("(", ")") if cursor.sees("(") else ("<", ">")
        return _nested(cursor, "STRUCT", _flink_field, *brackets)
    if root == "DOUBLE":
        cursor.accept("PRECISION")
    sizes = cursor.sizes()
    if root == "DECIMAL":
        return _decimal(sizes or [10])
    if root in ("CHAR", "VARCHAR"):  # VARCHAR without a length as VARBINARY without one, below
        return _text(root, (sizes or [1 if root == "CHAR" else _UNLIMITED])[0])
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return _timestamp(cursor, word, (sizes or [_MICROS])[0])
    if root == "TIME":
        cursor.accept("WITHOUT", "TIME", "ZONE")
        return f"TIME({(sizes or [0])[0]})"
    # VARBINARY without a length is one byte in Flink, but Paimon's documents keep whole sketches in
    # such columns, and Flink lets them.
    if root == "VARBINARY" and sizes in ([], [_UNLIMITED]):
        return "BINARY"
    if root in ("BINARY", "VARBINARY"):
        raise NotSupportedError(f"type {word} of limited length is not supported, use BYTES")
    if root not in _FLINK and root not in _FLINK_LACKS:
        raise NotSupportedError(f"type {word} is not known")
    return _plain(_FLINK, root, word)


def _timestamp(cursor: Cursor, word: str, digits: int) -> str:
    """The timestamp type; microseconds are stored even if fewer digits are asked for."""
    if digits > _MICROS:
        raise NotSupportedError(
            f"type {word}({digits}) is not supported, at most {word}({_MICROS})"
        )
    cursor.accept("WITHOUT", "TIME", "ZONE")
    is_local = cursor.accept("WITH", "LOCAL", "TIME", "ZONE") or word == "TIMESTAMP_LTZ"
    return "TIMESTAMP" if is_local else "TIMESTAMP_NTZ"


def _flink_part(cursor: Cursor) -> str:
    """An element, key or value; Spark's DDL has no NOT NULL for these."""
    made = flink(cursor)
    cursor.is_nullable()
    return made


def _flink_field(cursor: Cursor) -> str:
    name, made = cursor.name(), flink(cursor)
    is_nullable = cursor.is_nullable()
    comment = f" COMMENT {text(cursor.text())}" if cursor.next.kind == "text" else ""
    return f"{quoted(name)}: {made}{'' if is_nullable else ' NOT NULL'}{comment}"


def _nested(cursor: Cursor, name: str, item: Callable[[Cursor], str], begin: str, end: str) -> str:
    return f"{name}<{', '.join(cursor.listed(lambda: item(cursor), begin, end))}>"


def _decimal(sizes: list[int]) -> str:
    return f"DECIMAL({sizes[0]},{sizes[1] if len(sizes) > 1 else 0})"


def _text(root: str, size: int) -> str:
    return "STRING" if size == _UNLIMITED else f"{root}({size})"


def _plain(types: Mapping[str, str], root: str, word: str) -> str:
    if root not in types:
        raise NotSupportedError(f"type {word} is not supported")
    return types[root]
