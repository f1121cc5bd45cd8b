"""A file that pyarrow reads and whose bytes come from elsewhere; a subclass gets the bytes."""

from __future__ import annotations

import io
from typing import Any


class Positioned(io.RawIOBase):
    """Everything that a file object has to know and to answer, except its bytes."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size, self._at = size, 0

    def piece(self, start: int, stop: int) -> Any:
        """The bytes from `start` up to `stop`, both within the file, as a buffer."""
        raise NotImplementedError

    def read(self, size: int = -1) -> Any:
        start = self._at
        self._at = self._size if size < 0 else min(start + size, self._size)
        return self.piece(start, self._at)

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
