"""The snapshots of a range as steps from one state of a table to a later one (driver side).

A producer writes the changes of a table later than its snapshots show them (`only_written`). The
overwrites of others have no changelog, so they are compared here: the files before and after whose
changes were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from keyfold.changelog.specs import ChangesRequest
from keyfold.errors import SnapshotExpiredError
from keyfold.options.changelogs import NONE, changelog_level
from keyfold.options.parsing import parse
from keyfold.storage.commits.moves import has_moved
from keyfold.storage.history import tags, versions
from keyfold.storage.maintenance.changelogs import Changelogs
from keyfold.storage.metadata.entries import LiveFile, identifier
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.metadata.snapshot_files import are_all_of, live_where
from keyfold.storage.metadata.snapshots import EXPIRED, SHOWN_ROWS, Snapshot
from keyfold.storage.table import Table
from keyfold.stores.snapshot_folder import KEEPING
from keyfold.wire.partitions import POSTPONED

APPEND, OVERWRITE = "APPEND", "OVERWRITE"


@dataclass(frozen=True)
class SnapshotChange:
    """Two states, and the files whose keys may differ in them, each with the snapshot that added or
    removed it. `stored` are the files of a producer that have the changes; None if rows have to be
    compared, of which those below `least_level` do not count. `millis` are the times of the
    snapshots.
    """

    before: Snapshot | None
    after: Snapshot
    touched: tuple[tuple[int, LiveFile], ...]
    stored: tuple[LiveFile, ...] | None
    millis: Mapping[int, int]
    least_level: int = 0

    @property
    def states(self) -> tuple[Snapshot, ...]:
        """The snapshots whose files are read."""
        return (self.after,) if self.before is None else (self.before, self.after)


def keeper_of(table: Table, number: int) -> str:
    """The file below the table's home that keeps a snapshot which has expired: its changelog or a
    tag; empty if it has not, or nothing does.
    """
    changelogs = Changelogs(table.snapshots)
    if table.snapshots.exists(number):
        return ""
    if changelogs.exists(number):
        return changelogs.path(number).removeprefix(f"{table.layout.home}/")
    kept = (tag.name for tag in tags.all_of(table) if tag.snapshot.id == number)
    return next((f"tag/{tags.PREFIX}{name}" for name in kept), "")


def steps(table: Table, asked: ChangesRequest) -> Iterator[SnapshotChange]:
    """The steps of a range, in order: one for each snapshot that changed rows, or one in all if
    each key has one change. Raises SnapshotExpiredError if a state that is needed is not kept.
    """
    if asked.after >= asked.until:
        return
    if asked.full:
        yield _full(table, asked.until, changelog_level(table.options) if asked.only_written else 0)
    elif asked.net:
        yield _net(table, asked)
    else:
        for number in range(asked.after + 1, asked.until + 1):
            found = _step(table, number)
            if found is not None:
                yield found


def live(
    table: Table, snapshot: Snapshot | None, asked: Asked | None = None
) -> tuple[LiveFile, ...]:
    """The files of a state that are asked for, all by default; none before the first snapshot."""
    if snapshot is None:
        return ()
    with table.reading(snapshot):
        return tuple(seen(live_where(table.manifests, snapshot, asked or Asked())[0]))


def beside(table: Table, step: SnapshotChange) -> Asked:
    """The files in the buckets of those whose keys may differ: a key is in no other. Where files
    have several numbers of buckets, it may be in any of its partition.
    """
    files = [file for _, file in step.touched]
    asked = Asked.of_partitions({file.partition for file in files})
    totals, buckets = {file.total_buckets for file in files}, {file.bucket for file in files}
    if len(totals) != 1 or not all(_are_all_of(table, one, *totals) for one in step.states):
        return asked
    return replace(asked, takes_bucket=lambda bucket, _: bucket in buckets)


def _are_all_of(table: Table, snapshot: Snapshot, buckets: int) -> bool:
    with table.reading(snapshot):
        return are_all_of(table.manifests, snapshot, buckets)


def _full(table: Table, number: int, least_level: int) -> SnapshotChange:
    found = _snapshot(table, number, number)
    every = tuple((number, file) for file in live(table, found))
    return SnapshotChange(None, found, every, None, {number: found.time_millis}, least_level)


def _net(table: Table, asked: ChangesRequest) -> SnapshotChange:
    first, last = asked.after + 1, asked.until
    before, after = _before(table, first), _snapshot(table, last, first)
    states = [table.snapshots.find(number) for number in range(first, last)]
    kept = [*(state for state in states if state is not None), after]
    if len(kept) == last - first + 1:
        every = [(state.id, file) for state in kept for file in _touched(table, state)]
    else:  # tags keep both ends, but not what was between them
        every = [(last, file) for file in unshared(live(table, before), live(table, after))]
    return SnapshotChange(
        before, after, tuple(every), None, {state.id: state.time_millis for state in kept}
    )


def unshared(before: Sequence[LiveFile], after: Sequence[LiveFile]) -> Iterator[LiveFile]:
    """The files that only one of two states has, or that have another deletion vector in each."""
    sides = [
        {(identifier(file.record), file.vector): file for file in side} for side in (before, after)
    ]
    for one, other in (sides, sides[::-1]):
        yield from (file for name, file in one.items() if name not in other)


def _step(table: Table, number: int) -> SnapshotChange | None:
    found = table.snapshots.find(number) or Changelogs(table.snapshots).find(number)
    after = found or _snapshot(table, number, number)
    millis = {number: after.time_millis}
    with table.reading(after):
        stored = tuple(table.manifests.logged(after))
    if stored:
        return SnapshotChange(None, after, (), stored, millis)
    options = parse(table.schema(after.schema_id))
    if options.changelog_producer != NONE and after.commit_kind != OVERWRITE:
        return None
    after = _snapshot(table, number, number)
    touched = tuple((number, file) for file in _touched(table, after))
    if not touched:
        return None
    return SnapshotChange(
        _before(table, number), after, touched, None, millis, changelog_level(options)
    )


def _touched(table: Table, snapshot: Snapshot) -> list[LiveFile]:
    """The files that a snapshot added to the table or removed from it. Those of a compaction hold
    the rows that were there before, unless it gave rows their buckets; and what goes by its age is
    shown only if it says so.
    """
    expired = (snapshot.properties or {}).get(EXPIRED)
    is_change = snapshot.commit_kind in (APPEND, OVERWRITE) or has_moved(table, snapshot)
    is_change = is_change and expired is None
    if not is_change and expired != SHOWN_ROWS:
        return []
    with table.reading(snapshot):
        return seen(table.manifests.touched(snapshot))


def seen(files: Iterable[LiveFile]) -> list[LiveFile]:
    """The files whose rows have their buckets."""
    return [file for file in files if file.bucket != POSTPONED]


def _before(table: Table, number: int) -> Snapshot | None:
    """The state before a snapshot, None if that is the first."""
    return None if number == 1 else _snapshot(table, number - 1, number)


def _snapshot(table: Table, number: int, first: int) -> Snapshot:
    """A state that the changes of snapshot `first` need; a tag may keep it."""
    try:
        return versions.snapshot_of_id(table, number)[0]
    except SnapshotExpiredError as error:
        earliest = table.snapshots.earliest_id() or 1
        raise SnapshotExpiredError(
            f"the changes of snapshot {first} of table {table.layout.name} can't be read: the "
            f"earliest snapshot that is kept is {earliest}, and changes are kept from snapshot "
            f"{earliest + 1} on; {KEEPING}"
        ) from error
