"""The indexes of keys that a commit leaves: which hashes are in which bucket (`bucket` = -1).

A job knows the index of the snapshot that it was planned on. If another job has changed that of a
partition since, both may be right: the commit then looks whether a key of ours is in another bucket
by now, which is a conflict, and puts what both have added into one file. (Paimon refuses the second
job whatever its keys are.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyfold.errors import ConflictError, CorruptDataError
from keyfold.files.hash_index import Hashes, encoded, hash_path, read_hashes
from keyfold.storage.metadata.index_manifests import HASH, IndexEntry, read_entries
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, HashFile

Values = tuple[Any, ...]


def indexed(
    table: Table,
    base: Snapshot | None,
    messages: Sequence[CommitMessage],
    planned: Sequence[HashFile],
    takes: Callable[[Values], bool] | None,
) -> Sequence[IndexEntry] | None:
    """The index after a commit of these messages that takes away the partitions it `takes`, None if
    it stays. `planned` are the index files that the job has assigned keys by. Raises ConflictError
    if a key of the job is in another bucket by now.
    """
    if not table.options.is_dynamic:
        return None
    before = read_entries(table.manifests, None if base is None else base.index_manifest)
    entries = [one for one in before if takes is None or not takes(one.partition)]
    by_bucket = {(e.partition, e.bucket): e for e in entries if e.kind == HASH}
    for values in dict.fromkeys(message.partition.values for message in messages):
        of_partition = [one for one in messages if one.partition.values == values]
        now = {bucket: e for (of, bucket), e in by_bucket.items() if of == values}
        known = {file.bucket: file for file in planned if file.partition.values == values}
        if {b: f.name for b, f in known.items()} != {b: e.file for b, e in now.items()}:
            _Partition(table, now, known).check(of_partition)
        for message in of_partition:
            if message.hashes is not None:
                there = now.get(message.bucket)
                now[message.bucket] = _merged(table, message.hashes, there)
        by_bucket |= {(values, bucket): entry for bucket, entry in now.items()}
    after = [*(one for one in entries if one.kind != HASH), *by_bucket.values()]
    return None if after == before else after


def _merged(table: Table, ours: HashFile, there: IndexEntry | None) -> IndexEntry:
    """The index of a bucket with what a job has added. The file of the job becomes that: it still
    begins with what was added, so that another attempt finds it there.
    """
    path = hash_path(table.layout, ours.name)
    hashes = read_hashes(table.files, path, ours.rows)
    if there is not None:
        others = _hashes(table, there.file, there.rows)
        hashes = np.concatenate([hashes, others[~np.isin(others, hashes)]])
    table.files.replace(path, encoded(hashes))
    values, rows = ours.partition.values, len(hashes)
    return IndexEntry(values, ours.bucket, HASH, ours.name, 4 * rows, rows)


def _hashes(table: Table, name: str, rows: int) -> Hashes:
    return read_hashes(table.files, hash_path(table.layout, name), rows)


@dataclass(frozen=True)
class _Partition:
    """A partition whose index is another than that which a job was planned on, by bucket."""

    table: Table
    now: Mapping[int, IndexEntry]
    known: Mapping[int, HashFile]

    def check(self, messages: Iterable[CommitMessage]) -> None:
        """Raises ConflictError if a key of the messages is in another bucket by now."""
        for message in messages:
            before, now = self.known.get(message.bucket), self.now.get(message.bucket)
            if before is not None and (now is None or not self._has_all(before, now)):
                raise self._conflict(message)
            if message.hashes is None:
                continue
            added = _hashes(self.table, message.hashes.name, message.hashes.rows)
            for bucket, entry in self.now.items():
                if bucket != message.bucket and np.isin(added, self._of(entry)).any():
                    raise self._conflict(message)

    def _of(self, entry: IndexEntry) -> Hashes:
        return _hashes(self.table, entry.file, entry.rows)

    def _has_all(self, before: HashFile, now: IndexEntry) -> bool:
        if before.name == now.file:
            return True
        try:
            old = _hashes(self.table, before.name, before.rows)
        except CorruptDataError:  # it has expired
            return False
        return bool(np.isin(old, self._of(now)).all())

    def _conflict(self, message: CommitMessage) -> ConflictError:
        where = message.partition.text or "the table"
        return ConflictError(
            f"commit to table {self.table.layout.name}: another job has assigned keys of {where} "
            f"to buckets meanwhile, of which this one has put some into bucket {message.bucket}; "
            "nothing has changed: run the job again"
        )
