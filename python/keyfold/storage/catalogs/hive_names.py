"""Namespaces and tables whose names a Hive Metastore keeps: Paimon's Hive catalog.

Folders lie where the metastore says, which is as in a warehouse if keyfold or Paimon's Java made
them. A name counts if the metastore has it: it gets one after its folder is there, and loses it
before the folder goes.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from keyfold.errors import (
    NamespaceExistsError,
    NoSuchNamespaceError,
    NotSupportedError,
    StoreError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs.namespaces import SUFFIX, Namespace, Namespaces, is_plain
from keyfold.storage.catalogs.views import missing_table
from keyfold.storage.hive import tables as hive_tables
from keyfold.storage.hive import thrift
from keyfold.storage.hive.metastore import (
    DATABASE,
    Metastore,
    RefusedError,
    TakenNameError,
    UnknownNameError,
    metastore_of,
)
from keyfold.storage.hive.thrift import Struct
from keyfold.storage.schema.schemas import Schemas
from keyfold.storage.table import Table
from keyfold.stores import folders
from keyfold.stores.files import Files
from keyfold.stores.local import local_path
from keyfold.stores.store_kinds import KINDS
from keyfold.wire.layout import BRANCH_MARK, TableLayout

SECONDS_BETWEEN = 10.0  # at most, from the folder of a new table to its name
SECONDS_TO_MOVE = 2.0  # at most, from the new name of a table to its folder there
_OF_FIELDS = {"comment": DATABASE.DESCRIPTION, "owner": DATABASE.OWNER}
_NO_VIEWS = "views are not supported in a Hive catalog: take a catalog in JDBC for them"


@dataclass(frozen=True)
class HiveNames(Namespaces):
    """The namespaces of a metastore, which has `default`."""

    metastore: Metastore

    # ---- namespaces ----

    def path(self, name: str) -> str:
        found = self.metastore.database(name)
        location = "" if found is None else thrift.text_of(found, DATABASE.LOCATION)
        return self._place(location) if location else f"{self.warehouse}/{name}{SUFFIX}"

    def _place(self, location: str) -> str:
        """A place as our store has it. Raises NotSupportedError if it is in another one."""
        is_local = local_path(location) is not None
        found = f"/{location.removeprefix('file:').lstrip('/')}" if is_local else location
        store = "/".join(self.warehouse.split("/")[:3])  # hdfs://service
        is_here = is_local if self.files.is_local else found.startswith(f"{store}/")
        if not is_here:
            raise NotSupportedError(
                f"{location}, which {self.metastore.shown} names, is in another store than the "
                f"catalog's warehouse {self.warehouse}: open it by a catalog of that store"
            )
        return found.rstrip("/")

    def names(self) -> list[str]:
        return sorted(self.metastore.databases())

    def exists(self, name: str) -> bool:
        return _is_possible(name) and self.metastore.database(name) is not None

    def _database(self, namespace: Namespace) -> Struct:
        name = self.require(namespace)
        found = self.metastore.database(name)
        if found is None:
            raise NoSuchNamespaceError(f"namespace {name} does not exist")
        return found

    def load(self, namespace: Namespace) -> dict[str, str]:
        found = self._database(namespace)
        shown = {name: thrift.text_of(found, field) for name, field in _OF_FIELDS.items()}
        stored = {name: value for name, value in shown.items() if value}
        location = self._place(thrift.text_of(found, DATABASE.LOCATION))
        return {**thrift.pairs_of(found, DATABASE.PARAMETERS), **stored, "location": location}

    def create(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        name = self._new_name(namespace, properties)
        _check_lower("namespace", name)
        place = {
            DATABASE.NAME: thrift.text(name),
            DATABASE.LOCATION: thrift.text(_uri(self.path(name))),
        }
        self.files.make_folder(self.path(name))
        try:
            self.metastore.create_database(_with(place, properties))
        except TakenNameError:
            raise NamespaceExistsError(f"namespace {name} exists") from None

    def alter(self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]) -> None:
        self._check_changes(namespace, changed, unset)
        found = self._database(namespace)
        kept = {k: v for k, v in self.load(namespace).items() if k not in unset}
        self.metastore.alter_database(namespace[0], _with(found, {**kept, **changed}))

    def make(self, name: str) -> str:
        path = self.path(name)
        self.files.make_folder(path)
        return path

    def drop(self, namespace: Namespace, cascade: bool) -> bool:
        if len(namespace) != 1 or not self.exists(namespace[0]):
            return False
        name, path = namespace[0], self.path(namespace[0])
        found = self.metastore.tables(name)
        foreign = [thrift.text_of(one, 1) for one in found if not hive_tables.is_paimon(one)]
        if foreign and cascade:
            raise NotSupportedError(
                f"namespace {name} has {foreign[0]}, which is not Paimon's: drop it in Hive first"
            )
        self._check_empty(name, cascade)
        for table in self.tables(name) if cascade else ():
            self.remove_table(name, table)
        try:
            self.metastore.drop_database(name)
        except UnknownNameError:
            return False
        with contextlib.suppress(OSError):
            if not self.files.names(path):
                folders.remove(self.files, path)
        return True

    # ---- tables ----

    def tables(self, name: str) -> list[str]:
        found = filter(hive_tables.is_paimon, self.metastore.tables(name))
        return sorted(thrift.text_of(one, 1) for one in found)

    def table_path(self, name: str, table: str) -> str:
        found = self._table(name, table)
        location = "" if found is None else hive_tables.location_of(found)
        return self._place(location) if location else f"{self.path(name)}/{table}"

    def _table(self, name: str, table: str) -> Struct | None:
        base = table.partition(BRANCH_MARK)[0]
        return self.metastore.table(name, base) if _is_possible(base) else None

    def _appears(self, name: str, table: str) -> bool:
        """Whether the metastore gets to know a table whose folder another job has just made."""
        end = time.monotonic() + SECONDS_BETWEEN
        while self._table(name, table) is None:
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True

    def may_hold(self, namespace: Namespace, table: str) -> bool:
        if len(namespace) != 1 or not _is_possible(namespace[0]):
            return False
        found = self._table(namespace[0], table)
        return found is not None and hive_tables.is_paimon(found)

    def check_missing(self, name: str, table: str) -> bool:
        end = time.monotonic() + SECONDS_TO_MOVE
        while "$" not in table and self._table(name, table) is not None:
            if self._holds(self.table_path(name, table)):
                return True
            if time.monotonic() < end:
                time.sleep(0.1)
                continue
            raise TableError(
                f"table {name}.{table}: {self.metastore.shown} says it lies at "
                f"{self.table_path(name, table)}, where no schema is found: restore its folder, or "
                "DROP TABLE it"
            )
        return False

    def check_table(self, table: str) -> None:
        super().check_table(table)
        _check_lower("table", table)

    def check_free(self, name: str, table: str) -> None:
        """Raises TableExistsError if the metastore has another thing of that name, TableError if a
        table is there that it does not know.
        """
        found = self._table(name, table)
        if found is not None and not hive_tables.is_paimon(found):
            raise TableExistsError(f"{name}.{table} exists, {hive_tables.kind_of(found)}")
        place = self.table_path(name, table)
        if found is not None or not self._holds(place):
            return
        if self._appears(name, table):
            raise TableExistsError(f"table {name}.{table} exists")
        if self._holds(place):  # else a job that dropped it has removed it meanwhile
            raise TableError(
                f"{place} holds a table that {self.metastore.shown} does not know: move the folder "
                "away, or let Paimon's sys.repair add it"
            )

    def _holds(self, place: str) -> bool:
        return Schemas(self.files, place, place).latest_id() is not None

    def check_layout(self, layout: TableLayout) -> None:
        for column in layout.columns:
            _check_lower("column", column.name)
            hive_tables.hive_type(column.type)

    @contextlib.contextmanager
    def registering(
        self, name: str, table: str, find: Callable[[], Table | None]
    ) -> Iterator[None]:
        found, before = find(), self._table(name, table)
        place = self.table_path(name, table)
        had = {} if before is None else self._noted_of(place)
        try:
            yield
        except TableExistsError:
            self._appears(name, table)
            raise
        noted = None if before is None else self._table(name, table)
        if found is not None and noted is not None:
            self._note_replaced(name, table, noted, hive_tables.updated(noted, found.layout, had))
        elif found is not None and self._holds(place):  # also if it was dropped meanwhile
            self._register(name, table, found.layout, place)

    def _noted_of(self, place: str) -> dict[str, str]:
        """The properties that the copy of the table at a place gives to the metastore."""
        schemas = Schemas(self.files, place, place)
        newest = schemas.latest_id()
        return {} if newest is None else hive_tables.properties_of(schemas.read(newest).layout)

    def _note_replaced(self, name: str, table: str, noted: Struct, updated: Struct) -> None:
        """Note what a table is by now. The metastore may refuse other columns, which it takes for
        those of the same rows: then its entry is made anew.
        """
        try:
            self.metastore.alter_table(name, table, updated)
        except RefusedError:
            if hive_tables.columns_of(noted) == hive_tables.columns_of(updated):
                raise
            if not self.metastore.drop_table(name, table):
                return
            try:
                self.metastore.create_table(updated)
            except (TakenNameError, UnknownNameError, StoreError) as error:
                raise StoreError(
                    f"table {name}.{table} is replaced, but {self.metastore.shown} has lost it "
                    f"({error}): let Paimon's sys.repair add it"
                ) from error

    def _register(self, name: str, table: str, layout: TableLayout, place: str) -> None:
        made = hive_tables.made(name, table, self.metastore.user, layout, _uri(place))
        try:
            self.metastore.create_table(made)
        except (TakenNameError, UnknownNameError, RefusedError) as error:
            if self.files.is_local:
                folders.remove(self.files, place)
            if isinstance(error, TakenNameError):
                raise TableExistsError(f"table {name}.{table} exists") from None
            if isinstance(error, UnknownNameError):
                raise NoSuchNamespaceError(f"namespace {name} does not exist") from None
            raise

    def note_options(self, name: str, table: str, find: Callable[[], Table | None]) -> None:
        noted = self._table(name, table)
        found = None if noted is None else find()
        if noted is None or found is None:
            return
        number = found.layout.schema_id
        before = hive_tables.properties_of(found.schema(number - 1)) if number else {}
        updated = hive_tables.updated(noted, found.layout, before)
        try:
            self.metastore.alter_table(name, table, updated)
        except RefusedError as error:
            raise StoreError(
                f"table {name}.{table} is altered, but not its copy in the metastore: {error}; if "
                "it refuses a change of columns, set "
                "hive.metastore.disallow.incompatible.col.type.changes = false there and let "
                "Paimon's sys.repair mend the copy"
            ) from error

    def unregister(self, name: str, table: str) -> bool | None:
        return self.metastore.drop_table(name, table)

    def remove_table(self, name: str, table: str) -> bool:
        found = self._table(name, table)
        if found is None:
            return False
        if not hive_tables.is_paimon(found):
            raise NotSupportedError(
                f"{name}.{table} is {hive_tables.kind_of(found)}: drop it in Hive"
            )
        if hive_tables.is_external(found):
            return self.metastore.drop_table(name, table)
        return super().remove_table(name, table)

    @contextlib.contextmanager
    def renaming(self, table: tuple[str, str], to: tuple[str, str]) -> Iterator[None]:
        _check_lower("table", to[1])
        found, place = self._table(*table), f"{self.path(table[0])}/{table[1]}"
        if found is None:
            raise missing_table(".".join(table), is_view=False)
        if hive_tables.is_external(found) or self.table_path(*table) != place:
            raise NotSupportedError(
                f"table {'.'.join(table)} lies at {self.table_path(*table)}, a place that was "
                "chosen for it: rename it in Hive, and its folder stays"
            )
        if self._table(*to) is not None:
            raise TableExistsError(f"table {'.'.join(to)} exists")
        renamed = hive_tables.moved(found, *to, _uri(f"{self.path(to[0])}/{to[1]}"))
        self.metastore.alter_table(*table, renamed)
        try:
            yield
        except BaseException:
            self.metastore.alter_table(*to, hive_tables.moved(renamed, *table, _uri(place)))
            raise

    # ---- views ----

    def views(self, name: str) -> list[str]:
        return []

    def has_view(self, name: str, view: str) -> bool:
        return False

    def add_view(self, name: str, view: str, stored: Mapping[str, object]) -> bool:
        raise NotSupportedError(_NO_VIEWS)

    def replace_view(self, name: str, view: str, stored: Mapping[str, object]) -> None:
        raise NotSupportedError(_NO_VIEWS)


def _is_possible(name: str) -> bool:
    """Whether the metastore can have that name, which it would not find in capitals."""
    return is_plain(name) and name == name.lower()


def _check_lower(what: str, name: str) -> None:
    if name != name.lower():
        raise TableError(
            f"{what} name '{name}' is not allowed in a Hive catalog, which has no capitals: take "
            f"{name.lower()}"
        )


def _uri(path: str) -> str:
    """A place as Hive has it, whose own default may be another store than local folders."""
    return f"file:{path}" if path.startswith("/") else path


def _with(database: Struct, properties: Mapping[str, str]) -> Struct:
    """A namespace with other properties."""
    named = {name: properties.get(name, "") for name in _OF_FIELDS}
    fields = {_OF_FIELDS[name]: thrift.text(value) for name, value in named.items()}
    rest = {k: v for k, v in properties.items() if k not in (*_OF_FIELDS, "location")}
    return {**database, **fields, DATABASE.PARAMETERS: thrift.pairs(rest)}


def hive_names(files: Files, warehouse: str, options: Mapping[str, str]) -> HiveNames:
    """The names of a catalog with these options. Raises NotSupportedError on an object store."""
    if not files.is_local and warehouse.partition("://")[0] in KINDS:
        raise NotSupportedError(
            f"a Hive catalog of {warehouse}: expected a local or mounted folder, or HDFS; on an "
            "object store Paimon's Java commits by locks of the metastore, which keyfold does not "
            "take: take a JDBC or REST catalog"
        )
    return HiveNames(files, warehouse, metastore_of(options))
