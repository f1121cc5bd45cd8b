"""A file over another one, which pyarrow reads in its place; a subclass says how bytes are had."""

from __future__ import annotations

import io

import pyarrow as pa


class Positioned(io.RawIOBase):
    """What a file object has to know and to answer, but for its bytes."""

    def __init__(self, source: pa.NativeFile) -> None:
        super().__init__()
        self._source = source
        self._size: int = source.size()
        self._at = 0

    def piece(self, size: int) -> bytes:
        """So many bytes from the position on, all of them within the file."""
        raise NotImplementedError

    def read(self, size: int = -1) -> bytes:
        left = self._size - self._at
        found = self.piece(left if size < 0 else min(size, left))
        self._at += len(found)
        return found

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
