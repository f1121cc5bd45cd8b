"""Tags: named snapshots, which stay readable when the snapshot itself has expired.

A tag is a file of Paimon's: the snapshot, and, if it is kept for a time only, when it was made and
for how long. Java writes the local time of its JVM as [year, month, day, hour, minute, second,
nanos], and the time that it is kept in seconds.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from keyfold.errors import TableError
from keyfold.storage.metadata.avro_records import is_name
from keyfold.storage.metadata.documents import read_as
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table

PREFIX = "tag-"
CREATED, RETAINED = "tagCreateTime", "tagTimeRetained"


@dataclass(frozen=True)
class Tag:
    """One tag; `created` is in ms since the epoch, `retained` in seconds. Both are None unless it
    is kept for a time only.
    """

    name: str
    snapshot: Snapshot
    created: int | None
    retained: float | None


def names(table: Table) -> list[str]:
    """Names of all tags, sorted."""
    found = table.files.names(f"{table.layout.home}/tag")
    return sorted(name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX))


def all_of(table: Table) -> list[Tag]:
    """All tags by name; one that is deleted meanwhile is passed over."""
    return [tag for name in names(table) if (tag := find(table, name)) is not None]


def find(table: Table, name: str) -> Tag | None:
    """The tag of that name, None if there is no such tag. Raises CorruptDataError if its file is
    damaged.
    """
    if not is_name(PREFIX + name):
        return None
    return read_as(table.files, table.snapshots.tag_path(name), "tag", partial(_parsed, name))


def require(table: Table, name: str) -> Tag:
    """The tag of that name. Raises TableError, which names all tags, if there is no such tag."""
    found = find(table, name)
    if found is None:
        known = ", ".join(names(table)) or "none"
        raise TableError(f"table {table.layout.name} has no tag '{name}'; it has {known}")
    return found


def _parsed(name: str, stored: Mapping[str, Any]) -> Tag:
    seconds = stored.get(RETAINED)
    retained = None if seconds is None else float(seconds)
    return Tag(name, Snapshot.from_json(stored), _created(stored.get(CREATED)), retained)


def _created(stored: Sequence[int] | None) -> int | None:
    if stored is None:
        return None
    year, month, day, hour, minute, second, nanos = [*stored, 0, 0, 0, 0][:7]
    local = datetime.datetime(year, month, day, hour, minute, second, nanos // 1000)
    return int(local.timestamp() * 1000)


def local_time(millis: int) -> list[int]:
    """A time in ms since the epoch as Java stores it: the local time of this process."""
    at = datetime.datetime.fromtimestamp(millis / 1000)
    return [at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond * 1000]
