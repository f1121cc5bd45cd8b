"""Statements that read the rows they change: nobody else may have changed these meanwhile.

An UPDATE computes new rows from those of one snapshot. Files that other jobs added or took away
since may hold rows it would have seen: they must share no key with what it writes. Under
`serializable` there must be no such files. Files that a compaction wrote hold the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from keyfold.errors import ConflictError, CorruptDataError, SnapshotExpiredError
from keyfold.storage.commits.conflicts import COMPACT
from keyfold.storage.metadata.entries import LiveFile, added, by_place
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, RowChanges

Shares = Callable[[LiveFile, LiveFile], bool]


def check_unseen(
    table: Table,
    messages: Sequence[CommitMessage],
    changes: RowChanges,
    base: Snapshot,
    shares: Shares,
) -> None:
    """Raises ConflictError if a snapshot after the one that `changes` read, up to `base`, changed
    rows of keys that the files of the messages have, or if nobody can tell any more. `shares` says
    whether two files have a key in common.
    """
    assert changes.reads is not None
    _check_rolled_back(table, changes, base)
    ours = by_place(table.manifests.files_of(added(table.schema, table.shapes, messages)))
    for snapshot_id in range(changes.reads + 1, base.id + 1):
        snapshot = table.snapshots.find(snapshot_id)
        if snapshot is None:
            raise _conflict(table, f"snapshot {snapshot_id} has expired")
        if snapshot.commit_kind == COMPACT:
            continue
        for theirs in _changed(table, snapshot):
            if ours and table.options.is_serializable:
                raise _conflict(table, f"snapshot {snapshot_id} changed rows")
            beside = ours.get((theirs.partition, theirs.bucket), ())
            if any(_share(table, file, theirs, snapshot, shares) for file in beside):
                keys = f"{theirs.min_key} to {theirs.max_key} of bucket {theirs.bucket}"
                raise _conflict(table, f"snapshot {snapshot_id} changed rows, in keys {keys},")


def _check_rolled_back(table: Table, changes: RowChanges, base: Snapshot) -> None:
    """Raises ConflictError if the snapshot that was read is not one before `base` any more."""
    assert changes.reads is not None
    found = table.snapshots.find(changes.reads) if changes.read_job is not None else None
    if base.id < changes.reads or (found is not None and found.commit_user != changes.read_job):
        raise _conflict(table, f"snapshot {changes.reads} was rolled back")


def _share(
    table: Table, ours: LiveFile, theirs: LiveFile, snapshot: Snapshot, shares: Shares
) -> bool:
    if theirs.last < ours.first or ours.last < theirs.first:
        return False
    try:
        return shares(ours, theirs)
    except SnapshotExpiredError:
        raise _conflict(table, f"a file that snapshot {snapshot.id} changed has expired") from None


def _changed(table: Table, snapshot: Snapshot) -> Iterator[LiveFile]:
    """The files that a snapshot added or took away."""
    try:
        for listed in table.manifests.changed(snapshot):
            decoded = table.manifests.decoded(listed)
            yield from decoded.added.values()
            for record in decoded.deleted.values():
                yield LiveFile.of(record, table.manifests.partition(record), table.shapes)
    except CorruptDataError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
        raise _conflict(table, f"snapshot {snapshot.id} has expired") from None


def _conflict(table: Table, found: str) -> ConflictError:
    return ConflictError(
        f"commit to table {table.layout.name}: {found} after the statement had read the table; "
        "nothing has changed: run the statement again"
    )
