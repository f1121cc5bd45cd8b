"""The indexes of keys that a commit leaves: which hashes are in which bucket (`bucket` = -1).

A job knows the index of the snapshot that it was planned on. If another job has changed that of a
partition since, both may be right: the commit then looks whether a key of ours is in another bucket
by now, which is a conflict, and puts what both have added into one file. (Paimon refuses the second
job whatever its keys are.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from keyfold.errors import ConflictError, CorruptDataError
from keyfold.files.hash_index import Hashes, encoded, hash_path, read_hashes
from keyfold.storage.commits.conflicts import UNREAD, Shares, check_places
from keyfold.storage.metadata.entries import added
from keyfold.storage.metadata.index_manifests import (  # fmt: skip
    HASH,
    IndexEntry,
    no_index,
    read_entries,
)
from keyfold.storage.metadata.live_files import LiveFiles
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, HashFile, StoredKeys

Values = tuple[Any, ...]
Beside = tuple[str, ...]  # the file that is there, and those which it has been merged with
_Placed = TypeVar("_Placed", CommitMessage, HashFile)


@dataclass(frozen=True)
class JobIndexes:
    """The index files by which a job has assigned keys, or the keys that it has looked up as they
    are `stored`. Its own files that an attempt has `merged` already, by their names: with which
    files of the bucket, and the entry.
    """

    planned: Sequence[HashFile] = ()
    shares: Shares = UNREAD
    stored: StoredKeys | None = None
    merged: dict[str, tuple[Beside, IndexEntry]] = field(default_factory=dict)


def indexed(
    table: Table,
    base: Snapshot | None,
    messages: Sequence[CommitMessage],
    job: JobIndexes,
    live: LiveFiles,
    takes: Callable[[Values], bool] | None,
) -> Sequence[IndexEntry] | None:
    """The index after a commit of these messages that takes away the partitions it `takes`, None if
    it stays. `live` are the files of `base` in the partitions of the messages at least.

    Raises ConflictError if a key of the job is in another bucket by now, NotSupportedError if a
    bucket beside those of the job has files and no index.
    """
    if table.layout.spans_partitions and job.stored and base is not None:
        check_places(table, messages, job.stored, base, job.shares)
    if not table.options.is_dynamic or table.layout.spans_partitions:
        return None
    before = read_entries(table.manifests, None if base is None else base.index_manifest)
    entries = [one for one in before if takes is None or not takes(one.partition)]
    by_bucket = {(one.partition, one.bucket): one for one in entries if one.kind == HASH}
    nows: dict[Values, dict[int, IndexEntry]] = {one.partition.values: {} for one in messages}
    for (values, bucket), entry in by_bucket.items():
        if values in nows:
            nows[values][bucket] = entry
    for values, bucket, name in live.buckets(nows.keys()):
        if bucket not in nows[values] and not (takes and takes(values)):
            raise no_index(table.layout.name, bucket, name)
    ours, known = _by_partition(messages), _by_partition(job.planned)
    for values, of_partition in ours.items():
        now, seen = nows[values], {file.bucket: file for file in known.get(values, ())}
        if {b: f.name for b, f in seen.items()} != {b: e.file for b, e in now.items()}:
            _Meanwhile(table, now, seen, job.shares).check(of_partition)
        for message in of_partition:
            if message.hashes is not None:
                there = now.get(message.bucket)
                merged = _merged(table, job, message.hashes, there)
                by_bucket[values, message.bucket] = now[message.bucket] = merged
    after = [*(one for one in entries if one.kind != HASH), *by_bucket.values()]
    return None if before == after else after


def _by_partition(some: Iterable[_Placed]) -> dict[Values, list[_Placed]]:
    found: dict[Values, list[_Placed]] = {}
    for one in some:
        found.setdefault(one.partition.values, []).append(one)
    return found


def _merged(table: Table, job: JobIndexes, ours: HashFile, there: IndexEntry | None) -> IndexEntry:
    """The index of a bucket with what a job has added. The file of the job becomes that, once for
    what is `there`: it still begins with what was added, so that another attempt finds it there. Of
    a transaction, whose calls have each added something, the file there may be one of its own.
    """
    beside: Beside = ()
    if there is not None:
        of_own = job.merged.get(there.file)
        beside = there.file, *(() if of_own is None else of_own[0])
    done = job.merged.get(ours.name)
    if done is not None and done[0] == beside:
        return done[1]
    path, rows = hash_path(table.layout, ours.name), ours.rows
    if there is not None or done is not None:
        hashes = read_hashes(table.files, path, ours.rows)
        if there is not None:
            others = _hashes(table, there.file, there.rows)
            hashes = np.concatenate([hashes, others[~np.isin(others, hashes)]])
        table.files.replace(path, encoded(hashes))
        rows = len(hashes)
    entry = IndexEntry(ours.partition.values, ours.bucket, HASH, ours.name, 4 * rows, rows)
    job.merged[ours.name] = beside, entry
    return entry


def _hashes(table: Table, name: str, rows: int) -> Hashes:
    return read_hashes(table.files, hash_path(table.layout, name), rows)


@dataclass(frozen=True)
class _Meanwhile:
    """A partition whose index is another than that which a job was planned on, by bucket."""

    table: Table
    now: Mapping[int, IndexEntry]
    known: Mapping[int, HashFile]
    shares: Shares

    def check(self, messages: Sequence[CommitMessage]) -> None:
        """Raises ConflictError if a key of the messages is in another bucket by now. Index files
        that the job knows hold none of the keys it has added: only the others are read.
        """
        by_bucket: dict[int, list[CommitMessage]] = {}  # tasks of several parts may write to one
        for message in messages:
            by_bucket.setdefault(message.bucket, []).append(message)
        added, buckets = self._added(messages)
        for bucket in (self.known.keys() - self.now.keys()) & by_bucket.keys():
            raise self._overwritten(by_bucket[bucket][0])
        for bucket, entry in self.now.items():
            before = self.known.get(bucket)
            if before is not None and before.name == entry.file:
                continue
            theirs = _hashes(self.table, entry.file, entry.rows)
            for other in self._elsewhere(theirs, bucket, added, buckets):
                raise self._assigned(by_bucket[other][0])
            ours = by_bucket.get(bucket)
            if before is not None and ours and not self._has_all(before, ours, theirs):
                raise self._overwritten(ours[0])

    def _added(self, messages: Sequence[CommitMessage]) -> tuple[Hashes, npt.NDArray[np.int64]]:
        """The hashes that the job has assigned, ascending, and their buckets."""
        files = [message.hashes for message in messages if message.hashes is not None]
        every = [_hashes(self.table, file.name, file.rows) for file in files]
        hashes = np.concatenate([np.empty(0, np.int32), *every])
        buckets = np.repeat([file.bucket for file in files], [file.rows for file in files])
        order = np.argsort(hashes, kind="stable")
        return hashes[order], buckets.astype(np.int64)[order]

    def _elsewhere(
        self, theirs: Hashes, bucket: int, added: Hashes, buckets: npt.NDArray[np.int64]
    ) -> Iterator[int]:
        """The buckets, but this one, to which the job has assigned hashes of a bucket."""
        if len(added):
            at = np.minimum(np.searchsorted(added, theirs), len(added) - 1)
            found = buckets[at[added[at] == theirs]]
            yield from found[found != bucket].tolist()

    def _has_all(self, before: HashFile, ours: Sequence[CommitMessage], now: Hashes) -> bool:
        """Whether the index of a bucket still has the keys that the job has found in it. If it has
        lost some, or the index before has expired, the keys that the job has written decide.
        """
        with suppress(CorruptDataError):
            if np.isin(_hashes(self.table, before.name, before.rows), now).all():
                return True
        new, _ = self._added(ours)
        records = added(self.table.shapes, ours)
        for file in self.table.manifests.files_of(records):
            hashes = self.shares.hashes(file)
            if hashes is None or not (np.isin(hashes, now) | np.isin(hashes, new)).all():
                return False
        return True

    def _assigned(self, message: CommitMessage) -> ConflictError:
        return self._conflict(
            f"another job has assigned keys of {self._where(message)} to buckets meanwhile, of "
            f"which this one has put some into bucket {message.bucket}"
        )

    def _overwritten(self, message: CommitMessage) -> ConflictError:
        return self._conflict(
            f"another job has replaced rows of {self._where(message)} meanwhile, and keys that "
            f"this one has found in bucket {message.bucket} are not there any more"
        )

    def _where(self, message: CommitMessage) -> str:
        return message.partition.text or "the table"

    def _conflict(self, found: str) -> ConflictError:
        name = self.table.layout.name
        return ConflictError(
            f"commit to table {name}: {found}; nothing has changed: run the job again"
        )
