"""One column that a program gives, as an array of the table's type."""

from __future__ import annotations

import pyarrow as pa

from keyfold.tables.rows.conversions.nested import arrow
from keyfold.tables.rows.conversions.python import python
from keyfold.tables.rows.conversions.unfit import Given
from keyfold.types import required
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType


def converted(given: Given, kind: DataType, path: str) -> pa.Array:
    """The values in exactly the type's Arrow type. Raises Unfit if the type does not take one; a
    NULL of the column itself is left to its writer.
    """
    found = python(given, kind, path) if isinstance(given, list) else arrow(given, kind, path)
    return required.fitted(found, to_arrow(kind))
