"""The value of rows in a column that was added after they were stored: Spark's EXISTS default.

It is the value the DEFAULT had when the column was added, kept with the column as a literal of the
wire. A later ALTER COLUMN … SET DEFAULT does not change it. This module is a leaf.
"""

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.types import spark as spark_types
from keyfold.types.conversion import convert
from keyfold.types.literals import FLOATING, WHOLE, arrow_array, whole_number
from keyfold.types.type_table import BINARIES
from keyfold.wire.layout import Column

_PYTHON: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(FLOATING, float),
    **dict.fromkeys(BINARIES, base64.b64decode),
    "DECIMAL": lambda value: Decimal(str(value)),
}


def initial(column: Column) -> pa.Scalar:
    """The value in the column's type of today, which may be another; NULL if there is no value."""
    if column.initial is None or not isinstance(column.type, logical.Atomic):
        return pa.scalar(None, arrow_types.to_arrow(column.type))
    found = json.loads(column.initial)
    kind = spark_types.from_spark(found["type"])
    assert isinstance(kind, logical.Atomic)
    given = found["literal"]
    if kind.name in WHOLE:
        value = whole_number(given, kind)
    else:
        value = _PYTHON.get(kind.name, lambda one: one)(given)
    return convert(arrow_array([value], kind), kind, column.type)[0]
