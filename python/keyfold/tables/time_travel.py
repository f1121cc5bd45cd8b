"""A table as it was; its tags and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from keyfold.errors import TableError
from keyfold.procedures import branches as branch_procedures
from keyfold.procedures import tags as tag_procedures
from keyfold.procedures.clone import CLONE
from keyfold.procedures.declare import Procedure, Rows
from keyfold.procedures.rollback import ROLLBACK, ROLLBACK_TO_TIMESTAMP
from keyfold.storage.branching import branches
from keyfold.storage.history import tags, versions
from keyfold.storage.table import Table as Loaded
from keyfold.tables import calls
from keyfold.tables.doors import doors
from keyfold.tables.rows.timestamps import millis_of
from keyfold.tables.session import Session

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


def cloned(
    session: Session,
    load: Load,
    to: str,
    snapshot: int | None,
    tag: str | None,
    timestamp: datetime | str | None,
) -> None:
    """Make a table of a version of another."""
    at(load(), snapshot, tag, timestamp)  # raises if there is no such version
    version = None if snapshot is None else f"scan.snapshot-id={snapshot}"
    version = version if tag is None else f"scan.tag-name={tag}"
    millis = None
    if timestamp is not None:
        millis = millis_of(f"cloning table {load().layout.name}: timestamp", timestamp)
    calls.rows(session, load, CLONE, target=to, version=version, timestamp=millis)


def rolled_back(
    session: Session,
    load: Load,
    snapshot: int | None,
    tag: str | None,
    timestamp: datetime | str | None,
    token: tuple[str, int] | None,
) -> int | None:
    """Make a snapshot the newest one; returns the id of the newest, None if the table has the
    token.
    """
    procedure, asked = ROLLBACK, {"snapshot": snapshot, "tag": tag}
    given = [one for one in (snapshot, tag, timestamp) if one is not None]
    if len(given) != 1:
        raise TableError(
            f"rollback of table {load().layout.name}: expected one of snapshot, tag and timestamp, "
            f"found {len(given) or 'none'}"
        )
    if timestamp is not None:
        millis = millis_of(f"rollback of table {load().layout.name}: timestamp", timestamp)
        procedure, asked = ROLLBACK_TO_TIMESTAMP, {"timestamp": millis}
    (row,) = calls.rows(session, load, procedure, token=token, **asked)
    found: int | None = row["current_snapshot_id"]
    return found


@doors(lambda held: f"tags of table {held._table}")
class Tags:
    """The tags of a table: names for snapshots, which stay readable as long as the tag is there."""

    def __init__(self, session: Session, load: Load, table: str) -> None:
        self._session, self._load, self._table = session, load, table

    def _called(self, procedure: Procedure, **arguments: Any) -> Rows:
        return calls.rows(self._session, self._load, procedure, **arguments)

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
        kept = None if retained is None else f"{retained // timedelta(milliseconds=1)} ms"
        self._called(tag_procedures.CREATE_TAG, tag=name, snapshot=snapshot, time_retained=kept)

    def replace(self, name: str, snapshot: int | None = None) -> None:
        """Give a tag another snapshot. Raises TableError if there is no such tag."""
        self._called(tag_procedures.REPLACE_TAG, tag=name, snapshot=snapshot)

    def rename(self, name: str, to: str) -> None:
        """Give a tag another name. Raises TableError if it is taken, or there is no such tag."""
        self._called(tag_procedures.RENAME_TAG, tag=name, target_tag=to)

    def delete(self, name: str) -> bool:
        """Delete a tag, and files that it alone held; False if there is none."""
        (row,) = self._called(tag_procedures.DELETE_TAG, tag=name)
        return bool(row["result"])


@doors(lambda held: f"branches of table {held._table}")
class Branches:
    """The branches of a table: tables of their own that begin at one of its tags."""

    def __init__(
        self,
        session: Session,
        load: Load,
        table: str,
        named: Callable[[str], Table],
        changing: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._session, self._load, self._table = session, load, table
        self._named, self._changing = named, changing

    def _called(self, procedure: Procedure, **arguments: Any) -> Rows:
        return calls.rows(self._session, self._load, procedure, **arguments)

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
        self._called(branch_procedures.CREATE_BRANCH, branch=name, tag=tag)
        return self._named(name)

    def rename(self, name: str, to: str) -> None:
        """Give a branch another name. Raises TableError if that is taken, or there is none."""
        self._called(branch_procedures.RENAME_BRANCH, from_branch=name, to_branch=to)

    def delete(self, name: str) -> None:
        """Delete a branch and what it alone held. Raises TableError if there is none."""
        self._called(branch_procedures.DELETE_BRANCH, branch=name)

    def fast_forward(self, name: str, *, token: tuple[str, int] | None = None) -> int | None:
        """Make the table what a branch of it is; returns its newest snapshot. With a `token`, as of
        `upsert`, None if the table has it: then nothing has changed.
        """
        with self._changing(), self._session.working():
            call = calls.call(self._session, self._load, token)
            return branch_procedures.fast_forward(call, name)
