"""Records that are made where they are gone through: those of a job of a million files would take
gigabytes together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from keyfold.storage.metadata.entries import Record


class MadeRecords(Collection[Record]):
    """So many records, which `make` makes anew each time."""

    def __init__(self, count: int, make: Callable[[], Iterable[Record]]) -> None:
        self._count, self._make = count, make

    def __iter__(self) -> Iterator[Record]:
        return iter(self._make())

    def __len__(self) -> int:
        return self._count

    def __contains__(self, record: object) -> bool:
        return any(record == one for one in self)
