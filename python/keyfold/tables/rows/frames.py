"""DataFrames of pandas: read as columns, which are arrays of Arrow or lists of objects, and made.

A frame of rows that is written back changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.tables.rows import optional
from keyfold.tables.rows.conversions.unfit import Given

_NULLABLE = {
    pa.bool_(): "boolean",
    pa.int8(): "Int8",
    pa.int16(): "Int16",
    pa.int32(): "Int32",
    pa.int64(): "Int64",
    pa.float32(): "Float32",
    pa.float64(): "Float64",
}
_WRONG = (pa.ArrowException, OverflowError, ValueError, TypeError)


def of_pandas(frame: Any, is_column: Callable[[str], bool]) -> tuple[list[str], list[Given]]:
    """The names and columns of a DataFrame; levels of its index are columns too where the table has
    columns of their names. What pandas takes for missing is NULL.
    """
    names = [str(name) for name in frame.columns]
    known = {name.lower() for name in names}
    columns = [_column(column) for _, column in frame.items()]
    for level, name in enumerate(frame.index.names):
        if name is not None and str(name).lower() not in known and is_column(str(name)):
            values = frame.index.get_level_values(level).to_series()
            names.insert(level, str(name))
            columns.insert(level, _column(values))
    return names, columns


def _column(column: Any) -> Given:
    is_numpy = isinstance(column.dtype, np.dtype)  # which has NaN for what is missing
    if column.dtype != object:
        try:
            found = pa.array(column if is_numpy else column.array, from_pandas=is_numpy)
        except _WRONG:  # a type that Arrow does not have, such as Sparse
            return _objects(column)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    return _objects(column)


def _objects(column: Any) -> list[Any]:
    missing, values = column.isna().tolist(), column.tolist()
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def to_pandas(rows: pa.Table, pandas: Any, how: Mapping[str, Any]) -> Any:
    """The rows as a DataFrame, without a value that the types of numpy can't keep; `how` is for
    pyarrow's `Table.to_pandas`, whose `types_mapper` decides alone.
    """
    apart = {} if how.get("types_mapper") else _kept_apart(rows, pandas)
    plain = rows.drop_columns(list(apart))
    frame = plain.to_pandas(**{"integer_object_nulls": True, **how})
    for place, name in enumerate(rows.column_names):
        if name in apart:
            frame.insert(place, name, apart[name])
    return frame


def _kept_apart(rows: pa.Table, pandas: Any) -> dict[str, Any]:
    """The columns that pyarrow would change: whole numbers and booleans with NULLs, floating
    numbers with NaN, which would be a NULL, and lists of these with NULLs.
    """
    found: dict[str, Any] = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        kind = column.type
        if kind in _NULLABLE:
            is_floating = types.is_floating(kind)
            if pc.any(pc.is_nan(column)).as_py() if is_floating else column.null_count:
                dtype = pandas.api.types.pandas_dtype(_NULLABLE[kind])
                found[name] = dtype.__from_arrow__(column)
        elif types.is_nested(kind) and any(map(_has_null_number, column.chunks)):
            found[name] = pandas.Series(column.to_pylist(), dtype=object)
    return found


def _has_null_number(array: pa.Array) -> bool:
    """Whether a list of floating numbers at any depth has a NULL, which numpy shows as NaN."""
    kind = array.type
    if types.is_struct(kind):
        return any(map(_has_null_number, array.flatten()))
    if types.is_map(kind):
        return _has_null_number(array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))))
    if types.is_list(kind):
        inner = array.flatten()
        parts = inner.flatten() if types.is_struct(inner.type) else [inner]
        return any(
            part.null_count > 0 if types.is_floating(part.type) else _has_null_number(part)
            for part in parts
        )
    return False


def of_arrow(data: Any) -> pa.RecordBatchReader | None:
    """The rows of anything with Arrow's C interface, lazy frames of Polars included; None for other
    forms. Raises ArrowInvalid if they are one column that is not of structs.
    """
    if optional.is_of("polars", data) and hasattr(data, "collect"):
        data = data.collect()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])
    return None
