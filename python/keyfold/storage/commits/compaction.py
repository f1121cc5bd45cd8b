"""Compactions of buckets that one commit puts in place, each if the newest snapshot allows it.

Another job may have taken away files of a compaction. Or a writer that began earlier may have
committed records that come before them. Or one has written to a row that the compaction left out
for its age, and which is young by now. Such a compaction is left out, the others go on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keyfold.errors import ConflictError
from keyfold.files.indexes.file_indexes import SUFFIX, name_and_bytes
from keyfold.lazy import cached_property
from keyfold.storage.commits.attempts import Entries
from keyfold.storage.commits.conflicts import (
    Shares,
    check_buckets,
    check_levels,
    totals_of,
)
from keyfold.storage.commits.job_places import JobPlaces
from keyfold.storage.commits.replaced_rows import Replaced, check_vectors
from keyfold.storage.commits.sequence_numbers import is_more
from keyfold.storage.metadata.entries import (
    LiveFile,
    Place,
    Record,
    added,
    at_level,
    by_place,
    changelog_of,
    created_millis,
    decode_keys,
    rewritten,
)
from keyfold.storage.metadata.live_files import Asked, LiveFiles
from keyfold.storage.metadata.snapshot_files import live_where
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.partitions import POSTPONED
from keyfold.wire.specs import CommitMessage, CompactionStep, FileAtLevel


@dataclass(frozen=True)
class Compaction:
    """A step, and the `messages` of the files that it puts into its bucket. Files that stay as they
    are may get `indexes`, by their names (`file_indexes.as_text`).
    """

    step: CompactionStep
    messages: Sequence[CommitMessage] = ()
    indexes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def place(self) -> Place:
        """The bucket, with its partition."""
        return self.step.partition.values, self.step.bucket

    @cached_property
    def taken(self) -> frozenset[FileAtLevel]:
        """The files that leave their level."""
        merged = frozenset(file for one in self.step.merged for file in one.files)
        return merged | {*self.step.upgraded}

    def indexed(self, record: Record) -> Record:
        """The record of a file with the index that it gets."""
        text, file = self.indexes.get(record["_FILE"]["_FILE_NAME"]), record["_FILE"]
        if text is None:
            return record
        name, embedded = name_and_bytes(text)
        beside = [one for one in file["_EXTRA_FILES"] or () if not one.endswith(SUFFIX)]
        beside += [] if name is None else [name]
        changed = {"_EXTRA_FILES": beside, "_EMBEDDED_FILE_INDEX": embedded}
        return {**record, "_FILE": {**file, **changed}}

    @property
    def gone(self) -> int:
        """The number of rows that were left out for their age."""
        return sum(message.gone for message in self.messages)


def fitting(
    table: Table,
    compactions: Sequence[Compaction],
    base: Snapshot | None,
    conflicts: dict[str, ConflictError],
    shares: Shares,
) -> Entries:
    """The entries that put compactions in place, one after another, and those of the changes that
    these emit. The error that keeps one out is added to `conflicts`, by its job. Jobs that are
    there already are passed over.
    """
    buckets: dict[Place, list[LiveFile]] = {one.place: [] for one in compactions}
    found = _around(table, base, buckets)
    files = found.in_places(buckets.keys())
    _look_at(files, compactions)
    for file in files:
        buckets[file.partition, file.bucket].append(file)
    before, replaced = dict(buckets), Replaced(table)
    deleted: list[Record] = []
    ours: list[Record] = []
    emitted: list[Record] = []
    for one in compactions:
        if one.step.job in conflicts:
            continue
        bucket = buckets[one.place]
        try:
            put, kept = _placed(table, one, bucket, shares)
            if one.step.bucket == POSTPONED:
                _check_moved(table, one, put, found, shares)
            replaced.add(one.place, one.messages, kept)
        except ConflictError as error:
            conflicts[one.step.job] = error
            continue
        deleted += [file.deleted() for file in bucket if (file.name, file.level) in one.taken]
        ours += [file.record for file in put]
        emitted += changelog_of(table.shapes, one.messages)
        buckets[one.place] = kept + put
    return replaced.entries(base, Entries(deleted + ours, emitted), before, buckets)


def _look_at(files: Sequence[LiveFile], compactions: Iterable[Compaction]) -> None:
    """Read the keys of files, and the entries of those that compactions take away, in the order of
    the files.
    """
    decode_keys(files)
    taken = {(*one.place, *file) for one in compactions for file in one.taken}
    for file in files:
        if (file.partition, file.bucket, file.name, file.level) in taken:
            _ = file.record


def _around(table: Table, base: Snapshot | None, places: Collection[Place]) -> LiveFiles:
    """The files of buckets and beside them: all of their partitions if rows get their buckets."""
    if base is None:
        return LiveFiles((), ())
    is_moved = any(bucket == POSTPONED for _, bucket in places)
    partitions = {partition for partition, _ in places}
    asked = Asked.of_partitions(partitions) if is_moved else Asked.around(places)
    return live_where(table.manifests, base, asked)[0]


def _check_moved(
    table: Table, one: Compaction, put: Sequence[LiveFile], live: LiveFiles, shares: Shares
) -> None:
    """Raises ConflictError if the partition of rows that get their buckets has another number of
    buckets by now, or if a job that began after the compaction has written to keys of these rows:
    it has not seen them, and they would come before what it wrote.
    """
    if not one.messages:
        return  # none gets a bucket: their files are lost
    values, step = one.step.partition.values, one.step
    where = f"compaction of table {table.layout.name}, {step.partition.text or 'all rows'}"
    found = live.totals({values}).get(values, step.total_buckets)
    if found != step.total_buckets:
        raise ConflictError(
            f"{where}: another job has made {found} buckets meanwhile, not {step.total_buckets}"
        )
    ours = by_place(put)
    for other in live.in_places(ours):
        for file in ours[other.partition, other.bucket]:
            is_near = other.first <= file.last and file.first <= other.last
            if file.min_sequence <= other.max_sequence and is_near and shares(file, other):
                raise ConflictError(
                    f"{where}: data file {other.name} of bucket {other.bucket}, committed "
                    "meanwhile, holds keys of rows that wait for their buckets"
                )


def _placed(
    table: Table, one: Compaction, bucket: Sequence[LiveFile], shares: Shares
) -> tuple[list[LiveFile], list[LiveFile]]:
    """The files that a compaction puts into its bucket, and those it leaves there. Raises
    ConflictError if it can't be put in place.
    """
    check_compaction(table, one, bucket)
    kept = [file for file in bucket if (file.name, file.level) not in one.taken]
    check_buckets(table, JobPlaces.of(one.messages), totals_of(kept))
    records = [rewritten(record) for record in added(table.shapes, one.messages)]
    if one.step.bucket == POSTPONED:
        records = _written_then(records, [f for f in bucket if (f.name, f.level) in one.taken])
    moved = [file for file in bucket if (file.name, file.level) in one.step.upgraded]
    records += [at_level(one.indexed(file.record), one.step.level) for file in moved]
    put = table.manifests.files_of(records)
    check_levels(table, put, kept)
    if one.gone:
        _check_gone(table, one, bucket, put, shares)
    return put, kept


def _written_then(records: Iterable[Record], files: Iterable[LiveFile]) -> list[Record]:
    """The records of files that have the rows of others: as old as the newest of these, since
    rows that get their buckets are not written anew.
    """
    told = {"_CREATION_TIME": max(files, key=created_millis).file["_CREATION_TIME"]}
    return [{**record, "_FILE": {**record["_FILE"], **told}} for record in records]


def _check_gone(
    table: Table,
    one: Compaction,
    bucket: Sequence[LiveFile],
    put: Sequence[LiveFile],
    shares: Shares,
) -> None:
    """Raises ConflictError if a file that came meanwhile holds keys of rows which go for their age:
    it would fold with them. Rows go where nothing else held their keys, so that any file beside
    them came meanwhile. One of newer rows that are whole and replace others is not in the way.
    """
    options, by_name = table.options, {(file.name, file.level): file for file in bucket}
    replaces = options.engine.is_default and not options.sequence_fields
    others = [file for at, file in by_name.items() if at not in one.taken]
    sections = [[by_name[at] for at in merged.files] for merged in one.step.merged if merged.oldest]
    for other in others:
        is_whole, first = replaces and not other.is_marked, other.min_sequence
        before = [
            file
            for files in sections
            if not (is_whole and all(file.max_sequence < first for file in files))
            for file in files
        ]
        if shares.went(other, before, put):
            raise ConflictError(
                f"compaction of table {table.layout.name}, bucket {other.bucket}: data file "
                f"{other.name}, committed meanwhile, writes to rows that were too old before"
            )


def check_compaction(table: Table, found: Compaction, bucket: Sequence[LiveFile]) -> None:
    """Raises ConflictError if a file is gone, or if other records of the same keys come between the
    merged ones in order. If nothing older was to be below those (`oldest`), or only files in which
    their keys were looked up, others must not come before them either.
    """
    by_name = {(file.name, file.level): file for file in bucket}
    gone = [name for name, level in found.taken if (name, level) not in by_name]
    if gone:
        raise ConflictError(
            f"compaction of table {table.layout.name}, bucket {found.step.bucket}: another job has "
            f"replaced data file {gone[0]} meanwhile"
        )
    if found.step.bucket == POSTPONED:
        return  # its rows get their place in the order now
    check_vectors(table, found.step, [by_name[file] for file in found.taken])
    others = [file for at, file in by_name.items() if at not in found.taken]
    below = frozenset(found.step.below)
    others = [file for file in others if file.name not in below]
    for one in found.step.merged:
        files = [by_name[file] for file in one.files]
        needs_order = not table.options.engine.keeps_records or any(map(is_more, files))
        newer = others if needs_order else [file for file in others if file.is_marked]
        _check_order(table, files, newer, is_oldest=one.oldest or bool(below))


def _check_order(
    table: Table, files: Sequence[LiveFile], others: Iterable[LiveFile], *, is_oldest: bool
) -> None:
    first, last = min(file.first for file in files), max(file.last for file in files)
    low, high = (min(f.min_sequence for f in files), max(f.max_sequence for f in files))
    for other in others:
        if other.first > last or other.last < first or other.min_sequence > high:
            continue
        if is_oldest or other.max_sequence >= low:
            raise ConflictError(
                f"compaction of table {table.layout.name}, bucket {other.bucket}: data file "
                f"{other.name}, committed meanwhile by a job that began earlier, holds records of "
                "the same keys that come before merged ones"
            )
