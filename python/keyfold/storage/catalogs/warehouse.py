"""A catalog: namespaces and tables below one warehouse folder.

A table appears, changes its place and disappears in one step, by renaming its folder. Building one
aside and swapping it in (`stage`) is how CREATE … AS SELECT and REPLACE keep the old table
until the new one is complete.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from keyfold.errors import (
    KeyfoldError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.storage import table
from keyfold.storage.catalogs import in_place
from keyfold.storage.catalogs.catalog_kinds import maker_of_names
from keyfold.storage.catalogs.interface import Catalog, Staged
from keyfold.storage.catalogs.namespaces import Namespace, Namespaces, check_name, single
from keyfold.storage.catalogs.rest import RestCatalog
from keyfold.storage.catalogs.settings import check_settings
from keyfold.storage.catalogs.views import StoredView, missing_table, taken
from keyfold.storage.catalogs.warehouse_views import WarehouseViews
from keyfold.storage.jdbc.locks import lock_of
from keyfold.storage.metadata.avro_records import is_name
from keyfold.storage.rest.client import is_rest
from keyfold.storage.schema.alter import Altering, alter
from keyfold.storage.schema.definition import Check, NewTable, define
from keyfold.storage.schema.save_as_table import redefine
from keyfold.storage.schema.schemas import Schemas, StoredSchema
from keyfold.storage.table import Table
from keyfold.stores import folders
from keyfold.stores.files import Files
from keyfold.stores.local import remove_tree
from keyfold.stores.opened import open_files
from keyfold.wire.layout import BRANCH_MARK, STAGING, TableLayout, sql_name

MODES = ("create", "replace", "create_or_replace")

_catalogs: dict[str, Catalog] = {}
_opening: dict[str, threading.Lock] = {}


def _accept(layout: TableLayout, _: TableLayout | None) -> TableLayout:
    """The layout as it is: no merge engine checks it."""
    return layout


def open_catalog(name: str, options: Mapping[str, str], check_engine: Check = _accept) -> Catalog:
    """The catalog of these options (`warehouse`, and what its file system needs), kept open.

    `check_engine` refuses a new or altered layout that its merge engine can't serve
    (`keyfold.merge.plan.check`).
    """
    key = repr((name, sorted(options.items()), id(check_engine)))
    if key not in _catalogs:
        with _opening.setdefault(key, threading.Lock()):  # a store that is silent holds nobody else
            if key not in _catalogs:
                _catalogs[key] = _open(name, options, check_engine)
    return _catalogs[key]


def _open(name: str, options: Mapping[str, str], check_engine: Check) -> Catalog:
    check_settings(name, options)
    if is_rest(options):
        return RestCatalog(name, dict(options), check_engine)
    make_names = maker_of_names(name, options)
    warehouse = options.get("warehouse")
    if not warehouse:
        raise TableError(
            f"catalog {name} has no warehouse: set spark.sql.catalog.{name}.warehouse to a folder"
        )
    files, root = open_files(warehouse, options)
    root = root.rstrip("/")
    made = make_names(files, root, options)
    return WarehouseCatalog(name, files, made, check_engine, dict(options))


@dataclass(frozen=True)
class WarehouseCatalog:
    """The catalog of the folders below a warehouse."""

    name: str
    files: Files
    namespaces: Namespaces
    check_engine: Check
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    # ---- namespaces ----

    def list_namespaces(self) -> list[list[str]]:
        return [[name] for name in self.namespaces.names()]

    def load_namespace(self, namespace: Namespace) -> dict[str, str]:
        return self.namespaces.load(namespace)

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self.namespaces.create(namespace, properties)

    def alter_namespace(
        self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]
    ) -> None:
        self.namespaces.alter(namespace, changed, unset)

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        return self.namespaces.drop(namespace, cascade)

    # ---- tables ----

    def list_tables(self, namespace: Namespace) -> list[str]:
        return self.namespaces.tables(self.namespaces.require(namespace))

    def load_table(self, namespace: Namespace, name: str) -> Table:
        found = self._find(namespace, name)
        if found is None:
            shown = sql_name(self.name, *namespace, name)
            raise missing_table(shown, is_view=self._views.has(namespace, name))
        return found

    def _find(self, namespace: Namespace, name: str) -> Table | None:
        if not self.namespaces.may_hold(namespace, name):
            return None
        base, mark, branch = name.rpartition(BRANCH_MARK)
        if mark and is_name(branch):
            return self._load(self.location(namespace[0], base), namespace[0], name, branch)
        found = self._load(self.location(namespace[0], name), namespace[0], name)
        if found is None and self.namespaces.check_missing(namespace[0], name):
            return self._load(self.location(namespace[0], name), namespace[0], name)
        return found

    def _load(self, location: str, namespace: str, name: str, branch: str = "") -> Table | None:
        found = table.load(self.files, location, self.name, namespace, name, branch)
        return found and replace(found, lock=lock_of(self.options, location, namespace, name))

    def _of_main(self, namespace: str, name: str) -> Callable[[], Table | None]:
        return partial(self._load, self.location(namespace, name), namespace, name)

    def _check(self, layout: TableLayout, before: TableLayout | None) -> TableLayout:
        """The layout to store, after the checks of its engine and of who notes its options."""
        settled = self.check_engine(layout, before)
        self.namespaces.check_layout(settled)
        return settled

    def _shown(self, namespace: str, name: str) -> str:
        return sql_name(self.name, namespace, name)

    def location(self, namespace: str, name: str) -> str:
        """The folder of a table."""
        return self.namespaces.table_path(namespace, name)

    def create_table(
        self, namespace: Namespace, name: str, new: NewTable, *, if_not_exists: bool = False
    ) -> Table:
        existing = self._find(namespace, name)
        if existing is not None and if_not_exists:
            return existing
        try:
            self.commit_staged(self.stage(namespace, name, new, "create"))
        except TableExistsError:
            if not if_not_exists:
                raise
        return self.load_table(namespace, name)

    def drop_table(self, namespace: Namespace, name: str) -> bool:
        """Remove a table, even a broken one; False if there is nothing."""
        self.namespaces.check_table(name)
        if not self.namespaces.owns_folders and self._find(namespace, name) is None:
            return False
        with self.namespaces.locked((single(namespace), name)):
            return self.namespaces.remove_table(namespace[0], name)

    def rename_table(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        if not self.namespaces.owns_folders:
            raise NotSupportedError(
                f"table {self._shown(namespace[0], name)} is named by its path: move its folder "
                "while nothing uses it, in place of renaming it"
            )
        check_name("table", to_name)
        if self._changeable(namespace, name).layout.branch:
            check_name("table", name)
        if not self.files.is_local:
            raise in_place.refuse_rename(self.namespaces.warehouse)
        target = self.namespaces.require(to_namespace)
        self._check_no_view(to_namespace, to_name)
        self.namespaces.make(target)
        source, renamed = (single(namespace), name), (target, to_name)
        with self.namespaces.locked(source, renamed), self.namespaces.renaming(source, renamed):
            if not folders.move(self.location(*source), self.location(*renamed)):
                raise TableExistsError(f"table {self._shown(*renamed)} exists")

    def alter_table(
        self, namespace: Namespace, name: str, changes: Sequence[Mapping[str, Any]]
    ) -> Table:
        """Apply all changes or none. Returns the table after them."""
        found = self._changeable(namespace, name)
        with self.namespaces.locked((namespace[0], name)), found.reading_files():
            alter(Altering(found.schemas, found.snapshots, self._check, found.live_files), changes)
            base = namespace[0], name.partition(BRANCH_MARK)[0]
            self.namespaces.note_options(*base, self._of_main(*base))
        return self.load_table(namespace, name)

    def _changeable(self, namespace: Namespace, name: str) -> Table:
        """The table of that name. Raises TableError if it is a metadata table, without a folder."""
        found = self._find(namespace, name)
        if found is None and "$" in name:
            check_name("table", name)
        return self.load_table(namespace, name) if found is None else found

    # ---- views ----

    @property
    def _views(self) -> WarehouseViews:
        def is_table(namespace: Namespace, name: str) -> bool:
            return self._find(namespace, name) is not None

        return WarehouseViews(self.name, self.namespaces, is_table)

    def _check_no_view(self, namespace: Namespace, name: str) -> None:
        """Raises TableExistsError if a view has the name of a new table."""
        if self._views.has(namespace, name):
            raise taken("view", self._shown(namespace[0], name))

    def list_views(self, namespace: Namespace) -> list[str]:
        return self._views.names(namespace)

    def load_view(self, namespace: Namespace, name: str) -> StoredView:
        return self._views.load(namespace, name)

    def set_view(self, namespace: Namespace, name: str, view: StoredView, mode: str) -> None:
        self._views.set(namespace, name, view, mode)

    def drop_view(self, namespace: Namespace, name: str) -> bool:
        return self._views.drop(namespace, name)

    def rename_view(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        self._views.rename(namespace, name, to_namespace, to_name)

    # ---- staging ----

    def stage(self, namespace: Namespace, name: str, new: NewTable, mode: str) -> Staged:
        """Build an empty table for `commit_staged` or `abort_staged`, aside if folders can be
        renamed.
        """
        assert mode in MODES, mode
        self.namespaces.check_table(name)
        database = self.namespaces.require(namespace)
        existing = self._find(namespace, name)
        if mode == "create" and existing is not None:
            raise TableExistsError(f"table {self._shown(database, name)} exists")
        if mode == "replace" and existing is None:
            raise NoSuchTableError(f"table {self._shown(database, name)} does not exist")
        named, location = self._shown(database, name), self.location(database, name)
        if existing is None:
            self._check_no_view(namespace, name)
        if existing is not None and new.keeps:
            schema = redefine(existing.layout, new, self._check)
        else:
            schema = define(named, location, new, self._check)
        if not self.files.is_local:
            if existing is not None:
                raise in_place.refuse_rename(self.namespaces.warehouse)
            return self._made_in_place(database, name, schema, mode)
        if existing is None:
            self.namespaces.check_free(database, name)
        staged = Staged(database, name, self._aside(database), mode)
        moved = replace(schema, layout=replace(schema.layout, location=staged.location))
        Schemas(self.files, staged.location, schema.layout.name).publish(moved)
        return staged

    def _made_in_place(self, database: str, name: str, schema: StoredSchema, mode: str) -> Staged:
        with self.namespaces.locked((database, name)):
            self.namespaces.check_free(database, name)
            stamp = in_place.make(self.files, schema)
            try:
                with self.namespaces.registering(database, name, self._of_main(database, name)):
                    pass
            except BaseException:
                in_place.unmake(self.files, schema.layout.location, stamp)
                raise
        return Staged(database, name, schema.layout.location, mode, stamp)

    def stage_folder(self, namespace: Namespace, name: str) -> Staged:
        """A place aside for the folder of a new table, for `commit_staged`. Raises TableExistsError
        if the name is taken.
        """
        self.namespaces.check_table(name)
        database = self.namespaces.require(namespace)
        if self._find(namespace, name) is not None:
            raise TableExistsError(f"table {self._shown(database, name)} exists")
        self._check_no_view(namespace, name)
        self.namespaces.check_free(database, name)
        return Staged(database, name, self._aside(database), "create")

    def _aside(self, database: str) -> str:
        """A path for a table that is being made."""
        folder = self.namespaces.make(database)
        folders.clear_stale(folder)
        return folders.hidden(folder, STAGING)

    def _staged_name(self, staged: Staged) -> str:
        return self._shown(staged.namespace, staged.table)

    def staged_table(self, staged: Staged) -> Table:
        """The staged table, to be written to."""
        found = self._load(staged.location, staged.namespace, staged.table)
        if found is None:
            raise NoSuchTableError(
                f"the staged table {self._staged_name(staged)} is gone: run the query again"
            )
        return found

    def commit_staged(self, staged: Staged) -> None:
        """Put it in place. An old table there is set aside. Raises TableExistsError if a create
        lost the race.
        """
        target = self.location(staged.namespace, staged.table)
        if staged.location == target:
            return
        named = staged.namespace, staged.table
        with self.namespaces.locked(named):
            if staged.mode != "replace":
                self._check_still_free(staged, target)
            made = partial(self._load, staged.location, *named)
            with self.namespaces.registering(*named, made):
                self._put(staged, target)

    def _put(self, staged: Staged, target: str) -> None:
        if staged.mode != "replace":
            if folders.move(staged.location, target):
                return
            self._check_place(staged, target)
        self._exchange(staged, target)

    def _check_still_free(self, staged: Staged, target: str) -> None:
        """Raises TableExistsError if a view got the name while a query filled the new table."""
        if not self.files.is_folder(target) and self._views.has([staged.namespace], staged.table):
            self.abort_staged(staged)
            raise taken("view", self._staged_name(staged))

    def _check_place(self, staged: Staged, target: str) -> None:
        """Raises TableExistsError if a create finds a table in its place. A folder without any
        schema is not a table: it is replaced, unless it is the user's own.
        """
        try:
            if Schemas(self.files, target, target).latest_id() is None:
                self.namespaces.check_free(staged.namespace, staged.table)
            elif staged.mode == "create":
                raise TableExistsError(f"table {self._staged_name(staged)} exists")
        except KeyfoldError:
            self.abort_staged(staged)
            raise

    def _exchange(self, staged: Staged, target: str) -> None:
        try:
            folders.exchange(staged.location, target)
        except FileNotFoundError:
            if not Path(staged.location).exists() or staged.mode == "replace":
                self.abort_staged(staged)
                raise NoSuchTableError(
                    f"table {self._staged_name(staged)} was dropped while it was replaced"
                ) from None
            self._put(staged, target)

    def abort_staged(self, staged: Staged) -> None:
        """Remove the staged table."""
        if not self.files.is_local:
            with self.namespaces.locked((staged.namespace, staged.table)):
                if in_place.unmake(self.files, staged.location, staged.stamp):
                    self.namespaces.unregister(staged.namespace, staged.table)
            return
        assert Path(staged.location).name.startswith(STAGING), staged.location
        remove_tree(staged.location)
