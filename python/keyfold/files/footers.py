"""Footers of data files, kept by name: files never change, and a footer of many row groups and
columns costs more to parse than a row costs to read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.files import damage

KEPT_BYTES = 3 << 20  # as stored; parsed they take eleven times as much
_OWN_BYTES = 1 << 10  # what the smallest take besides, in the same measure


@dataclass
class Footer:
    """The parsed footer of one file, and what was derived from it."""

    metadata: pq.FileMetaData
    derived: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def weight(self) -> int:
        """What it counts for among those that are kept."""
        return int(self.metadata.serialized_size) + _OWN_BYTES

    def once(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` gave when it was first asked for under this name."""
        if name not in self.derived:
            self.derived[name] = make()
        return self.derived[name]


@dataclass
class _Kept:
    footers: OrderedDict[str, Footer] = field(default_factory=OrderedDict)
    bytes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, path: str) -> Footer | None:
        with self.lock:
            found = self.footers.get(path)
            if found is not None:
                self.footers.move_to_end(path)
            return found

    def put(self, path: str, footer: Footer) -> None:
        with self.lock:
            if path in self.footers:
                return
            self.footers[path] = footer
            self.bytes += footer.weight
            while self.bytes > KEPT_BYTES and len(self.footers) > 1:
                _, oldest = self.footers.popitem(last=False)
                self.bytes -= oldest.weight

    def drop(self, path: str) -> None:
        with self.lock:
            found = self.footers.pop(path, None)
            if found is not None:
                self.bytes -= found.weight


_kept = _Kept()


def is_known(path: str) -> bool:
    """Whether the footer of a file need not be read."""
    return _kept.get(path) is not None


def forget(paths: Iterable[str]) -> None:
    """Keep the footers of these files no longer: they will hardly be read again."""
    for path in paths:
        _kept.drop(path)


def footer_of(path: str, source: pa.NativeFile, size: int) -> Footer:
    """The footer of the data file `path`, opened as `source`; CorruptDataError if it is not as long
    as the manifest says, or no Parquet file.
    """
    found = _kept.get(path)
    if found is None:
        if source.size() != size:
            raise damage.data_file(path, damage.of_size(source.size(), size))
        with damage.decoding(path):
            found = Footer(pq.read_metadata(source))
        _kept.put(path, found)
    return found
