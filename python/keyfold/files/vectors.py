"""Deletion vectors: which rows of a data file, by their position in it, are deleted.

An index file begins with a byte, its version. Each vector in it is 4 bytes of length, 4 of a magic
number, a roaring bitmap and 4 of CRC-32 over magic and bitmap. Paimon has two kinds: bitmaps of 32
bits, and of 64, whose numbers after the length are little-endian (Iceberg's form). Entries of
manifests count the length of the first without the 8 bytes around it, of the second with them.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap, BitMap64

from keyfold.files import damage
from keyfold.kernels.buffers import Rows
from keyfold.kernels.roaring.bitmaps import BitmapError, read32, read64, write32
from keyfold.resources.cache import Cache
from keyfold.stores.files import Files
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import DataFile, Vector

BESIDE_DATA = "index-file-in-data-file-dir"  # the option that moves index files
VERSION = 1
MAGIC_32 = (1581511376).to_bytes(4, "big")
MAGIC_64 = (1681511377).to_bytes(4, "little")
_AROUND = 8  # bytes: the length before a vector, the checksum after it
_KEPT_BYTES = 32 << 20
_OWN_BYTES = 256  # of an entry of the cache, besides its positions
KEPT: Cache[Rows] = Cache(_KEPT_BYTES, lambda found: found.nbytes + _OWN_BYTES)


def deleted(store: Files, layout: TableLayout, path: str, file: DataFile) -> Rows:
    """The positions, ascending, of the rows of the data file at `path` that its vector marks.
    Raises CorruptDataError, naming the index file, if that is not what was written.
    """
    vector = file.vector
    if vector is None:
        return _NONE
    place = index_path(layout, path.rpartition("/")[0], vector.file)
    key = place, vector.offset
    found = KEPT.get(key)
    if found is None:
        found = _read(store, place, vector, file)
        KEPT.put(key, found)
    return found


def check(store: Files, layout: TableLayout, path: str, file: DataFile) -> None:
    """Raises CorruptDataError if the deletion vector of a data file can't be read now."""
    if file.vector is not None:
        place = index_path(layout, path.rpartition("/")[0], file.vector.file)
        _read(store, place, file.vector, file)


def index_path(layout: TableLayout, folder: str, name: str) -> str:
    """The path of an index file that names data files in a folder."""
    return f"{folder if is_beside_data(layout) else f'{layout.location}/index'}/{name}"


def is_beside_data(layout: TableLayout) -> bool:
    """Whether index files are in the folders of data files."""
    return layout.options.get(BESIDE_DATA, "false").strip().lower() == "true"


def encoded(
    name: str, marks: Mapping[str, Rows], *, is_wide: bool
) -> tuple[bytes, dict[str, Vector]]:
    """The bytes of the index file `name` with the positions of data files, by their names, and the
    vector of each. They are bitmaps of 64 bits if it `is_wide`.
    """
    parts, at, places = [VERSION.to_bytes(1, "big")], 1, {}
    for file, positions in marks.items():
        content = _content(positions, is_wide=is_wide)
        length = len(content) + (_AROUND if is_wide else 0)
        parts += [len(content).to_bytes(4, "big"), content, zlib.crc32(content).to_bytes(4, "big")]
        places[file] = at, length, len(positions)
        at += len(content) + _AROUND
    return b"".join(parts), {file: Vector(name, at, *place) for file, place in places.items()}


def _content(positions: Rows, *, is_wide: bool) -> bytes:
    """The magic number and the bitmap."""
    if not is_wide:
        return MAGIC_32 + write32(BitMap(positions.astype(np.uint32)))
    return MAGIC_64 + _portable64(positions)


def _portable64(positions: Rows) -> bytes:
    bitmap = BitMap64(positions.astype(np.uint64))
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def to_text(positions: Rows) -> str:
    """Positions as text that travels."""
    return base64.b64encode(_portable64(positions)).decode("ascii")


def from_text(text: str) -> Rows:
    """The positions, ascending, of text that has travelled."""
    return np.array(read64(base64.b64decode(text)).to_array(), dtype=np.int64)


_NONE: Rows = np.empty(0, dtype=np.int64)


def _read(store: Files, path: str, vector: Vector, file: DataFile) -> Rows:
    start, stop = vector.offset, min(vector.offset + vector.length + _AROUND, vector.size)
    if not 0 < start < stop:
        words = f"a vector of {vector.length} bytes at {start} is not in its {vector.size} bytes"
        raise damage.index_file(path, words)
    with damage.present(path):
        head, data = store.ranges(path, [(0, 1), (start, stop)])
    if len(head) < 1 or len(data) < stop - start:
        raise damage.index_file(path, damage.of_size(start + len(data), vector.size))
    if bytes(head)[0] != VERSION:
        raise damage.index_file(path, f"expected version {VERSION}, found {bytes(head)[0]}")
    try:
        return _positions(_bitmap(data, vector), vector, file)
    except (ValueError, BitmapError) as error:
        words = f"the deletion vector of data file {file.name}: {error}"
        raise damage.index_file(path, words) from error


def _bitmap(data: pa.Buffer, vector: Vector) -> Any:
    """The bitmap of the bytes from a vector's length on. Raises ValueError if they are damaged."""
    found = bytes(data)
    length, magic = int.from_bytes(found[:4], "big"), found[4:8]
    if magic not in (MAGIC_32, MAGIC_64):
        raise ValueError(
            f"expected magic number {MAGIC_32.hex()} or {MAGIC_64.hex()}, found {magic.hex()}"
        )
    expected = vector.length - (_AROUND if magic == MAGIC_64 else 0)
    if length != expected or length + _AROUND > len(found):
        raise ValueError(f"expected {expected} bytes, found {length}")
    content, checksum = found[4 : 4 + length], found[4 + length : _AROUND + length]
    if zlib.crc32(content) != int.from_bytes(checksum, "big"):
        raise ValueError("its checksum differs")
    return read32(content[4:]) if magic == MAGIC_32 else read64(content[4:])


def _positions(bitmap: Any, vector: Vector, file: DataFile) -> Rows:
    """The numbers of a bitmap, which are positions of a file. Raises ValueError if they are not; a
    bitmap of few bytes may hold 2^32 numbers.
    """
    count = len(bitmap)
    if vector.rows is not None and count != vector.rows:
        raise ValueError(f"expected {vector.rows} positions, found {count}")
    if count and (count > file.rows or bitmap.max() >= file.rows):
        raise ValueError(f"it marks row {bitmap.max()} of {file.rows}")
    return np.array(bitmap.to_array(), dtype=np.int64)
