"""The snapshots that a range of versions or times means (driver side): one of a clause, or of
Paimon's options `incremental-between` and its kin.

A range is (after, until]: the snapshots above `after`, 0 for all from the first one on, up to
`until`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.changelog.specs import ChangesRequest
from keyfold.changelog.views import ROWS
from keyfold.errors import NotSupportedError, TableError
from keyfold.options.calls import INCREMENTAL
from keyfold.options.values import moment
from keyfold.storage.history import tags, versions
from keyfold.storage.maintenance import automatic
from keyfold.storage.maintenance.changelogs import writes_changelogs
from keyfold.storage.table import Table

MICROS = 1000
BETWEEN, BETWEEN_TIMES, TO_AUTO_TAG, SCAN_MODE = INCREMENTAL
AUTO, DIFF, CHANGELOG = "auto", "diff", "changelog"


@dataclass(frozen=True)
class SnapshotRange:
    """The snapshots above `after` up to `until`."""

    after: int
    until: int


def asked_for(table: Table, given: Mapping[str, Any]) -> SnapshotRange:
    """The range of a clause: its `kind` (version, timestamp or all), its bounds `from` and `to`,
    text or microseconds, of which `to` may be None, and whether each is `…_inclusive`.
    """
    if given["kind"] == "all":
        return whole(table)
    made = by_version if given["kind"] == "version" else by_timestamp
    start, end = given["from"], given.get("to")
    return made(table, start, given["from_inclusive"], end, given["to_inclusive"])


def whole(table: Table) -> SnapshotRange:
    """All changes that are kept."""
    earliest = table.snapshots.earliest_id() or 0
    return SnapshotRange(earliest if earliest > 1 else 0, table.snapshot_id or 0)


def by_version(
    table: Table, start: str, with_start: bool, end: str | None, with_end: bool
) -> SnapshotRange:
    """From a snapshot (its id, or a tag's name) up to another, or the newest."""
    first = _snapshot(table, start)
    last = table.snapshot_id or 0 if end is None else _snapshot(table, end)
    if end is not None and last < first:
        raise TableError(
            f"changes of table {table.layout.name} from version {start} to version {end}: the "
            "range ends before it starts"
        )
    until = last if with_end or end is None else last - 1
    after = first - 1 if with_start else first
    return SnapshotRange(after, max(after, until))


def between(table: Table, start: str, end: str) -> SnapshotRange:
    """The snapshots after one (an id, of which 0 is before the first, or a tag) up to another."""
    if start == "0":
        return SnapshotRange(0, _snapshot(table, end))
    return by_version(table, start, False, end, True)


def by_timestamp(
    table: Table, start: int, with_start: bool, end: int | None, with_end: bool
) -> SnapshotRange:
    """From a time up to another, or the newest snapshot; in microseconds since 1970."""
    if end is not None and end < start:
        raise TableError(
            f"changes of table {table.layout.name}: the range of times ends before it starts"
        )
    after = versions.newest_until(table, (start - 1 if with_start else start) // MICROS)
    until = table.snapshot_id or 0
    if end is not None:
        until = versions.newest_until(table, (end if with_end else end - 1) // MICROS)
    return SnapshotRange(after, max(after, until))


def _snapshot(table: Table, version: str) -> int:
    """The snapshot of a version. That of an id may have expired, as its changelog may be kept."""
    newest = table.snapshot_id or 0
    if version.isascii() and version.isdigit() and tags.find(table, version) is None:
        found = int(version)
        if 1 <= found <= newest:
            return found
    return versions.resolve(table, version)[0].id


def asked(table: Table, view: str, options: Mapping[str, str], zone: str) -> ChangesRequest:
    """The rows that a reader's options ask for: the changes between two snapshots or times, the
    first one left out; without a range every row of the newest snapshot. `zone` is that of times as
    text.

    A table of `t` itself shows the rows as they are at the end of the range, each once, unless a
    producer's changelog is read.
    """
    named = [name for name in (BETWEEN, BETWEEN_TIMES, TO_AUTO_TAG) if name in options]
    where = f"reading changes of table {table.layout.name}"
    if len(named) > 1:
        raise TableError(f"{where}: options {' and '.join(named)} each name a range: give one")
    mode = options.get(SCAN_MODE, AUTO).strip().lower()
    if mode not in (AUTO, DIFF, CHANGELOG):
        raise NotSupportedError(
            f"{where}: option {SCAN_MODE} = '{mode}' is not supported: expected {AUTO}, {DIFF} or "
            f"{CHANGELOG}"
        )
    if not named:
        if SCAN_MODE in options:
            raise TableError(f"{where}: option {SCAN_MODE} needs a range: give {BETWEEN} too")
        return ChangesRequest(view, 0, table.snapshot_id or 0, full=True)
    found = _range(table, named[0], options[named[0]], zone)
    is_net = mode == DIFF or (mode == AUTO and view == ROWS.name and not writes_changelogs(table))
    return ChangesRequest(view, found.after, found.until, net=is_net)


def _range(table: Table, name: str, text: str, zone: str) -> SnapshotRange:
    where = f"reading changes of table {table.layout.name}: option {name} = '{text}'"
    if name == TO_AUTO_TAG:
        before = automatic.previous(table, text)
        end = tags.require(table, text).snapshot.id
        return SnapshotRange(end if before is None else before.snapshot.id, end)
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise TableError(f"{where}: expected two values, as in '5,10'")
    if name == BETWEEN:
        return between(table, *parts)
    try:
        start, end = (moment(part, zone) for part in parts)
    except ValueError as error:
        raise TableError(f"{where}: expected {error}") from None
    return by_timestamp(table, start, False, end, True)
