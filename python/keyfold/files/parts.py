"""Parts of nested columns: fields that nobody asks for are not decoded.

A part is a type like the whole, from which fields of structs are left out. The structs are NULL
where they were, so at least one field of each is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq

from keyfold.types.logical import Array, DataType, Field, Map, Row


def named(whole: DataType, asked: Any) -> DataType:
    """The part of a type that a question asks for: an object of fields for a struct, what is asked
    of its elements for an array, two such for a map.
    """
    match whole:
        case Row(fields, is_variant=False):
            kept = [field for field in fields if field.name in asked]
            return replace(
                whole, fields=tuple(_with(f, named(f.type, asked[f.name])) for f in kept)
            )
        case Array(element):
            return replace(whole, element=named(element, asked))
        case Map(key, value):
            return replace(whole, key=named(key, asked[0]), value=named(value, asked[1]))
    return whole


def read_for(target: DataType, stored: DataType) -> DataType:
    """The part of a file's column that is read for a column of a table: the same fields, by id."""
    match stored, target:
        case Row(fields), Row(wanted):
            types = {field.id: field.type for field in wanted}
            kept = [_with(f, read_for(types[f.id], f.type)) for f in fields if f.id in types]
            return replace(stored, fields=tuple(kept) or fields[:1])
        case Array(element), Array(wanted):
            return replace(stored, element=read_for(wanted, element))
        case Map(_, value), Map(_, wanted):
            # The key is whole: Arrow takes a map whose key lacks a field for a list.
            return replace(stored, value=read_for(wanted, value))
    return stored


def paths(metadata: pq.FileMetaData, name: str, whole: DataType, part: DataType) -> list[str]:
    """The leaves of a file's column that make a part of it, in the words of the format."""
    found = (metadata.schema.column(place).path for place in range(len(metadata.schema)))
    leaves = (path for path in found if path.split(".")[0] == name)
    return [path for path, is_kept in zip(leaves, _leaves(whole, part), strict=True) if is_kept]


def has_clear_paths(name: str, kind: DataType) -> bool:
    """Whether no name has a dot, which separates names in the paths of leaves."""
    match kind:
        case Row(fields):
            return "." not in name and all(has_clear_paths(f.name, f.type) for f in fields)
        case Array(element):
            return has_clear_paths(name, element)
        case Map(key, value):
            return has_clear_paths(name, key) and has_clear_paths(name, value)
    return "." not in name


def _leaves(whole: DataType, part: DataType | None) -> Iterator[bool]:
    """Whether each leaf of a type belongs to the part."""
    match whole, part:
        case Row(fields), _:
            kept = {f.id: f.type for f in part.fields} if isinstance(part, Row) else {}
            for field in fields:
                yield from _leaves(field.type, kept.get(field.id))
        case Array(element), _:
            yield from _leaves(element, part.element if isinstance(part, Array) else None)
        case Map(key, value), _:
            yield from _leaves(key, part.key if isinstance(part, Map) else None)
            yield from _leaves(value, part.value if isinstance(part, Map) else None)
        case _:
            yield part is not None


def _with(field: Field, kind: DataType) -> Field:
    return replace(field, type=kind)
