"""The snapshots that a range of versions or times means (driver side).

A range is (after, until]: the snapshots above `after`, 0 for all from the first one on, up to
`until`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keyfold.errors import TableError
from keyfold.storage.table import Table

MICROS = 1000


@dataclass(frozen=True)
class Range:
    """The snapshots above `after` up to `until`."""

    after: int
    until: int


def asked_for(table: Table, given: Mapping[str, Any]) -> Range:
    """The range of a clause: its `kind` (version, timestamp or all), its bounds `from` and `to`,
    text or microseconds, of which `to` may be None, and whether each is `…_inclusive`.
    """
    if given["kind"] == "all":
        return whole(table)
    made = by_version if given["kind"] == "version" else by_timestamp
    start, end = given["from"], given.get("to")
    return made(table, start, given["from_inclusive"], end, given["to_inclusive"])


def whole(table: Table) -> Range:
    """All changes that are kept."""
    earliest = table.snapshots.earliest_id() or 0
    return Range(earliest if earliest > 1 else 0, table.snapshot_id or 0)


def by_version(
    table: Table, start: str, with_start: bool, end: str | None, with_end: bool
) -> Range:
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
    return Range(after, max(after, until))


def between(table: Table, start: str, end: str) -> Range:
    """The snapshots after one (an id, of which 0 is before the first, or a tag) up to another."""
    if start == "0":
        return Range(0, _snapshot(table, end))
    return by_version(table, start, False, end, True)


def by_timestamp(
    table: Table, start: int, with_start: bool, end: int | None, with_end: bool
) -> Range:
    """From a time up to another, or the newest snapshot; in microseconds since 1970."""
    if end is not None and end < start:
        raise TableError(
            f"changes of table {table.layout.name}: the range of times ends before it starts"
        )
    after = _newest(table, (start - 1 if with_start else start) // MICROS)
    until = table.snapshot_id or 0
    if end is not None:
        until = _newest(table, (end if with_end else end - 1) // MICROS)
    return Range(after, max(after, until))


def _snapshot(table: Table, version: str) -> int:
    newest = table.snapshot_id or 0
    if not version.isdigit() or not 1 <= int(version) <= newest:
        raise TableError(
            f"table {table.layout.name} has no version '{version}': expected a snapshot from 1 to "
            f"{newest}"
        )
    return int(version)


def _newest(table: Table, millis: int) -> int:
    """The newest snapshot that is not later; 0 if all are."""
    newest = table.snapshot_id or 0
    earliest = table.snapshots.earliest_id() or 1
    low, high = earliest - 1, newest
    while low < high:
        middle = (low + high + 1) // 2
        if table.snapshots.read(middle).time_millis <= millis:
            low = middle
        else:
            high = middle - 1
    return low
