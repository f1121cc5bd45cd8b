"""Doris' and StarRocks' types as Spark spells them, and which aggregation takes which."""

from dataclasses import dataclass

from keyfold.dialects.cursor import Cursor
from keyfold.dialects.statement import quoted
from keyfold.errors import NotSupportedError

_WHOLE = {"TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT"}
_REAL = {"FLOAT", "DOUBLE"}
_TIME = {"DATE", "DATETIME", "TIMESTAMPTZ"}
_TEXT = {"CHAR", "VARCHAR", "STRING"}
_STATES = {"BITMAP", "HLL", "QUANTILE_STATE", "PERCENTILE"}
NESTED = {"ARRAY", "MAP", "STRUCT"}
NUMBERS = _WHOLE | _REAL | {"DECIMAL"}
ORDERED = NUMBERS | _TIME | _TEXT
NO_KEY = _REAL | NESTED | _STATES | {"STRING", "VARBINARY"}
# The types an aggregation takes, all where it is not named. Doris: AggregateType.java.
TAKES = {
    "SUM": NUMBERS,
    "MAX": ORDERED,
    "MIN": ORDERED,
    "BITMAP_UNION": {"BITMAP"},
    "HLL_UNION": {"HLL"},
    "QUANTILE_UNION": {"QUANTILE_STATE"},
    "PERCENTILE_UNION": {"PERCENTILE"},
}
AGGREGATIONS = {*TAKES, "REPLACE", "REPLACE_IF_NOT_NULL"}
_SYNONYMS = {
    "INTEGER": "INT",
    "BOOL": "BOOLEAN",
    "TEXT": "STRING",
    "DATEV1": "DATE",
    "DATEV2": "DATE",
    "DATETIMEV1": "DATETIME",
    "DATETIMEV2": "DATETIME",
    "DECIMALV2": "DECIMAL",
    "DECIMALV3": "DECIMAL",
    "DECIMAL32": "DECIMAL",
    "DECIMAL64": "DECIMAL",
    "DECIMAL128": "DECIMAL",
}
_SPARK = {
    "BOOLEAN": "BOOLEAN",
    "LARGEINT": "DECIMAL(38,0)",
    "DATETIME": "TIMESTAMP_NTZ",  # without a zone
    "TIMESTAMPTZ": "TIMESTAMP",
    "STRING": "STRING",
    "VARBINARY": "BINARY",
    "DATE": "DATE",
    **dict.fromkeys(_STATES, "BINARY"),
    **{kind: kind for kind in {*_WHOLE, *_REAL} - {"LARGEINT"}},
}
_MICROS = 6


@dataclass(frozen=True)
class Type:
    """Doris' root name, and the whole type as Spark spells it."""

    root: str
    spark: str


def read(cursor: Cursor) -> Type:
    """One type; NotSupportedError names what has no counterpart."""
    word = cursor.name().upper()
    root = _SYNONYMS.get(word, word)
    if root == "AGG_STATE":
        raise NotSupportedError("type AGG_STATE is not supported")
    if root in NESTED:
        return Type(root, _nested(cursor, root))
    sizes = _sizes(cursor)
    if root == "DECIMAL":
        if not sizes:
            raise NotSupportedError(f"type {word} needs its digits: {word}(precision, scale)")
        return Type(root, f"DECIMAL({sizes[0]},{sizes[1] if len(sizes) > 1 else 0})")
    if root in ("CHAR", "VARCHAR"):
        return Type(root, f"{root}({sizes[0]})" if sizes else _unsized(root))
    if root in ("DATETIME", "TIMESTAMPTZ") and sizes and sizes[0] > _MICROS:
        raise NotSupportedError(f"type {word}({sizes[0]}) is not supported, at most {_MICROS}")
    if root not in _SPARK:
        raise NotSupportedError(f"type {word} is not supported")
    return Type(root, _SPARK[root])


def _unsized(root: str) -> str:
    """CHAR is CHAR(1); VARCHAR is as long as can be."""
    return "CHAR(1)" if root == "CHAR" else "STRING"


def _sizes(cursor: Cursor) -> list[int]:
    if cursor.accept("(", "*", ")") or not cursor.sees("("):
        return []
    return cursor.listed(cursor.whole)


def _nested(cursor: Cursor, root: str) -> str:
    cursor.expect("<")
    item = _field if root == "STRUCT" else _part
    parts = [item(cursor)]
    while cursor.accept(","):
        parts.append(item(cursor))
    cursor.expect(">")
    return f"{root}<{', '.join(parts)}>"


def _part(cursor: Cursor) -> str:
    made = read(cursor).spark
    if not cursor.accept("NOT", "NULL"):
        cursor.accept("NULL")
    return made


def _field(cursor: Cursor) -> str:
    name = cursor.name()
    cursor.expect(":")
    return f"{quoted(name)}: {_part(cursor)}"
