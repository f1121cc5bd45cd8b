"""CSV files: Arrow splits them into texts, which become values column by column.

The first line names the columns. A field of the text that `--null` names, nothing unless given, is
NULL where it stands without quotes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv

from keyfold.errors import TableError
from keyfold.tables.loading.source import LoadedFile, columns_of, kind_of, told
from keyfold.tables.rows.texts.columns import UnreadAt, column_of
from keyfold.types.arrow import to_arrow
from keyfold.wire.layout import TableLayout

_BLOCK = 8 << 20  # bytes that are split at once; a row has to fit
_HEADER = 1 << 20
_BOM = b"\xef\xbb\xbf"


def rows_of(layout: TableLayout, of: LoadedFile) -> Iterator[pa.RecordBatch]:
    """The rows in batches, the first one perhaps empty. Raises TableError if a text is not of its
    type; the message names its line.
    """
    with of.opened() as file:
        given = _header(of, file)
        names = columns_of(layout, of, given, "line 1")
        kinds = [kind_of(layout, of, name) for name in names]
        schema = pa.schema([(name, to_arrow(k)) for name, k in zip(names, kinds, strict=True)])
        yield pa.RecordBatch.from_pylist([], schema)
        before = 0
        for batch in _split(of, file, names):
            yield _Batch(layout, of, names, batch, before).typed(schema)
            before += batch.num_rows


def _header(of: LoadedFile, file: BinaryIO) -> list[str]:
    line = file.readline(_HEADER).removeprefix(_BOM)
    while line.count(b'"') % 2 and (more := file.readline(_HEADER)):
        line += more
    if not line.strip():
        raise of.wrong("", "expected a first line with the names of columns, found none")
    if len(line) >= _HEADER:
        raise of.wrong("line 1", f"expected names of columns, found {len(line)} bytes of them")
    try:
        (names,) = csv.reader([line.decode()])
    except UnicodeDecodeError as error:
        raise of.wrong("line 1", f"expected UTF-8: {error.reason} at byte {error.start}") from None
    except (csv.Error, ValueError) as error:
        raise of.wrong("line 1", f"expected names of columns: {error}") from None
    return [name.strip() for name in names]


def _split(of: LoadedFile, file: BinaryIO, names: list[str]) -> Iterator[pa.RecordBatch]:
    """The fields of the rows as bytes."""
    wrong: list[Any] = []

    def keep(row: Any) -> str:
        wrong.append(row)
        return "error"

    followed, last = _Followed(file), None
    try:
        reader = pyarrow.csv.open_csv(
            followed,
            pyarrow.csv.ReadOptions(column_names=names, block_size=_BLOCK),
            pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=keep),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.binary()),
                null_values=[of.null or ""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        for batch in reader:
            yield batch
            last = batch if batch.num_rows else last
    except OSError as error:
        raise of.unreadable(error) from None
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            return
        raise _broken(of, names, wrong, error) from None
    if last is not None and followed.is_open(last.column(len(names) - 1)[-1].as_py()):
        found = followed.tail[-60:].decode(errors="replace")
        raise of.wrong("", f"the last quote is not closed: {found!r}")


class _Followed:
    """A file as Arrow reads it, and its end: Arrow does not tell if the last quote is open."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.tail = file, b""

    def read(self, size: int) -> bytes:
        """The next bytes."""
        found = self._file.read(size)
        self.tail = (found if len(found) >= _BLOCK else self.tail + found)[-_BLOCK:]
        return found

    def readable(self) -> bool:
        """Always readable, as a file is."""
        return True

    def is_open(self, last: bytes | None) -> bool:
        """Whether the last field begins with a quote and goes on to the end of the file."""
        field = b'"' + (last or b"").replace(b'"', b'""')
        return self.tail.endswith(field) and not self.tail.endswith(field + b'"')


def _broken(of: LoadedFile, names: list[str], wrong: list[Any], error: Exception) -> TableError:
    if not wrong:
        if "straddling" in str(error):
            return of.wrong("", f"a row has more than {_BLOCK} bytes; is a quote not closed?")
        return of.wrong("", f"not a CSV file: {error}")
    row = wrong[0]
    what = (
        f"expected {row.expected_columns} fields ({', '.join(names)}), found {row.actual_columns}: "
        f"{row.text.rstrip()!r:.200}"
    )
    return of.wrong(of.line_of(0, row.expected_columns), what)


class _Batch:
    """Fields of some rows, which become values."""

    def __init__(
        self,
        layout: TableLayout,
        of: LoadedFile,
        names: list[str],
        batch: pa.RecordBatch,
        before: int,
    ) -> None:
        self._layout, self._of, self._names = layout, of, names
        self._batch, self._before = batch, before

    def typed(self, schema: pa.Schema) -> pa.RecordBatch:
        """The values. Raises TableError if a text is not of its type."""
        arrays = [self._typed(place) for place in range(len(self._names))]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _typed(self, place: int) -> pa.Array:
        name, kind = self._names[place], kind_of(self._layout, self._of, self._names[place])
        texts = self._texts(place)
        if texts.null_count and not self._layout.column(name).type.nullable:
            row = texts.is_null().index(True).as_py()
            raise self._wrong(row, f"column {name}: it is NOT NULL, and the field is empty")
        try:
            return column_of(texts, kind)
        except UnreadAt as found:
            raise self._wrong(
                found.place, told(name, found.error, self._key(found.place))
            ) from None

    def _texts(self, place: int) -> pa.Array:
        fields = self._batch.column(place)
        try:
            return fields.cast(pa.utf8())
        except pa.ArrowInvalid:
            row = next(n for n, value in enumerate(fields.to_pylist()) if not _is_text(value))
        what = f"column {self._names[place]}: {fields[row].as_py()!r:.100} is not UTF-8"
        raise self._wrong(row, what)

    def _wrong(self, row: int, what: str) -> TableError:
        where = self._of.line_of(self._before + row + 1, len(self._names))
        return self._of.wrong(where, what)

    def _key(self, row: int) -> str:
        known = {
            name: self._batch.column(self._names.index(name))[row].as_py()
            for name in self._layout.primary_key
            if name in self._names
        }
        return ", ".join(
            f"{name} = {'NULL' if value is None else value.decode(errors='replace')}"
            for name, value in known.items()
        )


def _is_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
