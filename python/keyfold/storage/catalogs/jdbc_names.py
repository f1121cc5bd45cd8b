"""Namespaces, tables and views whose names are rows of a database: Paimon's JDBC catalog.

The tables are those of JdbcCatalog and JdbcUtils of Paimon's Java, which makes the same rows.
Folders lie as in a warehouse. A name counts if it has a row: it gets one after its folder is
there, and loses it before the folder goes.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from keyfold.errors import NamespaceExistsError, TableError, TableExistsError
from keyfold.options.values import boolean, shown
from keyfold.storage.catalogs import in_place
from keyfold.storage.catalogs.namespaces import DEFAULT, Namespace, Namespaces, is_plain
from keyfold.storage.jdbc import locks
from keyfold.storage.jdbc.database import Connection, Database, DuplicateError, database_of
from keyfold.storage.jdbc.locks import CATALOG_KEY, DEFAULT_KEY, Locks, locks_of
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
        stored = {_EXISTS: "true", **properties, "location": self.path(name)}
        _check_lengths(f"namespace {name}", stored)
        try:
            with self._changing() as connection:
                self._insert(connection, PROPERTIES, stored, name)
        except DuplicateError:
            raise NamespaceExistsError(f"namespace {name} exists") from None

    def alter(self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]) -> None:
        self._check_changes(namespace, changed, unset)
        name = self.require(namespace)
        _check_lengths(f"namespace {name}", changed)
        with self._changing() as connection:
            kept = self._properties(connection, name)
            for gone in {*changed, *unset} & kept.keys() - {_EXISTS}:
                one = f"DELETE FROM {PROPERTIES} {_IN} AND property_key = ?"
                connection.change(one, self.key, name, gone)
            stored = dict(changed) if kept else {_EXISTS: "true", **changed}
            self._insert(connection, PROPERTIES, stored, name)

    def drop(self, namespace: Namespace, cascade: bool) -> bool:
        name = self.require(namespace) if self._is_there(namespace) else ""
        if not name:
            return False
        self._check_empty(name, cascade)
        for table in self.tables(name):
            with self.locked((name, table)):
                self.unregister(name, table)
                in_place.remove(self.files, self.table_path(name, table))
        with self._changing() as connection:
            for rows in (TABLES, PROPERTIES, TABLE_PROPERTIES, VIEWS):
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

    def check_missing(self, name: str, table: str) -> None:
        if "$" not in table and self._has(name, table):  # else it has been dropped meanwhile
            raise TableError(
                f"table {name}.{table}: the catalog's database says it lies at "
                f"{self.table_path(name, table)}, where no schema is found: restore its folder, or "
                "DROP TABLE it"
            )

    def check_free(self, table: str) -> None:
        """Raises TableError if a table is there that the database does not know."""
        if self.files.names(f"{table}/schema"):
            raise TableError(
                f"{table} holds a table that the catalog's database has no row of: move the folder "
                "away, or let Paimon's sys.repair add it"
            )

    @contextlib.contextmanager
    def locked(self, *tables: tuple[str, str]) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            if self.locks is not None:
                for table in sorted(set(tables)):  # of two jobs neither waits for the other
                    held.enter_context(self.locks.held(*table))
            yield

    def register(self, name: str, table: str, find: Callable[[], Table | None]) -> None:
        found = find()
        if found is None:  # somebody dropped it
            return
        stored = _properties_of(found.layout) if self.is_synced else {}
        with self._changing() as connection:
            if not connection.ask(f"SELECT 1 FROM {TABLES} {_ONE_TABLE}", self.key, name, table):
                row = f"INSERT INTO {TABLES} (catalog_key, database_name, table_name)"
                connection.change(f"{row} VALUES (?, ?, ?)", self.key, name, table)
            if self.is_synced:
                all_of_it = f"DELETE FROM {TABLE_PROPERTIES} {_ONE_TABLE}"
                connection.change(all_of_it, self.key, name, table)
                self._insert(connection, TABLE_PROPERTIES, stored, name, table)

    def unregister(self, name: str, table: str) -> bool | None:
        with self._changing() as connection:
            connection.change(f"DELETE FROM {TABLE_PROPERTIES} {_ONE_TABLE}", self.key, name, table)
            row = f"DELETE FROM {TABLES} {_ONE_TABLE}"
            return connection.change(row, self.key, name, table) > 0

    @contextlib.contextmanager
    def renaming(self, table: tuple[str, str], to: tuple[str, str]) -> Iterator[None]:
        try:
            with self._changing() as connection:
                for rows in (TABLES, TABLE_PROPERTIES):
                    moved = f"UPDATE {rows} SET database_name = ?, table_name = ? {_ONE_TABLE}"
                    connection.change(moved, *to, self.key, *table)
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
        row = f"INSERT INTO {VIEWS} (view_schema, catalog_key, database_name, view_name)"
        text = json.dumps(stored, ensure_ascii=False)
        try:
            with self._changing() as connection:
                connection.change(f"{row} VALUES (?, ?, ?, ?)", text, self.key, name, view)
        except DuplicateError:
            return False
        return True

    def replace_view(self, name: str, view: str, stored: Mapping[str, object]) -> None:
        text = json.dumps(stored, ensure_ascii=False)
        changed = f"UPDATE {VIEWS} SET view_schema = ? {_ONE_VIEW}"
        with self._changing() as connection:
            is_there = connection.change(changed, text, self.key, name, view) > 0
        if not is_there and not self.add_view(name, view, stored):
            self.replace_view(name, view, stored)  # made meanwhile

    def remove_view(self, name: str, view: str) -> None:
        with self._changing() as connection:
            connection.change(f"DELETE FROM {VIEWS} {_ONE_VIEW}", self.key, name, view)

    # ---- rows ----

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Connection]:
        """A connection with a transaction."""
        with self.database.connection() as connection, connection.transaction():
            yield connection

    def _insert(
        self, connection: Connection, rows: str, properties: Mapping[str, str], *owner: str
    ) -> None:
        owners = ", ".join(("database_name", "table_name")[: len(owner)])
        values = ", ".join("?" * (len(owner) + 3))
        row = f"INSERT INTO {rows} (catalog_key, {owners}, property_key, property_value)"
        for name, value in properties.items():
            connection.change(f"{row} VALUES ({values})", self.key, *owner, name, value)


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
