"""Rows that a user gives, in any of their forms, as batches with columns of the table's types.

Values are stored as an INSERT of Spark stores them: numbers may become wider or exactly narrower,
dates and times change their unit, and nothing else changes its kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.errors import TableError
from keyfold.tables.rows import optional
from keyfold.tables.rows.values import array_of, of_length, of_pandas
from keyfold.types.logical import describe
from keyfold.wire.layout import TableLayout

BATCH_ROWS = 1 << 16
_FORMS = (
    "an Arrow table, batch or stream, anything with Arrow's C interface, a DataFrame, "
    "a list of dictionaries, or an iterator of batches"
)

_TEXTS = (types.is_string, types.is_large_string, types.is_string_view)
_BYTES = (
    types.is_binary,
    types.is_large_binary,
    types.is_binary_view,
    types.is_fixed_size_binary,
)


@dataclass(frozen=True)
class Incoming:
    """Batches of some columns of a table, in the order of `columns`."""

    columns: tuple[str, ...]
    batches: Iterator[pa.RecordBatch]

    def select(self, table: str, names: Sequence[str]) -> Incoming:
        """Some columns of the rows. Raises TableError if the rows lack one."""
        if missing := [name for name in names if name not in self.columns]:
            raise TableError(
                f"writing table {table}: the rows have no column {missing[0]}; they have "
                f"{', '.join(self.columns) or 'none'}"
            )
        return Incoming(tuple(names), (batch.select(list(names)) for batch in self.batches))


def incoming(layout: TableLayout, data: Any, also: Sequence[str] = ()) -> Incoming:
    """The rows of `data` in the table's types. Its columns are found by name; letter case counts
    only if columns differ in nothing else. Columns of `also` pass as they are. Raises TableError
    if a column is unknown or named twice, or a value does not fit its column.
    """
    schema, found = _opened(layout, data)
    names = tuple(name if name in also else _column(layout, name) for name in schema.names)
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise TableError(f"writing table {layout.name}: column {repeated[0]} comes twice")
    return Incoming(names, _conformed(layout, names, schema, found))


def _column(layout: TableLayout, name: str) -> str:
    if layout.has_column(name):
        return name
    alike = [c.name for c in layout.columns if c.name.lower() == name.lower()]
    if len(alike) != 1:
        raise TableError(
            f"writing table {layout.name}: it has no column {name}; it has "
            f"{', '.join(c.name for c in layout.columns)}"
        )
    return alike[0]


def _opened(layout: TableLayout, data: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema of the rows, and their batches."""
    if optional.is_of("pandas", data) and hasattr(data, "columns"):
        data = of_pandas(data, partial(_kind, layout), partial(_refused, layout))
    elif optional.is_of("polars", data) and hasattr(data, "collect"):
        data = data.collect()
    if isinstance(data, pa.Table):
        return data.schema, iter(data.to_batches(BATCH_ROWS))
    try:
        if hasattr(data, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(data)
            return reader.schema, iter(reader)
        if hasattr(data, "__arrow_c_array__"):
            batch = pa.record_batch(data)
            return batch.schema, iter((batch,))
    except pa.ArrowInvalid as error:  # one column, which is not of structs
        raise _refused(layout, f"expected {_FORMS}: {error}") from error
    if isinstance(data, Mapping | str | bytes) or not isinstance(data, Iterable):
        raise TableError(
            f"writing table {layout.name}: expected {_FORMS}, found {type(data).__name__}"
        )
    return _of_items(layout, iter(data))


def _of_items(
    layout: TableLayout, items: Iterator[Any]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The same for batches or dictionaries one by one."""
    first = next(items, None)
    if first is None:
        return pa.schema([]), iter(())
    every = itertools.chain((first,), items)
    if not isinstance(first, Mapping):
        opened = [_opened(layout, first)]
        others = (batch for item in items for batch in _opened(layout, item)[1])
        schema, batches = opened[0]
        return schema, itertools.chain(batches, others)
    lists = iter(lambda: list(itertools.islice(every, BATCH_ROWS)), [])
    head = next(lists)
    named = list(dict.fromkeys(name for row in head for name in row))
    schema = pa.schema([_field(layout, name) for name in named])
    chained = itertools.chain((head,), lists)
    return schema, (_of_rows(layout, schema, rows) for rows in chained)


def _field(layout: TableLayout, name: str) -> pa.Field:
    """The type of a column of dictionaries: that of the table's column, else text."""
    return pa.field(str(name), _kind(layout, str(name)) or pa.utf8())


def _kind(layout: TableLayout, name: str) -> pa.DataType | None:
    """The type of the column of that name, in any letter case."""
    alike = [c for c in layout.columns if c.name.lower() == name.lower()]
    return alike[0].arrow_field.type if alike else None


def _refused(layout: TableLayout, found: object, of: str = "") -> TableError:
    return TableError(f"writing table {layout.name}: {of}{found}")


def _of_rows(
    layout: TableLayout, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]
) -> pa.RecordBatch:
    known = set(schema.names)
    for row in rows:
        if not isinstance(row, Mapping) or not known.issuperset(row):
            raise TableError(
                f"writing table {layout.name}: expected dictionaries with the names "
                f"{', '.join(schema.names)}, which the first {BATCH_ROWS} have, found {row!r:.200}"
            )
    arrays = []
    for field in schema:
        where = partial(_refused, layout, of=f"column {field.name} is of type {field.type}: ")
        arrays.append(array_of([row.get(field.name) for row in rows], field.type, where))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _conformed(
    layout: TableLayout,
    names: Sequence[str],
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Small batches in the table's types."""
    wanted = [
        layout.column(name).arrow_field.type if layout.has_column(name) else schema.field(at).type
        for at, name in enumerate(names)
    ]
    for name, of, to in zip(names, schema.types, wanted, strict=True):
        if not _is_stored(of, to):
            shown = describe(layout.column(name).type)
            raise TableError(
                f"writing table {layout.name}: column {name} is of type {shown}, which takes no "
                f"values of Arrow type {of}: cast them first"
            )
    for batch in batches:
        if batch.schema.names != schema.names:
            raise TableError(
                f"writing table {layout.name}: a batch has columns {', '.join(batch.schema.names)}"
                f", the first one had {', '.join(schema.names)}"
            )
        for start in range(0, batch.num_rows, BATCH_ROWS):
            part = batch.slice(start, BATCH_ROWS)
            arrays = [
                _cast(layout, name, array, to)
                for name, array, to in zip(names, part.columns, wanted, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _cast(layout: TableLayout, name: str, array: pa.Array, to: pa.DataType) -> pa.Array:
    if not array.type.equals(to):
        array = _converted(layout, name, array, to)
    if not layout.has_column(name):
        return array
    kind = layout.column(name).type
    where = f"a value of column {name} does not fit its type {describe(kind)}: "
    return of_length(array, kind, partial(_refused, layout, of=where))


def _converted(layout: TableLayout, name: str, array: pa.Array, to: pa.DataType) -> pa.Array:
    if types.is_struct(to) or types.is_map(to) or types.is_list(to):
        return array  # as the writer does it
    try:
        return pc.cast(array, to)
    except pa.ArrowException as error:
        raise TableError(
            f"writing table {layout.name}: a value of column {name} does not fit its type "
            f"{describe(layout.column(name).type)}: {error}"
        ) from error


def _is_stored(of: pa.DataType, to: pa.DataType) -> bool:
    """Whether a column takes values of a type."""
    if types.is_dictionary(of) or types.is_run_end_encoded(of):
        return _is_stored(of.value_type, to)
    if of.equals(to) or types.is_null(of):
        return True
    return any(kind(of) and kind(to) for kind in (_is_number, _is_text, _is_bytes, _is_time)) or (
        types.is_nested(of) and types.is_nested(to)
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    return any(is_of(kind) for is_of in _TEXTS)


def _is_bytes(kind: pa.DataType) -> bool:
    return any(is_of(kind) for is_of in _BYTES)


def _is_time(kind: pa.DataType) -> bool:
    return bool(types.is_date(kind) or types.is_timestamp(kind))
