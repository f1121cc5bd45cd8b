"""Incoming batches in the form that the merge takes: all table columns, kinds, and the ordinal if
there is one.

Arrays of Spark, as those of Parquet files, have NULLs in a NOT NULL field wherever the STRUCT
around it is NULL. Arrow's own casts and its Parquet writer take these for errors. Here they become
values, which are invisible below a NULL.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.errors import TableError
from keyfold.merge.kinds import from_text
from keyfold.options import TableOptions
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND, ORDINAL, WriteSpec


def conform(spec: WriteSpec, options: TableOptions, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with every table column in table order and type, `_VALUE_KIND` if the job or the
    table's `rowkind.field` brings it, `_ORDINAL` if the job has one. Raises TableError if a NOT
    NULL column has a NULL.

    Incoming columns are taken by position, as `spec.columns` names them. Those the job does not
    name are NULL, whatever comes in. If it does not name the `rowkind.field`, rows are +I.
    """
    expected = len(spec.columns) + spec.kinds + spec.ordinal
    if batch.num_columns != expected:
        raise TableError(
            f"writing table {spec.layout.name}: expected {expected} columns, "
            f"found {batch.num_columns}"
        )
    named = spec.columns if spec.named is None else spec.named
    place = {name: at for at, name in enumerate(spec.columns) if name in named}
    fields = list(spec.layout.arrow_schema)
    arrays = [column(batch, place.get(field.name), field) for field in fields]
    for array, own in zip(arrays, fields, strict=True):
        check_not_null(spec.layout, own, array)
    if spec.kinds:
        arrays.append(batch.column(len(spec.columns)))
        fields.append(pa.field(KIND, pa.int8(), False))
    elif options.rowkind_field is not None and options.rowkind_field in named:
        texts = arrays[[field.name for field in fields].index(options.rowkind_field)]
        where = f"rowkind.field column {options.rowkind_field}"
        arrays.append(from_text(texts, spec.layout.name, where))
        fields.append(pa.field(KIND, pa.int8(), False))
    if spec.ordinal:
        arrays.append(batch.column(batch.num_columns - 1))
        fields.append(pa.field(ORDINAL, pa.int64(), False))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def column(batch: pa.RecordBatch, place: int | None, field: pa.Field) -> pa.Array:
    """The incoming column at that place in the table's type; NULLs if the place is None."""
    if place is None:
        return pa.nulls(batch.num_rows, field.type)
    found = settled(batch.column(place))
    return found if found.type.equals(field.type) else pc.cast(found, field.type)


def filler(kind: pa.DataType, rows: int) -> pa.Array:
    """Values, without NULLs at any depth that a reader sees, for columns that nobody looks at."""
    return _settled(pa.nulls(rows, kind), False)


def check_not_null(layout: TableLayout, own: pa.Field, array: pa.Array) -> None:
    """Raises TableError if a NOT NULL column has a NULL."""
    if not own.nullable and array.null_count:
        raise TableError(f"Cannot write null to non-null column({own.name}) of table {layout.name}")


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
