"""From the columns of a file, written under some schema version, to the columns of the table
today.

Columns and nested fields are matched by field id: what was renamed is found, what was added reads
NULL, or the constant its DEFAULT was then, what was dropped and added again under its old name
reads NULL too, what was widened is cast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold import types
from keyfold.errors import CorruptDataError, NotSupportedError
from keyfold.initial import initial
from keyfold.journey import ScanSpec
from keyfold.layout import Column, TableLayout
from keyfold.read.literals import manifest_value
from keyfold.types import Array, Atomic, DataType, Map, Row

Bounds = tuple[Any, Any, int | None]


@dataclass(frozen=True)
class Source:
    """Where a column of the table comes from in a file; `stored` None = the file has none."""

    target: Column
    name: str
    stored: DataType | None


def sources(scan: ScanSpec, schema_id: int, names: Sequence[str]) -> tuple[Source, ...]:
    """The source of each named table column in files of a schema version."""
    targets = [scan.layout.column(name) for name in names]
    if schema_id == scan.layout.schema_id:
        return tuple(Source(target, target.name, target.type) for target in targets)
    if schema_id not in scan.schemas:
        raise CorruptDataError(
            f"table {scan.layout.name}: a file has schema id {schema_id}; expected "
            f"{scan.layout.schema_id} or one of {sorted(scan.schemas)}"
        )
    by_id = {found[0]: found for found in scan.schemas[schema_id]}
    return tuple(_source(target, by_id.get(target.id)) for target in targets)


def _source(target: Column, found: tuple[int, str, Any] | None) -> Source:
    if found is None:
        return Source(target, target.name, None)
    return Source(target, found[1], types.from_paimon(found[2]))


def bounds(
    layout: TableLayout, stored: TableLayout, stats: Mapping[str, Bounds]
) -> Mapping[str, Bounds]:
    """What statistics of a file, by the names it was written under, say of today's columns: least
    and greatest value, number of NULLs.
    """
    if stored.schema_id == layout.schema_id:
        return stats
    names = {column.id: column.name for column in stored.columns}
    found: dict[str, Bounds] = {}
    for column in layout.columns:
        name = names.get(column.id)
        if name is not None and name in stats:
            found[column.name] = stats[name]
        elif name is None and types.is_atomic(column.type):
            value = manifest_value(initial(column))
            found[column.name] = (value, value, None if value is None else 0)
    return found


def missing(source: Source, rows: int) -> pa.Array:
    """The column in so many rows of a file that lacks it."""
    if source.target.initial is None:
        return pa.nulls(rows, types.to_arrow(source.target.type))
    return pa.repeat(initial(source.target), rows)


def adapt(array: pa.Array, stored: DataType, target: DataType) -> pa.Array:
    """A file's array of a `stored` column in the Arrow type of `target`."""
    wanted = types.to_arrow(target)
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
            return _cast(array, wanted)
    raise NotSupportedError(
        f"a file holds {types.describe(stored)} where the table has {types.describe(target)}"
    )


def _nest(array: pa.Array, wanted: pa.DataType, children: list[pa.Array]) -> pa.Array:
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(
        wanted, len(array), buffers, null_count=-1, offset=array.offset, children=children
    )


def _struct(
    array: pa.StructArray,
    stored: tuple[types.Field, ...],
    target: tuple[types.Field, ...],
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


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if array.type.equals(wanted):
        return array
    try:
        return pc.cast(array, wanted, safe=False)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise NotSupportedError(
            f"a stored {array.type} can't be read as {wanted}: {error}"
        ) from error
