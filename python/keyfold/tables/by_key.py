"""The rows of keys in a table, and rows for keys that have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import ConflictError, TableError
from keyfold.lookup.of_table import TableLookups
from keyfold.tables import writes
from keyfold.tables.described import Described
from keyfold.tables.doors import doors
from keyfold.tables.newest import Answer, Ask
from keyfold.tables.rows import keys
from keyfold.tables.rows.incoming import Incoming
from keyfold.tables.transactions import opened

_TRIES = 5


def found_of(
    table: ByKey, keys_: Any, columns: Sequence[str] | None, refresh_ms: float
) -> tuple[pa.ChunkedArray, pa.Table]:
    """The answer of `get_many`, and for each key whether it has a row: where keys may be NULL, no
    column tells.
    """
    made: list[pa.RecordBatch] = []  # once: the keys may be a stream

    def ask(lookups: TableLookups) -> tuple[pa.ChunkedArray, pa.Table]:
        if not made:
            made.append(keys.keys_of(lookups.layout, keys_, "looking up in"))
        spread = table._session.spread(made[0].num_rows)
        rounds = [lookups.look_up(some, spread) for some in keys.rounds(made[0])]
        flags, rows = zip(*rounds, strict=True)
        return pa.chunked_array(flags), pa.Table.from_batches(rows)

    return table._asked(columns, refresh_ms, ask)


@doors(lambda table: f"table {table.name}")
class ByKey(Described):
    """A table by its name or path, as it is now."""

    def get(
        self, key: Mapping[str, Any], columns: Sequence[str] | None = None, *, refresh_ms: float = 0
    ) -> dict[str, Any] | None:
        """The row of a key, `{"sku": "bolt"}`; None if there is none.

        The answer is that of the newest snapshot, or of one that was the newest at most
        `refresh_ms` ago; changes by this connection are in it in any case. Raises TableError if
        these are not the columns of the primary key.
        """

        def ask(lookups: TableLookups) -> dict[str, Any] | None:
            return lookups.look_up_one(keys.key_of(lookups.layout, key))

        return self._asked(columns, refresh_ms, ask)

    def get_many(
        self, keys_: Any, columns: Sequence[str] | None = None, *, refresh_ms: float = 0
    ) -> pa.Table:
        """The row of each key, in the order of the keys, with NULLs where there is none. The keys
        are rows in any form, with the columns of the primary key; they may repeat. The snapshot is
        that of `get`.
        """
        return found_of(self, keys_, columns, refresh_ms)[1]

    def prefix(
        self, key: Mapping[str, Any], columns: Sequence[str] | None = None, *, refresh_ms: float = 0
    ) -> pa.Table:
        """All rows whose key begins with these values, in the snapshot of `get`. Raises TableError
        if they are not those of the first columns of the key.
        """

        def ask(lookups: TableLookups) -> pa.Table:
            return lookups.prefix(keys.prefix_of(lookups.layout, key))

        return self._asked(columns, refresh_ms, ask)

    def get_or_insert(
        self, key: Mapping[str, Any], columns: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """The row of a key, which is inserted if there is none: `{"name": "bolt"}`. Of all
        processes that ask for one new key at once, one inserts it, and all get its row.

        Raises TableError if these are not the columns of the primary key, or another column, but
        for the auto-increment column, is NOT NULL; ConflictError if others delete the row again.
        """
        found: dict[str, Any] | None = self.get(key, columns)
        for _ in range(_TRIES):
            if found is not None:
                return found
            lost = self._lost_insert(keys.key_of(self._layout, key))
            found = self.get(key, columns)
        if found is None:
            raise lost or self._deleted_again()
        return found

    def get_or_insert_many(self, keys_: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """The row of each key, in the order of the keys. Keys that have none are inserted, all in
        one commit. The keys are rows in any form, with the columns of the primary key; they may
        repeat. Raises TableError and ConflictError as `get_or_insert`.
        """
        asked = keys.keys_of(self._layout, keys_, "looking up in")
        for _ in range(_TRIES):
            lacking = self._lacking(asked)
            if not lacking.num_rows:
                return self.get_many(asked, columns)
            lost = self._lost_insert(lacking)
        if self._lacking(asked).num_rows:
            raise lost or self._deleted_again()
        return self.get_many(asked, columns)

    def _lacking(self, asked: pa.RecordBatch) -> pa.RecordBatch:
        """The keys that have no row."""

        def ask(lookups: TableLookups) -> pa.RecordBatch:
            spread = self._session.spread(asked.num_rows)
            parts = [(some, lookups.look_up(some, spread)[0]) for some in keys.rounds(asked)]
            return pa.concat_batches([some.filter(pc.invert(found)) for some, found in parts])

        return self._asked(self._layout.primary_key[:1], 0, ask)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Its block changes the table, and all look-ups of this connection see that afterwards.
        Raises TableError if a transaction is open in this thread.
        """
        opened.check_none(self.name)
        try:
            yield
        finally:
            self._session.lookups.changed((self._namespace, self._name))

    @property
    def _to(self) -> writes.Destination:
        """The table as its calls change it."""
        return writes.ByCommit(self._session, self._load)

    def _lost_insert(self, lacking: pa.RecordBatch) -> ConflictError | None:
        """Insert rows of keys, but for those that have one by then. Returns the conflict if there
        was one, as with a job that has put one of the keys into another bucket (`bucket` = -1):
        nothing has changed then, and the key may have a row.
        """
        rows = Incoming(tuple(lacking.schema.names), iter((lacking,)))
        try:
            with self._changing():
                writes.written(self._to, rows, options={}, only_new=True)
        except ConflictError as conflict:
            return conflict
        return None

    def _deleted_again(self) -> ConflictError:
        return ConflictError(
            f"get_or_insert of table {self.name}: a row that was inserted {_TRIES} times was not "
            "there afterwards: other jobs delete it, or a delete with a later sequence hides it"
        )

    def _asked(
        self,
        columns: Sequence[str] | None,
        refresh_ms: float,
        ask: Ask[Answer],
    ) -> Answer:
        if refresh_ms < 0:
            raise TableError(
                f"look-up in table {self.name}: refresh_ms is {refresh_ms}; expected 0 or more"
            )
        name = (self._namespace, self._name)
        with self._session.working():
            return self._session.lookups.answered(name, self._load, refresh_ms, columns, ask)
