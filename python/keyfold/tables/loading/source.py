"""A file that a command names, or standard input: what it is, and how errors name its places."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path

from keyfold.errors import TableError
from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.rows.texts.atoms import Unread
from keyfold.types.logical import DataType
from keyfold.wire.layout import TableLayout

STDIN = "-"
FORMATS = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
TEXTS = ("csv", "json")


@dataclass(frozen=True)
class LoadedFile:
    """A file, and what is said about it: `types` are those of columns whose texts are not read as
    the table's types.
    """

    path: str
    format: str
    types: Mapping[str, DataType] = field(default_factory=dict)
    null: str | None = None

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return "standard input" if self.path == STDIN else self.path

    @contextmanager
    def opened(self) -> Iterator[BufferedReader]:
        """Its bytes. Raises TableError if it can't be read."""
        if self.path == STDIN:
            yield BufferedReader(sys.stdin.buffer)  # type: ignore[arg-type]
            return
        with ExitStack() as stack:
            try:
                file = stack.enter_context(Path(self.path).open("rb"))
            except (OSError, ValueError) as error:  # no file has such a name
                raise self.unreadable(error) from None
            yield file

    def unreadable(self, error: Exception) -> TableError:
        """The error of a file that the system does not let read."""
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        return TableError(f"{self.shown} can't be read: {why}")

    def wrong(self, where: str, what: object) -> TableError:
        """The error about a place of the file."""
        return TableError(f"{self.shown}, {where}: {what}" if where else f"{self.shown}: {what}")

    def line_of(self, row: int, columns: int) -> str:
        """The line of a row of a CSV file, counted from 1 without the header; below 1, that of the
        first row that has another number of `columns`. The file is read again, if it can be.
        """
        plain = f"row {row}" if row > 0 else ""
        if self.path == STDIN or not Path(self.path).is_file():
            return plain
        with Path(self.path).open(encoding="utf-8", errors="replace", newline="") as file:
            reader, rows, before = csv.reader(file), -1, 0
            try:
                for found in reader:
                    rows += bool(found)
                    if found and rows > 0 and (rows == row or (row < 1 and len(found) != columns)):
                        return f"line {before + 1}"
                    before = reader.line_num
            except csv.Error:  # as a field is longer than Python's module takes
                return plain
        return plain


def source(
    layout: TableLayout,
    path: str,
    format: str | None,
    types: Mapping[str, DataType],
    null: str | None,
) -> LoadedFile:
    """The file of a command. Raises TableError if its format is unknown, or has no such options."""
    kind = FORMATS.get(Path(path).suffix.lower()) if format is None else format
    if kind is None:
        raise TableError(
            f"{LoadedFile(path, '').shown}: expected a name that ends in {', '.join(FORMATS)}, or "
            f"--format {'|'.join(dict.fromkeys(FORMATS.values()))}"
        )
    if types and kind not in TEXTS:
        raise TableError(f"{path}: --types is for csv and json; the columns of {kind} have types")
    if null is not None and kind != "csv":
        raise TableError(f"{path}: --null is for csv; NULL is written otherwise in {kind}")
    found = {column_of(layout, name, "--types"): kind for name, kind in types.items()}
    return LoadedFile(path, kind, found, null)


def column_of(layout: TableLayout, name: str, where: str) -> str:
    """The column of that name, in any letter case unless two differ in it only. Raises TableError
    if there is none.
    """
    names = [column.name for column in layout.columns]
    found = matched(names, name)
    if found is None:
        raise TableError(
            f"{where}: table {layout.name} has no column {name!r}; it has {', '.join(names)}"
        )
    return found


def columns_of(layout: TableLayout, of: LoadedFile, names: Sequence[str], where: str) -> list[str]:
    """The columns of a header. Raises TableError if one is unknown or comes twice."""
    place = f"{of.shown}, {where}"
    found = [column_of(layout, name, place) for name in names]
    if twice := [name for at, name in enumerate(found) if name in found[:at]]:
        raise TableError(f"{place}: column {twice[0]} comes twice")
    return found


def kind_of(layout: TableLayout, of: LoadedFile, column: str) -> DataType:
    """The type as which the values of a column are read."""
    found = of.types.get(column)
    return layout.column(column).type if found is None else found


def told(column: str, error: Unread, key: str) -> str:
    """The sentence about a value that is not of its type."""
    return f"column {column}{error.path}: {error}" + (f" (key {key})" if key else "")
