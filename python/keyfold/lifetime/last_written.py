"""When a partition was last written: the greatest time of its files.

A clock that was set back gives files times before those of older ones. Files that were committed
then count as written when the newest commit before them was, so that nothing seems older than what
was there before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keyfold.storage.metadata.entries import LiveFile, created_millis, identifier
from keyfold.storage.metadata.manifests import unless_missing
from keyfold.storage.table import Table

Values = tuple[Any, ...]


def last_written(table: Table, stored: Mapping[Values, Sequence[LiveFile]]) -> dict[Values, int]:
    """The time of each partition, in ms since 1970. A file whose writer named no time is new."""
    late = _raised(table)
    return {
        values: max(max(_millis(file), late.get(identifier(file.record), 0)) for file in files)
        for values, files in stored.items()
    }


def _millis(file: LiveFile) -> int:
    return 1 << 62 if file.file["_CREATION_TIME"] is None else created_millis(file)


def _raised(table: Table) -> dict[tuple[Any, ...], int]:
    """The times of files, by their identifiers, that snapshots added whose time is before that of
    an older one. Snapshots say since which of them times are in order.
    """
    snapshots, newest = table.snapshots, table.snapshots.latest()
    first = snapshots.earliest_id()
    if newest is None or first is None:
        return {}
    if newest.in_order_from is not None and newest.in_order_from <= first:
        return {}
    found: dict[tuple[Any, ...], int] = {}
    latest = 0
    for snapshot in filter(None, map(snapshots.find, sorted(snapshots.ids()))):
        if snapshot.time_millis < latest:
            with unless_missing():
                for added, _ in table.manifests.changes(snapshot):
                    found |= dict.fromkeys((identifier(file.record) for file in added), latest)
        latest = max(latest, snapshot.time_millis)
    return found
