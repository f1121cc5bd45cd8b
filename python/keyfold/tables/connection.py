"""A connection: namespaces and tables of one warehouse, or of a REST catalog."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from keyfold.errors import NamespaceExistsError, NoSuchTableError
from keyfold.lookup.row_group_cache import DEFAULT as LOOKUP_MEMORY
from keyfold.procedures.compact_database import COMPACT_DATABASE
from keyfold.storage.catalogs.namespaces import DEFAULT
from keyfold.storage.catalogs.table_names import parsed
from keyfold.storage.catalogs.views import StoredView
from keyfold.storage.schema.definition import NewTable
from keyfold.stores.local import local_path
from keyfold.tables import column_definitions
from keyfold.tables.argument_types import checked
from keyfold.tables.calls import note_options, rows_of_catalog, table_of
from keyfold.tables.column_definitions import Schema
from keyfold.tables.doors import as_store_errors, doors
from keyfold.tables.report import Report, report
from keyfold.tables.session import Session, Settings
from keyfold.tables.table import Table

Name = str | os.PathLike[str]


@checked
def connect(
    warehouse: Name | None = None,
    *,
    catalog: str = "keyfold",
    modules: Sequence[str] = (),
    threads: int | None = None,
    memory: int | None = None,
    lookup_memory: int = LOOKUP_MEMORY,
    **options: Any,
) -> Catalog:
    """Open a warehouse without Spark or Java; nothing is read or made yet.

    Args:
        warehouse: A folder or an object store's URL. By default the folder that Spark uses for a
            catalog of that name, below the current folder: spark-warehouse/keyfold.
        catalog: The catalog's name in SQL, which messages show.
        modules: Modules that hold aggregates and engines of your own.
        threads: Threads of a read or write; by default one for each processor.
        memory: Bytes that one read, write or compaction may take in all its threads.
        lookup_memory: Bytes of decoded rows that look-ups may keep for the next ones, 512 MiB by
            default.
        **options: The catalog's other settings by the names that Spark's have behind
            `spark.sql.catalog.keyfold.`, such as `**{"s3.endpoint": "…"}`, or `uri` and `type` of
            a REST, JDBC or Hive catalog.

    Raises:
        TableError: A setting is unknown or wrong.
        NotSupportedError: The warehouse is in a store that keyfold does not know.
    """
    session = Session.of(
        catalog,
        warehouse,
        options,
        modules=tuple(modules),
        threads=threads,
        memory=memory,
        lookup_memory=lookup_memory,
    )
    with as_store_errors(f"connecting to catalog {catalog}"):
        session.catalog()
    return Catalog(session)


@doors(lambda catalog: f"catalog {catalog.name}")
class Catalog:
    """An open catalog. It can be pickled, shared by threads, and used by processes that were forked
    or spawned. `keyfold.register(catalog, function)` makes a function of your own known to it.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __repr__(self) -> str:
        place = self._session.options.get("warehouse") or self._session.options.get("uri")
        return f"<keyfold catalog {self._session.name} at {place}>"

    @property
    def name(self) -> str:
        """Its name in SQL."""
        return self._session.name

    @property
    def missing_warehouse(self) -> Path | None:
        """The folder of the warehouse if it does not exist yet: the first table makes it."""
        local = local_path(self._session.options.get("warehouse", "://"))
        if local is None or "uri" in self._session.options or Path(local).exists():
            return None
        return Path(local)

    @property
    def conf(self) -> Settings:
        """The settings that `keyfold.register` puts functions into."""
        return Settings(self._session)

    # ---- namespaces ----

    def namespaces(self) -> list[str]:
        """The names of all namespaces."""
        return [name for (name,) in self._session.catalog().list_namespaces()]

    def create_namespace(
        self,
        name: str,
        properties: Mapping[str, str] | None = None,
        *,
        if_not_exists: bool = False,
    ) -> None:
        """Make a namespace. Raises NamespaceExistsError if it exists, unless `if_not_exists`."""
        try:
            self._session.catalog().create_namespace([name], properties or {})
        except NamespaceExistsError:
            if not if_not_exists:
                raise

    def drop_namespace(self, name: str, *, cascade: bool = False) -> bool:
        """Remove a namespace, with its tables and views if `cascade`; False if there is none.
        Raises NamespaceNotEmptyError if it has some and `cascade` is false.
        """
        return self._session.catalog().drop_namespace([name], cascade)

    # ---- tables ----

    def tables(self, namespace: str = DEFAULT) -> list[str]:
        """The names of a namespace's tables. Raises NoSuchNamespaceError if there is none."""
        return self._session.catalog().list_tables([namespace])

    def table(self, name: Name) -> Table:
        """A table by its name (`"shop.stock"`; `"stock"` is in namespace `default`) or its path.
        Raises NoSuchTableError if it does not exist.
        """
        found = Table(self._session, *parsed(name))
        try:
            found._load()
        except NoSuchTableError as error:
            if (missing := self.missing_warehouse) is None or "/" in found.name:
                raise
            raise NoSuchTableError(
                f"{error}: the folder of the warehouse, {missing}, does not exist; the first table "
                "makes it"
            ) from None
        return found

    def health(self, namespace: str | None = None, *, orphans: bool = False) -> Report:
        """The state of all tables, or of those of a namespace, in one call: what reads of them
        cost, how far their consumers are behind, with `orphans` what failed jobs left. A table
        that can't be looked at is there with its error.
        """
        namespaces = self.namespaces() if namespace is None else [namespace]
        names = [(of, name) for of in namespaces for name in self.tables(of)]
        loaders = [(f"{of}.{name}", Table(self._session, of, name)._load) for of, name in names]
        with self._session.working():
            return report(loaders, orphans=orphans)

    def compact(
        self,
        namespaces: str | None = None,
        tables: str | None = None,
        *,
        excluding: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """Merge the files of all tables, as `CALL sys.compact_database` does: a row for each table.

        Args:
            namespaces: A regular expression for the whole names of those to take.
            tables: One for the names of tables, as `shop.orders`.
            excluding: One for those to leave out.
            options: Options of each table for this call.
        """
        given: dict[str, Any] = {"including_databases": namespaces, "including_tables": tables}
        given |= {"excluding_tables": excluding, "options": options}
        return table_of(COMPACT_DATABASE, rows_of_catalog(self._session, COMPACT_DATABASE, **given))

    def create_table(
        self,
        name: Name,
        schema: Schema,
        primary_key: Sequence[str] = (),
        partitions: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        comment: str | None = None,
        *,
        if_not_exists: bool = False,
    ) -> Table:
        """Make an empty table, as CREATE TABLE does.

        Args:
            name: As in `table`.
            schema: A schema of Arrow or Polars, or SQL types by name, such as
                `{"sku": "STRING", "qty": "BIGINT"}`.
            primary_key: Its columns; those of the partitions must be among them.
            partitions: Columns to partition by.
            options: Table options, such as `{"merge-engine": "aggregation"}`.
            comment: A text about it.
            if_not_exists: Take a table that is there as it is.

        Raises:
            TableExistsError: The name is taken.
            NoSuchNamespaceError: There is no such namespace.
            TableError, NotSupportedError: A column, key or option can't be; the message names it.
        """
        namespace, own = parsed(name)
        properties = column_definitions.properties(options or {}) | (
            {} if comment is None else {"comment": comment}
        )
        new = NewTable(
            column_definitions.columns(schema),
            column_definitions.names("partitions", partitions),
            column_definitions.names("primary_key", primary_key),
            properties,
        )
        with self._session.working():
            self._session.holder(namespace, own).create_table(
                [namespace], own, new, if_not_exists=if_not_exists
            )
        note_options(own, properties)
        return Table(self._session, namespace, own)

    def drop_table(self, name: Name) -> bool:
        """Remove a table and its files; False if there is none, which is no error."""
        namespace, own = parsed(name)
        try:
            return self._session.holder(namespace, own).drop_table([namespace], own)
        finally:
            self._session.lookups.changed((namespace, own))

    def rename_table(self, name: Name, to: Name) -> Table:
        """Give a table another name, perhaps in another namespace. Raises NoSuchTableError if it
        does not exist, TableExistsError if the new name is taken.
        """
        (namespace, own), (other, new) = parsed(name), parsed(to)
        self._session.holder(namespace, own).rename_table([namespace], own, [other], new)
        self._session.lookups.changed((namespace, own))
        return Table(self._session, other, new)

    # ---- views ----

    def views(self, namespace: str = DEFAULT) -> list[str]:
        """The names of a namespace's views, which Spark's SQL makes and reads. Raises
        NoSuchNamespaceError if there is none.
        """
        return self._session.catalog().list_views([namespace])

    def view(self, name: str) -> StoredView:
        """A view by its name, as in `table`: its `query`, `columns`, `comment` and `properties`,
        and the `current_catalog` and `current_namespace` of the names in its query. Raises
        NoSuchTableError if there is none.
        """
        namespace, own = parsed(name)
        return self._session.catalog().load_view([namespace], own)

    def drop_view(self, name: str) -> bool:
        """Remove a view; False if there is none, which is no error."""
        namespace, own = parsed(name)
        return self._session.catalog().drop_view([namespace], own)
