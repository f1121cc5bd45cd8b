"""NULLs that Arrow has in a NOT NULL field wherever the STRUCT around it is NULL.

Spark and Parquet files make such arrays; Arrow's own casts and its Parquet writer take them for
errors. Here they become values, which nobody sees below a NULL.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types


def settled(array: pa.Array) -> pa.Array:
    """The same values, without NULLs in NOT NULL fields of structs at any depth."""
    return _settled(array, True) if _has_required(array.type) else array


def _has_required(kind: pa.DataType) -> bool:
    if types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return any(not field.nullable or _has_required(field.type) for field in fields)
    if types.is_map(kind):
        return _has_required(kind.key_type) or _has_required(kind.item_type)
    return types.is_list(kind) and _has_required(kind.value_type)


def _settled(array: pa.Array, nullable: bool) -> pa.Array:
    kind = array.type
    if types.is_struct(kind):
        mask = array.is_null() if nullable and array.null_count else None
        fields = [kind.field(place) for place in range(kind.num_fields)]
        parts = [_settled(array.field(place), f.nullable) for place, f in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    buffers, children = array.buffers(), None
    if types.is_list(kind):
        buffers, children = buffers[:2], [_settled(array.values, kind.value_field.nullable)]
    elif types.is_map(kind):
        entries = [_settled(array.keys, False), _settled(array.items, kind.item_field.nullable)]
        fields = [kind.key_field, kind.item_field]
        buffers, children = buffers[:2], [pa.StructArray.from_arrays(entries, fields=fields)]
    if not nullable:
        buffers = [None, *buffers[1:]]
    return pa.Array.from_buffers(kind, len(array), buffers, offset=array.offset, children=children)
