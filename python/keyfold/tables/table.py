"""One table of a catalog: what a program does with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from keyfold.compact.health import table_health
from keyfold.errors import NotSupportedError, TableError
from keyfold.files.value_text import partition_text
from keyfold.read import metadata
from keyfold.storage.catalogs.interface import Catalog
from keyfold.storage.catalogs.places import NAMELESS
from keyfold.storage.commits import commit
from keyfold.storage.maintenance.due import followed
from keyfold.storage.table import Table as Loaded
from keyfold.tables import compaction, definition, keys, maintenance, writes
from keyfold.tables.definition import Schema
from keyfold.tables.incoming import incoming
from keyfold.tables.scan import Scan, found_by, scan
from keyfold.tables.session import Session
from keyfold.tables.where.condition import Condition, Where
from keyfold.types.logical import describe
from keyfold.wire.layout import TableLayout, sql_name

UTC = "UTC"


class Table:
    """A table by its name or path. Each call sees its newest schema and snapshot.

    It can be pickled, shared by threads, and used by processes that were forked or spawned.
    """

    def __init__(self, session: Session, namespace: str, name: str) -> None:
        self._session = session
        self._namespace, self._name = namespace, name

    def __repr__(self) -> str:
        return f"<keyfold table {self.name}>"

    # ---- what it is ----

    @property
    def name(self) -> str:
        """Its full name in SQL; of a table by path, the path."""
        if self._namespace == NAMELESS:
            return self._name
        return sql_name(self._session.name, self._namespace, self._name)

    @property
    def schema(self) -> pa.Schema:
        """Its columns."""
        return self._layout.arrow_schema

    @property
    def columns(self) -> dict[str, str]:
        """The SQL type of each column, with NOT NULL."""
        return {
            column.name: describe(column.type) + ("" if column.type.nullable else " NOT NULL")
            for column in self._layout.columns
        }

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of its primary key, those of its partitions among them."""
        return self._layout.primary_key

    @property
    def partitions(self) -> tuple[str, ...]:
        """The columns that it is partitioned by."""
        return self._layout.partition_keys

    @property
    def options(self) -> dict[str, str]:
        """Its options, as they are stored."""
        return dict(self._layout.options)

    @property
    def comment(self) -> str | None:
        """Its comment."""
        return self._layout.comment

    @property
    def location(self) -> str:
        """Its folder."""
        return self._layout.location

    @property
    def snapshot(self) -> int | None:
        """The id of its newest snapshot; None if nothing was ever written."""
        return self._load().snapshot_id

    @property
    def _layout(self) -> TableLayout:
        return self._load().layout

    @property
    def _catalog(self) -> Catalog:
        session = self._session
        return session.at(self._name) if self._namespace == NAMELESS else session.catalog()

    def _load(self) -> Loaded:
        with self._session.working():
            return self._catalog.load_table([self._namespace], self._name)

    def alter(
        self,
        *,
        add: Schema | None = None,
        drop: Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        types: Mapping[str, str | pa.DataType] | None = None,
        options: Mapping[str, str | None] | None = None,
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
        changes = definition.changes(add, drop, rename or {}, types or {}, options or {}, comment)
        with self._session.working():
            self._catalog.alter_table([self._namespace], self._name, list(changes))

    # ---- read ----

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: Where = None,
        *,
        limit: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Scan:
        """A read of the newest snapshot, merged by the table's engine; rows come in no order.

        Args:
            columns: Names in the order wanted; all by default.
            where: A condition, as SQL text (`"qty > 5 AND sku IN ('nut', 'bolt')"`) or as an
                expression of `pyarrow.compute`. Rows that fail it never come back, and files
                that can't hold others are not read.
            limit: The most rows.
            options: Options of this read, as in Spark.

        Raises:
            TableError: A column or option is unknown, or the condition can't be read.
            NotSupportedError: The table holds what can't be read; the message names it.
        """
        return scan(self._session, self._load(), columns, where, limit, options or {})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows by Arrow's C stream interface."""
        return self.scan().__arrow_c_stream__(requested_schema)

    # ---- keys ----

    def get(
        self, key: Mapping[str, Any], columns: Sequence[str] | None = None
    ) -> dict[str, Any] | None:
        """The row of a key, `{"sku": "bolt"}`; None if there is none.

        Raises TableError if these are not the columns of the primary key.
        """
        table = self._load()
        filters = keys.predicates_of(table.layout, keys.keys_of(table.layout, [key]))
        found = found_by(self._session, table, columns, filters).to_pylist()
        return found[0] if found else None

    def prefix(self, key: Mapping[str, Any], columns: Sequence[str] | None = None) -> pa.Table:
        """All rows whose key begins with these values. Raises TableError if they are not those of
        the first columns of the key.
        """
        table = self._load()
        filters = keys.prefix_of(table.layout, key)
        return found_by(self._session, table, columns, filters).to_arrow()

    # ---- write ----

    def upsert(
        self,
        data: Any,
        *,
        columns: Sequence[str] | None = None,
        merge_mode: str | None = None,
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

        Raises:
            TableError: A column is unknown, a value does not fit or is NULL in a NOT NULL column.
            ConflictError: Another job changed what this one depends on; nothing was written.
        """
        return self._written(data, columns, merge_mode=merge_mode)

    def overwrite(
        self,
        data: Any,
        where: Where = None,
        *,
        dynamic: bool = False,
        columns: Sequence[str] | None = None,
    ) -> int | None:
        """Replace all rows in one commit, or those of the partitions that satisfy `where`; with
        `dynamic` those of the partitions that `data` has rows of. Returns the snapshot's id.

        Raises TableError and ConflictError as `upsert`, and NotSupportedError if `where` is not
        about partitions as a whole.
        """
        if dynamic and where is not None:
            raise TableError(
                f"overwrite of table {self.name}: where and dynamic both say which partitions are "
                "replaced; give one of them"
            )
        filters = self._partition_filters(where)
        mode = "overwrite_dynamic" if dynamic else "overwrite"
        return self._written(data, columns, mode=mode, filters=filters)

    def _partition_filters(self, where: Where) -> tuple[Any, ...]:
        found = Condition.of(self._layout, where)
        if found.expression is not None:
            raise NotSupportedError(
                f"overwrite of table {self.name}: this expression of Arrow does not compare "
                "partition columns with constants; give the condition as SQL text"
            )
        return found.predicates

    def _written(self, data: Any, columns: Sequence[str] | None, **how: Any) -> int | None:
        rows = incoming(self._layout, data)
        if columns is not None:
            rows = rows.select(self.name, columns)
        return writes.written(self._session, self._load, rows, **how)

    def delete(self, keys_: Any = None, *, where: Where = None) -> int | None:
        """Remove rows, by their keys (any form of rows with the primary key's columns) or by a
        condition over the key. Returns the snapshot's id, None if no row was there.

        Raises NotSupportedError if the condition is about other columns, TableError if the table
        takes no deletes, ConflictError if another job rewrote the same files.
        """
        if (keys_ is None) == (where is None):
            raise TableError(f"delete from table {self.name}: expected keys or where, one of them")

        def filters(layout: TableLayout) -> Sequence[Any]:
            if keys_ is not None:
                return keys.predicates_of(layout, keys.keys_of(layout, keys_))
            found = Condition.of(layout, where)
            if found.expression is not None:
                raise NotSupportedError(
                    f"delete from table {self.name}: this expression of Arrow does not compare "
                    "columns of the key with constants; give the condition as SQL text"
                )
            return found.predicates

        return writes.deleted(self._session, self._load, filters)

    def truncate(self) -> int | None:
        """Remove all rows. Returns the snapshot's id, None if there were none."""
        with self._session.working():
            table = self._load()
            table.check_writable()
            return followed(table, commit.truncate(table))

    # ---- keep in order ----

    def compact(
        self,
        strategy: str = "full",
        *,
        partitions: str | None = None,
        where: Where = None,
        max_bytes: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """Merge files, as `CALL sys.compact` does; a row for each step, with what became of it.

        Args:
            strategy: `full` merges all files of a bucket, `minor` those that are worth it.
            partitions: Those to take, `"day=1,hour=2;day=3"`; `where` is a condition on them.
            max_bytes: The most bytes to read.
            options: Options of the table for this call.
        """
        asked = {
            "partitions": partitions,
            "where": self._partition_filters(where),
            "max_bytes": max_bytes,
            "options": options,
        }
        rows = compaction.compacted(self._session, self._load, strategy, **asked)
        return pa.Table.from_pylist(rows, compaction.COLUMNS)

    def rescale(self, buckets: int) -> dict[str, Any]:
        """Give the table another number of buckets, in one commit: its snapshot, files, bytes and
        rows. Raises ConflictError, with nothing changed, if another job committed meanwhile.
        """
        return compaction.rescaled(self._session, self._load, buckets)

    def expire(
        self,
        *,
        older_than: datetime | None = None,
        retain_max: int | None = None,
        retain_min: int | None = None,
        max_deletes: int | None = None,
        options: Mapping[str, str] | None = None,
    ) -> int:
        """Remove snapshots that may go, by the table's options or these; returns how many did."""
        with self._session.working():
            return maintenance.expired(
                self._load(), older_than, retain_max, retain_min, max_deletes, options
            )

    def remove_orphans(
        self, *, older_than: datetime | None = None, dry_run: bool = False
    ) -> pa.Table:
        """Remove, or with `dry_run` list, files that nothing refers to: path and bytes of each."""
        with self._session.working():
            return maintenance.orphans(self._load(), older_than, dry_run=dry_run)

    # ---- look at it ----

    def health(self) -> pa.Table:
        """The runs, files, bytes and rows of each bucket, what a read of it costs, and advice."""
        table = self._load()
        layout = table.layout
        call = f"CALL {sql_name(self._session.name)}.sys.compact(table => '{self._shown}'"
        found = table_health(table.live_files(), table.options, call) if layout.primary_key else []
        rows = [one.to_json(lambda values: partition_text(layout, values)) for one in found]
        return pa.Table.from_pylist(rows, maintenance.HEALTH)

    @property
    def _shown(self) -> str:
        return sql_name(self._namespace, self._name).replace("'", "''")

    def metadata(self, name: str, zone: str = UTC) -> pa.Table:
        """The rows of a metadata table: snapshots, files, options, partitions, buckets, schemas,
        manifests, tags … Points in time are those of a clock in `zone`.
        """
        found = metadata.ALL.get(name)
        if found is None:
            raise TableError(
                f"table {self.name} has no metadata table {name}; there are "
                f"{', '.join(metadata.ALL)}"
            )
        names = [column.name for column in found.columns]
        schema = pa.schema([column.field for column in found.columns])
        return pa.Table.from_batches(found.batches(self._load(), names, zone), schema)

    def snapshots(self, zone: str = UTC) -> pa.Table:
        """Its snapshots."""
        return self.metadata("snapshots", zone)

    def files(self) -> pa.Table:
        """The data files of the newest snapshot."""
        return self.metadata("files")
