"""Incoming batches in the form the merge takes: all table columns, kinds, and the ordinal if there
is one.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.merge.kinds import from_text
from keyfold.options import TableOptions
from keyfold.wire.specs import KIND, ORDINAL, WriteSpec
from keyfold.write.nested import settled


def conform(spec: WriteSpec, options: TableOptions, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with every table column in table order and type, `_VALUE_KIND` where the table has
    a `rowkind.field`, `_ORDINAL` where the job has one; TableError for NULL in a NOT NULL column.

    Incoming columns are taken by position, as `spec.columns` names them; those the job does not
    name are NULL, whatever comes in. Where it does not name the `rowkind.field`, rows are +I.
    """
    expected = len(spec.columns) + spec.ordinal
    if batch.num_columns != expected:
        raise TableError(
            f"writing table {spec.layout.name}: expected {expected} columns, "
            f"found {batch.num_columns}"
        )
    named = spec.columns if spec.named is None else spec.named
    place = {name: at for at, name in enumerate(spec.columns) if name in named}
    fields = list(spec.layout.arrow_schema)
    arrays = [_column(batch, place.get(field.name), field) for field in fields]
    _check_not_null(spec, arrays, fields)
    if options.rowkind_field is not None and options.rowkind_field in named:
        texts = arrays[[field.name for field in fields].index(options.rowkind_field)]
        arrays.append(from_text(texts, spec.layout.name, options.rowkind_field))
        fields.append(pa.field(KIND, pa.int8(), False))
    if spec.ordinal:
        arrays.append(batch.column(batch.num_columns - 1))
        fields.append(pa.field(ORDINAL, pa.int64(), False))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _column(batch: pa.RecordBatch, place: int | None, field: pa.Field) -> pa.Array:
    if place is None:
        return pa.nulls(batch.num_rows, field.type)
    column = settled(batch.column(place))
    return column if column.type.equals(field.type) else pc.cast(column, field.type)


def _check_not_null(spec: WriteSpec, arrays: list[pa.Array], fields: list[pa.Field]) -> None:
    for array, own in zip(arrays, fields, strict=True):
        if not own.nullable and array.null_count:
            raise TableError(
                f"Cannot write null to non-null column({own.name}) of table {spec.layout.name}"
            )
