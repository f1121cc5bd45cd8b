"""Conflicts that keep one commit from following another, by the newest snapshot at each attempt.

A file above level 0 never shares keys with another of its level. `sequence_numbers` says which
records come too late for a compaction.

An UPDATE computes new rows from those of one snapshot. Files that other jobs added or took away
since may hold rows it would have seen: they must share no key with what it writes. Under
`serializable` there must be no such files. Files that a compaction wrote hold the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise, product
from typing import Any

from keyfold.errors import ConflictError, SnapshotExpiredError, TableError
from keyfold.files.hash_index import Hashes
from keyfold.options.declared import known
from keyfold.options.parsing import parse
from keyfold.storage.commits.job_places import JobPlaces
from keyfold.storage.commits.moves import has_moved
from keyfold.storage.metadata.entries import (
    LiveFile,
    Place,
    added,
    by_place,
)
from keyfold.storage.metadata.manifests import unless_missing
from keyfold.storage.metadata.snapshots import EXPIRED, Snapshot
from keyfold.storage.table import Table
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.specs import CommitMessage, RowChanges, StoredKeys

COMPACT = "COMPACT"
Partition = tuple[Any, ...]


class Shares:
    """Answers about the keys of files, which a commit asks of files whose key ranges touch. These
    are those of somebody who reads no file: keys may be there.
    """

    def __call__(self, one: LiveFile, other: LiveFile) -> bool:
        """Whether two files of a bucket have a key in common."""
        return True

    def went(self, one: LiveFile, before: Iterable[LiveFile], after: Iterable[LiveFile]) -> bool:
        """Whether a key of a file is in the files `before`, of its bucket, but in none `after`."""
        return True

    def hashes(self, file: LiveFile) -> Hashes | None:
        """The hashes of the keys of a file, by which they are in dynamic buckets; None if they are
        not known.
        """
        return None


UNREAD = Shares()


def check_rewritten(
    table: Table, rewrites: frozenset[tuple[Any, ...]], live: Iterable[LiveFile]
) -> None:
    """Raises ConflictError if a file that was written again is gone, or has other rows marked."""
    if rewrites and not rewrites <= {file.state for file in live}:
        raise ConflictError(
            f"commit to table {table.layout.name}: another job replaced a data file that this one "
            "wrote again, or marked rows of it; run the statement again"
        )


def totals_of(files: Iterable[LiveFile]) -> Mapping[Partition, int]:
    """The number of buckets of each partition that files are in, if these have buckets."""
    return {file.partition: file.total_buckets for file in files if file.bucket != POSTPONED}


def check_buckets(table: Table, ours: JobPlaces, totals: Mapping[Partition, int]) -> None:
    """Raises TableError if partitions keep files of other bucket counts, those of `totals`. It is a
    ConflictError if each partition may have a count of its own.
    """
    for values, counts in ours.totals.items():
        found = totals.get(values)
        for count in () if found is None else sorted(counts - {found}):
            assert found is not None
            if table.options.bucket == POSTPONED:
                _check_count(table, found, {count}, "has a partition of {} buckets by now")
            raise TableError(
                f"table {table.layout.name}: a partition holds files of {found} buckets, the job "
                f"wrote {count}: CALL sys.rescale(table, {count}) "
                f"(in Python table.rescale({count})) writes the table's files anew "
                "for as many, INSERT OVERWRITE (table.overwrite) a partition"
            )


def check_meanwhile(table: Table, messages: Sequence[CommitMessage], ours: JobPlaces) -> None:
    """Raises ConflictError if an ALTER TABLE or a rescale, published since the job was planned, has
    changed something by which its files were made.
    """
    newest, planned = table.schemas.latest_id(), table.layout.schema_id
    if newest is None or newest == planned or not messages:
        return
    # A rescale and one back count too: they merged records that the job's may come before.
    for schema_id in range(planned + 1, newest + 1):
        words = "has {} buckets by now" if schema_id == newest else "had {} buckets meanwhile"
        _check_count(table, parse(table.schema(schema_id)).bucket, ours.every, words)
    now = table.schema(newest)
    changed = changed_facts(table.layout, now) + _stricter(table.layout, now)
    if any(file.is_marked for message in messages for file in message.files):
        changed += _given_to_stored(table.layout, now)
    if changed:
        raise ConflictError(
            f"commit to table {table.layout.name}: ALTER TABLE has changed {changed[0]} since the "
            "job was planned; nothing has changed: run the job again"
        )


def _check_count(table: Table, buckets: int, totals: Collection[int], words: str) -> None:
    for total in sorted(totals):
        if buckets != POSTPONED and total != buckets:
            raise ConflictError(
                f"commit to table {table.layout.name}: it {words.format(buckets)}, the job "
                f"wrote {total}; nothing has changed: run the job again"
            )


def changed_facts(layout: TableLayout, now: TableLayout) -> list[str]:
    """The facts by which files are made that have changed, in words."""
    facts = _facts(now)
    return [what for what, fact in _facts(layout).items() if fact != facts.get(what)]


def _facts(layout: TableLayout) -> Mapping[str, Any]:
    """The facts that stay once a table holds data, by which its files were made. The number of
    buckets is left out: it has messages of its own.
    """
    options, ids = parse(layout), {column.name: column.id for column in layout.columns}
    facts: dict[str, Any] = {
        "the primary key": layout.primary_key,
        "the partitioning": layout.partition_keys,
    }
    for name, option in known(options.merge_engine).items():
        if option.changes == "while empty" and name in options.values and name != "bucket":
            value = options.values[name]
            named = (value,) if isinstance(value, str) else value
            facts[name] = [ids.get(one) for one in named or ()] if option.names_columns else value
    return facts


def _stricter(planned: TableLayout, now: TableLayout) -> list[str]:
    nullable = {column.id for column in planned.columns if column.type.nullable}
    return [f"column {c.name}" for c in now.columns if c.id in nullable and not c.type.nullable]


def _given_to_stored(planned: TableLayout, now: TableLayout) -> list[str]:
    """Columns added with a DEFAULT, which rows that name only some columns can't have."""
    known = {column.id for column in planned.columns}
    return [f"column {c.name}" for c in now.columns if c.initial is not None and c.id not in known]


def check_rescaled(
    table: Table, buckets: int, rewrites: frozenset[tuple[Any, ...]], kept: Iterable[LiveFile]
) -> None:
    """Raises ConflictError if a file stays that is beside ours or of another number of buckets."""
    partitions = {identity[0] for identity in rewrites}
    for file in kept:
        if file.total_buckets != buckets or file.record["_PARTITION"] in partitions:
            raise ConflictError(
                f"table {table.layout.name} was not rescaled to {buckets} buckets, as another job "
                f"committed data file {file.name} of {file.total_buckets} buckets meanwhile; "
                "nothing has changed: run it again"
            )


def check_levels(table: Table, added: Iterable[LiveFile], kept: Iterable[LiveFile]) -> None:
    """Raises ConflictError if a file above level 0 shares keys with another of its level."""
    ours: dict[tuple[Place, int], list[LiveFile]] = {}
    for file in added:
        if file.level:
            ours.setdefault(((file.partition, file.bucket), file.level), []).append(file)
    if not ours:
        return
    for file in kept:
        beside = ours.get(((file.partition, file.bucket), file.level))
        if beside is not None:
            beside.append(file)
    for ((_, bucket), level), files in ours.items():
        for before, after in pairwise(sorted(files, key=lambda f: (f.first, f.last))):
            if after.first <= before.last:
                raise ConflictError(
                    f"commit to table {table.layout.name}: files {before.name} and {after.name} "
                    f"both hold keys {after.min_key} to {before.max_key} on level {level} of "
                    f"bucket {bucket}; another job put one there meanwhile, run this one again"
                )


def check_unseen(
    table: Table,
    messages: Sequence[CommitMessage],
    changes: RowChanges,
    base: Snapshot,
    shares: Shares,
    takes: Callable[[Partition], bool] | None,
) -> None:
    """Raises ConflictError if a snapshot after the one that `changes` read, up to `base`, changed
    rows of keys that the files of the messages have, or of partitions that it `takes` away, or if
    that is no longer known. `shares` says whether two files have a key in common. A compaction
    is in the way of files with parts of rows that went by it for their age: these would be all that
    is left.
    """
    assert changes.reads is not None
    _check_rolled_back(table, changes, base)
    ours = by_place(table.manifests.files_of(added(table.shapes, messages)))
    for snapshot_id in range(changes.reads + 1, base.id + 1):
        snapshot = table.snapshots.find(snapshot_id)
        if snapshot is None:
            raise _conflict(table, f"snapshot {snapshot_id} has expired")
        if snapshot.commit_kind == COMPACT and not has_moved(table, snapshot):
            if EXPIRED in (snapshot.properties or {}):
                _check_went(table, ours, snapshot, shares)
            continue
        for theirs in chain(*_changed(table, snapshot)):
            is_whole = table.options.is_serializable and bool(ours or takes)
            if is_whole or (takes is not None and takes(theirs.partition)):
                raise _conflict(table, f"snapshot {snapshot_id} changed rows")
            beside = ours.get((theirs.partition, theirs.bucket), ())
            if any(_share(table, file, theirs, snapshot, shares) for file in beside):
                keys = f"{theirs.min_key} to {theirs.max_key} of bucket {theirs.bucket}"
                raise _conflict(table, f"snapshot {snapshot_id} changed rows, in keys {keys},")


def _check_went(
    table: Table, ours: Mapping[Place, Sequence[LiveFile]], snapshot: Snapshot, shares: Shares
) -> None:
    """Raises ConflictError if files of ours hold parts of rows that went by a compaction."""
    marked = [(at, file) for at, files in ours.items() for file in files if file.is_marked]
    if not marked:
        return
    after, before = map(by_place, _changed(table, snapshot))
    for at, file in marked:
        sides = before.get(at, ()), after.get(at, ())
        with _kept(table, snapshot):
            if shares.went(file, *sides):
                raise _conflict(
                    table,
                    f"rows that it writes parts of went for their age in snapshot {snapshot.id}",
                )


def check_places(
    table: Table,
    messages: Sequence[CommitMessage],
    stored: StoredKeys,
    base: Snapshot,
    shares: Shares,
) -> None:
    """Raises ConflictError if a snapshot up to `base` put a key of the messages into another bucket
    of any partition since they were looked up, or if that is no longer known.
    """
    seen, layout = stored.seen or 0, table.layout
    _check_rolled_back(table, RowChanges(seen, read_job=stored.job), base)
    ours = by_place(table.manifests.files_of(added(table.shapes, messages)))
    for snapshot_id in range(seen + 1, base.id + 1):
        snapshot = table.snapshots.find(snapshot_id)
        if snapshot is None:
            raise _conflict(table, f"snapshot {snapshot_id} has expired")
        come = () if snapshot.commit_kind == COMPACT else _changed(table, snapshot)[0]
        for theirs, (place, files) in product(come, ours.items()):
            is_near = layout.of_key(place[0]) == layout.of_key(theirs.partition)
            beside = files if is_near and place != (theirs.partition, theirs.bucket) else ()
            if any(_share(table, one, theirs, snapshot, shares) for one in beside):
                raise _conflict(table, f"snapshot {snapshot_id} put its keys into other buckets")


def has_seen_keys(table: Table, stored: StoredKeys, base: Snapshot) -> bool:
    """Whether a job knows the keys that are stored in the snapshot `base`: it has looked them up
    there, or in one since which only compactions came. `check_places` asks it of keys across
    partitions.
    """
    if stored.places:
        return True
    seen = None if stored.seen is None else table.snapshots.find(stored.seen)
    if seen is None or seen.commit_user != stored.job or seen.id > base.id:
        return False
    since = (table.snapshots.find(number) for number in range(seen.id + 1, base.id + 1))
    return all(s and s.commit_kind == COMPACT and not has_moved(table, s) for s in since)


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
    with _kept(table, snapshot):
        return shares(ours, theirs)


@contextmanager
def _kept(table: Table, snapshot: Snapshot) -> Iterator[None]:
    """A context for reading files that a snapshot changed. Raises ConflictError if one is gone."""
    try:
        yield
    except SnapshotExpiredError:
        raise _conflict(table, f"a file that snapshot {snapshot.id} changed has expired") from None


def _changed(table: Table, snapshot: Snapshot) -> tuple[list[LiveFile], list[LiveFile]]:
    """The files that a snapshot added, and those that it took away."""
    with unless_missing():
        found = list(table.manifests.changes(snapshot))
        return [f for added_too, _ in found for f in added_too], [f for _, r in found for f in r]
    raise _conflict(table, f"snapshot {snapshot.id} has expired")


def _conflict(table: Table, found: str) -> ConflictError:
    words = "after the statement had read the table; nothing has changed: run the statement again"
    return ConflictError(f"commit to table {table.layout.name}: {found} {words}")
