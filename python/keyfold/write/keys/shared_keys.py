"""Whether two data files hold a key in common: a commit asks it of files whose key ranges touch.

The keys of the smaller file are held, those of the larger one pass by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.predicates.ranges import Ranges
from keyfold.read.keyset import KeySet
from keyfold.read.parquet import Wanted, read_file
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.stores.opened import store_of
from keyfold.wire.specs import ScanSpec

MOST_ROWS = 1 << 22  # files that are both larger pass for files that share a key
FEW_KEYS = 1 << 16  # so few are compared with the statistics of row groups


class SharedKeys:
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

    def _meet(self, small: LiveFile, large: LiveFile) -> bool:
        keys = pa.Table.from_batches(self._keys(small)).combine_chunks()
        if not keys.num_rows:
            return False
        (batch,) = keys.to_batches()
        names = self._table.layout.key
        held, _ = KeySet.of(self._table.layout, [batch.column(name) for name in names])
        keep = partial(held.may_hold, key=self._table.layout.key)
        batches = self._keys(large, keep if small.rows <= FEW_KEYS else None)
        return any(map(held.has_any, batches))

    def _keys(self, file: LiveFile, keep: Callable[[Ranges], bool] | None = None) -> Iterator[Any]:
        layout = self._table.layout
        scan = ScanSpec(layout, layout.key, self._table.stored_schemas((file,)))
        store = store_of(layout.location, layout.store)
        with self._table.reading_files():
            wanted = Wanted(layout.key, keep=keep)
            yield from read_file(scan, store, file.folder(layout), file, wanted)
