"""Whether two data files hold a key in common: a commit asks it of files whose key ranges touch.

The keys of the smaller file are held, those of the larger one pass by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.files.hash_index import Hashes
from keyfold.files.paimon_values import hashes
from keyfold.kernels.keys.membership import Flags
from keyfold.predicates.ranges import Ranges
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.read.keyset import KeySet
from keyfold.storage.commits.conflicts import Shares
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.stores.opened import store_of
from keyfold.wire.specs import ScanSpec

MOST_ROWS = 1 << 22  # files that are both larger pass for files that share a key
FEW_KEYS = 1 << 16  # so few are compared with the statistics of row groups


class SharedKeys(Shares):
    """Answers of one commit, which may ask again after a lost race."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._apart: set[tuple[str, str]] = set()

    def __call__(self, one: LiveFile, other: LiveFile) -> bool:
        """Whether two files of a bucket share a key, or are too large to tell."""
        names = one.name, other.name
        if names not in self._apart:
            small, large = sorted((one, other), key=lambda file: file.rows)
            if small.rows > MOST_ROWS or self._meet(small, large):
                return True
            self._apart.add(names)
        return False

    def went(self, one: LiveFile, before: Iterable[LiveFile], after: Iterable[LiveFile]) -> bool:
        """Whether a key of a file is in files `before`, of its bucket, but in none `after`; also if
        it is too large to tell.
        """
        sides = [
            [f for f in of if f.first <= one.last and one.first <= f.last] for of in (before, after)
        ]
        if not sides[0] or one.rows > MOST_ROWS:
            return bool(sides[0])
        held = self._held(one)
        if held is None:
            return False
        were, are = (self._are_in(held, files) for files in sides)
        return bool((were & ~are).any())

    def hashes(self, file: LiveFile) -> Hashes | None:
        """The hashes of the keys of a file, by which they are in dynamic buckets."""
        layout, found = self._table.layout, [np.empty(0, np.int32)]
        for batch in self._keys(file):
            columns = [batch.column(name) for name in layout.key]
            found.append(np.unique(hashes(layout, layout.key, columns).astype(np.int32)))
        return np.concatenate(found)

    def _are_in(self, held: KeySet, files: Iterable[LiveFile]) -> Flags:
        found = np.zeros(len(held), dtype=np.bool_)
        for file in files:
            for batch in self._beside(held, file):
                found |= held.are_in(batch)
        return found

    def _meet(self, small: LiveFile, large: LiveFile) -> bool:
        held = self._held(small)
        return held is not None and any(map(held.has_any, self._beside(held, large)))

    def _held(self, file: LiveFile) -> KeySet | None:
        """The keys of a file, None if its rows are deleted."""
        keys = pa.Table.from_batches(self._keys(file)).combine_chunks()
        if not keys.num_rows:
            return None
        (batch,) = keys.to_batches()
        names = self._table.layout.key
        return KeySet.of(self._table.layout, [batch.column(name) for name in names])[0]

    def _beside(self, held: KeySet, file: LiveFile) -> Iterator[Any]:
        """The keys of a file, without row groups that hold none of a few."""
        keep = partial(held.may_hold, key=self._table.layout.key)
        return self._keys(file, keep if len(held) <= FEW_KEYS else None)

    def _keys(self, file: LiveFile, keep: Callable[[Ranges], bool] | None = None) -> Iterator[Any]:
        layout = self._table.layout
        scan = ScanSpec(layout, layout.key, self._table.stored_schemas((file,)))
        store = store_of(layout.location, layout.store)
        with self._table.reading_files():
            wanted = Wanted(layout.key, keep=keep)
            yield from read_file(scan, store, file.folder(layout), file, wanted)
