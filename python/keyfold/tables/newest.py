"""The newest state of tables, kept by a connection between look-ups.

A look-up that finds its table as it was needs four looks at files. If the table has changed, it is
planned anew; row groups of files that are still there stay decoded.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from keyfold.errors import SnapshotExpiredError
from keyfold.lookup.of_table import TableLookups
from keyfold.lookup.row_group_cache import RowGroupCache
from keyfold.resources.cache import Cache
from keyfold.storage.table import Table
from keyfold.tables.column_definitions import selected

_TABLES, _SELECTIONS, _TRIES = 64, 16, 5
Answer = TypeVar("Answer")
Ask = Callable[[TableLookups], Answer]
Load = Callable[[], Table]


@dataclass
class _Newest:
    """A table that was loaded, the stamp of its snapshot, and when somebody last looked."""

    table: Table
    stamp: str
    looked: float
    lookups: Cache[TableLookups] = field(default_factory=lambda: Cache(_SELECTIONS))

    @staticmethod
    def of(table: Table, looked: float) -> _Newest:
        number = table.snapshot_id  # which another snapshot may have after a rollback
        stamp = "" if number is None else table.files.stamp(table.snapshots.path(number))
        return _Newest(replace(table, known=None), stamp, looked)  # it is read after its stamp

    def is_like(self, other: _Newest) -> bool:
        """Whether look-ups see the same in both."""
        mine, theirs = self.table, other.table
        return (
            self.stamp == other.stamp
            and mine.snapshot_id == theirs.snapshot_id
            and mine.layout == theirs.layout
        )

    def serves(self, since: float) -> bool:
        """Whether it is the newest state, or somebody has found so `since` that time."""
        if self.looked >= since:
            return True
        looked = time.monotonic()
        if self._is_newest():
            self.looked = looked
            return True
        return False

    def _is_newest(self) -> bool:
        """Whether no snapshot and no schema has been added, replaced or removed."""
        table = self.table
        if table.uuid:
            return False  # the catalog's server knows
        snapshot, schema = table.snapshot_id or 0, table.layout.schema_id
        looked = [table.snapshots.path(snapshot + 1), table.snapshots.path(snapshot)]
        looked += [table.schemas.path(schema + 1), table.schemas.path(schema)]
        return table.files.stamps(looked) == ["", self.stamp, "", table.layout.identity]

    def lookups_of(self, kept: RowGroupCache, columns: Sequence[str] | None) -> TableLookups:
        """The look-ups of these columns, all by default. Raises TableError if one is unknown."""
        names = selected(self.table.layout, columns)
        found = self.lookups.get(names)
        if found is None:
            self.table.check_format()
            found = TableLookups(self.table, names, kept)
            self.lookups.put(names, found)
        return found


class Lookups:
    """The look-ups of a connection, in all threads; `memory` bounds the bytes of row groups."""

    def __init__(self, memory: int) -> None:
        self._kept = RowGroupCache(memory)
        self._tables: Cache[_Newest] = Cache(_TABLES)
        self._changed: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def changed(self, name: tuple[str, str]) -> None:
        """Note that this connection has changed a table: look-ups from now on see that, however
        old their answers may be.
        """
        self._changed[name] = time.monotonic()

    def of(self, table: Table, columns: Sequence[str]) -> TableLookups:
        """The look-ups of these columns of a table that somebody has loaded."""
        return TableLookups(table, columns, self._kept)

    def answered(
        self,
        name: tuple[str, str],
        load: Load,
        refresh_ms: float,
        columns: Sequence[str] | None,
        ask: Ask[Answer],
    ) -> Answer:
        """The answer by the newest snapshot, or by one that was that at most `refresh_ms` ago. If
        its files expire meanwhile, a newer one is asked.
        """
        since = max(time.monotonic() - refresh_ms / 1000, self._changed.get(name, -math.inf))
        found = self._newest(name, load, since)
        while True:
            try:
                return ask(found.lookups_of(self._kept, columns))
            except SnapshotExpiredError:
                before, found = found, self._newest(name, load, None)
                if found is before:
                    raise

    def _newest(self, name: tuple[str, str], load: Load, since: float | None) -> _Newest:
        """The state of a table at a time from `since` on; None loads it anew."""
        found = self._tables.get(name)
        if since is not None and found is not None and found.serves(since):
            return found
        with self._lock:  # one thread loads it for all
            found = self._tables.get(name)
            if since is not None and found is not None and found.serves(since):
                return found
            loaded = _loaded(load)
            if found is not None and loaded.is_like(found):
                found.looked = loaded.looked
                return found
            self._tables.drop(name)
            self._tables.put(name, loaded)
            return loaded


def _loaded(load: Load) -> _Newest:
    for _ in range(_TRIES):
        looked = time.monotonic()
        try:
            return _Newest.of(load(), looked)
        except FileNotFoundError:  # the snapshot expired or was rolled back meanwhile
            continue
    return _Newest.of(load(), time.monotonic())
