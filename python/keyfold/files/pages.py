"""Checksums of the pages of column chunks, checked as the chunks are read.

pyarrow checks them by tables, 3 GB per second. That takes half as long as decoding numbers that are
stored as they are. A processor's own instructions are ten times as fast. Page headers are walked
here as pyarrow walks them, so the pages it decodes are those whose checksums were compared.
"""

from __future__ import annotations

import pyarrow as pa

from keyfold.files import damage
from keyfold.files.positioned import Positioned
from keyfold.kernels.buffers import Rows, bytes_of
from keyfold.kernels.pages import ABSENT, CRC, START, STORED, headers_of

try:
    from isal.isal_zlib import crc32
except ImportError:  # a processor that it is not made for
    from zlib import crc32

# A chunk takes some 30 us here, whatever it holds; pyarrow checks this many bytes in that time.
LEAST_CHUNK = 128 << 10


def checked(source: pa.NativeFile, path: str) -> pa.NativeFile:
    """The file, for a reader that reads each column chunk at once. Reading a chunk raises
    CorruptDataError if one of its pages does not match its checksum.
    """
    return pa.PythonFile(_Checked(source, path), mode="r")


def check(path: str, place: int, chunk: memoryview, pages: Rows) -> None:
    """Raises CorruptDataError if a page of a column chunk does not match its checksum. The chunk
    begins at byte `place` of the file.
    """
    for page in pages.tolist():
        if page[CRC] == ABSENT:
            continue
        start, expected = page[START], page[CRC] & 0xFFFFFFFF
        found = crc32(chunk[start : start + page[STORED]])
        if found != expected:
            raise damage.data_file(
                path,
                f"the page at byte {place + start} is not what was written: expected checksum "
                f"{expected:08x}, found {found:08x}",
            )


class _Checked(Positioned):
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        super().__init__(source.size())
        self._source, self._path = source, path

    def piece(self, start: int, stop: int) -> bytes:
        found: bytes = self._source.read_at(stop - start, start)
        check(self._path, start, memoryview(found), headers_of(bytes_of(pa.py_buffer(found))))
        return found
