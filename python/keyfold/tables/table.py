"""One table of a catalog: what a program does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from keyfold.errors import TableError
from keyfold.tables import column_definitions, time_travel, writes
from keyfold.tables.by_key import ByKey
from keyfold.tables.calls import note_options
from keyfold.tables.change_scan import Changes, Version, changes
from keyfold.tables.column_definitions import Schema
from keyfold.tables.doors import doors
from keyfold.tables.rows.incoming import incoming
from keyfold.tables.rows.row_kinds import with_kinds
from keyfold.tables.scan import Scan, scan
from keyfold.tables.statements import deletes, merges, updates
from keyfold.tables.statements.builder import Merge
from keyfold.tables.statements.tokens import options_of
from keyfold.tables.time_travel import Branches, Tags
from keyfold.tables.where.condition import Where, partition_filters
from keyfold.wire.layout import BRANCH_MARK
from keyfold.write.overwritten import truncated


@doors(lambda table: f"table {table.name}")
class Table(ByKey):
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
    ) -> int:
        """Make an older snapshot the newest; later ones are removed. Returns its id. Raises
        TableError if there is none, ConflictError if other jobs commit again and again.
        """
        with self._changing():
            return time_travel.rolled_back(self._session, self._load, snapshot, tag, timestamp)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows by Arrow's C stream interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    # ---- write ----

    def upsert(
        self,
        data: Any,
        *,
        columns: Sequence[str] | None = None,
        merge_mode: str | None = None,
        row_kind: str | None = None,
        token: tuple[str, int] | None = None,
    ) -> int | None:
        """Write rows in one commit, as an INSERT does: rows of one key fold, in the order in which
        they come. Returns the new snapshot's id, None if there were no rows.

        In a table that folds column by column (partial-update, aggregation) the columns that `data`
        lacks stay as they are; elsewhere they get their DEFAULT, or NULL.

        Args:
            data: Anything with Arrow's C interface (a table, batch or stream), a DataFrame of
                pandas or Polars, a list of dictionaries, an iterator of batches or dictionaries.
                A stream may be larger than memory.
            columns: The columns of `data` to write; all by default.
            merge_mode: `overwrite` replaces what is stored in place of folding with it.
            row_kind: `+I`, `-U`, `+U` or `-D` for all rows, or the column of `data` that has these;
                the column is not written. For a table without a `rowkind.field`.
            token: A name and a version, `("orders", 7)`: nothing changes, and None is returned, if
                the table has a commit of that name with this version or a later one. So a program
                may repeat what it does not know to have succeeded.

        Raises:
            TableError: A column is unknown, a value does not fit or is NULL in a NOT NULL column.
            ConflictError: Another job changed what this one depends on; nothing was written.
        """
        options = options_of(self.name, token, merge_mode)
        return self._written(data, columns, row_kind, options=options)

    def overwrite(
        self,
        data: Any,
        where: Where = None,
        *,
        dynamic: bool = False,
        columns: Sequence[str] | None = None,
        token: tuple[str, int] | None = None,
    ) -> int | None:
        """Replace all rows in one commit, or those of the partitions that satisfy `where`; with
        `dynamic` those of the partitions that `data` has rows of. Returns the snapshot's id. The
        token is that of `upsert`.

        Raises TableError and ConflictError as `upsert`, and NotSupportedError if `where` is not
        about partitions as a whole.
        """
        if dynamic and where is not None:
            raise TableError(
                f"overwrite of table {self.name}: where and dynamic both say which partitions are "
                "replaced; give one of them"
            )
        filters = partition_filters(self._layout, where)
        mode = "overwrite_dynamic" if dynamic else "overwrite"
        options = options_of(self.name, token)
        return self._written(data, columns, mode=mode, filters=filters, options=options)

    def _written(
        self, data: Any, columns: Sequence[str] | None, row_kind: str | None = None, **how: Any
    ) -> int | None:
        layout = self._layout
        rows = with_kinds(layout, data, row_kind) if row_kind else incoming(layout, data)
        if columns is not None:
            named = column_definitions.names(f"writing table {self.name}: columns", columns)
            more = tuple(name for name in rows.columns if name not in rows.own)
            rows = rows.select(self.name, (*named, *more))
        with self._changing():
            return writes.written(self._session, self._load, rows, **how)

    def delete(
        self, keys_: Any = None, *, where: Where = None, token: tuple[str, int] | None = None
    ) -> int | None:
        """Remove rows under every engine, by their keys (any form of rows with the columns of the
        primary key) or by a condition. Returns the snapshot's id, None if no row was there. `token`
        is that of `upsert`.

        Raises TableError if the table takes no deletes, ConflictError if another job changed such
        rows meanwhile; then nothing has changed.
        """
        if (keys_ is None) == (where is None):
            raise TableError(f"delete from table {self.name}: expected keys or where, one of them")
        options = options_of(self.name, token)
        with self._changing():
            if where is None:
                return deletes.by_keys(self._session, self._load, keys_, options)
            return deletes.by_condition(self._session, self._load, where, options)

    def update(
        self, where: Where, values: Mapping[str, Any], *, token: tuple[str, int] | None = None
    ) -> int | None:
        """Assign values to columns of the rows that satisfy a condition, None for all rows, in one
        commit and under every engine. Returns the snapshot's id, None if no row satisfies it.

        Args:
            where: A condition as in `scan`.
            values: By column a constant, which the column takes as in `upsert`, or an expression of
                `pyarrow.compute` over the row as it is: `{"n": pc.field("n") + 1, "note": "x"}`.
                A column of the key may be among them: the row moves.
            token: That of `upsert`.

        Raises:
            TableError: A column is unknown, a value does not fit its column, an expression fails.
            ConflictError: Another job changed such rows meanwhile; nothing has changed.
        """
        options = options_of(self.name, token)
        with self._changing():
            return updates.by_condition(self._session, self._load, where, values, options)

    def merge(
        self,
        rows: Any,
        on: Sequence[str] | Mapping[str, str] | None = None,
        *,
        token: tuple[str, int] | None = None,
    ) -> Merge:
        """A MERGE of the rows of a source, to which clauses are added before `execute` does it.

        Args:
            rows: The source in any form that `upsert` takes, whole in memory. It may have columns
                that the table lacks, for conditions and expressions.
            on: The columns that are equal where a row of the source matches one of the table, or
                columns of the source by those of the table; by default the primary key. Rows with a
                NULL there match nothing. With the whole key rows are looked up; else, and for
                clauses of rows that are not in the source, the table is read.
            token: That of `upsert`.
        """
        options = options_of(self.name, token)

        def execute(clauses: Sequence[merges.Clause]) -> int | None:
            with self._changing():
                return merges.merged(self._session, self._load, rows, on, clauses, options)

        return Merge(self.name, execute)

    def truncate(self) -> int | None:
        """Remove all rows. Returns the snapshot's id, None if there were none."""
        with self._changing(), self._session.working():
            table = self._load()
            table.check_writable()
            return truncated(table)
