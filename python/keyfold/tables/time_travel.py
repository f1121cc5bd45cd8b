"""A table as it was; its tags and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from keyfold.errors import TableError
from keyfold.storage.branching import branches
from keyfold.storage.branching.rollback import rollback
from keyfold.storage.history import tags, versions
from keyfold.storage.maintenance import tagging
from keyfold.storage.table import Table as Loaded
from keyfold.tables.doors import doors
from keyfold.tables.timestamps import millis_of

if TYPE_CHECKING:
    from keyfold.tables.table import Table

Load = Callable[[], Loaded]


def at(
    table: Loaded, snapshot: int | None, tag: str | None, timestamp: datetime | str | None
) -> Loaded:
    """The table at a snapshot, a tag or a time, with the schema of then; as it is if none is given.
    Raises TableError if more than one is given or there is no such version, SnapshotExpiredError if
    it has expired.
    """
    given = [one for one in (snapshot, tag, timestamp) if one is not None]
    if len(given) > 1:
        raise TableError(
            f"table {table.layout.name}: expected one of snapshot, tag and timestamp, found "
            f"{len(given)}"
        )
    if snapshot is not None:
        return versions.at_version(table, f"scan.snapshot-id={snapshot}")
    if tag is not None:
        return versions.at_version(table, f"scan.tag-name={tag}")
    if timestamp is None:
        return table
    millis = millis_of(f"reading table {table.layout.name}: timestamp", timestamp)
    return versions.at_timestamp(table, millis)


def rolled_back(
    table: Loaded, snapshot: int | None, tag: str | None, timestamp: datetime | str | None
) -> int:
    """Make a snapshot the newest one; returns its id."""
    found = at(table, snapshot, tag, timestamp)
    if found is table or found.snapshot_id is None:
        raise TableError(f"table {table.layout.name}: expected a snapshot, tag or timestamp")
    target, kept_by = versions.snapshot_of_id(table, found.snapshot_id)
    return rollback(table, target, kept_by)


@doors(lambda held: f"tags of table {held._table}")
class Tags:
    """The tags of a table: names for snapshots, which stay readable as long as the tag is there."""

    def __init__(self, load: Load, table: str) -> None:
        self._load, self._table = load, table

    def __repr__(self) -> str:
        return f"<tags of keyfold table {self._table}>"

    def __iter__(self) -> Iterator[str]:
        """The names of all tags."""
        return iter(self.names())

    def names(self) -> list[str]:
        """The names of all tags."""
        return tags.names(self._load())

    def create(
        self, name: str, snapshot: int | None = None, retained: timedelta | None = None
    ) -> None:
        """Name a snapshot, the newest by default, to be kept for ever or for a time. Raises
        TableError if the name is taken or there is no such snapshot.
        """
        seconds = None if retained is None else retained.total_seconds()
        tagging.create(self._load(), name, snapshot, seconds)

    def replace(self, name: str, snapshot: int | None = None) -> None:
        """Give a tag another snapshot. Raises TableError if there is no such tag."""
        tagging.replace(self._load(), name, snapshot)

    def rename(self, name: str, to: str) -> None:
        """Give a tag another name. Raises TableError if it is taken, or there is no such tag."""
        tagging.rename(self._load(), name, to)

    def delete(self, name: str) -> bool:
        """Delete a tag, and files that it alone held; False if there is none."""
        return tagging.delete(self._load(), name)


@doors(lambda held: f"branches of table {held._table}")
class Branches:
    """The branches of a table: tables of their own that begin at one of its tags."""

    def __init__(
        self,
        load: Load,
        table: str,
        named: Callable[[str], Table],
        changing: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._load, self._table = load, table
        self._named, self._changing = named, changing

    def __repr__(self) -> str:
        return f"<branches of keyfold table {self._table}>"

    def __getitem__(self, name: str) -> Table:
        """A branch, as a table. Raises TableError if there is none."""
        branches.open_branch(self._load(), name)
        return self._named(name)

    def __iter__(self) -> Iterator[str]:
        """The names of all branches."""
        return iter(self.names())

    def names(self) -> list[str]:
        """The names of all branches."""
        return branches.names(self._load())

    def create(self, name: str, tag: str | None = None) -> Table:
        """Make a branch of a tag; without one it is empty. Raises TableError if it exists."""
        branches.create(self._load(), name, tag)
        return self._named(name)

    def rename(self, name: str, to: str) -> None:
        """Give a branch another name. Raises TableError if that is taken, or there is none."""
        branches.rename(self._load(), name, to)

    def delete(self, name: str) -> None:
        """Delete a branch and what it alone held. Raises TableError if there is none."""
        branches.delete(self._load(), name)

    def fast_forward(self, name: str) -> int:
        """Make the table what a branch of it is; returns its newest snapshot."""
        with self._changing():
            return branches.fast_forward(self._load(), name)
