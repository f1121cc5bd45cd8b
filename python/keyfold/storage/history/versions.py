"""The table as it was: at a snapshot, a tag, a time or a watermark, with the schema of then.

A version is a tag of that name, else `watermark-<n>`, else the id of a snapshot, as in Paimon. It
may also be an option of a reader, `scan.snapshot-id=3`.
"""

import contextlib
import datetime
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from keyfold.errors import CorruptDataError, KeyfoldError, SnapshotExpiredError, TableError
from keyfold.storage.history import tags
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.stores.snapshot_folder import KEEPING

WATERMARK = "watermark-"
_SNAPSHOT, _TAG, _MILLIS = "scan.snapshot-id", "scan.tag-name", "scan.timestamp-millis"
_WATERMARK, _VERSION = "scan.watermark", "scan.version"
_OPTIONS = (_SNAPSHOT, _TAG, _MILLIS, _WATERMARK, _VERSION)
_LOOKS = 20
Found = tuple[Snapshot, str]  # the name is that of a tag, empty if none was needed


def at_version(table: Table, text: str) -> Table:
    """The table at the snapshot of a version. Raises SnapshotExpiredError, which names the earliest
    snapshot that is kept, or TableError if there never was such a version.
    """
    return _at(table, *resolve(table, text))


def at_timestamp(table: Table, millis: int) -> Table:
    """The table as it was at a time, in ms since the epoch. Raises as `snapshot_at` does."""
    return _at(table, snapshot_at(table, millis), "")


def snapshot_at(table: Table, millis: int) -> Snapshot:
    """The newest snapshot that was committed at or before a time, in ms since the epoch. Raises
    SnapshotExpiredError or TableError, which name the earliest snapshot, if all are younger.
    """
    for _ in range(_LOOKS):
        with contextlib.suppress(_GoneError):
            found = _last_until(table, sorted(table.snapshots.ids()), millis)
            if found is None:
                raise _younger(table, millis)
            return found
    raise CorruptDataError(f"the snapshots of table {table.layout.name} come and go")


class _GoneError(Exception):
    """A snapshot expired, or was rolled back, since the folder was listed."""


def _last_until(table: Table, ids: Sequence[int], millis: int) -> Snapshot | None:
    """The newest that is not later. Times go back where a clock was set back, so snapshots are
    looked at from the newest down, in stretches that are in order, of which each is bisected. An
    engine that says nothing of the order takes all before to be in order, and so do we: as Paimon.
    """
    end = len(ids)
    while end:
        newest = _there(table, ids[end - 1])
        if newest.time_millis <= millis:
            return newest
        first = newest.in_order_from
        begin = 0 if first is None else min(bisect_left(ids, first), end - 1)
        found = _bisected(table, ids[begin : end - 1], millis)
        if found is not None:
            return found
        end = begin
    return None


def _bisected(table: Table, ids: Sequence[int], millis: int) -> Snapshot | None:
    """The newest that is not later, of snapshots in the order of their times."""
    found: Snapshot | None = None
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        snapshot = _there(table, ids[middle])
        if snapshot.time_millis <= millis:
            found, low = snapshot, middle + 1
        else:
            high = middle
    return found


def _there(table: Table, snapshot_id: int) -> Snapshot:
    """A snapshot that was listed. Raises _GoneError if it is there no more."""
    snapshot = table.snapshots.find(snapshot_id)
    if snapshot is None:
        raise _GoneError
    return snapshot


def snapshot_from(table: Table, millis: int) -> Snapshot:
    """The first snapshot of a time, in ms since the epoch, or later: the one after that which
    shows the table just before; one that has expired too, if a tag keeps it. Raises TableError if
    there is none.
    """
    expired: list[Snapshot] = []
    try:
        before = newest_until(table, millis - 1)
    except SnapshotExpiredError:
        before = 0
        expired = [tag.snapshot for tag in tags.all_of(table) if tag.snapshot.time_millis >= millis]
    first = min(expired, key=lambda snapshot: snapshot.id, default=None)
    later = (number for number in sorted(table.snapshots.ids()) if number > before)
    for snapshot in map(table.snapshots.find, later):
        if snapshot is not None:
            return snapshot if first is None or snapshot.id < first.id else first
    raise TableError(
        f"table {table.layout.name} has no snapshot of {_shown(millis)} or later: its newest is "
        f"{table.snapshots.latest_id() or 'none'}"
    )


def newest_until(table: Table, millis: int) -> int:
    """The newest snapshot that is not later; 0 if all are. Raises SnapshotExpiredError if it is no
    longer known which was. What is later begins after it: so all that goes by time agrees, also if
    a clock was set back between two commits.
    """
    try:
        found = snapshot_at(table, millis).id
    except TableError:
        return 0
    return min(found, table.snapshot_id or 0)


def snapshot_of_id(table: Table, snapshot_id: int) -> Found:
    """The snapshot of an id, and the tag that keeps it if it has expired. Raises as `at_version`
    does.
    """
    found = table.snapshots.find(snapshot_id)
    if found is not None:
        return found, ""
    kept = next((tag for tag in tags.all_of(table) if tag.snapshot.id == snapshot_id), None)
    if kept is None:
        raise _missing(table, snapshot_id)
    return kept.snapshot, kept.name


def _at(table: Table, snapshot: Snapshot, tag: str) -> Table:
    layout = table.schema(snapshot.schema_id)
    return replace(table.at(snapshot), layout=layout, is_past=True, tag=tag)


def resolve(table: Table, text: str) -> Found:
    """The snapshot of a version, and the tag that keeps it. Raises as `at_version` does."""
    tagged = tags.find(table, text)
    if tagged is not None:
        return tagged.snapshot, text
    name, mark, value = text.partition("=")
    if mark and name in _OPTIONS:
        return _by_option(table, name, value)
    if text.startswith(WATERMARK):
        return _by_option(table, _WATERMARK, text.removeprefix(WATERMARK))
    if _is_number(text):
        return snapshot_of_id(table, int(text))
    known = ", ".join(tags.names(table)) or "none"
    raise TableError(
        f"table {table.layout.name} has no version '{text}': expected the id of a snapshot, or a "
        f"tag (it has {known})"
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


def _number(table: Table, option: str, text: str) -> int:
    if not _is_number(text.removeprefix("-")):
        raise TableError(
            f"reading table {table.layout.name}: {option} is '{text}', expected a whole number"
        )
    return int(text)


def _by_option(table: Table, option: str, text: str) -> Found:
    """The snapshot that an option of a reader names."""
    if option == _TAG:
        return tags.require(table, text).snapshot, text
    if option == _VERSION:
        return resolve(table, text)
    number = _number(table, option, text)
    if option == _SNAPSHOT:
        return snapshot_of_id(table, number)
    if option == _MILLIS:
        return snapshot_at(table, number), ""
    return snapshot_by_watermark(table, number, until=False), ""


def snapshot_by_watermark(table: Table, watermark: int, *, until: bool) -> Snapshot:
    """The first snapshot whose watermark has reached this one; `until`: the newest whose watermark
    is not above it. Raises TableError if there is none.
    """
    ids = sorted(table.snapshots.ids(), reverse=until)
    for snapshot in map(table.snapshots.find, ids):
        reached = None if snapshot is None else snapshot.watermark
        if reached is not None and (reached <= watermark if until else reached >= watermark):
            assert snapshot is not None
            return snapshot
    which = "at most" if until else "at least"
    raise TableError(
        f"table {table.layout.name} has no snapshot whose watermark is {which} {watermark}: only "
        "streams of other engines store watermarks"
    )


def _missing(table: Table, snapshot_id: int) -> KeyfoldError:
    newest, earliest = table.snapshots.latest_id(), table.snapshots.earliest_id()
    what = f"snapshot {snapshot_id} of table {table.layout.name}"
    if newest is None or earliest is None:
        return TableError(f"{what} does not exist: the table has no snapshot yet")
    if snapshot_id > newest or snapshot_id < 1:
        return TableError(f"{what} does not exist: there are {earliest} to {newest}")
    if earliest < snapshot_id:
        return table.snapshots.gone(snapshot_id)
    return SnapshotExpiredError(
        f"{what} has expired, the earliest kept is {earliest}; {KEEPING}, and a tag keeps one for "
        "as long as you like"
    )


def _younger(table: Table, millis: int) -> KeyfoldError:
    earliest_id = table.snapshots.earliest_id()
    earliest = None if earliest_id is None else table.snapshots.find(earliest_id)
    what = f"table {table.layout.name} has no snapshot of {_shown(millis)} or before"
    if earliest is None:
        return TableError(f"{what}: it has no snapshot yet")
    where = f"the earliest kept is {earliest.id}, of {_shown(earliest.time_millis)}"
    if earliest.id == 1:
        return TableError(f"{what}: {where}")
    return SnapshotExpiredError(f"{what}: older ones have expired, {where}; {KEEPING}")


def _shown(millis: int) -> str:
    """A time as text in UTC; its number if no calendar has it."""
    try:
        at = datetime.datetime.fromtimestamp(millis / 1000, datetime.timezone.utc)
    except (OverflowError, ValueError, OSError):
        return f"{millis} ms"
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"
