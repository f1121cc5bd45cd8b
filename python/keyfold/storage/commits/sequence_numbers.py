"""Numbers of a job's rows against those that have been committed since it was planned.

Two files of a bucket never share a number. If a compaction is published first, records that come
before merged ones get later numbers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence

from keyfold.storage.commits.answers import Late
from keyfold.storage.commits.conflicts import COMPACT
from keyfold.storage.metadata.entries import LiveFile, Place, highest_sequence
from keyfold.storage.metadata.manifests import unless_missing
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage

RANDOM_NUMBERS = 1 << 20


def number_needed(
    table: Table,
    planned: int | None,
    base: Snapshot | None,
    messages: Sequence[CommitMessage],
    appended: Sequence[CommitMessage],
    kept: Sequence[LiveFile],
) -> Late | None:
    """The numbers that the rows of messages need, if one of their files shares a number with one
    that is kept, or one of those `appended` comes before records that a compaction has merged since
    the snapshot `planned`.
    """
    if table.options.snapshot_ordering:
        return None
    passed = number_to_pass(table, planned, base, appended)
    if not passed and not is_tied(messages, kept):
        return None
    beside = highest_sequence(kept)  # whatever snapshots say
    highest = max(passed, beside, 0 if base is None else table.highest_sequence(base.id))
    sequence = highest + 1 + random.randrange(RANDOM_NUMBERS)
    return Late(sequence) if base is None else Late(sequence, base.id, base.commit_user)


def is_tied(messages: Sequence[CommitMessage], kept: Iterable[LiveFile]) -> bool:
    """Whether a file of ours shares a sequence number with one of its bucket."""
    theirs: dict[Place, list[tuple[int, int]]] = {}
    for file in kept:
        place = file.partition, file.bucket
        theirs.setdefault(place, []).append((file.min_sequence, file.max_sequence))
    if not theirs:
        return False
    return any(
        low <= file.max_sequence and file.min_sequence <= high
        for message in messages
        for low, high in theirs.get((message.partition.values, message.bucket), ())
        for file in message.files
    )


def is_more(file: LiveFile) -> bool:
    """Whether the file has more than whole records that go by their numbers. A delete, or a row
    merged from marked ones, does not represent the records that it was merged from.
    """
    return file.delete_rows != 0 or file.is_marked


def number_to_pass(
    table: Table, planned: int | None, base: Snapshot | None, messages: Sequence[CommitMessage]
) -> int:
    """The sequence number that appended records must be above, as a compaction published since
    `planned` merged later ones of their bucket; 0 if no compaction did.

    An engine that keeps whole records goes by their numbers, in whichever file they are. This is
    not enough if a delete or a mark may be gone, or if ours are marked.
    """
    if base is None or table.options.snapshot_ordering:
        return 0
    if not any(message.files for message in messages):
        return 0
    if (planned or 0) > base.id:  # rolled back since: ids say nothing of what came later
        return int(time.time() * 1000) << 20
    ours: Mapping[Place, int] | None = None
    keeps, passed = False, 0
    for snapshot_id in range((planned or 0) + 1, base.id + 1):
        snapshot = table.snapshots.find(snapshot_id)
        if snapshot is not None and snapshot.commit_kind != COMPACT:
            continue
        if ours is None:
            ours = _least(messages)
            has_marks = any(file.is_marked for message in messages for file in message.files)
            keeps = table.options.engine.keeps_records and not has_marks
        taken = None
        with unless_missing():
            taken = None if snapshot is None else _taken_away(table, snapshot, keeps=keeps)
        if taken is None:  # expired, or about to: all that it took away began before now
            return int(time.time() * 1000) << 20
        late = [high for place, high in taken.items() if ours.get(place, high) < high]
        passed = max([passed, *late])
    return passed


def _least(messages: Sequence[CommitMessage]) -> Mapping[Place, int]:
    """The least number in the files of each bucket."""
    found: dict[Place, int] = {}
    for message in messages:
        place = message.partition.values, message.bucket
        for file in message.files:
            found[place] = min(file.min_sequence, found.get(place, file.min_sequence))
    return found


def _taken_away(table: Table, snapshot: Snapshot, *, keeps: bool) -> Mapping[Place, int]:
    """The greatest number in the files that a compaction merged, by bucket. Only files whose order
    matters count, not those of whole records which the engine `keeps`.
    """
    found: dict[Place, int] = {}
    for added_too, removed in table.manifests.changes(snapshot):
        moved = {file.name for file in added_too}
        for file in removed:
            if file.name in moved or (keeps and not is_more(file)):
                continue
            place = file.partition, file.bucket
            found[place] = max(file.max_sequence, found.get(place, 0))
    return found
