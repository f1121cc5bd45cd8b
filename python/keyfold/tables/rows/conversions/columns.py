"""One column that a program gives, as an array of the table's type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from keyfold.tables.rows.conversions.nested import arrow
from keyfold.tables.rows.conversions.python import python
from keyfold.tables.rows.conversions.unfit import Given, Unfit, first_unfit
from keyfold.types import required
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType


def converted(given: Given, kind: DataType, path: str) -> pa.Array:
    """The values in exactly the type's Arrow type. Raises Unfit if the type does not take one; a
    NULL of the column itself is left to its writer.
    """
    found = python(given, kind, path) if isinstance(given, list) else arrow(given, kind, path)
    return required.fitted(found, to_arrow(kind))


def accepted(
    given: Given, kind: DataType, path: str, refused: Callable[[int, str], Exception]
) -> pa.Array:
    """The values as `converted` gives them. Raises what `refused` makes of the place of the first
    value that the type does not take, and the sentence about it.
    """
    convert = partial(converted, kind=kind, path=path)
    try:
        return convert(given)
    except Unfit:
        row, error = first_unfit(given, convert)
        if error is None:
            raise
        raise refused(row, error.told(converted)) from None
