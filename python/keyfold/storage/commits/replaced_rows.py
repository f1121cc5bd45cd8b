"""The deletion vectors that a commit leaves.

A compaction reads rows of files that stay and writes them anew: the commit unites the positions of
these with those that are marked there by now, in one index file for each bucket. Files that go take
their vectors with them.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from keyfold.errors import ConflictError
from keyfold.files.vectors import deleted, encoded, from_text, index_path
from keyfold.kernels.buffers import Rows
from keyfold.storage.commits.attempts import Entries
from keyfold.storage.metadata.entries import ADD, LiveFile, Place, Record
from keyfold.storage.metadata.index_manifests import (
    DELETION_VECTORS,
    WRITTEN,
    IndexEntry,
    VectorRange,
    read_entries,
)
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage, CompactionStep

_NONE: Rows = np.empty(0, dtype=np.int64)


def check_vectors(table: Table, step: CompactionStep, taken: Iterable[LiveFile]) -> None:
    """Raises ConflictError if another job has marked rows of the files that a step takes away since
    it was planned.
    """
    for file in taken:
        then, now = step.vectors.get(file.name), file.vector
        if then == now:
            continue
        # A vector that is as it was has another place once that of a file beside it is written.
        if then is None or now is None or then.rows is None or then.rows != now.rows:
            raise _conflict(table, file.bucket, "marked rows of", file.name)


@dataclass
class Replaced:
    """The rows that the compactions of one commit replace in files that stay, whose deletion
    vectors are those of the newest snapshot: by bucket and name of the file their positions.
    """

    table: Table
    found: dict[Place, dict[str, Rows]] = field(default_factory=dict)

    def add(
        self, place: Place, messages: Iterable[CommitMessage], kept: Sequence[LiveFile]
    ) -> None:
        """Take those of one compaction, whose bucket keeps some files. Raises ConflictError, with
        nothing taken, if another job has replaced a file or a row.
        """
        by_name, found = {f.name: f for f in kept}, dict(self.found.get(place, {}))
        for rows in (rows for message in messages for rows in message.replaced):
            file, positions = by_name.get(rows.file), from_text(rows.positions)
            if file is None:
                raise _conflict(self.table, place[1], "replaced", rows.file)
            before = found.get(rows.file, _NONE)
            if np.isin(positions, np.concatenate([before, self._marked(file)])).any():
                raise _conflict(self.table, place[1], "marked rows of", file.name)
            found[rows.file] = np.union1d(before, positions)
        if found:
            self.found[place] = found

    def entries(
        self,
        base: Snapshot | None,
        entries: Entries,
        before: Mapping[Place, Sequence[LiveFile]],
        after: Mapping[Place, Sequence[LiveFile]],
    ) -> Entries:
        """The entries of a commit with those of the index files that it leaves. The files of
        buckets are those before and after it.
        """
        index = without_files(self.table, base, None, entries.delta)
        if not self.found:
            return replace(entries, index=index)
        known = _entries(self.table, base) if index is None else index
        kept = [e for e in known if e.kind != DELETION_VECTORS or _place(e) not in self.found]
        made: dict[str, bytes] = {}
        for place in self.found:
            names = {file.name for file in after[place]}
            live = [file for file in before[place] if file.name in names]
            entry, path, data = self._index_file(place, live)
            kept.append(entry)
            made[path] = data
        return replace(entries, index=kept, index_files=made)

    def _index_file(self, place: Place, live: Sequence[LiveFile]) -> tuple[IndexEntry, str, bytes]:
        """The index file of a bucket that has marks of some of its files: entry, path and bytes."""
        new, marks = self.found[place], {}
        for file in live:
            positions = np.union1d(self._marked(file), new.get(file.name, _NONE))
            if len(positions):
                marks[file.name] = positions
        name, layout = f"index-{uuid.uuid4()}-0", self.table.layout
        data, found = encoded(name, marks, is_wide=self.table.options.vectors_are_wide)
        ranges = tuple(VectorRange(f, v.offset, v.length, v.rows) for f, v in found.items())
        entry = IndexEntry(*place, DELETION_VECTORS, name, len(data), len(ranges), ranges)
        return entry, index_path(layout, live[0].folder(layout), name), data

    def _marked(self, file: LiveFile) -> Rows:
        layout = self.table.layout
        return deleted(self.table.files, layout, f"{file.folder(layout)}/{file.name}", file)


def without_files(
    table: Table,
    base: Snapshot | None,
    index: Sequence[IndexEntry] | None,
    delta: Iterable[Record],
) -> Sequence[IndexEntry] | None:
    """The entries of an index manifest, those of the snapshot `base` if they are None, less the
    vectors of files that a commit takes away; None if the manifest stays as it is.
    """
    if index is None and (base is None or base.index_manifest is None):
        return None
    gone = _gone(table, delta)
    if not gone:
        return index
    # entries of other kinds are read only if the manifest is written anew
    before = _entries(table, base, (DELETION_VECTORS,)) if index is None else index
    if all(_left(entry, gone) == (entry,) for entry in before):
        return index
    every = _entries(table, base) if index is None else index
    return [left for entry in every for left in _left(entry, gone)]


def _gone(table: Table, delta: Iterable[Record]) -> set[tuple[Place, str]]:
    """The data files that a commit takes away; one that changes its level stays."""
    found: dict[int, set[tuple[Place, str]]] = {}
    for one in delta:
        place = table.manifests.partition(one), one["_BUCKET"]
        found.setdefault(one["_KIND"], set()).add((place, one["_FILE"]["_FILE_NAME"]))
    stays = found.pop(ADD, set())
    return {file for files in found.values() for file in files} - stays


def _left(entry: IndexEntry, gone: set[tuple[Place, str]]) -> tuple[IndexEntry, ...]:
    """An entry without the vectors of some files, if any are left."""
    if entry.kind != DELETION_VECTORS:
        return (entry,)
    kept = tuple(one for one in entry.vectors if (_place(entry), one.file) not in gone)
    return (replace(entry, vectors=kept, rows=len(kept)),) if kept else ()


def _entries(
    table: Table, base: Snapshot | None, kinds: Collection[str] = WRITTEN
) -> Sequence[IndexEntry]:
    return read_entries(table.manifests, None if base is None else base.index_manifest, kinds)


def _place(entry: IndexEntry) -> Place:
    return entry.partition, entry.bucket


def _conflict(table: Table, bucket: int, what: str, name: str) -> ConflictError:
    return ConflictError(
        f"compaction of table {table.layout.name}, bucket {bucket}: another job has {what} data "
        f"file {name} meanwhile"
    )
