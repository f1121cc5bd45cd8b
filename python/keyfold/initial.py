"""What rows have in a column that was added after they were stored: Spark's EXISTS default.

A leaf. It is the value the DEFAULT had when the column was added, kept with the column as a literal
of the wire; a later ALTER COLUMN … SET DEFAULT does not change it.
"""

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from keyfold import types
from keyfold.layout import Column

_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIMESTAMP", "TIMESTAMP_LTZ")
_PYTHON: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_WHOLE, int),
    **dict.fromkeys(("FLOAT", "DOUBLE"), float),
    **dict.fromkeys(("BYTES", "BINARY", "VARBINARY"), base64.b64decode),
    "DECIMAL": lambda value: Decimal(str(value)),
}


def initial(column: Column) -> pa.Scalar:
    """The value, NULL if there is none, in the column's type of today, which may be wider."""
    arrow = types.to_arrow(column.type)
    if column.initial is None or not isinstance(column.type, types.Atomic):
        return pa.scalar(None, arrow)
    kind, value = column.type, json.loads(column.initial)["literal"]
    if kind.name == "CHAR":
        value = value.ljust(kind.length or 0)
    value = _PYTHON.get(kind.name, lambda found: found)(value)
    if pa.types.is_date32(arrow):
        return pa.scalar(value, pa.int32()).cast(arrow)
    if pa.types.is_timestamp(arrow):
        return pa.scalar(value, pa.int64()).cast(arrow)
    return pa.scalar(value, arrow)
