"""Incoming batches in the form that the merge takes: all table columns, kinds, and the ordinal if
there is one.

Columns that each write sets (`fields.<column>.on-write`) get the time at which the job was planned,
so that a task which runs again writes the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.kernels.buffers import values
from keyfold.merge.kinds import from_text, is_retract
from keyfold.options.auto_cdc import field_in_key
from keyfold.options.declared import TableOptions
from keyfold.types.logical import Atomic, DataType
from keyfold.types.required import fitted, lacking
from keyfold.types.type_table import Family
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND, ORDINAL, WriteSpec


def conform(spec: WriteSpec, options: TableOptions, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with every table column in table order and type, `_VALUE_KIND` if the job or the
    table's `rowkind.field` brings it, `_ORDINAL` if the job has one. Raises TableError if a NOT
    NULL column has a NULL.

    Incoming columns are taken by position, as `spec.columns` names them. Those the job does not
    name are NULL, whatever comes in, as is an auto-increment column beside those that it names. If
    it does not name the `rowkind.field`, rows are +I.
    """
    expected = len(spec.columns) + spec.kinds + spec.ordinal
    if batch.num_columns != expected:
        raise TableError(
            f"writing table {spec.layout.name}: expected {expected} columns, "
            f"found {batch.num_columns}"
        )
    named = spec.columns if spec.named is None else spec.named
    filled = () if spec.named is None else options.id_columns
    named = tuple(name for name in named if name not in filled)
    place = {name: at for at, name in enumerate(spec.columns) if name in named}
    fields = list(spec.layout.arrow_schema)
    arrays = [column(spec.layout, batch, place, field) for field in fields]
    for array, own in zip(arrays, fields, strict=True):
        check_not_null(spec.layout, own, array)
    if spec.kinds:
        arrays.append(batch.column(len(spec.columns)))
        fields.append(pa.field(KIND, pa.int8(), False))
    elif options.rowkind_field is not None and options.rowkind_field in named:
        texts = arrays[[field.name for field in fields].index(options.rowkind_field)]
        where = f"rowkind.field column {options.rowkind_field}"
        arrays.append(from_text(texts, spec.layout.name, where, options.rowkind_map))
        fields.append(pa.field(KIND, pa.int8(), False))
    own = len(spec.layout.columns)
    arrays[:own] = with_times(spec, options, arrays[:own], _taken_back(options, arrays[own:]))
    if spec.ordinal:
        arrays.append(batch.column(batch.num_columns - 1))
        fields.append(pa.field(ORDINAL, pa.int64(), False))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _taken_back(options: TableOptions, kinds: list[pa.Array]) -> npt.NDArray[np.bool_] | None:
    """The rows of a column of kinds, if there is one, that a fold takes back value by value."""
    if not kinds or options.engine.keeps_records:
        return None
    return is_retract(values(kinds[0], np.int8))


def column(
    layout: TableLayout, batch: pa.RecordBatch, places: Mapping[str, int], field: pa.Field
) -> pa.Array:
    """The incoming column of that name in the table's type; NULLs if it has no place, or the field
    of a struct that it repeats. Raises TableError if a NOT NULL field in it has a NULL.
    """
    repeated = field_in_key(layout)
    if field.name in places:
        found = batch.column(places[field.name])
    elif repeated is not None and field.name == repeated[0] and repeated[1] in places:
        found = pc.struct_field(batch.column(places[repeated[1]]), field.name)
    else:
        found = pa.nulls(batch.num_rows, field.type)
    below = lacking(found, field.type)
    if below:
        raise _refused_null(layout, f"{field.name}.{below}")
    return _cut(fitted(found, field.type), layout.column(field.name).type)


def _cut(array: pa.Array, kind: DataType) -> pa.Array:
    """Times of day without the digits that their column lacks, which Spark's casts from text keep.
    Cut only where they are stored, equal keys would be two in the merge.
    """
    if not isinstance(kind, Atomic) or kind.facts.family is not Family.TIME:
        return array
    unit = pa.scalar(10 ** (9 - (kind.length or 0)), pa.int64())
    nanos = array.cast(pa.int64())
    return pc.multiply(pc.divide(nanos, unit), unit).cast(array.type)


def check_not_null(layout: TableLayout, own: pa.Field, array: pa.Array) -> None:
    """Raises TableError if a NOT NULL column has a NULL."""
    if not own.nullable and array.null_count:
        raise _refused_null(layout, own.name)


def _refused_null(layout: TableLayout, name: str) -> TableError:
    return TableError(f"Cannot write null to non-null column({name}) of table {layout.name}")


def time_of_job(options: TableOptions) -> int | None:
    """The time that a job which begins now writes, in microseconds since 1970; None if no column
    has one.
    """
    return time.time_ns() // 1000 if options.on_write else None


def with_times(
    spec: WriteSpec,
    options: TableOptions,
    arrays: Sequence[pa.Array],
    taken_back: npt.NDArray[np.bool_] | None = None,
) -> list[pa.Array]:
    """The arrays of all columns of the table, with the job's time where writes set it. What a row
    `taken_back` has there is NULL, which nothing takes back.
    """
    if spec.time is None:
        return list(arrays)
    return [
        _times(spec.layout, spec.time, field, len(array), taken_back)
        if field.name in options.on_write
        else array
        for field, array in zip(spec.layout.arrow_schema, arrays, strict=True)
    ]


def _times(
    layout: TableLayout,
    micros: int,
    field: pa.Field,
    rows: int,
    taken_back: npt.NDArray[np.bool_] | None,
) -> pa.Array:
    precision = getattr(layout.column(field.name).type, "length", None)
    unit = 10 ** (6 - min(6, 6 if precision is None else precision))
    point = pa.scalar(micros // unit * unit, pa.timestamp("us", "UTC"))
    array = pa.repeat(point, rows).cast(field.type, safe=False)
    if taken_back is None:
        return array
    return pc.if_else(pa.array(taken_back), pa.scalar(None, field.type), array)
