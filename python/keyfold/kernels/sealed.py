"""The files of numba's cache: the digest of the bytes, then the bytes.

LLVM ends the process if machine code has a wrong bit, so nothing is unpickled or loaded before its
digest has been compared.
"""

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

_SIZE = hashlib.sha256().digest_size


class DamagedError(Exception):
    """A file does not hold the bytes that were written."""


class SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """The index and the code of one function. Their folder belongs to one version of numba."""

    def _load_index(self) -> Any:
        try:
            stamp, overloads = _opened(self._index_path)
        except FileNotFoundError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: Any) -> None:
        self._seal(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return _opened(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._seal(self._data_path(name), data)

    def _seal(self, path: str, content: Any) -> None:
        body = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(body).digest() + body)


def _opened(path: str) -> Any:
    """The content of a file. Raises DamagedError if the bytes are not those that were written."""
    found = Path(path).read_bytes()
    body = found[_SIZE:]
    if hashlib.sha256(body).digest() != found[:_SIZE]:
        raise DamagedError(path)
    return pickle.loads(body)
