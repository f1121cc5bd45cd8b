"""Namespaces, tables and views whose names are rows of a database: Paimon's JDBC catalog.

The tables are those of JdbcCatalog and JdbcUtils of Paimon's Java, which makes the same rows.
Folders lie as in a warehouse. A name counts if it has a row: it gets one after its folder is
there, and loses it before the folder goes.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from keyfold.errors import NamespaceExistsError, TableError, TableExistsError
from keyfold.options.values import boolean, shown
from keyfold.storage.catalogs.namespaces import DEFAULT, Namespace, Namespaces, is_plain
from keyfold.storage.catalogs.views import missing_table
from keyfold.storage.jdbc import locks
from keyfold.storage.jdbc.database import Connection, Database, DuplicateError, database_of
from keyfold.storage.jdbc.locks import CATALOG_KEY, DEFAULT_KEY, Locks, locks_of
from keyfold.storage.schema.schemas import Schemas
from keyfold.storage.table import Table
from keyfold.stores.files import Files
from keyfold.wire.layout import BRANCH_MARK, TableLayout

TABLES, PROPERTIES = "paimon_tables", "paimon_database_properties"
TABLE_PROPERTIES, VIEWS = "paimon_table_properties", "paimon_views"
SYNCED, POOL = "sync-all-properties", "client-pool-size"  # of which we make no use
JDBC_SETTINGS = (CATALOG_KEY, SYNCED, POOL, *locks.NAMES)
_EXISTS = "exists"  # a property that every namespace has
_NAME, _TEXT = 255, 1000  # the longest in the database's columns
_KEY = f"catalog_key VARCHAR({_NAME}) NOT NULL, database_name VARCHAR({_NAME}) NOT NULL"
_PROPERTY = f"property_value VARCHAR({_TEXT})"
_MADE = {
    TABLES: f"{_KEY}, table_name VARCHAR({_NAME}) NOT NULL, "
    "PRIMARY KEY (catalog_key, database_name, table_name)",
    PROPERTIES: f"{_KEY}, property_key VARCHAR({_NAME}), {_PROPERTY}, "
    "PRIMARY KEY (catalog_key, database_name, property_key)",
    TABLE_PROPERTIES: f"{_KEY}, table_name VARCHAR({_NAME}) NOT NULL, "
    f"property_key VARCHAR({_NAME}) NOT NULL, {_PROPERTY}, "
    "PRIMARY KEY (catalog_key, database_name, table_name, property_key)",
    VIEWS: f"{_KEY}, view_name VARCHAR({_NAME}) NOT NULL, view_schema TEXT NOT NULL, "
    "PRIMARY KEY (catalog_key, database_name, view_name)",
}
_NOT_TWICE = "ON CONFLICT DO NOTHING"  # waits for another job that is making the same row
_IN = "WHERE catalog_key = ? AND database_name = ?"
_ONE_TABLE, _ONE_VIEW = f"{_IN} AND table_name = ?", f"{_IN} AND view_name = ?"


@dataclass(frozen=True)
class JdbcNames(Namespaces):
    """The namespaces of the catalog `key` of a database; `default` exists without being made."""

    database: Database
    key: str
    locks: Locks | None
    is_synced: bool = field(default=True)

    def _ask(self, statement: str, *values: object) -> list[str]:
        """The first column of a query's rows, whose first value is our key."""
        with self.database.connection() as connection:
            return [str(row[0]) for row in connection.ask(statement, self.key, *values)]

    # ---- namespaces ----

    def names(self) -> list[str]:
        found = {DEFAULT}
        for table in (TABLES, PROPERTIES, VIEWS):
            asked = f"SELECT DISTINCT database_name FROM {table} WHERE catalog_key = ?"
            found.update(self._ask(asked))
        return sorted(found)

    def exists(self, name: str) -> bool:
        if name == DEFAULT:
            return True
        asked = [f"SELECT 1 FROM {table} {_IN}" for table in (TABLES, PROPERTIES, VIEWS)]
        return is_plain(name) and any(self._ask(f"{one} LIMIT 1", name) for one in asked)

    def load(self, namespace: Namespace) -> dict[str, str]:
        name = self.require(namespace)
        with self.database.connection() as connection:
            stored = self._properties(connection, name)
        stored.pop(_EXISTS, None)
        return {**stored, "location": self.path(name)}

    def _properties(self, connection: Connection, name: str) -> dict[str, str]:
        asked = f"SELECT property_key, property_value FROM {PROPERTIES} {_IN}"
        return {str(k): str(v) for k, v in connection.ask(asked, self.key, name)}

    def create(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        name = self._new_name(namespace, properties)
        _check_properties(name, properties.items())
        with self._changing() as connection:
            if not self._made(connection, name):
                raise NamespaceExistsError(f"namespace {name} exists")
            stored = {**properties, "location": self.path(name)}
            self._store(connection, PROPERTIES, stored, name)

    def _made(self, connection: Connection, name: str) -> bool:
        """Whether the namespace has got the row that each has."""
        columns = "catalog_key, database_name, property_key, property_value"
        row = f"INSERT INTO {PROPERTIES} ({columns}) VALUES (?, ?, '{_EXISTS}', 'true')"
        return connection.change(f"{row} {_NOT_TWICE}", self.key, name) > 0

    def alter(self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]) -> None:
        self._check_changes(namespace, changed, unset)
        name = self.require(namespace)
        _check_properties(name, [*changed.items(), *((gone, "") for gone in unset)])
        with self._changing() as connection:
            self._made(connection, name)  # Paimon's Java leaves `default` without rows
            for gone in unset:
                one = f"DELETE FROM {PROPERTIES} {_IN} AND property_key = ?"
                connection.change(one, self.key, name, gone)
            self._store(connection, PROPERTIES, changed, name)

    def drop(self, namespace: Namespace, cascade: bool) -> bool:
        name = self.require(namespace) if self._is_there(namespace) else ""
        if not name:
            return False
        self._check_empty(name, cascade)
        for table in self.tables(name) if cascade else ():
            with self.locked((name, table)):
                self.remove_table(name, table)
        with self._changing() as connection:  # a table or view made meanwhile keeps its row
            for rows in (PROPERTIES, VIEWS) if cascade else (PROPERTIES,):
                connection.change(f"DELETE FROM {rows} {_IN}", self.key, name)
        return True

    def _is_there(self, namespace: Namespace) -> bool:
        return len(namespace) == 1 and self.exists(namespace[0])

    # ---- tables ----

    def tables(self, name: str) -> list[str]:
        return sorted(self._ask(f"SELECT table_name FROM {TABLES} {_IN}", name))

    def may_hold(self, namespace: Namespace, table: str) -> bool:
        base = table.partition(BRANCH_MARK)[0]
        is_possible = len(namespace) == 1 and is_plain(namespace[0]) and is_plain(base)
        return is_possible and self._has(namespace[0], base)

    def _has(self, name: str, table: str) -> bool:
        return bool(self._ask(f"SELECT 1 FROM {TABLES} {_ONE_TABLE}", name, table))

    def check_missing(self, name: str, table: str) -> bool:
        if "$" not in table and self._has(name, table):  # else it has been dropped meanwhile
            raise TableError(
                f"table {name}.{table}: the catalog's database says it lies at "
                f"{self.table_path(name, table)}, where no schema is found: restore its folder, or "
                "DROP TABLE it"
            )
        return False

    def check_free(self, name: str, table: str) -> None:
        """Raises TableError if a table is there that the database does not know."""
        place = self.table_path(name, table)
        if Schemas(self.files, place, place).latest_id() is None:
            return
        with self._changing() as connection:  # waits for a job that has just moved it there
            if not self._added(connection, name, table):
                return
            raise TableError(
                f"{place} holds a table that the catalog's database has no row of: move the folder "
                "away, or let Paimon's sys.repair add it"
            )

    def _added(self, connection: Connection, name: str, table: str) -> bool:
        """Whether the table has got a row; False if it has one."""
        row = f"INSERT INTO {TABLES} (catalog_key, database_name, table_name) VALUES (?, ?, ?)"
        return connection.change(f"{row} {_NOT_TWICE}", self.key, name, table) > 0

    def _held(self, connection: Connection, name: str, table: str) -> bool:
        """Whether the table has a row, which nobody else changes before our transaction ends."""
        same = f"UPDATE {TABLES} SET table_name = table_name {_ONE_TABLE}"
        return connection.change(same, self.key, name, table) > 0

    @contextlib.contextmanager
    def locked(self, *tables: tuple[str, str]) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            if self.locks is not None:
                for table in sorted(set(tables)):  # of two jobs neither waits for the other
                    held.enter_context(self.locks.held(*table))
            yield

    def check_layout(self, layout: TableLayout) -> None:
        if self.is_synced:
            _properties_of(layout)

    @contextlib.contextmanager
    def registering(
        self, name: str, table: str, find: Callable[[], Table | None]
    ) -> Iterator[None]:
        found = find()
        with self._changing() as connection:
            self._added(connection, name, table)
            self._held(connection, name, table)
            if found is not None:
                self._store_options(connection, name, table, found.layout)
            yield

    def note_options(self, name: str, table: str, find: Callable[[], Table | None]) -> None:
        with self._changing() as connection:
            if self._held(connection, name, table):  # else somebody dropped it
                found = find()  # not before: the last of several ALTER counts
                if found is not None:
                    self._store_options(connection, name, table, found.layout)

    def _store_options(
        self, connection: Connection, name: str, table: str, layout: TableLayout
    ) -> None:
        if self.is_synced:
            stored = _properties_of(layout)
            all_of_it = f"DELETE FROM {TABLE_PROPERTIES} {_ONE_TABLE}"
            connection.change(all_of_it, self.key, name, table)
            self._store(connection, TABLE_PROPERTIES, stored, name, table)

    def unregister(self, name: str, table: str) -> bool | None:
        with self._changing() as connection:
            connection.change(f"DELETE FROM {TABLE_PROPERTIES} {_ONE_TABLE}", self.key, name, table)
            row = f"DELETE FROM {TABLES} {_ONE_TABLE}"
            return connection.change(row, self.key, name, table) > 0

    @contextlib.contextmanager
    def renaming(self, table: tuple[str, str], to: tuple[str, str]) -> Iterator[None]:
        try:
            with self._changing() as connection:
                moved = f"SET database_name = ?, table_name = ? {_ONE_TABLE}"
                if not connection.change(f"UPDATE {TABLES} {moved}", *to, self.key, *table):
                    raise missing_table(".".join(table), is_view=False)
                connection.change(f"UPDATE {TABLE_PROPERTIES} {moved}", *to, self.key, *table)
                yield
        except DuplicateError:
            raise TableExistsError(f"table {'.'.join(to)} exists") from None

    # ---- views ----

    def views(self, name: str) -> list[str]:
        return self._ask(f"SELECT view_name FROM {VIEWS} {_IN}", name)

    def has_view(self, name: str, view: str) -> bool:
        return bool(self._ask(f"SELECT 1 FROM {VIEWS} {_ONE_VIEW}", name, view))

    def view_place(self, name: str, view: str) -> str:
        return f"its row ({self.key}, {name}, {view}) of {VIEWS} in the catalog's database"

    def read_view(self, name: str, view: str) -> bytes:
        found = self._ask(f"SELECT view_schema FROM {VIEWS} {_ONE_VIEW}", name, view)
        if not found:
            raise FileNotFoundError(view)
        return found[0].encode()

    def add_view(self, name: str, view: str, stored: Mapping[str, object]) -> bool:
        return self._stored_view(name, view, stored, _NOT_TWICE)

    def replace_view(self, name: str, view: str, stored: Mapping[str, object]) -> None:
        key = "catalog_key, database_name, view_name"
        again = f"ON CONFLICT ({key}) DO UPDATE SET view_schema = excluded.view_schema"
        self._stored_view(name, view, stored, again)

    def _stored_view(self, name: str, view: str, stored: Mapping[str, object], again: str) -> bool:
        row = f"INSERT INTO {VIEWS} (view_schema, catalog_key, database_name, view_name)"
        text = json.dumps(stored, ensure_ascii=False)
        with self._changing() as connection:
            row += f" VALUES (?, ?, ?, ?) {again}"
            return connection.change(row, text, self.key, name, view) > 0

    def remove_view(self, name: str, view: str) -> None:
        with self._changing() as connection:
            connection.change(f"DELETE FROM {VIEWS} {_ONE_VIEW}", self.key, name, view)

    # ---- rows ----

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Connection]:
        """A connection with a transaction."""
        with self.database.connection() as connection, connection.transaction():
            yield connection

    def _store(
        self, connection: Connection, rows: str, properties: Mapping[str, str], *owner: str
    ) -> None:
        """Set properties, which another job may be setting too."""
        owners = ", ".join(("database_name", "table_name")[: len(owner)])
        key, values = f"catalog_key, {owners}, property_key", ", ".join("?" * (len(owner) + 3))
        row = f"INSERT INTO {rows} ({key}, property_value) VALUES ({values})"
        again = f"ON CONFLICT ({key}) DO UPDATE SET property_value = excluded.property_value"
        for name, value in sorted(properties.items()):  # of two jobs neither waits for the other
            connection.change(f"{row} {again}", self.key, *owner, name, value)


def _properties_of(layout: TableLayout) -> dict[str, str]:
    """A table's options and keys, as Paimon's Java has them among the properties of a table."""
    keys = [name for name in layout.primary_key if name not in layout.partition_keys]
    lists = {
        "primary-key": layout.primary_key,
        "partition": layout.partition_keys,
        "bucket-key": () if "bucket-key" in layout.options else keys,
    }
    named = {name: ",".join(columns) for name, columns in lists.items() if columns}
    found = {**layout.options, **named}
    hint = f"; the catalog's setting {SYNCED} = false keeps options out of the database"
    _check_lengths(f"table {layout.name}", found, hint)
    return found


def _check_properties(name: str, properties: Iterable[tuple[str, str]]) -> None:
    """Raises TableError if a namespace can't have one of the properties."""
    found = dict(properties)
    if _EXISTS in found:
        raise TableError(
            f"property {_EXISTS} of namespace {name} is the catalog's own: take another name"
        )
    _check_lengths(f"namespace {name}", found)


def _check_lengths(owner: str, properties: Mapping[str, str], hint: str = "") -> None:
    """Raises TableError if a name or value is longer than its column in the database."""
    for name, value in properties.items():
        if len(name) > _NAME or len(value) > _TEXT:
            raise TableError(
                f"{owner}: property {shown(name)} has {len(name)} letters and its value "
                f"{len(value)}, expected up to {_NAME} and {_TEXT} in a JDBC catalog{hint}"
            )


def jdbc_names(files: Files, warehouse: str, options: Mapping[str, str]) -> JdbcNames:
    """The names of a catalog with these options, whose tables are made if they are missing."""
    database, found = database_of(options), locks_of(options, warehouse)
    made = {name: f"CREATE TABLE {name} ({columns})" for name, columns in _MADE.items()}
    if found is not None:
        made[locks.TABLE] = locks.create_statement(options)
    with database.connection() as connection:
        connection.make_tables(made)
    key = options.get(CATALOG_KEY) or DEFAULT_KEY
    is_synced = locks.setting(options, SYNCED, boolean, True)
    return JdbcNames(files, warehouse, database, key, found, is_synced)
