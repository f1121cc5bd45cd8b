"""A catalog of Paimon's REST protocol.

The server knows which namespaces and tables there are and where each is. It publishes snapshots,
and answers whether a commit lost its race. Without an answer, the outcome is unknown until the
snapshot is found. Schemas, snapshots and manifests are read where the table is.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keyfold.errors import (
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.storage import table
from keyfold.storage.catalogs import views
from keyfold.storage.catalogs.interface import Staged
from keyfold.storage.catalogs.namespaces import Namespace, check_name, single
from keyfold.storage.catalogs.rest_alter import alter_on_server
from keyfold.storage.catalogs.views import StoredView
from keyfold.storage.metadata.avro_records import is_name
from keyfold.storage.rest import data_tokens
from keyfold.storage.rest.client import (
    DeniedError,
    MissingError,
    RestClient,
    ThereError,
    client,
)
from keyfold.storage.rest.tables import TableServer
from keyfold.storage.schema.alter import Altering
from keyfold.storage.schema.definition import Check, NewTable, define
from keyfold.storage.schema.schemas import as_json
from keyfold.storage.table import Table
from keyfold.stores.opened import open_files
from keyfold.wire.layout import BRANCH_MARK, sql_name

_SENT = ("fields", "partitionKeys", "primaryKeys", "options", "comment")  # of a schema
_OWNER = ("owner", "createdAt", "createdBy", "updatedAt", "updatedBy")


@dataclass(frozen=True)
class RestCatalog:
    """The catalog that a server keeps."""

    name: str
    options: Mapping[str, str] = field(repr=False)
    check_engine: Check

    @property
    def _client(self) -> RestClient:
        return client(self.options)

    # ---- namespaces ----

    def list_namespaces(self) -> list[list[str]]:
        return [[name] for name in sorted(self._client.pages("databases", "databases"))]

    def load_namespace(self, namespace: Namespace) -> dict[str, str]:
        name = _one(namespace)
        with _of_namespace(name):
            found = self._client.ask("GET", "databases", name)
        options, place = found.get("options") or {}, found.get("location") or ""
        if not isinstance(options, dict) or not isinstance(place, str):
            raise self._client.odd(f"namespace {name}", "options and a location", found)
        own = {k: str(v) for k, v in options.items() if k not in _OWNER}
        return own | ({"location": place} if place else {})

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        name = _one(namespace)
        check_name("namespace", name)
        with _of_namespace(name):
            body = {"name": name, "options": dict(properties)}
            self._client.ask("POST", "databases", body=body)

    def alter_namespace(
        self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]
    ) -> None:
        name = _one(namespace)
        with _of_namespace(name):
            body = {"removals": list(unset), "updates": dict(changed)}
            self._client.ask("POST", "databases", name, body=body)

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        name = _one(namespace)
        try:
            if not cascade and (self.list_tables(namespace) or self.list_views(namespace)):
                raise NamespaceNotEmptyError(
                    f"namespace {name} is not empty; DROP … CASCADE (in Python cascade=True) "
                    "drops all"
                )
            with _of_namespace(name):
                self._client.ask("DELETE", "databases", name)
        except NoSuchNamespaceError:
            return False
        return True

    # ---- tables ----

    def list_tables(self, namespace: Namespace) -> list[str]:
        name = _one(namespace)
        with _of_namespace(name):
            return sorted(self._client.pages("tables", "databases", name, "tables"))

    def load_table(self, namespace: Namespace, name: str) -> Table:
        found = self._find(namespace, name)
        if found is None:
            shown = sql_name(self.name, *namespace, name)
            try:
                is_view = self._view(namespace, name) is not None
            except DeniedError as denied:
                raise NoSuchTableError(
                    f"table {shown} does not exist; whether a view does is not known: {denied}"
                ) from None
            raise views.missing_table(shown, is_view=is_view)
        return found

    def _find(self, namespace: Namespace, name: str) -> Table | None:
        base, mark, branch = name.rpartition(BRANCH_MARK)
        base, branch = (base, branch) if mark and is_name(branch) else (name, "")
        if len(namespace) != 1 or "$" in base or not _is_plain(namespace[0], name):
            return None
        database = namespace[0]
        try:
            said = self._client.ask("GET", "databases", database, "tables", name)
        except MissingError:
            return None
        path = self._client.field(said, "path", str, f"table {name}")
        if not path or any(ord(c) < 32 for c in path) or ".." in path.split("/"):
            raise self._client.odd(f"table {name}", "a path", path)
        uuid = said.get("id") or ""
        if not isinstance(uuid, str):
            raise self._client.odd(f"table {name}", "id as str", uuid)
        files, location = open_files(path, data_tokens.of_table(self.options, database, name, uuid))
        found = table.load(files, location, self.name, database, name, branch)
        if found is None:
            raise TableError(
                f"table {sql_name(self.name, database, name)}: the catalog says it lies at "
                f"{location}, where no schema is found: give the catalog the options of its store"
            )
        return replace(found, uuid=uuid, server=TableServer(self.options, database, name, uuid))

    def create_table(
        self, namespace: Namespace, name: str, new: NewTable, *, if_not_exists: bool = False
    ) -> Table:
        with contextlib.ExitStack() as passing:
            if if_not_exists:
                passing.enter_context(contextlib.suppress(TableExistsError))
            self.stage(namespace, name, new, "create")
        return self.load_table(namespace, name)

    def drop_table(self, namespace: Namespace, name: str) -> bool:
        """Remove a table; False if it does not exist."""
        check_name("table", name)
        if self._find(namespace, name) is None:
            return False
        with contextlib.suppress(MissingError):
            self._client.ask("DELETE", "databases", namespace[0], "tables", name)
        return True

    def rename_table(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        check_name("table", to_name)
        self._check_no_view(to_namespace, to_name)
        source, target = _object(_one(namespace), name), _object(_one(to_namespace), to_name)
        try:
            body = {"source": source, "destination": target}
            self._client.ask("POST", "tables", "rename", body=body)
        except MissingError:
            raise NoSuchTableError(
                f"table {sql_name(self.name, *namespace, name)} does not exist"
            ) from None
        except ThereError:
            raise TableExistsError(
                f"table {sql_name(self.name, *to_namespace, to_name)} exists"
            ) from None

    def alter_table(
        self, namespace: Namespace, name: str, changes: Sequence[Mapping[str, Any]]
    ) -> Table:
        """Apply all changes or none, by the server. Returns the table after them."""
        found = self.load_table(namespace, name)
        path = "databases", namespace[0], "tables", name
        with found.reading_files():
            schemas, snapshots = found.schemas, found.snapshots
            altering = Altering(schemas, snapshots, self.check_engine, found.live_files)
            alter_on_server(self._client, path, altering, changes)
        return self.load_table(namespace, name)

    # ---- views ----

    def list_views(self, namespace: Namespace) -> list[str]:
        """Names of the views, sorted; none if the server has no views."""
        name = _one(namespace)
        try:
            return sorted(self._client.pages("views", "databases", name, "views"))
        except NotSupportedError:
            return []
        except MissingError:
            self.load_namespace(namespace)
            return []

    def load_view(self, namespace: Namespace, name: str) -> StoredView:
        shown, said = sql_name(self.name, *namespace, name), self._view(namespace, name)
        if said is None:
            is_table = "$" not in name and self._find(namespace, name) is not None
            raise views.missing_view(shown, is_table=is_table)
        schema = self._client.field(said, "schema", dict, f"view {name}")
        try:
            return views.from_json(shown, self.name, namespace[0], schema)
        except (ValueError, TypeError, LookupError, AttributeError):
            raise self._client.odd(f"view {name}", "a view", said) from None

    def _view(self, namespace: Namespace, name: str) -> dict[str, Any] | None:
        """The server's answer about a view, None if it has none of that name."""
        if len(namespace) != 1 or not _is_plain(namespace[0]) or not views.may_be(name):
            return None
        try:
            return self._client.ask("GET", "databases", namespace[0], "views", name)
        except (MissingError, NotSupportedError):
            return None

    def _check_no_view(self, namespace: Namespace, name: str) -> None:
        """Raises TableExistsError if a view has the name of a new table. A server that tells this
        user nothing of views makes the table all the same, or refuses that itself.
        """
        with contextlib.suppress(DeniedError):
            if self._view(namespace, name) is not None:
                raise views.taken("view", sql_name(self.name, *namespace, name))

    def set_view(self, namespace: Namespace, name: str, view: StoredView, mode: str) -> None:
        """Make a view. The protocol has no way to replace its query and columns: it is dropped and
        made anew, and is there as it was if that fails.
        """
        check_name("view", name)
        shown, before = sql_name(self.name, *namespace, name), self._view(namespace, name)
        if before is None and self._find(namespace, name) is not None:
            is_replaced = mode == views.REPLACE
            raise (
                views.missing_view(shown, is_table=True)
                if is_replaced
                else views.taken("table", shown)
            )
        if before is None and mode == views.REPLACE:
            raise views.missing_view(shown, is_table=False)
        if before is not None and mode == views.CREATE:
            raise views.taken("view", shown)
        if before is not None:
            self.drop_view(namespace, name)
        try:
            self._make_view(namespace, name, views.to_json(view))
        except Exception:
            if before is not None:
                with contextlib.suppress(TableExistsError):
                    self._make_view(namespace, name, before["schema"])
            raise

    def _make_view(self, namespace: Namespace, name: str, schema: Mapping[str, Any]) -> None:
        database = _one(namespace)
        body = {"identifier": _object(database, name), "schema": schema}
        try:
            self._client.ask("POST", "databases", database, "views", body=body)
        except MissingError:
            raise NoSuchNamespaceError(f"namespace {database} does not exist") from None
        except ThereError:
            raise views.taken("view", sql_name(self.name, database, name)) from None

    def drop_view(self, namespace: Namespace, name: str) -> bool:
        if self._view(namespace, name) is None:
            return False
        with contextlib.suppress(MissingError):
            self._client.ask("DELETE", "databases", namespace[0], "views", name)
        return True

    def rename_view(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        check_name("view", to_name)
        shown = sql_name(self.name, *to_namespace, to_name)
        if self._view(namespace, name) is None:
            self.load_view(namespace, name)
        if "$" not in to_name and self._find(to_namespace, to_name) is not None:
            raise views.taken("table", shown)
        source, target = _object(_one(namespace), name), _object(_one(to_namespace), to_name)
        try:
            body = {"source": source, "destination": target}
            self._client.ask("POST", "views", "rename", body=body)
        except MissingError:
            raise NoSuchNamespaceError(
                f"namespace {_one(to_namespace)} does not exist, or the view was dropped"
            ) from None
        except ThereError:
            raise views.taken("view", shown) from None

    # ---- staging ----

    def stage(self, namespace: Namespace, name: str, new: NewTable, mode: str) -> Staged:
        """Make an empty table where it stays; `abort_staged` drops it."""
        check_name("table", name)
        database = _one(namespace)
        shown = sql_name(self.name, database, name)
        is_there = self._find(namespace, name) is not None
        if mode == "create" and is_there:
            raise TableExistsError(f"table {shown} exists")
        if mode != "create" and is_there:
            raise NotSupportedError(
                f"table {shown} can't be replaced as a whole through a REST catalog: DROP it "
                "first, or INSERT OVERWRITE it"
            )
        if mode == "replace":
            raise NoSuchTableError(f"table {shown} does not exist")
        self._check_no_view(namespace, name)
        schema = as_json(define(shown, "", new, self.check_engine))
        body = {"identifier": _object(database, name), "schema": {k: schema.get(k) for k in _SENT}}
        try:
            self._client.ask("POST", "databases", database, "tables", body=body)
        except MissingError:
            raise NoSuchNamespaceError(f"namespace {database} does not exist") from None
        except ThereError:
            raise TableExistsError(f"table {shown} exists") from None
        made = self.load_table(namespace, name)
        return Staged(database, name, made.layout.location, mode, made.uuid)

    def staged_table(self, staged: Staged) -> Table:
        """The table, to be written to."""
        return self.load_table([staged.namespace], staged.table)

    def commit_staged(self, staged: Staged) -> None:
        """Does nothing: the table is in its place already."""

    def abort_staged(self, staged: Staged) -> None:
        """Drop it, unless another table has its name by now."""
        found = self._find([staged.namespace], staged.table)
        if found is not None and found.uuid == staged.stamp:
            self.drop_table([staged.namespace], staged.table)


def _is_plain(*names: str) -> bool:
    """Whether names are parts of a path: a server would take `..` for the folder above."""
    return all(n and n not in (".", "..") and not {"/", "\\", "\0"} & set(n) for n in names)


def _one(namespace: Namespace) -> str:
    """The one name of a namespace. Raises NoSuchNamespaceError if none may have it."""
    name = single(namespace)
    if not _is_plain(name):
        raise NoSuchNamespaceError(f"namespace {name!r} does not exist: it is not a name")
    return name


def _object(namespace: str, name: str) -> dict[str, str]:
    return {"database": namespace, "object": name}


@contextlib.contextmanager
def _of_namespace(name: str) -> Iterator[None]:
    """A context that turns a server's errors about a namespace into those of a catalog."""
    try:
        yield
    except MissingError:
        raise NoSuchNamespaceError(f"namespace {name} does not exist") from None
    except ThereError:
        raise NamespaceExistsError(f"namespace {name} exists") from None
