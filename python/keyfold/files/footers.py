"""Footers of data files, kept by name. Files never change, and a footer of many row groups and
columns costs more to parse than a row costs to read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files import damage
from keyfold.files.int96 import with_plain_bytes
from keyfold.files.leaves import check_chunks
from keyfold.kernels.buffers import bytes_of
from keyfold.resources.cache import Cache
from keyfold.stores.files import Files
from keyfold.wire.specs import FILE_SUFFIX, MARKED_SUFFIX

KEPT_BYTES = 3 << 20  # as stored; parsed footers take eleven times as much
_OWN_BYTES = 1 << 10  # what even the smallest takes besides, in the same measure
TAIL = 1 << 16  # bytes at the end of a file, which hold most footers
_END = 8  # bytes after a footer: its length, and a magic word


@dataclass
class Footer:
    """The parsed footer of one file, and the values derived from it."""

    metadata: pq.FileMetaData
    derived: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def weight(self) -> int:
        """The bytes it counts for among the footers that are kept."""
        return int(self.metadata.serialized_size) + _OWN_BYTES

    def once(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """The value that `make` gave when it was first asked for under this name."""
        if name not in self.derived:
            self.derived[name] = make()
        return self.derived[name]


KEPT: Cache[Footer] = Cache(KEPT_BYTES, lambda footer: footer.weight)


def has_footer(name: str) -> bool:
    """Whether a file by its name or path is Parquet, whose footer describes its row groups."""
    return name.endswith((FILE_SUFFIX, MARKED_SUFFIX))


def is_known(path: str) -> bool:
    """Whether the footer of a file need not be read."""
    return KEPT.get(path) is not None


def forget(paths: Iterable[str]) -> None:
    """Drops the footers of these files, which will hardly be read again."""
    for path in paths:
        KEPT.drop(path)


def footer_of(store: Files, path: str, size: int) -> Footer:
    """The footer of a data file. Raises CorruptDataError if the file is not as long as the manifest
    says, is not Parquet, or names places that it does not have.
    """
    return footer_and_whole(store, path, size)[0]


def footer_and_whole(store: Files, path: str, size: int) -> tuple[Footer, pa.Buffer | None]:
    """The footer, and the bytes of the whole file if they were read to find it: those of a small
    file whose footer was not known.
    """
    found, whole = KEPT.get(path), None
    if found is None:
        with damage.present(path):
            tail, found_size = store.tail(path, TAIL)
            if found_size != size:
                raise damage.data_file(path, damage.of_size(found_size, size))
            whole = tail if len(tail) == size else None
            length = int.from_bytes(tail[-8:-4], "little") + _END
            if len(tail) < length <= size:
                (tail,) = store.ranges(path, [(size - length, size)])
        with damage.decoding(path):
            tail = pa.py_buffer(with_plain_bytes(tail[-length:].to_pybytes()))
            found = Footer(pq.read_metadata(pa.BufferReader(tail)))
            check_chunks(found.metadata, bytes_of(tail)[:-_END], size)
        KEPT.put(path, found)
    return found, whole
