"""Statistics of a finished data file, from those that the Parquet writer has computed anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files.leaves import Leaves
from keyfold.types.literals import decimal_of
from keyfold.types.type_table import numbers_of


@dataclass(frozen=True)
class MinMax:
    """The least and the greatest value (None = unknown) and the number of nulls of one column."""

    low: Any
    high: Any
    nulls: int
    stored: pa.DataType


def collect(
    metadata: pq.FileMetaData, leaves: Leaves, schema: pa.Schema, names: Sequence[str]
) -> list[MinMax]:
    """The range over all row groups of each named top-level atomic column, as physical values."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return [
        _merge([group.column(leaves[name].place) for group in groups], schema.field(name).type)
        for name in names
    ]


def as_batch(ranges: Sequence[MinMax], fields: Sequence[pa.Field]) -> pa.RecordBatch:
    """Two rows, minima and maxima, in the Arrow types of `fields`; NULL if unknown."""
    columns = [_column(found, field.type) for found, field in zip(ranges, fields, strict=True)]
    nullable = [pa.field(field.name, field.type) for field in fields]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(nullable))


def _merge(chunks: Sequence[pq.ColumnChunkMetaData], stored: pa.DataType) -> MinMax:
    low, high, nulls, is_known = None, None, 0, True
    for chunk in chunks:
        found = chunk.statistics
        chunk_nulls = found.null_count if found is not None and found.has_null_count else 0
        nulls += chunk_nulls
        if found is None or not found.has_min_max:
            is_known = is_known and chunk_nulls == chunk.num_values
            continue
        least, greatest = _comparable(found.min_raw, chunk), _comparable(found.max_raw, chunk)
        low = least if low is None else min(low, least)
        high = greatest if high is None else max(high, greatest)
    return MinMax(*((low, high) if is_known else (None, None)), nulls, stored)


def _comparable(raw: Any, chunk: pq.ColumnChunkMetaData) -> Any:
    is_decimal = chunk.physical_type == "FIXED_LEN_BYTE_ARRAY"
    return int.from_bytes(raw, "big", signed=True) if is_decimal else raw


def _column(found: MinMax, target: pa.DataType) -> pa.Array:
    column = _stored(found)
    return column if found.stored.equals(target) else column.cast(target)


def _stored(found: MinMax) -> pa.Array:
    low, high, data_type = found.low, found.high, found.stored
    if pa.types.is_string(data_type) and low is not None:
        return pa.array([low.decode(), high.decode()], data_type)
    if pa.types.is_decimal(data_type):
        known = [None if one is None else decimal_of(one, data_type.scale) for one in (low, high)]
        return pa.array(known, data_type)
    if pa.types.is_temporal(data_type):
        return pa.array([low, high], numbers_of(data_type)).cast(data_type)
    return pa.array([low, high], data_type)
