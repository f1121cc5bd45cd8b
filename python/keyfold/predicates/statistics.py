"""What the statistics of a row group say of its columns, as manifests and predicates hold values.

Only what is sure: a bound of text may be cut by other writers and is a bound all the same, of
floating numbers the upper one is unknown (NaN is left out), of other types bounds are values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow.parquet as pq

from keyfold.files.column_mapping import Source
from keyfold.files.initial_values import initial
from keyfold.predicates.ranges import Range
from keyfold.types.conversion import keeps_order
from keyfold.types.literals import FLOATING, NAN_TOP, comparable, floating, manifest_value
from keyfold.types.logical import Atomic

_INSERT, _UPDATE_AFTER = 0, 2
_PHYSICAL = {
    "BOOLEAN",
    "INT32",
    "INT64",
    "INT96",
    "FLOAT",
    "DOUBLE",
    "BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY",
}
_MICROS = {"milliseconds": 1000, "microseconds": 1}


def leaf_positions(metadata: pq.FileMetaData) -> dict[str, int]:
    """Positions of top-level atomic columns; `a.b` is a column of that name, never a field."""
    leaves = enumerate(metadata.schema.column(place) for place in range(len(metadata.schema)))
    return {leaf.path: place for place, leaf in leaves if leaf.path == leaf.name}


def ranges_of(
    group: pq.RowGroupMetaData, leaves: Mapping[str, int], columns: Sequence[Source]
) -> dict[str, Range]:
    """Ranges of the columns of a row group that statistics give. What a column was widened from
    has values that compare as the wider type's do; of other types that it had nothing is known.
    """
    found = {}
    for column in columns:
        target, stored = column.target.type, column.stored
        if not isinstance(target, Atomic):
            continue
        if stored is None:
            found[column.target.name] = _absent(column)
        if column.name not in leaves or not isinstance(stored, Atomic):
            continue
        if not keeps_order(stored, target):
            continue
        chunk = group.column(leaves[column.name])
        bounds = manifest_bounds(chunk, stored) or _floating_bounds(chunk, stored)
        if bounds is not None:
            may_hold_null = stored.nullable and _may_hold_null(chunk)
            found[column.target.name] = Range(target, *bounds, may_hold_null)
    return found


def _absent(column: Source) -> Range:
    """Every row has the same in a column that the file lacks."""
    kind, value = column.target.type, manifest_value(initial(column.target))
    shown = comparable(value, kind)
    return Range(kind, shown, shown, value is None, value is not None)


def _of(chunk: pq.ColumnChunkMetaData) -> Any:
    """Its statistics; ValueError where its type is none: Arrow would end the process."""
    if chunk.physical_type not in _PHYSICAL:
        raise ValueError(f"column {chunk.path_in_schema} has a type that Parquet does not have")
    return chunk.statistics


def _floating_bounds(
    chunk: pq.ColumnChunkMetaData, data_type: Atomic
) -> tuple[object, object] | None:
    """Bounds in the order of predicates; statistics leave NaN, the greatest, out."""
    statistics = _of(chunk)
    if data_type.name not in FLOATING or statistics is None or not statistics.has_min_max:
        return None
    return floating(statistics.min_raw), NAN_TOP


def _may_hold_null(chunk: pq.ColumnChunkMetaData) -> bool:
    statistics = _of(chunk)
    return not statistics.has_null_count or statistics.null_count > 0


def manifest_bounds(
    chunk: pq.ColumnChunkMetaData, data_type: Atomic
) -> tuple[object, object] | None:
    """Least and greatest value as manifests hold them; None where statistics don't say."""
    statistics = _of(chunk)
    if statistics is None or not statistics.has_min_max:
        return None
    unit = _unit(chunk)
    low, high = (_value(raw, data_type, unit) for raw in (statistics.min_raw, statistics.max_raw))
    return None if low is None or high is None else (low, high)


def _value(raw: Any, data_type: Atomic, unit: str) -> object:
    """A physical value as manifests hold it; None for the types whose statistics are left alone."""
    name = data_type.name
    if name in ("STRING", "VARCHAR") and isinstance(raw, bytes):
        try:
            return raw.decode()
        except UnicodeDecodeError:  # cut within a character by another writer
            return None
    if name in ("BYTES", "VARBINARY") and isinstance(raw, bytes):
        return raw
    if name in ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "BOOLEAN"):
        return raw
    if name == "DECIMAL":
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        digits = tuple(map(int, str(abs(unscaled))))
        return Decimal((int(unscaled < 0), digits, -(data_type.scale or 0)))
    if name.startswith("TIMESTAMP") and isinstance(raw, int):
        return raw * _MICROS[unit] if unit in _MICROS else None
    return None


def _unit(chunk: pq.ColumnChunkMetaData) -> str:
    """The unit of a column of timestamps."""
    logical = _of(chunk).logical_type
    found = json.loads(logical.to_json()) if logical.type == "TIMESTAMP" else {}
    return str(found.get("timeUnit", ""))


def may_retract(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether a chunk of `_VALUE_KIND` may hold -U or -D."""
    statistics = _of(chunk)
    if statistics is None or not statistics.has_min_max:
        return True
    low, high = statistics.min_raw, statistics.max_raw
    return not (high == _INSERT or (low == _UPDATE_AFTER and high == _UPDATE_AFTER))
