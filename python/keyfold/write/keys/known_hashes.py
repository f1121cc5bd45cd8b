"""The buckets of the hashes that index files have, by parts of the hashes: sorted, as many as there
may be tens of millions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from keyfold.files.hash_index import Hashes, hash_path, read_hashes
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import HashFile
from keyfold.write.keys.room import Buckets

_FEW = 1 << 16  # hashes that are put beside the others before both become one array
_Pairs = npt.NDArray[np.int64]  # a hash, and its bucket in the lowest 16 bits


@dataclass
class KnownHashes:
    """Hashes, ascending, and their buckets; those that came last are beside them for a while."""

    hashes: Hashes
    buckets: Buckets
    late_hashes: Hashes = field(default_factory=lambda: np.empty(0, np.int32))
    late_buckets: Buckets = field(default_factory=lambda: np.empty(0, np.int16))

    def find(self, wanted: Hashes) -> Buckets:
        """The bucket of each hash, -1 if it has none."""
        found = np.full(len(wanted), -1, np.int16)
        for known, buckets in (
            (self.hashes, self.buckets),
            (self.late_hashes, self.late_buckets),
        ):
            if len(known):
                at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
                hit = known[at] == wanted
                found[hit] = buckets[at[hit]]
        return found

    def add(self, new: Hashes, buckets: Buckets) -> None:
        """Know the buckets of hashes that were unknown."""
        self.late_hashes, self.late_buckets = _ascending(
            [(self.late_hashes, self.late_buckets), (new, buckets)]
        )
        if len(self.late_hashes) > max(_FEW, len(self.hashes) // 4):
            self.hashes, self.buckets = _ascending(
                [(self.hashes, self.buckets), (self.late_hashes, self.late_buckets)]
            )
            self.late_hashes, self.late_buckets = self.late_hashes[:0], self.late_buckets[:0]


def _ascending(pairs: list[tuple[Hashes, Buckets | int]]) -> tuple[Hashes, Buckets]:
    """Hashes in order, and their buckets: sorted as one number each, in place. The list is emptied,
    so that nothing is held twice.
    """
    every: _Pairs = np.empty(sum(len(hashes) for hashes, _ in pairs), np.int64)
    done = 0
    while pairs:
        hashes, buckets = pairs.pop()
        part = every[done : done + len(hashes)]
        part[:] = hashes
        part <<= 16
        part |= buckets
        done += len(hashes)
    every.sort()
    places = every.astype(np.int16)
    every >>= 16
    return _narrowed(every), places


def _narrowed(numbers: npt.NDArray[np.int64]) -> Hashes:
    """Numbers of 32 bits, moved together in their own memory; its other half is given back."""
    count, narrow = len(numbers), numbers.view(np.int32)
    for at in range(0, count, _FEW):
        narrow[at : at + _FEW][: count - at] = narrow[2 * at : 2 * (at + _FEW) : 2]
    del narrow
    numbers.resize((count + 1) // 2, refcheck=False)  # nothing else refers to them
    return numbers.view(np.int32)[:count]


def parts_of(hashes: Hashes, parts: int) -> npt.NDArray[np.int64]:
    """The part of each hash."""
    return np.abs(hashes.astype(np.int64)) % parts


def known_hashes(
    layout: TableLayout, files: Iterable[HashFile], parts: int, wanted: Collection[int]
) -> dict[int, KnownHashes]:
    """The hashes of each part that is wanted, and their buckets, by the index files of a partition.
    Each file is read once.
    """
    store = store_of(layout.location, layout.store)
    found: dict[int, list[tuple[Hashes, Buckets | int]]] = {part: [] for part in wanted}
    for file in files:
        hashes = read_hashes(store, hash_path(layout, file.name), file.rows)
        numbers = parts_of(hashes, parts)
        for part, pairs in found.items():
            own = hashes[numbers == part]
            if len(own):
                pairs.append((own, file.bucket))
    return {part: KnownHashes(*_ascending(found.pop(part))) for part in wanted}
