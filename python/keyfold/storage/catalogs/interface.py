"""The interface of every catalog, and a table that one has made and not yet put in its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from keyfold.storage.catalogs.namespaces import Namespace
from keyfold.storage.catalogs.views import StoredView
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.wire.codec import Wire


@dataclass(frozen=True)
class Staged(Wire):
    """A table built aside; opaque to the JVM."""

    namespace: str
    table: str
    location: str
    mode: str
    stamp: str = ""  # its schema's, if it was built in its place


class Catalog(Protocol):
    """One open catalog. Every answer is read anew and not kept."""

    @property
    def name(self) -> str:
        """Its name in Spark."""

    def list_namespaces(self) -> list[list[str]]:
        """All namespaces; there is one level."""

    def load_namespace(self, namespace: Namespace) -> dict[str, str]:
        """The properties of a namespace. Raises NoSuchNamespaceError if it does not exist."""

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Make a namespace. Raises NamespaceExistsError if it exists."""

    def alter_namespace(
        self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]
    ) -> None:
        """Set and unset properties. Raises NoSuchNamespaceError if there is no such namespace."""

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        """Remove a namespace; False if it is missing. Without `cascade`, raises
        NamespaceNotEmptyError if it has tables or views.
        """

    def list_tables(self, namespace: Namespace) -> list[str]:
        """Names of the tables, sorted. Raises NoSuchNamespaceError if the namespace is missing."""

    def load_table(self, namespace: Namespace, name: str) -> Table:
        """The table at its newest schema and snapshot. Raises NoSuchTableError if it is missing."""

    def create_table(
        self, namespace: Namespace, name: str, new: NewTable, *, if_not_exists: bool = False
    ) -> Table:
        """Make an empty table. Raises TableExistsError if it exists, unless `if_not_exists`."""

    def drop_table(self, namespace: Namespace, name: str) -> bool:
        """Remove a table, even a broken one; False if it does not exist."""

    def rename_table(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        """Rename a table, possibly into another namespace. Raises TableExistsError if the new name
        is taken.
        """

    def alter_table(
        self, namespace: Namespace, name: str, changes: Sequence[Mapping[str, Any]]
    ) -> Table:
        """Apply all changes or none. Returns the table after them."""

    # ---- views, which share their names with tables ----

    def list_views(self, namespace: Namespace) -> list[str]:
        """Names of the views, sorted. Raises NoSuchNamespaceError if the namespace is missing."""

    def load_view(self, namespace: Namespace, name: str) -> StoredView:
        """The view of that name. Raises NoSuchTableError if it is missing, or a table."""

    def set_view(self, namespace: Namespace, name: str, view: StoredView, mode: str) -> None:
        """Make a view, or replace it (`MODES`). Raises TableExistsError if the name is taken,
        NoSuchTableError if there is no view to replace.
        """

    def drop_view(self, namespace: Namespace, name: str) -> bool:
        """Remove a view; False if there is no view of that name."""

    def rename_view(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        """Rename a view, possibly into another namespace. Raises NoSuchTableError if it is missing,
        TableExistsError if the new name is taken.
        """

    # ---- staging ----

    def stage(self, namespace: Namespace, name: str, new: NewTable, mode: str) -> Staged:
        """Make an empty table for `commit_staged` or `abort_staged`. It is made aside if the store
        can rename folders, else where it stays.
        """

    def staged_table(self, staged: Staged) -> Table:
        """The staged table, to be written to. Raises NoSuchTableError if it is gone."""

    def commit_staged(self, staged: Staged) -> None:
        """Put it in its place. Raises TableExistsError if another table is there by now."""

    def abort_staged(self, staged: Staged) -> None:
        """Remove it, unless its place holds another table by now."""
