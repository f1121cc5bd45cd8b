"""Calls that change the rows of a table; what becomes of what they write is up to `_to`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keyfold.errors import ConflictError, TableError
from keyfold.tables import column_definitions, writes
from keyfold.tables.by_key import ByKey
from keyfold.tables.doors import doors
from keyfold.tables.rows import evolution
from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.rows.incoming import incoming
from keyfold.tables.rows.row_kinds import with_kinds
from keyfold.tables.statements import deletes, merges, updates
from keyfold.tables.statements.builder import Merge
from keyfold.tables.statements.tokens import options_of
from keyfold.tables.where.condition import Where, partition_filters


@doors(lambda table: f"table {table.name}")
class Writable(ByKey):
    """A table by its name or path, and what changes its rows."""

    def upsert(
        self,
        data: Any,
        *,
        columns: Sequence[str] | None = None,
        merge_mode: str | None = None,
        row_kind: str | None = None,
        evolve: bool = False,
        token: tuple[str, int] | None = None,
    ) -> int | None:
        """Write rows in one commit, as an INSERT does: rows of one key fold, in the order in which
        they come. Returns the new snapshot's id, None if there were no rows.

        In a table that folds column by column (partial-update, aggregation), or that has
        keyfold.partial-insert, the columns that `data` lacks stay as they are; elsewhere they get
        their DEFAULT, or NULL.

        Args:
            data: Anything with Arrow's C interface (a table, batch or stream), a DataFrame of
                pandas or Polars, a list of dictionaries, an iterator of batches or dictionaries.
                A stream may be larger than memory.
            columns: The columns of `data` to write; all by default.
            merge_mode: `overwrite` replaces what is stored in place of folding with it.
            row_kind: `+I`, `-U`, `+U` or `-D` for all rows, or the column of `data` that has these;
                the column is not written. For a table without a `rowkind.field`.
            evolve: Add columns and fields of STRUCTs that the table lacks and widen types first,
                as INSERT WITH SCHEMA EVOLUTION does; the table stays changed if the write fails.
            token: A name and a version, `("orders", 7)`: nothing changes, and None is returned, if
                it is the last one of that name in the table. So a program may repeat what it does
                not know to have succeeded. A lower version is refused. A call that finds no rows
                to change notes its token in a snapshot of its own.

        Raises:
            TableError: A column is unknown, a value does not fit or is NULL in a NOT NULL column.
            ConflictError: Another job changed what this one depends on; nothing was written.
        """
        options = self._options_of(token, merge_mode)
        return self._written(data, columns, row_kind, evolve=evolve, options=options)

    def overwrite(
        self,
        data: Any,
        where: Where = None,
        *,
        dynamic: bool = False,
        columns: Sequence[str] | None = None,
        evolve: bool = False,
        token: tuple[str, int] | None = None,
    ) -> int | None:
        """Replace all rows in one commit, or those of the partitions that satisfy `where`; with
        `dynamic` those of the partitions that `data` has rows of. Returns the snapshot's id.
        `evolve` and `token` are those of `upsert`.

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
        options = self._options_of(token)
        how: dict[str, Any] = {"mode": mode, "filters": filters, "options": options}
        return self._written(data, columns, evolve=evolve, **how)

    def _written(
        self,
        data: Any,
        columns: Sequence[str] | None,
        row_kind: str | None = None,
        *,
        evolve: bool,
        **how: Any,
    ) -> int | None:
        if evolve:
            data = self._evolved(data, columns, row_kind)
        layout = self._layout
        rows = with_kinds(layout, data, row_kind) if row_kind else incoming(layout, data)
        if columns is not None:
            named = column_definitions.names(f"writing table {self.name}: columns", columns)
            more = tuple(name for name in rows.columns if name not in rows.own)
            rows = rows.select(self.name, (*named, *more))
        with self._changing():
            return writes.written(self._to, rows, **how)

    def _evolved(self, data: Any, columns: Sequence[str] | None, row_kind: str | None) -> Any:
        """The rows, once the table takes them. Another job may make the same changes meanwhile."""
        given = evolution.shown(self.name, data)
        names = given.schema.names
        left = [] if columns is None else [n for n in names if matched(columns, n) is None]
        left += [] if row_kind is None else [row_kind]
        needed = evolution.changes(self._layout, given, left)
        while needed:
            try:
                with self._changing(), self._session.working():
                    self._catalog.alter_table([self._namespace], self._name, needed)
                break
            except (TableError, ConflictError):
                before, needed = needed, evolution.changes(self._layout, given, left)
                if needed == before:
                    raise
        return given.rows

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
        options = self._options_of(token)
        with self._changing():
            if where is None:
                return deletes.by_keys(self._to, keys_, options)
            return deletes.by_condition(self._to, where, options)

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
        options = self._options_of(token)
        with self._changing():
            return updates.by_condition(self._to, where, values, options)

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
        options = self._options_of(token)

        def execute(clauses: Sequence[merges.Clause]) -> int | None:
            with self._changing():
                return merges.merged(self._to, rows, on, clauses, options)

        return Merge(self.name, execute)

    def truncate(self, *, token: tuple[str, int] | None = None) -> int | None:
        """Remove all rows. Returns the snapshot's id, None if there were none. The token is that of
        `upsert`.
        """
        options = self._options_of(token)
        with self._changing():
            return writes.truncated(self._to, options)

    def _options_of(
        self, token: tuple[str, int] | None, merge_mode: str | None = None
    ) -> dict[str, str]:
        """The options of a write."""
        return options_of(self.name, token, merge_mode)
