"""The changes of a table that rows need: columns and fields that it lacks, and wider types.

Rows of Arrow's types say what they are. Objects of Python, as in dictionaries, say only which
columns there are: any int is a BIGINT to Arrow, so that no type is widened for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import types

from keyfold.errors import NotSupportedError, TableError
from keyfold.options.parsing import parse
from keyfold.tables.rows import optional
from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.rows.frames import of_arrow
from keyfold.types import spark as spark_types
from keyfold.types.arrow import from_arrow
from keyfold.types.logical import Array, Atomic, DataType, Field, Map, Row, holds
from keyfold.wire.layout import TableLayout

Change = dict[str, Any]
Path = tuple[str, ...]


class GivenRows(NamedTuple):
    """Rows that have shown their columns: `typed` if the types are those of the rows."""

    schema: pa.Schema
    rows: Any
    typed: bool = True


def shown(table: str, data: Any) -> GivenRows:
    """The columns of rows, and the rows to write, as a stream of them has been begun. Raises
    TableError if they don't show them before they are read.
    """
    if optional.is_of("pandas", data) and hasattr(data, "columns"):
        return GivenRows(pa.Schema.from_pandas(data, preserve_index=False), data)
    if (reader := of_arrow(data)) is not None:
        return GivenRows(reader.schema, reader)
    if isinstance(data, Iterable) and not isinstance(data, Mapping | str | bytes):
        items = iter(data)
        head = list(itertools.islice(items, 1))
        first = head[0] if head else None
        if isinstance(first, Mapping):
            rows = data if isinstance(data, Sequence) else [first, *items]
            return GivenRows(_of_dictionaries(table, rows), rows, typed=False)
        if first is not None and hasattr(first, "__arrow_c_array__"):
            batch = pa.record_batch(first)
            return GivenRows(batch.schema, itertools.chain((batch,), items))
        return GivenRows(pa.schema([]), itertools.chain(head, items))
    return GivenRows(pa.schema([]), data)


def _of_dictionaries(table: str, rows: Sequence[Any]) -> pa.Schema:
    names = dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row)
    found = []
    for name in names:
        values = [row.get(name) for row in rows if isinstance(row, Mapping)]
        try:
            found.append(pa.field(str(name), pa.array(values).type))
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            found.append(
                pa.field(str(name), pa.null())
            )  # a column that is there takes them, or not
    return pa.schema(found)


def changes(layout: TableLayout, given: GivenRows, leave: Sequence[str] = ()) -> list[Change]:
    """The changes of ALTER TABLE after which the table takes the rows, but for columns to `leave`.
    Columns of keys and sequences have types that stay. Raises TableError if a new column has none.
    """
    fixed = (*layout.primary_key, *layout.partition_keys, *parse(layout).sequence_fields)
    root = Row(tuple(Field(c.id, c.name, c.type) for c in layout.columns))
    fields = [field for field in given.schema if matched(leave, field.name) is None]
    found = _of_fields(layout.name, root, fields, (), given.typed)
    return [one for one in found if one["name"][0] not in fixed]


def _of_fields(
    table: str, into: Row, fields: Sequence[pa.Field], path: Path, typed: bool
) -> Iterator[Change]:
    known = {field.name: field.type for field in into.fields}
    for field in fields:
        name = matched(known, field.name)
        if name is None:
            yield _added(table, (*path, field.name), field.type)
        else:
            yield from _of_type(table, known[name], field.type, (*path, name), typed)


def _of_type(
    table: str, own: DataType, given: pa.DataType, path: Path, typed: bool
) -> Iterator[Change]:
    """The changes at a path, where the table has a type and the rows another."""
    if types.is_dictionary(given) or types.is_run_end_encoded(given):
        given = given.value_type
    match own:
        case Row(is_variant=True):
            return
        case Row() if types.is_struct(given):
            inner = [given.field(place) for place in range(given.num_fields)]
            yield from _of_fields(table, own, inner, path, typed)
        case Array(element) if hasattr(given, "value_type") and not types.is_map(given):
            yield from _of_type(table, element, given.value_type, (*path, "element"), typed)
        case Map(_, value) if types.is_map(given):
            yield from _of_type(table, value, given.item_type, (*path, "value"), typed)
        case Atomic() if typed and (wider := _wider(own, given)) is not None:
            kind = spark_types.to_spark(wider)
            yield {"change": "update_column_type", "name": list(path), "type": kind}


def _wider(own: Atomic, given: pa.DataType) -> DataType | None:
    """The type of the rows, if it has all values of the column's and more."""
    try:
        found = from_arrow(given, own.nullable)
    except NotSupportedError:  # what does not fit is told where it is converted
        return None
    return found if holds(found, own) and not holds(own, found) else None


def _added(table: str, path: Path, kind: pa.DataType) -> Change:
    where = f"evolving table {table}: column {'.'.join(path)}"
    try:
        made = from_arrow(kind)
    except NotSupportedError as error:
        hint = "; add it by alter, with a type" if types.is_null(kind) else ""
        raise TableError(f"{where} can't be added: {error}{hint}") from None
    spark = spark_types.to_spark(made)
    return {"change": "add_column", "name": list(path), "type": spark, "nullable": True}
