"""From the columns of a file, written under some schema version, to the columns of the table
today.

Columns and nested fields are matched by field id. A renamed column is found. An added column reads
NULL, or the constant its DEFAULT was then, even if it has the name of a column that was dropped.
A column that was given another type is converted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.errors import CorruptDataError, NotSupportedError
from keyfold.files.initial_values import initial
from keyfold.files.parts import has_clear_paths, paths, read_for
from keyfold.types import arrow as arrow_types
from keyfold.types import conversion, logical
from keyfold.types import paimon as paimon_types
from keyfold.types.literals import manifest_value
from keyfold.types.logical import Array, Atomic, DataType, Map, Row
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.specs import ScanSpec, SchemaColumns, schema_columns

Bounds = tuple[Any, Any, int | None]


@dataclass(frozen=True)
class StoredColumn:
    """The place of a table's column in a file; `stored` is the type that is read, None if the file
    lacks the column. `whole` is the type in the file, if only a part of it is read.
    """

    target: Column
    name: str
    stored: DataType | None
    whole: DataType | None = None

    def paths(self, metadata: pq.FileMetaData) -> list[str]:
        """The columns to read of a file: one by its name, or leaves."""
        if self.whole is None or self.stored is None:
            return [self.name]
        return paths(metadata, self.name, self.whole, self.stored)


def sources(scan: ScanSpec, schema_id: int, names: Sequence[str]) -> tuple[StoredColumn, ...]:
    """The source of each named table column in files of a schema version."""
    targets = [scan.layout.column(name) for name in names]
    if schema_id == scan.layout.schema_id and schema_id not in scan.schemas:
        return tuple(StoredColumn(target, target.name, target.type) for target in targets)
    if schema_id not in scan.schemas:
        raise CorruptDataError(
            f"table {scan.layout.name}: a file has schema id {schema_id}; expected "
            f"{scan.layout.schema_id} or one of {sorted(scan.schemas)}"
        )
    by_id = {found[0]: found for found in scan.schemas[schema_id]}
    return tuple(_source(target, by_id.get(target.id)) for target in targets)


def _source(target: Column, found: tuple[int, str, Any] | None) -> StoredColumn:
    if found is None:
        return StoredColumn(target, target.name, None)
    name, stored = found[1], paimon_types.from_paimon(found[2])
    part = read_for(target.type, stored) if has_clear_paths(name, stored) else stored
    return StoredColumn(target, name, part, None if part == stored else stored)


def stored_columns(layout: TableLayout, stored: TableLayout) -> SchemaColumns:
    """The columns of an older schema. Raises NotSupportedError if a column's values can't be
    converted to its type of today: scans check no more.
    """
    known = {column.id: column.type for column in stored.columns}
    for column in layout.columns:
        try:
            conversion.check(known.get(column.id, column.type), column.type)
        except NotSupportedError as error:
            raise NotSupportedError(
                f"table {layout.name} can't be read here: column {column.name}: {error}"
            ) from None
    return schema_columns(stored)


def bounds(
    layout: TableLayout, stored: TableLayout, stats: Mapping[str, Bounds]
) -> Mapping[str, Bounds]:
    """The least and greatest value and the number of NULLs of today's columns. `stats` are those
    of a file, by the names it was written under. If a conversion changes the order of values, only
    the NULLs are known.
    """
    if stored.schema_id == layout.schema_id:
        return stats
    known = {column.id: column for column in stored.columns}
    found: dict[str, Bounds] = {}
    for column in layout.columns:
        was = known.get(column.id)
        if was is not None and was.name in stats:
            low, high, nulls = stats[was.name]
            is_kept = conversion.keeps_order(was.type, column.type)
            found[column.name] = (low, high, nulls) if is_kept else (None, None, nulls)
        elif was is None and logical.is_atomic(column.type):
            value = manifest_value(initial(column))
            found[column.name] = (value, value, None if value is None else 0)
    return found


def missing(source: StoredColumn, rows: int) -> pa.Array:
    """The column, this many rows of it, for a file that lacks it."""
    if source.target.initial is None:
        return pa.nulls(rows, arrow_types.to_arrow(source.target.type))
    return pa.repeat(initial(source.target), rows)


def adapt(array: pa.Array, stored: DataType, target: DataType) -> pa.Array:
    """A file's array of a `stored` column in the Arrow type of `target`."""
    wanted = arrow_types.to_arrow(target)
    if array.type.equals(wanted) and stored == target:
        return array
    match stored, target:
        case Array(inner), Array(element):
            return _nest(array, wanted, [adapt(array.values, inner, element)])
        case Map(key, value), Map(new_key, new_value):
            entries = [adapt(array.keys, key, new_key), adapt(array.items, value, new_value)]
            inner = pa.StructArray.from_arrays(
                entries, fields=[wanted.key_field, wanted.item_field]
            )
            return _nest(array, wanted, [inner])
        case Row(fields), Row(new_fields):
            return _struct(array, fields, new_fields, wanted)
        case Atomic(), Atomic():
            return conversion.convert(array, stored, target)
    raise conversion.refused(stored, target)


def _nest(array: pa.Array, wanted: pa.DataType, children: list[pa.Array]) -> pa.Array:
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(
        wanted, len(array), buffers, null_count=-1, offset=array.offset, children=children
    )


def _struct(
    array: pa.StructArray,
    stored: tuple[logical.Field, ...],
    target: tuple[logical.Field, ...],
    wanted: pa.StructType,
) -> pa.StructArray:
    position = {field.id: place for place, field in enumerate(stored)}
    children = []
    for place, field in enumerate(target):
        at = position.get(field.id)
        if at is None:
            children.append(pa.nulls(len(array), wanted.field(place).type))
        else:
            children.append(adapt(array.field(at), stored[at].type, field.type))
    fields = [wanted.field(place) for place in range(wanted.num_fields)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
