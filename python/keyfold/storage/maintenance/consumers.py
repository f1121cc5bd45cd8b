"""Consumers: streams that have a name, under which the table notes what they have yet to read.

The file is Paimon's: `consumer/consumer-<name>` has the next snapshot to read. Fields of our own,
which Paimon passes over, say which history that number is of and whether all rows are unread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.avro_records import is_long, is_text
from keyfold.storage.metadata.documents import document
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table

_PREFIX = "consumer-"
_NEXT, _JOB, _ALL = "nextSnapshot", "commitUser", "allRows"


@dataclass(frozen=True)
class Position:
    """The point from which a consumer has yet to read: the changes of the snapshot `following` and
    of those after it, or, with `all_rows`, first the rows of that snapshot.

    `job` is the commit user of the snapshot before it, or, with `all_rows`, of `following` itself:
    after a rollback other snapshots have the same numbers. It is empty if that is not known.
    """

    following: int
    job: str = ""
    all_rows: bool = False


def position(table: Table, consumer: str) -> Position | None:
    """The position of a consumer, None if it has not begun. Raises CorruptDataError if its file
    can't be read.
    """
    path = _path(table, consumer)
    try:
        return _position(document(table.files.read(path)))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise CorruptDataError(
            f"consumer file {path} can't be read: {error!r}; remove it: its stream then begins "
            "where its options say"
        ) from error


def _position(stored: Mapping[str, Any]) -> Position:
    found = Position(stored[_NEXT], stored.get(_JOB, ""), stored.get(_ALL, False))
    if not (is_long(found.following) and is_text(found.job) and isinstance(found.all_rows, bool)):
        raise ValueError(f"expected the number of a snapshot as {_NEXT}, found {stored}")
    return replace(found, following=max(found.following, 1))  # the first one is 1


def note(table: Table, consumer: str, found: Position) -> None:
    """Note the position of a consumer, if it is another than the one that is noted."""
    table.check_unchanged()
    if position(table, consumer) != found:
        ours = {_JOB: found.job, _ALL: found.all_rows}
        text = json.dumps({_NEXT: found.following} | {k: v for k, v in ours.items() if v})
        table.files.replace(_path(table, consumer), text.encode())


def forget(table: Table, consumer: str) -> None:
    """Remove the position of a consumer."""
    table.files.remove(_path(table, consumer))


def set_back(table: Table, target: Snapshot) -> None:
    """Let consumers that have read snapshots which are gone go on after this one, to which the
    table has gone back: all that comes is unread. A consumer that had not read all rows of a later
    one begins with its rows.
    """
    for name, found in _positions(table):
        read = found.following - (not found.all_rows)
        if read > target.id and not _is_of(table, read, found.job):
            following = target.id + (not found.all_rows)
            note(table, name, Position(following, target.commit_user, found.all_rows))


def _is_of(table: Table, snapshot_id: int, job: str) -> bool:
    """Whether the snapshot of that id is there, and a job made it."""
    found = table.snapshots.find(snapshot_id)
    return found is not None and found.commit_user == job


def names(table: Table) -> list[str]:
    """The names of all consumers, in order."""
    files = table.files.names(f"{table.layout.home}/consumer")
    return sorted(name.removeprefix(_PREFIX) for name in files if name.startswith(_PREFIX))


def least_needed(table: Table) -> int | None:
    """The oldest snapshot that a consumer needs: the one before the next that it is to read, which
    shows what has changed. None without consumers.
    """
    return min((found.following - 1 for _, found in _positions(table)), default=None)


def _positions(table: Table) -> Iterator[tuple[str, Position]]:
    for name in names(table):
        found = position(table, name)
        if found is not None:
            yield name, found


def _path(table: Table, consumer: str) -> str:
    return f"{table.layout.home}/consumer/{_PREFIX}{consumer}"
