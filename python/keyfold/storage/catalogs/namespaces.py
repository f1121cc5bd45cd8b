"""Namespaces: folders `<name>.db` of the warehouse, their properties in a hidden file inside.

They say which tables and views there are. Here that is what lies in the folders.
"""

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from keyfold.errors import (
    CorruptDataError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NotSupportedError,
    TableError,
)
from keyfold.options.values import shown
from keyfold.storage.catalogs import in_place
from keyfold.storage.metadata.documents import document, text_of
from keyfold.storage.table import Table
from keyfold.stores import folders
from keyfold.stores.files import Files
from keyfold.wire.layout import TableLayout

SUFFIX = ".db"
DEFAULT = "default"
_PROPERTIES = ".namespace.json"
_VIEWS, _VIEW_FILE = ".views", ".json"  # beside them may be what a killed job left
_LONGEST = 200
_FOLDER_LONGEST = 255  # bytes of a folder's name: longer ones can't be asked for
_FORBIDDEN = frozenset('/\\$.:*?"<>|\0')

Namespace = Sequence[str]


def is_plain(name: str) -> bool:
    """Whether a namespace of that name can be a folder of the warehouse."""
    return bool(name) and not _FORBIDDEN & set(name)


def check_name(what: str, name: str) -> None:
    """Raises TableError if the name can't be a folder's or means something else to Paimon."""
    if what == "table" and "$" in name:
        raise TableError(
            f"table name '{name}' is not allowed ($): a $ stands before the name of a metadata "
            "table, as in t$files, and those are read only, or of a branch, as in t$branch_b, "
            "which sys.create_branch makes and sys.delete_branch deletes"
        )
    bad = sorted({c for c in name if c in _FORBIDDEN or ord(c) < 32})
    if bad:
        raise TableError(f"{what} name '{name}' is not allowed ({' '.join(bad)})")
    if not name or name != name.strip():
        raise TableError(f"{what} name '{name}' is not allowed (blank, or padded with blanks)")
    if len(name.encode()) > _LONGEST:
        raise TableError(
            f"{what} name '{shown(name)}' is not allowed (longer than {_LONGEST} bytes)"
        )


def single(namespace: Namespace) -> str:
    """The one name of a namespace. Raises NoSuchNamespaceError if it does not have one level."""
    if len(namespace) != 1:
        shown = ".".join(namespace) or "(empty)"
        raise NoSuchNamespaceError(f"namespace {shown} does not exist: namespaces have one level")
    return namespace[0]


@dataclass(frozen=True)
class Namespaces:
    """The namespaces of a warehouse; `default` exists without being made."""

    owns_folders: ClassVar[bool] = True  # a folder in a table's place is a table, or broken

    files: Files
    warehouse: str

    def path(self, name: str) -> str:
        return f"{self.warehouse}/{name}{SUFFIX}"

    def table_path(self, name: str, table: str) -> str:
        return f"{self.path(name)}/{table}"

    # ---- tables ----

    def tables(self, name: str) -> list[str]:
        """Names of the tables of a namespace, sorted."""
        return self.files.folders(self.path(name))

    def check_missing(self, name: str, table: str) -> bool:
        """Whether a table that had no schema has one by now. Raises TableError if it should. Here
        none should.
        """
        return False

    def locked(self, *tables: tuple[str, str]) -> AbstractContextManager[None]:
        """A context in which nobody else makes, alters or drops these tables, by namespace and
        name. Here folders that appear and go in one step do without.
        """
        return contextlib.nullcontext()

    def check_layout(self, layout: TableLayout) -> None:
        """Raises TableError if the options of a table can't be noted. Here nobody notes them."""

    def registering(
        self, name: str, table: str, find: Callable[[], Table | None]
    ) -> AbstractContextManager[None]:
        """A context that puts the folder of a table, which `find` gives, in its place; the table is
        noted if that succeeds.
        """
        return contextlib.nullcontext()

    def note_options(self, name: str, table: str, find: Callable[[], Table | None]) -> None:
        """Note the options of a table that is there, as `find` gives it."""

    def unregister(self, name: str, table: str) -> bool | None:
        """Note that a table is gone; whether it was noted, None if nobody notes."""
        return None

    def remove_table(self, name: str, table: str) -> bool:
        """Remove a table, even a broken one; False if there is nothing."""
        place, noted = self.table_path(name, table), self.unregister(name, table)
        return noted is not False and (in_place.remove(self.files, place) or noted is True)

    def renaming(self, table: tuple[str, str], to: tuple[str, str]) -> AbstractContextManager[None]:
        """A context that renames the folder of a table; its name changes if that succeeds."""
        return contextlib.nullcontext()

    # ---- views ----

    def _view_path(self, name: str, view: str) -> str:
        return f"{self.path(name)}/{_VIEWS}/{view}{_VIEW_FILE}"

    def views(self, name: str) -> list[str]:
        """Names of the views of a namespace, in no order."""
        found = self.files.names(f"{self.path(name)}/{_VIEWS}")
        return [one.removesuffix(_VIEW_FILE) for one in found if one.endswith(_VIEW_FILE)]

    def has_view(self, name: str, view: str) -> bool:
        """Whether a view of that name is there."""
        return self.files.exists(self._view_path(name, view))

    def view_place(self, name: str, view: str) -> str:
        """The place of a view, for messages."""
        return f"its file {self._view_path(name, view)}"

    def read_view(self, name: str, view: str) -> bytes:
        """The text of a view. Raises FileNotFoundError if it is missing."""
        return self.files.read(self._view_path(name, view))

    def add_view(self, name: str, view: str, stored: Mapping[str, Any]) -> bool:
        """Store a view; False if it is there."""
        self.make(name)
        return self.files.publish(self._view_path(name, view), text_of(stored)) != 0

    def replace_view(self, name: str, view: str, stored: Mapping[str, Any]) -> None:
        """Store a view in one step, whether it is there or not."""
        self.make(name)
        self.files.replace(self._view_path(name, view), text_of(stored))

    def remove_view(self, name: str, view: str) -> None:
        """Remove a view, if it is there."""
        self.files.remove(self._view_path(name, view))

    def check_table(self, table: str) -> None:
        """Raises TableError if no new table may have that name."""
        check_name("table", table)

    def may_hold(self, namespace: Namespace, table: str) -> bool:
        """Whether a table may be there under that name."""
        if len(namespace) != 1 or table.startswith(".") or {"/", "\0"} & set(table):
            return False
        return len(table.encode()) <= _FOLDER_LONGEST and self.exists(namespace[0])

    def check_free(self, name: str, table: str) -> None:
        """Raises TableError if something else is in the way of a new table. Here nothing is."""

    def names(self) -> list[str]:
        """Names of all namespaces, sorted."""
        found = self.files.folders(self.warehouse)
        return sorted(
            {DEFAULT} | {name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX)}
        )

    def exists(self, name: str) -> bool:
        """Whether a namespace of that name exists."""
        return name == DEFAULT or (is_plain(name) and self.files.is_folder(self.path(name)))

    def require(self, namespace: Namespace) -> str:
        """The name of a namespace. Raises NoSuchNamespaceError if it does not exist."""
        name = single(namespace)
        if not self.exists(name):
            raise NoSuchNamespaceError(f"namespace {name} does not exist")
        return name

    def make(self, name: str) -> str:
        """The folder of a namespace, made if it is missing."""
        path = self.path(name)
        self.files.make_folder(path)
        return path

    def load(self, namespace: Namespace) -> dict[str, str]:
        """The properties of a namespace; `location` is its folder."""
        name = self.require(namespace)
        stored: dict[str, str] = {}
        with contextlib.suppress(FileNotFoundError):
            stored = self._stored(f"{self.path(name)}/{_PROPERTIES}")
        return {**stored, "location": self.path(name)}

    def _stored(self, path: str) -> dict[str, str]:
        try:
            found = document(self.files.read(path))
            return {str(key): str(value) for key, value in found.items()}
        except (ValueError, AttributeError) as error:
            raise CorruptDataError(f"namespace file {path} can't be read: {error}") from error

    def create(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Make a namespace. Raises NamespaceExistsError if it exists."""
        self._write(self._new_name(namespace, properties), properties)

    def _new_name(self, namespace: Namespace, properties: Mapping[str, str]) -> str:
        """The name of a new namespace. Raises an error if there can't be one."""
        if len(namespace) > 1:
            raise NotSupportedError(
                f"namespace {'.'.join(namespace)} can't be made: namespaces have one level"
            )
        name = single(namespace)
        check_name("namespace", name)
        if self.exists(name):
            raise NamespaceExistsError(f"namespace {name} exists")
        if properties.get("location", self.path(name)).rstrip("/") != self.path(name):
            raise NotSupportedError(
                f"namespace {name}: LOCATION is not supported; it lies at {self.path(name)}"
            )
        return name

    def alter(self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]) -> None:
        """Set and unset properties."""
        self._check_changes(namespace, changed, unset)
        kept = {k: v for k, v in self.load(namespace).items() if k not in unset}
        self._write(single(namespace), {**kept, **changed})

    def _check_changes(
        self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]
    ) -> None:
        if "location" in changed or "location" in unset:
            raise NotSupportedError(f"the location of namespace {'.'.join(namespace)} is fixed")

    def drop(self, namespace: Namespace, cascade: bool) -> bool:
        """Remove a namespace, with all in it if `cascade`; False if it does not exist."""
        name = single(namespace)
        if not self.exists(name):
            return False
        self._check_empty(name, cascade)
        return folders.remove(self.files, self.path(name)) or name == DEFAULT

    def _check_empty(self, name: str, cascade: bool) -> None:
        if not cascade and (self.tables(name) or self.views(name)):
            raise NamespaceNotEmptyError(
                f"namespace {name} is not empty; DROP … CASCADE (in Python cascade=True) drops all"
            )

    def _write(self, name: str, properties: Mapping[str, str]) -> None:
        kept = {k: v for k, v in properties.items() if k != "location"}
        text = json.dumps(kept, ensure_ascii=False, sort_keys=True)
        self.files.replace(f"{self.make(name)}/{_PROPERTIES}", text.encode())
