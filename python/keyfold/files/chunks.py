"""Column chunks of the forms that keyfold writes, decoded without pyarrow.

Whole numbers as packed differences, numbers as they are, and texts after their lengths: this is
half of the work of pyarrow, which appends value by value. Its other half, which is decompression,
is the same. Every other form is left to pyarrow: dictionaries, nulls, nested columns, and bytes
that can't be right, for which it has the words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files.leaves import Leaves
from keyfold.files.pages import check
from keyfold.kernels.buffers import Mask, bytes_of, is_text
from keyfold.kernels.pages import (
    ENCODING,
    KIND,
    LEVELS,
    SIZE,
    START,
    STORED,
    VALUES,
    add_lengths,
    after_levels,
    headers_of,
    unpack_deltas,
)

_DATA, _PLAIN, _RLE, _DELTAS, _LENGTHS = 0, 0, 3, 5, 6  # numbers of the format
_PHYSICAL = {"INT32": np.int32, "INT64": np.int64, "FLOAT": np.float32, "DOUBLE": np.float64}
_CODECS = {"UNCOMPRESSED": None, "ZSTD": "zstd", "SNAPPY": "snappy", "GZIP": "gzip"}
_MOST_TEXT = (1 << 31) - 1


class _OtherForm(Exception):
    """The chunk has a form that is left to pyarrow."""


class _Values(NamedTuple):
    """The values of a page: data[at:stop], which may go on behind them."""

    data: Mask
    at: int
    stop: int
    rows: int
    encoding: int


@dataclass
class Chunks:
    """The column chunks of an open file, whose top-level atomic columns are `leaves`."""

    source: pa.NativeFile
    path: str
    metadata: pq.FileMetaData
    leaves: Leaves
    is_checked: bool
    _others: set[str] = field(default_factory=set)

    def column(self, group: int, name: str, kind: pa.DataType) -> pa.Array | None:
        """A column of a row group, by pyarrow of this type; None if pyarrow has to decode it.
        Raises CorruptDataError if a page does not match its checksum.
        """
        if name in self._others:
            return None
        try:
            return self._decoded(group, name, kind)
        except _OtherForm:
            self._others.add(name)  # as its other chunks will be
            return None

    def _decoded(self, group: int, name: str, kind: pa.DataType) -> pa.Array:
        if name not in self.leaves:
            raise _OtherForm
        found, leaf = self.metadata.row_group(group), self.leaves[name]
        chunk, rows = found.column(leaf.place), int(found.num_rows)
        fits = leaf.physical == chunk.physical_type and _is_decoded(kind, leaf.physical)
        if not fits or chunk.num_values != rows or chunk.compression not in _CODECS:
            raise _OtherForm
        stored = self._stored(chunk)
        pages = headers_of(bytes_of(stored))
        if self.is_checked:
            check(self.path, chunk.data_page_offset, memoryview(stored), pages)
        if int(pages[:, VALUES].sum()) != rows:  # before room is made for so many
            raise _OtherForm
        made = _Chunk(chunk, stored, pages.tolist(), leaf.is_optional)
        return _texts(kind, rows, made) if is_text(kind) else _numbers(kind, rows, made)

    def _stored(self, chunk: pq.ColumnChunkMetaData) -> pa.Buffer:
        size, start = chunk.total_compressed_size, chunk.data_page_offset
        return pa.py_buffer(self.source.read_at(size, start))


def _is_decoded(kind: pa.DataType, physical: str) -> bool:
    """Whether values of this type are stored as they are in memory, or are texts."""
    if physical == "BYTE_ARRAY":
        return bool(kind in (pa.string(), pa.binary()))
    if physical in ("FLOAT", "DOUBLE"):
        return bool(kind == (pa.float32() if physical == "FLOAT" else pa.float64()))
    if physical == "INT32":
        return bool(kind in (pa.int32(), pa.date32()))
    is_time = pa.types.is_timestamp(kind) and kind.unit == "us"
    return bool(physical == "INT64" and (kind == pa.int64() or is_time))


@dataclass(frozen=True)
class _Chunk:
    """The stored bytes of one chunk, and the headers of its pages."""

    metadata: pq.ColumnChunkMetaData
    stored: pa.Buffer
    pages: list[list[int]]
    has_levels: bool

    def values(self, rows: int) -> Iterator[_Values]:
        """The values of each page; they are as many as there are rows."""
        codec = _CODECS[self.metadata.compression]
        for page in self.pages:
            count, start, stop = page[VALUES], page[START], page[START] + page[STORED]
            rows -= count
            if page[KIND] != _DATA or count < 0 or rows < 0:
                raise _OtherForm
            data = bytes_of(self.stored)
            if codec is not None:
                data, start, stop = self._opened(codec, page)
            if self.has_levels:
                start = after_levels(data, start, count) if page[LEVELS] == _RLE else -1
            if not 0 <= start <= stop:
                raise _OtherForm
            yield _Values(data, start, stop, count, page[ENCODING])
        if rows:
            raise _OtherForm

    def _opened(self, codec: str, page: list[int]) -> tuple[Mask, int, int]:
        size, start = page[SIZE], page[START]
        if not 0 < size <= self.metadata.total_uncompressed_size:
            raise _OtherForm
        try:
            packed = self.stored.slice(start, page[STORED])
            return bytes_of(pa.Codec(codec).decompress(packed, size)), 0, size
        except (OSError, pa.ArrowException):
            raise _OtherForm from None


def _numbers(kind: pa.DataType, rows: int, chunk: _Chunk) -> pa.Array:
    out: Any = np.empty(rows, dtype=_PHYSICAL[chunk.metadata.physical_type])
    done, is_whole = 0, out.dtype.kind == "i"
    for data, at, stop, count, encoding in chunk.values(rows):
        found = out[done : done + count]
        if encoding == _PLAIN and stop - at == found.nbytes:
            found.view(np.uint8)[:] = data[at:stop]
        elif encoding != _DELTAS or not is_whole or unpack_deltas(data, at, found) != stop:
            raise _OtherForm
        done += count
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(out)], 0)


def _texts(kind: pa.DataType, rows: int, chunk: _Chunk) -> pa.Array:
    offsets: Any = np.zeros(rows + 1, dtype=np.int32)
    parts: list[Mask] = []
    done = size = 0
    for data, at, stop, count, encoding in chunk.values(rows):
        found = offsets[done + 1 : done + 1 + count]
        start = unpack_deltas(data, at, found) if encoding == _LENGTHS else -1
        end = size + stop - start
        if start < 0 or end > _MOST_TEXT or add_lengths(found, size, end) != end:
            raise _OtherForm
        parts.append(data[start:stop])
        done, size = done + count, end
    joined = parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, np.uint8)])
    return pa.Array.from_buffers(kind, rows, [None, *map(pa.py_buffer, (offsets, joined))], 0)
