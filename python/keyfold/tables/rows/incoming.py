"""Rows that a user gives, in any of their forms, as batches with columns of the table's types.

The room `conversions` says what each type takes. An error names the row, counted from 1, and its
key.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.tables.rows import optional
from keyfold.tables.rows.conversions.columns import converted
from keyfold.tables.rows.conversions.unfit import Given, Unfit, first_unfit, matched, shown
from keyfold.tables.rows.dictionaries import Dictionaries
from keyfold.tables.rows.frames import of_pandas
from keyfold.types.logical import Atomic, DataType
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND, NAMED

BATCH_ROWS = 1 << 16
_TEXT = Atomic("STRING")
_FORMS = (
    "an Arrow table, batch or stream, anything with Arrow's C interface, a DataFrame, "
    "a list of dictionaries, or an iterator of batches"
)


@dataclass(frozen=True)
class Incoming:
    """Batches of some columns of a table, in the order of `columns`. Among them may be those of
    the system: `_VALUE_KIND`, and `_NAMED` if each row names columns of its own.
    """

    columns: tuple[str, ...]
    batches: Iterator[pa.RecordBatch]

    @property
    def own(self) -> tuple[str, ...]:
        """The columns of the table."""
        return tuple(name for name in self.columns if name not in (KIND, NAMED))

    def select(self, table: str, names: Sequence[str]) -> Incoming:
        """Some columns of the rows, in any letter case. Raises TableError if the rows lack one."""
        found = [matched(self.columns, name) or name for name in names]
        if missing := [name for name in found if name not in self.columns]:
            raise TableError(
                f"writing table {table}: the rows have no column {missing[0]}; they have "
                f"{', '.join(self.own) or 'none'}"
            )
        return Incoming(tuple(found), (batch.select(found) for batch in self.batches))


@dataclass(frozen=True)
class _Part:
    """Some of the rows as they come: each column is an array of Arrow, or a list of values. `named`
    are the names of each row, if they differ.
    """

    names: tuple[str, ...]
    columns: list[Given]
    rows: int
    named: pa.Array | None = None

    @staticmethod
    def of_batch(batch: pa.RecordBatch) -> _Part:
        return _Part(tuple(batch.schema.names), batch.columns, batch.num_rows)

    def pieces(self) -> Iterator[_Part]:
        """Convert rows in small parts."""
        for start in range(0, self.rows, BATCH_ROWS):
            some = [column[start : start + BATCH_ROWS] for column in self.columns]
            named = None if self.named is None else self.named[start : start + BATCH_ROWS]
            yield _Part(self.names, some, min(BATCH_ROWS, self.rows - start), named)


class _Opened(NamedTuple):
    """Rows that a user gives: their columns, their parts, whether rows may name different ones."""

    names: tuple[str, ...]
    parts: Iterator[_Part]
    differ: bool = False


def incoming(layout: TableLayout, data: Any, also: Sequence[str] = ()) -> Incoming:
    """The rows of `data` in the table's types. Its columns are found by name; letter case counts
    only if columns differ in nothing else. Columns of `also`, which are no columns of the table,
    are texts. Raises TableError if a column is unknown or named twice, or a value does not fit its
    column.
    """
    given, parts, differ = _opened(layout, data)
    names = tuple(matched(also, name) or _column(layout, name) for name in given)
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise TableError(f"writing table {layout.name}: column {repeated[0]} comes twice")
    columns = (*names, NAMED) if differ else names
    return Incoming(columns, _conformed(layout, names, given, parts))


def _column(layout: TableLayout, name: str) -> str:
    found = matched((column.name for column in layout.columns), name)
    if found is None:
        raise TableError(
            f"writing table {layout.name}: it has no column {name}; it has "
            f"{', '.join(c.name for c in layout.columns)}"
        )
    return found


def _opened(layout: TableLayout, data: Any) -> _Opened:
    """The names of the columns, and the rows."""
    if optional.is_of("pandas", data) and hasattr(data, "columns"):
        names, columns = of_pandas(data, partial(_is_column, layout))
        return _Opened(tuple(names), iter((_Part(tuple(names), columns, len(data)),)))
    if optional.is_of("polars", data) and hasattr(data, "collect"):
        data = data.collect()
    try:
        if hasattr(data, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(data)
            return _Opened(tuple(reader.schema.names), map(_Part.of_batch, reader))
        if hasattr(data, "__arrow_c_array__"):
            batch = pa.record_batch(data)
            return _Opened(tuple(batch.schema.names), iter((_Part.of_batch(batch),)))
    except pa.ArrowInvalid as error:  # one column, which is not of structs
        raise _refused(layout, f"expected {_FORMS}: {error}") from error
    if isinstance(data, Mapping | str | bytes) or not isinstance(data, Iterable):
        raise _refused(layout, f"expected {_FORMS}, found {type(data).__name__}")
    return _of_items(layout, iter(data))


def _is_column(layout: TableLayout, name: str) -> bool:
    return matched((column.name for column in layout.columns), name) is not None


def _of_items(layout: TableLayout, items: Iterator[Any]) -> _Opened:
    """Batches of the table's types from batches or dictionaries one by one."""
    first = next(items, None)
    if first is None:
        return _Opened((), iter(()))
    every = itertools.chain((first,), items)
    if isinstance(first, Mapping):
        return _of_dictionaries(layout, every)
    opened = _opened(layout, first)
    others = (part for item in items for part in _opened(layout, item).parts)
    return opened._replace(parts=itertools.chain(opened.parts, others))


def _of_dictionaries(layout: TableLayout, items: Iterator[Any]) -> _Opened:
    """Batches of the table's types from dictionaries, with the columns that the first ones name."""
    lists = iter(lambda: list(itertools.islice(items, BATCH_ROWS)), [])
    head, dictionaries = next(lists), Dictionaries(layout)
    names = dictionaries.union(head)
    differ = len(head) == BATCH_ROWS or dictionaries.differ(head)

    def part(rows: list[Any]) -> _Part:
        made = _of_rows(layout, names, [dictionaries.renamed(row) for row in rows])
        return replace(made, named=dictionaries.texts(rows, names)) if differ else made

    return _Opened(names, map(part, itertools.chain((head,), lists)), differ)


def _refused(layout: TableLayout, found: object) -> TableError:
    return TableError(f"writing table {layout.name}: {found}")


def _of_rows(
    layout: TableLayout, names: tuple[str, ...], rows: Sequence[Mapping[str, Any]]
) -> _Part:
    known = set(names)
    for row in rows:
        if not known.issuperset(row):
            raise _refused(
                layout,
                f"expected dictionaries with the names {', '.join(names)}, which the first "
                f"{BATCH_ROWS} have, found {row!r:.200}",
            )
    return _Part(names, [[row.get(name) for row in rows] for name in names], len(rows))


def _conformed(
    layout: TableLayout, names: Sequence[str], given: Sequence[str], parts: Iterator[_Part]
) -> Iterator[pa.RecordBatch]:
    """Small batches in the table's types."""
    kinds = [layout.column(n).type if layout.has_column(n) else _TEXT for n in names]
    before = 0
    for part in parts:
        if part.names != given:
            raise _refused(
                layout,
                f"a batch has columns {', '.join(part.names)}, the first one had "
                f"{', '.join(given)}",
            )
        for piece in part.pieces():
            arrays = [
                _converted(layout, names, kinds, piece, place, before)
                for place in range(len(names))
            ]
            batch = pa.RecordBatch.from_arrays(arrays, names=list(names))
            yield batch if piece.named is None else batch.append_column(NAMED, piece.named)
            before += piece.rows


def _converted(
    layout: TableLayout,
    names: Sequence[str],
    kinds: Sequence[DataType],
    piece: _Part,
    place: int,
    before: int,
) -> pa.Array:
    given, name = piece.columns[place], names[place]
    convert = partial(converted, kind=kinds[place], path=name)
    try:
        return convert(given)
    except Unfit:
        row, error = first_unfit(given, convert)
        if error is None:
            raise
        key = {n: shown(piece.columns[names.index(n)][row]) for n in layout.key if n in names}
        of = ", ".join(f"{n} = {value}" for n, value in key.items())
        where = f"row {before + row + 1}" + (f" ({of})" if of else "")
        raise _refused(layout, f"{where}: {error.told(converted)}") from None
