"""DataFrames of pandas as columns: arrays of Arrow, or lists of the objects of Python they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.tables.rows.conversions.unfit import Given

_WRONG = (pa.ArrowException, OverflowError, ValueError, TypeError)


def of_pandas(
    frame: Any, is_column: Callable[[str], bool], refused: Callable[[str], TableError]
) -> tuple[list[str], list[Given]]:
    """The names and columns of a DataFrame; levels of its index are columns too where the table has
    columns of their names. What pandas takes for missing is NULL.
    """
    names = [str(name) for name in frame.columns]
    known = {name.lower() for name in names}
    columns = [_column(name, column, refused) for name, column in frame.items()]
    for level, name in enumerate(frame.index.names):
        if name is not None and str(name).lower() not in known and is_column(str(name)):
            values = frame.index.get_level_values(level).to_series()
            names.insert(level, str(name))
            columns.insert(level, _column(name, values, refused))
    return names, columns


def _column(name: Any, column: Any, refused: Callable[[str], TableError]) -> Given:
    if column.dtype == object:
        missing, values = column.isna().tolist(), column.tolist()
        return [None if gone else value for value, gone in zip(values, missing, strict=True)]
    try:
        found = pa.array(column, from_pandas=True)
    except _WRONG:
        raise refused(
            f"column {name} is of pandas' type {column.dtype}, which Arrow does not have: "
            "convert it first"
        ) from None
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
