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
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.tables.rows import optional
from keyfold.tables.rows.conversions.columns import accepted
from keyfold.tables.rows.conversions.unfit import Given, matched, shown
from keyfold.tables.rows.dictionaries import Dictionaries
from keyfold.tables.rows.frames import of_arrow, of_pandas
from keyfold.types.logical import Atomic, DataType
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND, NAMED

BATCH_ROWS = 1 << 16
WRITING = "writing"  # the other calls look keys up, where NULL is a key of no row
_TEXT = Atomic("STRING")
FORMS = (
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


@dataclass(frozen=True)
class _Into:
    """The table that rows are for, and what is done with it."""

    layout: TableLayout
    doing: str

    def refused(self, why: str) -> TableError:
        """The error: rows can't be taken."""
        return TableError(f"{self.doing} table {self.layout.name}: {why}")

    def column(self, name: str) -> str:
        """The column that a name means. Raises TableError if there is none."""
        found = matched((column.name for column in self.layout.columns), name)
        if found is None:
            known = ", ".join(column.name for column in self.layout.columns)
            raise self.refused(f"it has no column {name}; it has {known}")
        return found


def incoming(
    layout: TableLayout, data: Any, also: Sequence[str] = (), doing: str = WRITING
) -> Incoming:
    """The rows of `data` in the table's types. Its columns are found by name; letter case counts
    only if columns differ in nothing else. Columns of `also`, which are no columns of the table,
    are texts. Raises TableError, which begins with `doing`, if a column is unknown or named twice,
    or a value does not fit its column.
    """
    into = _Into(layout, doing)
    given, parts, differ = _opened(into, data)
    names = tuple(matched(also, name) or into.column(name) for name in given)
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise into.refused(f"column {repeated[0]} comes twice")
    columns = (*names, NAMED) if differ else names
    return Incoming(columns, _conformed(into, names, given, parts))


def _opened(into: _Into, data: Any) -> _Opened:
    """The names of the columns, and the rows."""
    if optional.is_of("pandas", data) and hasattr(data, "columns"):
        names, columns = of_pandas(data, partial(_is_column, into.layout))
        return _Opened(tuple(names), iter((_Part(tuple(names), columns, len(data)),)))
    try:
        reader = of_arrow(data)
    except pa.ArrowInvalid as error:  # one column, which is not of structs
        raise into.refused(f"expected {FORMS}: {error}") from error
    if reader is not None:
        return _Opened(tuple(reader.schema.names), map(_Part.of_batch, reader))
    if isinstance(data, Mapping | str | bytes) or not isinstance(data, Iterable):
        raise into.refused(f"expected {FORMS}, found {type(data).__name__}")
    return _of_items(into, iter(data))


def is_unnamed(row: Any) -> bool:
    """Whether an item of rows is a row without names of columns."""
    named = Mapping | pa.RecordBatch | pa.Table
    return isinstance(row, tuple | list) and bool(row) and not isinstance(row[0], named)


def _is_column(layout: TableLayout, name: str) -> bool:
    return matched((column.name for column in layout.columns), name) is not None


def _of_items(into: _Into, items: Iterator[Any]) -> _Opened:
    """Batches of the table's types from batches or dictionaries one by one."""
    head = list(itertools.islice(items, 1))
    if not head:
        return _Opened((), iter(()))
    (first,) = head
    if is_unnamed(first):
        raise into.refused(f"expected {FORMS}, found one of {type(first).__name__}")
    every = itertools.chain(head, items)
    if isinstance(first, Mapping):
        return _of_dictionaries(into, every)
    opened = _opened(into, first)
    others = (part for item in items for part in _opened(into, item).parts)
    return opened._replace(parts=itertools.chain(opened.parts, others))


def _of_dictionaries(into: _Into, items: Iterator[Any]) -> _Opened:
    """Batches of the table's types from dictionaries, with the columns that the first ones name."""
    lists = iter(lambda: list(itertools.islice(items, BATCH_ROWS)), [])
    head, dictionaries = next(lists), Dictionaries(into.layout, into.refused)
    names = dictionaries.union(head)
    differ = len(head) == BATCH_ROWS or dictionaries.differ(head)

    def part(rows: list[Any], before: int) -> _Part:
        made = [dictionaries.renamed(row) for row in rows]
        _check_names(into, names, made, before)
        columns: list[Given] = [[row.get(name) for row in made] for name in names]
        named = dictionaries.texts(rows, names) if differ else None
        return _Part(names, columns, len(rows), named)

    starts = itertools.count(0, BATCH_ROWS)
    return _Opened(names, map(part, itertools.chain((head,), lists), starts), differ)


def _check_names(
    into: _Into, names: Sequence[str], rows: Sequence[Mapping[str, Any]], before: int
) -> None:
    known = set(names)
    for place, row in enumerate(rows):
        if not known.issuperset(row):
            new = into.column(next(name for name in row if name not in known))
            raise into.refused(
                f"row {before + place + 1} names column {new}, which none of the first "
                f"{BATCH_ROWS} rows names: put such a row among these, or write these rows apart"
            )


def _conformed(
    into: _Into, names: Sequence[str], given: Sequence[str], parts: Iterator[_Part]
) -> Iterator[pa.RecordBatch]:
    """Small batches in the table's types."""
    layout = into.layout
    kinds = [layout.column(n).type if layout.has_column(n) else _TEXT for n in names]
    before = 0
    for part in parts:
        for piece in _ordered(into, part, given).pieces():
            arrays = [
                _converted(into, names, kinds, piece, place, before) for place in range(len(names))
            ]
            if into.doing == WRITING:
                _check_key(into, names, arrays, piece, before)
            batch = pa.RecordBatch.from_arrays(arrays, names=list(names))
            yield batch if piece.named is None else batch.append_column(NAMED, piece.named)
            before += piece.rows


def _ordered(into: _Into, part: _Part, names: Sequence[str]) -> _Part:
    """The columns in the order of the first part's, as they are found by name."""
    if part.names == names:
        return part
    if sorted(part.names) != sorted(names):
        raise into.refused(
            f"a batch has columns {', '.join(part.names)}, the first one had {', '.join(names)}"
        )
    columns = [part.columns[part.names.index(name)] for name in names]
    return replace(part, names=tuple(names), columns=columns)


def _converted(
    into: _Into,
    names: Sequence[str],
    kinds: Sequence[DataType],
    piece: _Part,
    place: int,
    before: int,
) -> pa.Array:
    def refused(row: int, why: str) -> TableError:
        return into.refused(f"{_where(into, names, piece, row, before)}: {why}")

    return accepted(piece.columns[place], kinds[place], names[place], refused)


def _check_key(
    into: _Into, names: Sequence[str], arrays: Sequence[pa.Array], piece: _Part, before: int
) -> None:
    """Raises TableError if a column of the key that is NOT NULL has a NULL. Rows may lack one that
    has a DEFAULT.
    """
    for name, array in zip(names, arrays, strict=True):
        if not array.null_count or name not in into.layout.primary_key:
            continue
        column = into.layout.column(name)
        if not column.type.nullable and (piece.named is None or column.default is None):
            row = pc.index(array.is_null(), True).as_py()
            where = _where(into, names, piece, row, before)
            raise into.refused(f"{where}: column {name} of the primary key does not take NULL")


def _where(into: _Into, names: Sequence[str], piece: _Part, row: int, before: int) -> str:
    """A row by its number and its key, as far as it is given."""
    of = ", ".join(
        f"{name} = {shown(piece.columns[names.index(name)][row])}"
        for name in into.layout.key
        if name in names
    )
    return f"row {before + row + 1}" + (f" ({of})" if of else "")
