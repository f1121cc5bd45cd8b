"""JSON: an object on each line, or one array of objects. They become dictionaries, so rows may name
different columns.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from keyfold.errors import TableError
from keyfold.tables.loading.source import LoadedFile, column_of, kind_of, told
from keyfold.tables.rows.texts.atoms import Unread
from keyfold.tables.rows.texts.nested import BrokenJson, decoded, of_json, parsed
from keyfold.types.logical import DataType
from keyfold.wire.layout import TableLayout

_BLOCK = 1 << 20
_LONGEST = 64 << 20  # characters of one object of an array
_BOM = b"\xef\xbb\xbf"
_BLANK = " \t\r\n"
_EXPECTED = "expected an object of JSON on each line, or one array of objects"


def rows_of(layout: TableLayout, of: LoadedFile) -> Iterator[dict[str, Any]]:
    """The rows. Raises TableError if a value is not of its type; the message names its line."""
    columns: dict[str, tuple[str, DataType]] = {}
    for line, row in _objects(of):
        if not isinstance(row, dict):
            raise of.wrong(
                f"line {line}", f"{_EXPECTED}, found {json.dumps(row, default=str):.100}"
            )
        values = {}
        for name, value in row.items():
            if name not in columns:
                column = column_of(layout, name, f"{of.shown}, line {line}")
                columns[name] = column, kind_of(layout, of, column)
            column, kind = columns[name]
            if column in values:
                raise of.wrong(f"line {line}", f"column {column} comes twice")
            try:
                values[column] = of_json(value, kind)
            except Unread as error:
                key = ", ".join(f"{n} = {row[n]}" for n in layout.primary_key if n in row)
                raise of.wrong(f"line {line}", told(column, error, key)) from None
            if value is None and not layout.column(column).type.nullable:
                raise of.wrong(f"line {line}", f"column {column}: it is NOT NULL, found null")
        yield values


def _objects(of: LoadedFile) -> Iterator[tuple[int, Any]]:
    """The objects, each with its line."""
    with of.opened() as file:
        number, is_first = 0, True
        try:
            while line := file.readline(_BLOCK):
                number += 1
                line = line.removeprefix(_BOM) if number == 1 else line
                if is_first and line.lstrip().startswith(b"["):
                    yield from _Array(of, file, line, number).objects()
                    return
                line += _rest(of, file, line, number)
                if line.strip():
                    yield number, _parsed(of, line, number)
                    is_first = False
        except OSError as error:
            raise of.unreadable(error) from None


def _rest(of: LoadedFile, file: BinaryIO, line: bytes, number: int) -> bytes:
    """The rest of a line that is longer than a block."""
    pieces, size = [], len(line)
    while not line.endswith(b"\n") and (line := file.readline(_BLOCK)):
        pieces.append(line)
        size += len(line)
        if size > _LONGEST:
            raise of.wrong(f"line {number}", f"it has more than {_LONGEST} bytes")
    return b"".join(pieces)


def _parsed(of: LoadedFile, line: bytes, number: int) -> Any:
    try:
        return parsed(line.decode())
    except UnicodeDecodeError as error:
        what = f"expected UTF-8: {error.reason} at byte {error.start + 1} of the line"
        raise of.wrong(f"line {number}", what) from None
    except BrokenJson as error:
        found = f"{line.decode().strip()!r:.100}"
        raise of.wrong(f"line {number}", f"{_EXPECTED}, found {found}: {error}") from None


class _Array:
    """One array of objects, of which few are in memory at a time."""

    def __init__(self, of: LoadedFile, file: BinaryIO, first: bytes, line: int) -> None:
        self._of, self._file = of, file
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._text, self._at, self._line = "", 0, line
        self._add(first)

    def objects(self) -> Iterator[tuple[int, Any]]:
        """The objects, each with its line. Raises TableError if the array is not one."""
        self._expect("[")
        if self._next() != "]":
            yield self._object()
            while self._next() == ",":
                self._expect(",")
                self._next()
                yield self._object()
        self._expect("]")
        if self._next():
            raise self._broken("the array ends before the file does")

    def _object(self) -> tuple[int, Any]:
        line = self._line
        while True:
            try:
                found, end = decoded(self._text, self._at)
            except BrokenJson as error:
                if len(self._text) - self._at > _LONGEST or not self._more():
                    raise self._broken(str(error)) from None
            else:
                self._move(end)
                return line, found

    def _next(self) -> str:
        """The next letter that is not blank; nothing at the end."""
        while True:
            rest = self._text[self._at : self._at + 1]
            if rest and rest not in _BLANK:
                return rest
            if rest:
                self._move(self._at + 1)
            elif not self._more():
                return ""

    def _expect(self, letter: str) -> None:
        if self._next() != letter:
            raise self._broken(f"expected '{letter}'")
        self._move(self._at + 1)

    def _move(self, to: int) -> None:
        self._line += self._text.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Read as much again as is waiting, so that a long object is not tried line by line."""
        wanted, before = len(self._text) - self._at, len(self._text) - self._at
        while len(self._text) - self._at <= before + wanted:
            piece = self._file.readline(_BLOCK)
            self._add(piece)
            if not piece:
                break
        return len(self._text) - self._at > before

    def _add(self, piece: bytes) -> None:
        try:
            self._text = self._text[self._at :] + self._decode(piece, not piece)
        except UnicodeDecodeError as error:
            raise self._broken(f"expected UTF-8: {error.reason}") from None
        self._at = 0

    def _broken(self, why: str) -> TableError:
        found = f"{self._text[self._at : self._at + 100]!r:.100}"
        return self._of.wrong(f"line {self._line}", f"{_EXPECTED}, found {found}: {why}")
