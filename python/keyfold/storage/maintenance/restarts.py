"""Snapshots that the ones before them do not lead to: those of a branch that Paimon has moved a
table on to.

Its fast_forward puts the snapshots of a branch above the older ones of the table. If the branch has
lost the one that it began with, files that the table has dropped may be in use again above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyfold.resources.cache import Cache
from keyfold.storage.maintenance.retained import Pins
from keyfold.storage.metadata.manifests import unless_missing
from keyfold.storage.metadata.snapshot_files import listed_of
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table

# Whether one snapshot follows another, by the names of their lists, which never change.
FOLLOWS: Cache[bool] = Cache(100_000)


def restarts(table: Table, begin: int, keeping: Pins) -> list[Snapshot]:
    """The snapshots after `begin` whose list of manifests does not begin with all of the one
    before: manifests were merged, or they are of a branch. A table without branches has none of
    interest.
    """
    newest, found = table.snapshots.latest_id(), list[Snapshot]()
    if newest is None or not keeping.had_branches:
        return []
    before: Snapshot | None = None
    for number in range(begin, newest + 1):
        snapshot = table.snapshots.find(number)
        if snapshot is None:
            continue
        if before is not None and not _follows(table, before, snapshot):
            found.append(snapshot)
        before = snapshot
    return found


def _follows(table: Table, before: Snapshot, after: Snapshot) -> bool:
    """Whether all manifests of a snapshot come first in the next one. That is kept: each commit of
    a process may expire snapshots, of which most are those of the last time.
    """
    lists = [(one.base_manifest_list, one.delta_manifest_list) for one in (before, after)]
    key = (table.layout.location, *lists)
    known = FOLLOWS.get(key)
    if known is None:
        first, then = _listed(table, before), _listed(table, after)
        if first is None or then is None:
            return False
        known = bool(first) and then[: len(first)] == first
        FOLLOWS.put(key, known)
    return known


def _listed(table: Table, snapshot: Snapshot) -> list[str] | None:
    """The names of a snapshot's manifests, None if an expiry has removed its lists."""
    listed: Sequence[Any] | None = None
    with unless_missing():
        listed = listed_of(table.manifests, snapshot)
    return None if listed is None else [one["_FILE_NAME"] for one in listed]
