"""The snapshots of a range as steps from one state of a table to a later one (driver side)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keyfold.changelog.specs import Asked
from keyfold.errors import SnapshotExpiredError
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshots import KEEPING, Snapshot
from keyfold.storage.table import Table, live_of_snapshot

_ROWS_CHANGE = ("APPEND", "OVERWRITE")


@dataclass(frozen=True)
class Step:
    """Two states, and the files whose keys may differ in them, each with the snapshot that added or
    removed it. `stored` are the files of a producer that have the changes; None if rows have to be
    compared. `millis` are the times of the snapshots.
    """

    before: Snapshot | None
    after: Snapshot
    touched: tuple[tuple[int, LiveFile], ...]
    stored: tuple[LiveFile, ...] | None
    millis: Mapping[int, int]


def steps(table: Table, asked: Asked) -> Iterator[Step]:
    """The steps of a range, in order: one for each snapshot that changed rows, or one in all if
    each key has one change. Raises SnapshotExpiredError if a state that is needed is not kept.
    """
    if asked.after >= asked.until:
        return
    if asked.full:
        yield _full(table, asked.until)
    elif asked.net:
        yield _net(table, asked)
    else:
        for number in range(asked.after + 1, asked.until + 1):
            found = _step(table, number)
            if found is not None:
                yield found


def live(table: Table, snapshot: Snapshot | None) -> tuple[LiveFile, ...]:
    """The files of a state; none before the first snapshot."""
    if snapshot is None:
        return ()
    with table.reading(snapshot):
        return live_of_snapshot(table.manifests, snapshot)


def _full(table: Table, number: int) -> Step:
    found = _snapshot(table, number)
    every = tuple((number, file) for file in live(table, found))
    return Step(None, found, every, None, {number: found.time_millis})


def _net(table: Table, asked: Asked) -> Step:
    before = _before(table, asked.after + 1)
    states = [_snapshot(table, n) for n in range(asked.after + 1, asked.until + 1)]
    every = [(state.id, file) for state in states for file in _touched(table, state)]
    millis = {state.id: state.time_millis for state in states}
    return Step(before, states[-1], tuple(every), None, millis)


def _step(table: Table, number: int) -> Step | None:
    after = _snapshot(table, number)
    millis = {number: after.time_millis}
    with table.reading(after):
        stored = tuple(table.manifests.logged(after))
    if stored:
        return Step(None, after, (), stored, millis)
    touched = tuple((number, file) for file in _touched(table, after))
    return Step(_before(table, number), after, touched, None, millis) if touched else None


def _touched(table: Table, snapshot: Snapshot) -> list[LiveFile]:
    """The files that a snapshot added to the table or removed from it. Those of a compaction hold
    the rows that were there before.
    """
    if snapshot.commit_kind not in _ROWS_CHANGE:
        return []
    with table.reading(snapshot):
        return table.manifests.touched(snapshot)


def _before(table: Table, number: int) -> Snapshot | None:
    """The state before a snapshot, None if that is the first."""
    if number == 1:
        return None
    found = table.snapshots.find(number - 1)
    if found is None:
        raise _gone(table, number)
    return found


def _snapshot(table: Table, number: int) -> Snapshot:
    found = table.snapshots.find(number)
    if found is None:
        raise _gone(table, number)
    return found


def _gone(table: Table, number: int) -> SnapshotExpiredError:
    earliest = table.snapshots.earliest_id() or 1
    return SnapshotExpiredError(
        f"the changes of snapshot {number} of table {table.layout.name} can't be read: the "
        f"earliest snapshot that is kept is {earliest}, and changes are kept from snapshot "
        f"{earliest + 1} on; {KEEPING}"
    )
