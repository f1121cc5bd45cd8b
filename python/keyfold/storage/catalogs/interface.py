"""What every catalog answers, and a table that a catalog has made and not yet put in its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from keyfold.storage.catalogs.namespaces import Namespace
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table


@dataclass(frozen=True)
class Staged:
    """A table built aside; JSON on the wire, opaque to the JVM."""

    namespace: str
    table: str
    location: str
    mode: str
    stamp: str = ""  # of its schema, where it was built in its place

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return dict(self.__dict__)

    @staticmethod
    def from_json(json: Mapping[str, Any]) -> "Staged":
        """The inverse of `to_json`."""
        return Staged(**json)


class Catalog(Protocol):
    """One open catalog. Every answer is read anew; nothing of it is kept."""

    @property
    def name(self) -> str:
        """What Spark calls it."""

    def list_namespaces(self) -> list[list[str]]:
        """All namespaces; there is one level."""

    def load_namespace(self, namespace: Namespace) -> dict[str, str]:
        """The properties. Raises NoSuchNamespaceError."""

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Make one. Raises NamespaceExistsError."""

    def alter_namespace(
        self, namespace: Namespace, changed: Mapping[str, str], unset: Sequence[str]
    ) -> None:
        """Set and unset properties. Raises NoSuchNamespaceError."""

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        """Remove one; False if it is missing. Raises NamespaceNotEmptyError without `cascade`."""

    def list_tables(self, namespace: Namespace) -> list[str]:
        """Names of the tables, sorted. Raises NoSuchNamespaceError."""

    def load_table(self, namespace: Namespace, name: str) -> Table:
        """The table at its newest schema and snapshot. Raises NoSuchTableError."""

    def create_table(
        self, namespace: Namespace, name: str, new: NewTable, *, if_not_exists: bool = False
    ) -> Table:
        """Make an empty table. Raises TableExistsError unless `if_not_exists`."""

    def drop_table(self, namespace: Namespace, name: str) -> bool:
        """Remove a table, a broken one too; False if it does not exist."""

    def rename_table(
        self, namespace: Namespace, name: str, to_namespace: Namespace, to_name: str
    ) -> None:
        """Give a table another name, in another namespace too. Raises TableExistsError."""

    def alter_table(
        self, namespace: Namespace, name: str, changes: Sequence[Mapping[str, Any]]
    ) -> Table:
        """Apply all changes or none; the table as it is then."""

    def stage(self, namespace: Namespace, name: str, new: NewTable, mode: str) -> Staged:
        """Make an empty table, for `commit_staged` or `abort_staged`: aside if the store can rename
        folders, else where it stays.
        """

    def staged_table(self, staged: Staged) -> Table:
        """The staged table, to be written to. Raises NoSuchTableError if it is gone."""

    def commit_staged(self, staged: Staged) -> None:
        """Put it in its place. Raises TableExistsError if another table is there by now."""

    def abort_staged(self, staged: Staged) -> None:
        """Remove it, unless its place holds another table by now."""
