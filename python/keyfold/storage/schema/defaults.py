"""DEFAULTs in Paimon's own field of a schema, `defaultValue`.

Paimon's Spark connector takes the text for SQL. Its Java library casts the text, without the quotes
around it, to the column's type, and fills in every NULL when it writes. A DEFAULT is stored there
if both make the same value of it, else only in an option of ours.
"""

import datetime
import re
from collections.abc import Mapping
from typing import Any

from keyfold.types import logical
from keyfold.types import spark as spark_types
from keyfold.types.type_table import TEXTS, Family, of_family
from keyfold.wire.layout import Column

_EPOCH = datetime.datetime(1970, 1, 1)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_TYPES = "BOOLEAN TINYINT SMALLINT INT INTEGER BIGINT FLOAT DOUBLE DECIMAL STRING DATE TIMESTAMP"
# A function may give something else each time: `current_date()`.
_CONSTANT = {*_TYPES.split(), "TIMESTAMP_NTZ", "TRUE", "FALSE", "CAST", "AS"}
_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_NUMBERS = re.compile(rf"\s*(?:array|map)\s*\(\s*(?:{_NUMBER}(?:\s*,\s*{_NUMBER})*)?\s*\)\s*", re.I)
_LIST = re.compile(r"""\s*\[([^\]\[(){}"'\\]*)\]\s*""")  # plain items only
_DIGITS = of_family(Family.INTEGER, Family.FLOATING, Family.DECIMAL, Family.BOOLEAN)


def stored_text(column: Mapping[str, Any], kind: logical.DataType) -> str | None:
    """The text for a DEFAULT of the wire that both read alike, None if there is no such text."""
    sql, value = str(column.get("default")), column.get("default_value")
    if not isinstance(kind, logical.Atomic):
        return sql.strip() if _NUMBERS.fullmatch(sql) else None
    of = kind
    if isinstance(value, Mapping):
        parsed = spark_types.from_spark(value["type"]) if value.get("literal") is not None else kind
        of, value = parsed if isinstance(parsed, logical.Atomic) else kind, value.get("literal")
    words = {word.upper() for word in _WORD.findall(_QUOTED.sub("", sql))}
    if value is None or not words <= _CONSTANT:
        return None
    return _text(value, of, kind)


def _text(value: Any, of: logical.Atomic, kind: logical.Atomic) -> str | None:
    """The text of a constant of the type `of` for a column of `kind`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if of.name in ("DATE", "TIMESTAMP"):
        value = _moment(value, of.name)
    elif of.name not in (*_DIGITS, *TEXTS):
        return None
    # Java takes an instant to be in the zone of its JVM, Spark in that of the session.
    is_same = kind.name in (*_DIGITS, *TEXTS, "DATE", "TIMESTAMP") and value is not None
    if not is_same or not isinstance(value, str):
        return str(value) if is_same else None
    if of.name == "DECIMAL":
        return value
    return None if "'" in value or "\\" in value else f"'{value}'"


def _moment(value: int | str, name: str) -> str | None:
    """The text of a day or a moment; numbers that JSON could round come as text."""
    unit = "days" if name == "DATE" else "microseconds"
    try:
        moment = _EPOCH + datetime.timedelta(**{unit: int(value)})
    except OverflowError:  # a year that Paimon can't parse
        return None
    return str(moment.date() if name == "DATE" else moment)


def as_text(column: Column) -> str:
    """SQL for the value that Java makes of a DEFAULT of Paimon's own field."""
    text, kind = column.default or "", column.type
    if len(text) > 1 and text.startswith("'") and text.endswith("'"):
        text = text[1:-1]
    listed = _LIST.fullmatch(text)
    if isinstance(kind, logical.Array) and listed is not None:
        items = listed[1].split(",") if listed[1].strip() else []
        sql = f"array({', '.join(_cast(item.strip(), kind.element) for item in items)})"
        return f"CAST({sql} AS {logical.describe(kind)})"
    return _cast(text, kind)


def _cast(text: str, kind: logical.DataType) -> str:
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "NULL" if text == "null" else f"CAST({quoted} AS {logical.describe(kind)})"
