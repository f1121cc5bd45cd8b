"""Statements that read the rows they change: nobody else may have changed these meanwhile.

An UPDATE computes new rows from those of one snapshot. Files that other jobs added or took away
since, in the ranges of keys that the statement writes, may hold rows it would have seen. Files that
a compaction wrote hold the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keyfold.errors import ConflictError, CorruptDataError
from keyfold.storage.commits.conflicts import COMPACT
from keyfold.storage.metadata.entries import LiveFile, added, by_place
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage


def check_unseen(
    table: Table, messages: Sequence[CommitMessage], reads: int, base: Snapshot
) -> None:
    """Raises ConflictError if a snapshot after `reads`, up to `base`, changed rows in a bucket and
    a range of keys that the files of the messages have, or if nobody can tell any more.
    """
    if base.id <= reads:
        return
    ours = by_place(table.manifests.files_of(added(table.schema, table.shapes, messages)))
    for snapshot_id in range(reads + 1, base.id + 1):
        snapshot = table.snapshots.find(snapshot_id)
        if snapshot is None:
            raise _conflict(table, f"snapshot {snapshot_id} has expired")
        if snapshot.commit_kind == COMPACT:
            continue
        for theirs in _changed(table, snapshot):
            for file in ours.get((theirs.partition, theirs.bucket), ()):
                if theirs.first <= file.last and file.first <= theirs.last:
                    keys = f"{theirs.min_key} to {theirs.max_key} of bucket {theirs.bucket}"
                    raise _conflict(table, f"snapshot {snapshot_id} changed rows of keys {keys}")


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
