"""The offset of a stream: how much of a table's history it has read.

It outlives the query in a checkpoint. So it says which table and which snapshot it means: a table
that was dropped and made anew, or rolled back, has other rows under the same numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from keyfold.errors import ConflictError, CorruptDataError, TableError
from keyfold.storage.history import versions
from keyfold.storage.maintenance import consumers
from keyfold.storage.maintenance.consumers import Position
from keyfold.storage.metadata.avro_records import is_long, is_text
from keyfold.storage.table import Table
from keyfold.storage.waiting_files import check_by_buckets
from keyfold.streams.options import (
    FROM_SNAPSHOT,
    FROM_SNAPSHOT_FULL,
    FROM_TIMESTAMP,
    LATEST_FULL,
    StreamOptions,
)
from keyfold.wire.codec import Wire

_ANEW = (
    "start the stream anew where it is to begin, with a new checkpoint and, if it has a "
    "consumer-id, another one"
)


@dataclass(frozen=True)
class Offset(Wire):
    """All changes up to and including `snapshot` were read. With an `index`, that number of units
    of the rows of that snapshot were, and no changes.

    `table` is the table's id, `job` the commit user of the snapshot, empty for snapshot 0, which is
    before the first.
    """

    table: str
    snapshot: int
    job: str
    index: int | None = None

    def text(self) -> str:
        """The JSON in a checkpoint; equal offsets have equal texts."""
        return json.dumps(self.to_json(), separators=(",", ":"))


def parsed(text: str) -> Offset:
    """The offset of a text. Raises CorruptDataError if it is not one of ours."""
    try:
        found = Offset.from_json(json.loads(text))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise CorruptDataError(f"offset of a stream: {text[:300]} can't be read") from error
    numbers = (found.snapshot, found.index or 0)
    if not (is_text(found.table) and is_text(found.job) and all(map(is_long, numbers))):
        raise CorruptDataError(f"offset of a stream: {text[:300]} can't be read")
    return found


def offset_at(table: Table, snapshot_id: int, index: int | None = None) -> Offset:
    """The offset of a stream that has read the changes up to a snapshot, or `index` of its units.
    A snapshot that has expired is known by its number alone.
    """
    found = table.snapshots.find(snapshot_id) if snapshot_id else None
    return Offset(table.birth, snapshot_id, found.commit_user if found else "", index)


def check(table: Table, offset: Offset) -> None:
    """Raises ConflictError if the table's history is not the one that the offset is of, TableError
    if ALTER TABLE has changed a column that the stream reads, NotSupportedError if it has made the
    table one that is only scanned.
    """
    check_by_buckets(table, "streaming")
    name, latest = table.layout.name, table.snapshot_id or 0
    if offset.table != table.birth:
        raise ConflictError(
            f"streaming table {name}: the table that the stream has read up to snapshot "
            f"{offset.snapshot} was dropped and made anew: {_ANEW}"
        )
    found = table.snapshots.find(offset.snapshot) if offset.snapshot <= latest else None
    is_other = found is not None and bool(offset.job) and found.commit_user != offset.job
    if offset.snapshot > latest or is_other:
        raise ConflictError(
            f"streaming table {name}: the table was rolled back below snapshot {offset.snapshot}, "
            f"up to which the stream has read it (the newest is {latest}): {_ANEW}"
        )
    _check_columns(table)


def _check_columns(table: Table) -> None:
    """Later schemas must have the columns that the stream began with."""
    newest = table.snapshots.latest()
    if newest is None or newest.schema_id <= table.layout.schema_id:
        return
    now = {column.id: column for column in table.schema(newest.schema_id).columns}
    for column in table.layout.columns:
        later = now.get(column.id)
        if later is None or later.type != column.type:
            what = "dropped" if later is None else "changed the type of"
            raise TableError(
                f"streaming table {table.layout.name}: ALTER TABLE has {what} column "
                f"{column.name} since the stream began: start it again from its checkpoint"
            )


def initial(table: Table, options: StreamOptions, after: int | None = None) -> Offset:
    """The offset before the first batch. A consumer that has read begins where it ended, changes
    of a range `after` its snapshot.

    Raises TableError if the snapshot to begin at is not there yet, SnapshotExpiredError if it, or
    what is needed to show its changes, is no longer kept, ConflictError if the table was rolled
    back below what the consumer has read.
    """
    latest = table.snapshot_id or 0
    noted = None if options.consumer is None else consumers.position(table, options.consumer)
    if noted is not None:
        return _of_position(table, noted)
    if after is not None:
        return offset_at(table, after)
    if options.mode == FROM_SNAPSHOT:
        return offset_at(table, _given(table, options.snapshot, latest + 1) - 1)
    if options.mode == FROM_SNAPSHOT_FULL:
        snapshot = _given(table, options.snapshot, latest)
        table.snapshots.read(snapshot)
        return offset_at(table, snapshot, 0)
    if options.mode == FROM_TIMESTAMP:
        return offset_at(table, versions.newest_until(table, (options.millis or 0) - 1))
    is_full = options.mode == LATEST_FULL and latest > 0
    return offset_at(table, latest, 0 if is_full else None)


def _of_position(table: Table, noted: Position) -> Offset:
    """The offset of a consumer. One that has not read all rows of its first snapshot begins with
    them again, as other streams cut them into other units.
    """
    index = 0 if noted.all_rows else None
    offset = offset_at(table, noted.following - (index is None), index)
    offset = replace(offset, job=noted.job or offset.job)
    check(table, offset)
    return offset


def position_of(offset: Offset) -> Position:
    """The position of a consumer that has read so far."""
    is_done = offset.index is None
    return Position(offset.snapshot + is_done, offset.job, all_rows=not is_done)


def _given(table: Table, snapshot: int | None, greatest: int) -> int:
    assert snapshot is not None
    if snapshot > greatest:
        raise TableError(
            f"streaming table {table.layout.name} from snapshot {snapshot}: the newest is "
            f"{table.snapshot_id or 0}"
        )
    return snapshot
