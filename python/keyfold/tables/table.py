"""One table of a catalog: what a program does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from keyfold.storage.catalogs.table_names import parsed
from keyfold.tables import column_definitions, time_travel
from keyfold.tables.calls import note_options
from keyfold.tables.change_scan import Changes, Version, changes
from keyfold.tables.column_definitions import Schema
from keyfold.tables.doors import doors
from keyfold.tables.scan import Scan, scan
from keyfold.tables.time_travel import Branches, Tags
from keyfold.tables.transactions.transaction import Transaction
from keyfold.tables.upkeep import Upkeep
from keyfold.tables.where.condition import Where
from keyfold.wire.layout import BRANCH_MARK


@doors(lambda table: f"table {table.name}")
class Table(Upkeep):
    """A table by its name or path. Each call sees its newest schema and snapshot.

    It can be pickled, shared by threads, and used by processes that were forked or spawned.
    """

    def alter(
        self,
        *,
        add: Schema | None = None,
        drop: Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        types: Mapping[str, str | pa.DataType] | None = None,
        options: Mapping[str, Any] | None = None,
        comment: str | None = None,
    ) -> None:
        """Change all of this or nothing, as ALTER TABLE does.

        Args:
            add: Columns, which stored rows have as NULL.
            drop: Names of columns.
            rename: New names of columns by the old ones.
            types: Wider types of columns.
            options: Values of options; None unsets one.
            comment: The table's comment; an empty text removes it.

        Raises:
            TableError, NotSupportedError: The table can't have that; the message says why.
            ConflictError: Others altered the table at the same time.
        """
        changes = column_definitions.changes(
            self._layout, add, drop, rename or {}, types or {}, options or {}, comment
        )
        with self._changing(), self._session.working():
            self._catalog.alter_table([self._namespace], self._name, list(changes))
        note_options(self._name, [n for n, value in (options or {}).items() if value is not None])

    # ---- read ----

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where = None,
        *,
        limit: int | None = None,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Scan:
        """A read of one snapshot, merged by the table's engine; rows come in no order.

        Args:
            columns: Names in the order wanted; all by default.
            where: A condition, as SQL text (`"qty > 5 AND sku IN ('nut', 'bolt')"`) or as an
                expression of `pyarrow.compute`. Rows that fail it never come back, and files
                that can't hold others are not read.
            limit: The most rows.
            snapshot: The id of an older snapshot, which is read with its schema; by default the
                newest. `tag` names one, `timestamp` is that of the newest one by then: a datetime
                with its zone, or ISO text with one.
            options: Options of this read, as in Spark.

        Raises:
            TableError: A column or option is unknown, or the condition can't be read.
            NotSupportedError: The table holds what can't be read; the message names it.
        """
        table = time_travel.at(self._load(), snapshot, tag, timestamp)
        return scan(self._session, table, columns, where, limit, options or {})

    def changes(
        self,
        after: Version = 0,
        until: Version | None = None,
        columns: Sequence[str] | None = None,
        where: Where = None,
        *,
        view: str = "changes",
        net: bool = False,
        limit: int | None = None,
    ) -> Changes:
        """The changes of the snapshots above `after` up to `until`, each commit's.

        Args:
            after: The id of a snapshot or a tag, or a time; 0 is before the first snapshot.
            until: The same; by default the newest snapshot.
            columns: Names in the order wanted; all of the view by default.
            where: A condition on the table's columns, as in `scan`.
            view: `changes` adds `_change_type` (insert, update_preimage, update_postimage, delete),
                `_commit_version` and `_commit_timestamp` to the columns; `audit_log` puts `rowkind`
                (+I, -U, +U, -D) before them; `rows` has new rows alone; `binlog` both as lists.
            net: One change for each key over the whole range.
            limit: The most rows.

        Raises:
            SnapshotExpiredError: The range begins before the earliest snapshot that is kept.
            TableError: A column, version or view is unknown.
        """
        return changes(
            self._session,
            self._load(),
            after,
            until,
            columns,
            where,
            view=view,
            net=net,
            limit=limit,
        )

    @property
    def tags(self) -> Tags:
        """Its tags."""
        return Tags(self._session, self._load, self.name)

    @property
    def branches(self) -> Branches:
        """Its branches."""
        return Branches(self._session, self._load, self.name, self._branch, self._changing)

    def _branch(self, name: str) -> Table:
        return Table(self._session, self._namespace, f"{self._name}{BRANCH_MARK}{name}")

    def rollback(
        self,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
        token: tuple[str, int] | None = None,
    ) -> int | None:
        """Make an older snapshot the newest; later ones are removed. Returns its id. Raises
        TableError if there is none, ConflictError if other jobs commit again and again.

        Args:
            snapshot: Its id.
            tag: Or the name of a tag of it.
            timestamp: Or a time: the newest snapshot then.
            token: That of `upsert`: nothing changes, and None is returned, if the table has it. The
                newest snapshot is then one of the same rows above the older one, which names the
                token.
        """
        given = snapshot, tag, timestamp, token
        with self._changing():
            return time_travel.rolled_back(self._session, self._load, *given)

    def clone(
        self,
        to: str,
        *,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: datetime | str | None = None,
    ) -> Table:
        """Make a table of that name out of this one, with files of its own, as `CALL sys.clone`
        does. It has the rows of the newest snapshot, or of an older one as in `scan`, and no
        history. Raises TableExistsError if the name is taken, NotSupportedError in an object
        store or a REST catalog.
        """
        time_travel.cloned(self._session, self._load, to, snapshot, tag, timestamp)
        return Table(self._session, *parsed(to))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows by Arrow's C stream interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    # ---- write ----

    def transaction(self, *, token: tuple[str, int] | None = None) -> Transaction:
        """Several calls in one commit: `with table.transaction() as t:` with the methods of a table
        that write, `scan` and those that look up, all of `t`. They see what the transaction has
        written. The end of the block commits all of it as one snapshot, whose id is `t.snapshot`.
        An error in the block leaves the table as it was, and no files.

        Args:
            token: That of `upsert`, of the transaction as a whole; `t.is_repeated` says that the
                table has it.

        Raises:
            ConflictError: At the end of the block: the transaction has read rows (`scan`, look-ups,
                `delete`, `update`, `merge`), and another job has since changed rows that it writes
                or removes; nothing has changed. Under isolation `serializable`: any rows.
            TableError: Another one is open in this thread, or it is used again after its end.
            NotSupportedError: The table orders rows by snapshots.
        """
        return Transaction(self._session, self._namespace, self._name, self._options_of(token))
