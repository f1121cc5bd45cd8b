"""Snapshots that the ones before them do not lead to: those of a branch that Paimon has moved a
table on to.

Its fast_forward puts the snapshots of a branch above the older ones of the table. If the branch has
lost the one that it began with, files that the table has dropped may be in use again above.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyfold.storage.maintenance.retained import Pins
from keyfold.storage.metadata.manifests import unless_missing
from keyfold.storage.metadata.snapshot_files import listed_of
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table


def restarts(table: Table, begin: int, keeping: Pins) -> list[Snapshot]:
    """The snapshots after `begin` whose list of manifests does not begin with all of the one
    before: manifests were merged, or they are of a branch. A table without branches has none of
    interest.
    """
    newest, found = table.snapshots.latest_id(), list[Snapshot]()
    if newest is None or not keeping.had_branches:
        return []
    before: list[str] | None = None
    for number in range(begin, newest + 1):
        snapshot = table.snapshots.find(number)
        if snapshot is None:
            continue
        listed = _listed(table, snapshot)
        is_next = before is not None and listed is not None and listed[: len(before)] == before
        if number > begin and not is_next:
            found.append(snapshot)
        before = listed
    return found


def _listed(table: Table, snapshot: Snapshot) -> list[str] | None:
    """The names of a snapshot's manifests, None if an expiry has removed its lists."""
    listed: Sequence[Any] | None = None
    with unless_missing():
        listed = listed_of(table.manifests, snapshot)
    return None if listed is None else [one["_FILE_NAME"] for one in listed]
