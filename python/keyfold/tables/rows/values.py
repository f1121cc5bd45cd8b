"""Values of Python and of pandas as arrays of a column's type, without a change of any value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.types.logical import Atomic, DataType

Refused = Callable[[object], TableError]
_WRONG = (pa.ArrowException, OverflowError, ValueError, TypeError)


def array_of(values: Sequence[Any], kind: pa.DataType, refused: Refused) -> pa.Array:
    """The values as an array. Raises what `refused` makes of the reason if one does not fit."""
    if pa.types.is_integer(kind):  # Arrow would cut the fraction off
        floats = (v for v in values if isinstance(v, float | np.floating) and not v.is_integer())
        if (wrong := next(floats, None)) is not None:
            raise refused(f"{wrong!r} is not a whole number")
    try:
        return pa.array(values, kind)
    except _WRONG as error:
        raise refused(error) from error


def of_pandas(frame: Any, kinds: Callable[[str], pa.DataType | None], refused: Refused) -> pa.Table:
    """The columns of a DataFrame. Columns of objects get the type that `kinds` knows for them."""
    arrays = []
    for name, column in frame.items():
        kind = kinds(str(name)) if column.dtype == object else None
        try:
            arrays.append(pa.array(column, kind, from_pandas=True))
        except _WRONG as error:
            raise refused(f"column {name}: {error}") from error
    return pa.table(arrays, [str(name) for name in frame.columns])


def of_length(column: pa.Array, kind: DataType, refused: Refused) -> pa.Array:
    """Texts of a CHAR or VARCHAR as Spark stores them: spaces beyond the length are left out, and a
    CHAR is filled up with spaces. Raises what `refused` makes of the reason if one is too long.
    """
    if not isinstance(kind, Atomic) or kind.name not in ("CHAR", "VARCHAR") or not kind.length:
        return column
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    if longest > kind.length:
        trimmed = pc.utf8_rtrim(column, " ")
        if (pc.max(pc.utf8_length(trimmed)).as_py() or 0) > kind.length:
            raise refused(f"a text has {longest} characters")
        column = pc.utf8_slice_codeunits(column, 0, kind.length)
    return pc.utf8_rpad(column, kind.length) if kind.name == "CHAR" else column
