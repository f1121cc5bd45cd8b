"""Arrow arrays of any type as arrays of a column's type, with parts or without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.tables.rows.conversions.atoms import atoms, plain
from keyfold.tables.rows.conversions.unfit import Unfit, matched
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Array, Atomic, DataType, Field, Map, Row, with_nullability
from keyfold.types.type_table import Family

_LISTS = (
    types.is_list,
    types.is_large_list,
    types.is_list_view,
    types.is_large_list_view,
    types.is_fixed_size_list,
)
_ENTRY = ("key", "value")


def arrow(array: pa.Array, kind: DataType, path: str) -> pa.Array:
    """The values in the column's type, whose nested fields may all be NULL. Raises Unfit if it does
    not take one, or a NULL stands where none may be.
    """
    is_free = isinstance(kind, Atomic) and (
        kind.length is None or kind.facts.family not in (Family.TEXT, Family.TIME)
    )
    if is_free and array.type.equals(to_arrow(kind)):
        return array
    array = plain(array)
    if array.null_count == len(array):
        return pa.nulls(len(array), to_arrow(kind))
    match kind:
        case Array():
            return _list(array, kind, path)
        case Map():
            return _map(array, kind, path)
        case Row():
            return _struct(array, kind, path)
        case Atomic():
            return atoms(array, kind, path)


def part(array: pa.Array, kind: DataType, path: str) -> pa.Array:
    """The values of an element, a key, or a field, of which the NULLs are those that a reader sees.
    Raises Unfit if it takes no NULL and there is one.
    """
    if not kind.nullable and array.null_count:
        raise Unfit(path, kind, array.filter(array.is_null())[:1], "it is NOT NULL")
    return arrow(array, kind, path)


def of_lists(
    values: pa.Array, lengths: Sequence[int] | np.ndarray, is_null: pa.Array | None
) -> pa.Array:
    """Lists of these `lengths`, made of the values."""
    return pa.ListArray.from_arrays(
        _offsets(lengths), values, pa.list_(pa.field("element", values.type)), mask=is_null
    )


def of_maps(
    entries: tuple[pa.Array, pa.Array],
    lengths: Sequence[int] | np.ndarray,
    is_null: pa.Array | None,
) -> pa.Array:
    """Maps of these `lengths`, made of the keys and values."""
    keys, values = entries
    kind = pa.map_(pa.field("key", keys.type, False), pa.field("value", values.type))
    return pa.MapArray.from_arrays(_offsets(lengths), keys, values, kind, mask=is_null)


def of_structs(parts: Sequence[pa.Array], fields: Sequence[Field], is_null: pa.Array) -> pa.Array:
    """Structs of these fields, in the table's order."""
    named = [pa.field(f.name, part.type) for f, part in zip(fields, parts, strict=True)]
    return pa.StructArray.from_arrays(list(parts), fields=named, mask=is_null)


def _offsets(lengths: Sequence[int] | np.ndarray) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.array(offsets)


def _list(array: pa.Array, kind: Array, path: str) -> pa.Array:
    if not any(is_of(array.type) for is_of in _LISTS):
        raise Unfit(path, kind, array)
    values, lengths = _flattened(array)
    found = part(values, kind.element, f"{path}.element")
    return of_lists(found, lengths, _nulls(array))


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _flattened(array: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The values of all lists that are not NULL, and how many each has."""
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return array.flatten(), lengths.astype(np.int64)


def _map(array: pa.Array, kind: Map, path: str) -> pa.Array:
    """Maps, or lists of structs of key and value, as which libraries without maps have them."""
    if types.is_map(array.type):
        listed = pa.list_(pa.struct([array.type.key_field, array.type.item_field]))
        array = array.cast(listed)
    if not any(is_of(array.type) for is_of in _LISTS):
        raise Unfit(path, kind, array)
    entries, lengths = _flattened(array)
    if not len(entries):
        none = (pa.nulls(0, to_arrow(kind.key)), pa.nulls(0, to_arrow(kind.value)))
        return of_maps(none, lengths, _nulls(array))
    if not types.is_struct(entries.type):
        raise Unfit(path, kind, array)
    if sorted(field.name.lower() for field in entries.type) != list(_ENTRY):
        raise Unfit(path, kind, array)
    if entries.null_count:
        raise Unfit(path, kind, array)
    by_name = {field.name.lower(): entries.flatten()[n] for n, field in enumerate(entries.type)}
    keys = part(by_name["key"], with_nullability(kind.key, False), f"{path}.key")
    values = part(by_name["value"], kind.value, f"{path}.value")
    if has_repeated(keys, lengths):
        raise Unfit(path, kind, array, "a key comes twice")
    return of_maps((keys, values), lengths, _nulls(array))


def has_repeated(keys: pa.Array, lengths: Sequence[int] | np.ndarray) -> bool:
    """Whether one of the maps, of these `lengths`, has a key twice; -0.0 is 0.0, as in Spark."""
    if np.max(lengths, initial=0) < 2:
        return False
    rows = np.repeat(np.arange(len(lengths)), lengths)
    if types.is_nested(keys.type):
        pairs = zip(rows.tolist(), map(repr, keys.to_pylist()), strict=True)
        return len(set(pairs)) < len(keys)
    if types.is_floating(keys.type):
        keys = pc.add(keys, pa.scalar(0.0, keys.type))
    both = pa.table({"row": rows, "key": keys}).group_by(["row", "key"], use_threads=False)
    return int(both.aggregate([]).num_rows) < len(keys)


def _struct(array: pa.Array, kind: Row, path: str) -> pa.Array:
    if not types.is_struct(array.type):
        raise Unfit(path, kind, array)
    places = placed(kind, [field.name for field in array.type])
    if isinstance(places, str):
        raise Unfit(path, kind, array, places)
    is_null, parts = array.is_null(), []
    visible = array.flatten()  # with the NULLs of the structs
    for field, place in zip(kind.fields, places, strict=True):
        below, where = visible[place], f"{path}.{field.name}"
        if not field.type.nullable and below.null_count > array.null_count:
            wrong = below.filter(pc.and_not(below.is_null(), is_null))[:1]
            raise Unfit(where, field.type, wrong, "it is NOT NULL")
        parts.append(arrow(below, field.type, where))
    return of_structs(parts, kind.fields, is_null)


def placed(kind: Row, names: Sequence[str]) -> list[int] | str:
    """The place of each field of a struct among the names given, or what is wrong with them.
    As in an INSERT of Spark by name, each has to be there.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        field = matched((field.name for field in kind.fields), name)
        if field is None:
            return f"it has no field {name}; it has {', '.join(f.name for f in kind.fields)}"
        if field in places:
            return f"the field {field} comes twice"
        places[field] = place
    if lacking := [field.name for field in kind.fields if field.name not in places]:
        return f"the field {lacking[0]} is missing; give None for NULL"
    return [places[field.name] for field in kind.fields]
