"""Ranges of columns by the statistics of a row group, as manifests and predicates hold values.

Only sure facts count. A bound of text may be cut by other writers and is a bound all the same. The
upper bound of floating numbers is unknown (NaN is left out). Bounds of other types are values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.parquet as pq

from keyfold.files.column_mapping import StoredColumn
from keyfold.files.initial_values import initial
from keyfold.files.leaves import Leaf, Leaves
from keyfold.predicates.ranges import ValueRange
from keyfold.types.conversion import keeps_order
from keyfold.types.literals import NAN_TOP, decimal_of, floating, manifest_value
from keyfold.types.logical import Atomic
from keyfold.types.type_table import Bound
from keyfold.wire.specs import KIND

_INSERT, _UPDATE_AFTER = 0, 2
_MICROS = {"milliseconds": (1000, 1), "microseconds": (1, 1), "nanoseconds": (1, 1000)}


def ranges_of(
    group: pq.RowGroupMetaData, leaves: Leaves, columns: Sequence[StoredColumn]
) -> dict[str, ValueRange]:
    """The ranges of a row group's columns that statistics give. If a column was widened, its stored
    values compare as those of the wider type do. If it had any other type, nothing is known.
    """
    found = {}
    for column in columns:
        target, stored = column.target.type, column.stored
        if not isinstance(target, Atomic):
            continue
        if stored is None:
            value = manifest_value(initial(column.target))  # every row's: the file lacks the column
            found[column.target.name] = ValueRange.of_value(target, value)
        if column.name not in leaves or not isinstance(stored, Atomic):
            continue
        if not keeps_order(stored, target):
            continue
        said = _statistics(group, leaves[column.name])
        bounds = _bounds(said, stored)
        if bounds is not None:
            may_hold_null = stored.nullable and (not said.has_null_count or said.null_count > 0)
            found[column.target.name] = ValueRange(target, *bounds, may_hold_null)
    return found


def _statistics(group: pq.RowGroupMetaData, leaf: Leaf) -> Any:
    """The statistics of a column chunk. Raises ValueError if its type is not the schema's: Arrow
    would end the process.
    """
    chunk = group.column(leaf.place)
    if chunk.physical_type != leaf.physical:
        raise ValueError(
            f"a chunk of column {chunk.path_in_schema} is of type {chunk.physical_type}, "
            f"the column of {leaf.physical}"
        )
    return chunk.statistics


def _bounds(said: Any, data_type: Atomic) -> tuple[object, object] | None:
    """The least and greatest value as predicates compare them; None if statistics lack them. They
    leave out NaN, the greatest floating number.
    """
    if said is None or not said.has_min_max:
        return None
    if data_type.facts.bound is Bound.FLOATING:
        return floating(said.min_raw), NAN_TOP
    unit = _unit(said)
    low, high = (_value(raw, data_type, unit) for raw in (said.min_raw, said.max_raw))
    return None if low is None or high is None else (low, high)


def _value(raw: Any, data_type: Atomic, unit: str) -> object:
    """A physical value as manifests hold it; None for the types whose statistics are left alone."""
    match data_type.facts.bound:
        case Bound.TEXT if isinstance(raw, bytes):
            try:
                return raw.decode()
            except UnicodeDecodeError:  # cut within a character by another writer
                return None
        case Bound.SAME:
            return raw
        case Bound.UNSCALED:
            unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
            return decimal_of(unscaled, data_type.scale or 0)
        case Bound.TIME if isinstance(raw, int):
            times, parts = _MICROS.get(unit, (0, 0))
            return raw * times // parts if parts else None  # as the values themselves are cut
    return None


def _unit(said: Any) -> str:
    """The unit of a column of timestamps."""
    logical = said.logical_type
    found = json.loads(logical.to_json()) if logical.type == "TIMESTAMP" else {}
    return str(found.get("timeUnit", ""))


def may_hold_deletes(metadata: pq.FileMetaData, leaves: Leaves, groups: Iterable[int]) -> bool:
    """Whether row groups may hold -U or -D, by the statistics of their row kinds."""
    leaf = leaves.get(KIND)
    return leaf is not None and any(_may_retract(metadata.row_group(at), leaf) for at in groups)


def _may_retract(group: pq.RowGroupMetaData, leaf: Leaf) -> bool:
    said = _statistics(group, leaf)
    if said is None or not said.has_min_max:
        return True
    low, high = said.min_raw, said.max_raw
    return not (high == _INSERT or (low == _UPDATE_AFTER and high == _UPDATE_AFTER))
