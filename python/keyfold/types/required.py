"""NOT NULL fields of STRUCTs.

Arrays of Spark, as those of Parquet files, have NULLs in a NOT NULL field wherever the STRUCT
around it is NULL, and so have rows that a merge makes. Arrow's own casts and its Parquet writer
take these for errors. Here they become values, which are invisible below a NULL.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types


def fitted(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array as one of that type, without NULLs in NOT NULL fields of structs at any depth."""
    found = _settled(array, array.type, True) if _has_required(array.type) else array
    if found.type.equals(kind):
        return found
    if not _has_required(kind):
        return pc.cast(found, kind)
    return _settled(pc.cast(found, _without_required(kind)), kind, True)


def lacking(array: pa.Array, kind: pa.DataType) -> str:
    """The path of a NOT NULL field of that type in which a reader would see a NULL, or ''."""
    if not _has_required(kind):
        return ""
    if types.is_struct(kind):
        for field, child in zip(kind.fields, array.flatten(), strict=True):
            if not field.nullable and child.null_count > array.null_count:
                return str(field.name)
            if below := lacking(child, field.type):
                return f"{field.name}.{below}"
        return ""
    if types.is_map(kind):
        start, stop = array.offsets[0].as_py(), array.offsets[-1].as_py()
        keys, items = (of[start:stop] for of in (array.keys, array.items))
        parts = [("key", keys, kind.key_type), ("value", items, kind.item_type)]
    else:
        parts = [("element", array.flatten(), kind.value_type)]
    found = ((name, lacking(child, of)) for name, child, of in parts)
    return next((f"{name}.{below}" for name, below in found if below), "")


def filler(kind: pa.DataType, rows: int) -> pa.Array:
    """Values, without NULLs at any depth that a reader sees, for columns that nobody looks at."""
    return _settled(pa.nulls(rows, kind), kind, False)


def _has_required(kind: pa.DataType) -> bool:
    if types.is_struct(kind):
        return any(not field.nullable or _has_required(field.type) for field in kind.fields)
    if types.is_map(kind):
        return _has_required(kind.key_type) or _has_required(kind.item_type)
    return types.is_list(kind) and _has_required(kind.value_type)


def _without_required(kind: pa.DataType) -> pa.DataType:
    if types.is_struct(kind):
        found = [field.with_type(_without_required(field.type)) for field in kind.fields]
        return pa.struct([field.with_nullable(True) for field in found])
    if types.is_map(kind):
        keys, items = kind.key_field, kind.item_field
        return pa.map_(
            keys.with_type(_without_required(keys.type)),
            items.with_type(_without_required(items.type)),
        )
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_required(kind.value_type)))
    return kind


def _settled(array: pa.Array, kind: pa.DataType, nullable: bool) -> pa.Array:
    """The array as one of that type, which differs from its own in nothing but NOT NULL."""
    if types.is_struct(kind):
        mask = array.is_null() if nullable and array.null_count else None
        parts = [_settled(array.field(n), f.type, f.nullable) for n, f in enumerate(kind.fields)]
        return pa.StructArray.from_arrays(parts, fields=kind.fields, mask=mask)
    buffers, children = array.buffers(), None
    if types.is_list(kind):
        values = _settled(array.values, kind.value_type, kind.value_field.nullable)
        buffers, children = buffers[:2], [values]
    elif types.is_map(kind):
        entries = [
            _settled(array.keys, kind.key_type, False),
            _settled(array.items, kind.item_type, kind.item_field.nullable),
        ]
        fields = [kind.key_field, kind.item_field]
        buffers, children = buffers[:2], [pa.StructArray.from_arrays(entries, fields=fields)]
    if not nullable:
        buffers = [None, *buffers[1:]]
    return pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset, children=children)
