"""The offset at which a new stream begins."""

from __future__ import annotations

from keyfold.errors import SnapshotExpiredError, TableError
from keyfold.storage.maintenance.consumers import next_of
from keyfold.storage.table import Table
from keyfold.streams.offsets import Offset, offset_at
from keyfold.streams.options import (
    FROM_SNAPSHOT,
    FROM_SNAPSHOT_FULL,
    FROM_TIMESTAMP,
    LATEST_FULL,
    StreamOptions,
)


def initial(table: Table, options: StreamOptions) -> Offset:
    """The offset before the first batch. A consumer that has read begins where it ended.

    Raises TableError if the snapshot to begin at is not there yet, SnapshotExpiredError if it, or
    what is needed to tell its changes, is no longer kept.
    """
    latest = table.snapshot_id or 0
    following = None if options.consumer is None else next_of(table, options.consumer)
    if following is not None:
        return offset_at(table, following - 1)
    if options.mode == FROM_SNAPSHOT:
        return offset_at(table, _given(table, options.snapshot, latest + 1) - 1)
    if options.mode == FROM_SNAPSHOT_FULL:
        snapshot = _given(table, options.snapshot, latest)
        table.snapshots.read(snapshot)
        return offset_at(table, snapshot, 0)
    if options.mode == FROM_TIMESTAMP:
        return offset_at(table, _before(table, options.millis or 0))
    is_full = options.mode == LATEST_FULL and latest > 0
    return offset_at(table, latest, 0 if is_full else None)


def _given(table: Table, snapshot: int | None, greatest: int) -> int:
    assert snapshot is not None
    if snapshot > greatest:
        raise TableError(
            f"streaming table {table.layout.name} from snapshot {snapshot}: the newest is "
            f"{table.snapshot_id or 0}"
        )
    return snapshot


def _before(table: Table, millis: int) -> int:
    """The newest snapshot that is older than a time, 0 if that is before the first."""
    kept = sorted(table.snapshots.ids())
    older = [n for n in kept if _time(table, n) < millis]
    if older or not kept or kept[0] == 1:
        return older[-1] if older else 0
    raise SnapshotExpiredError(
        f"streaming table {table.layout.name} from a time: snapshots of that time have expired; "
        f"the oldest kept is {kept[0]}, of {_time(table, kept[0])} ms"
    )


def _time(table: Table, snapshot_id: int) -> int:
    found = table.snapshots.find(snapshot_id)
    return 0 if found is None else found.time_millis
