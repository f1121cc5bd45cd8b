"""Keys get buckets (`bucket` = -1): one that an index file knows stays where it is, another goes to
the first bucket that has room, or to a new one.

Keys are parted by their hash (`options.clusters`), and each part has the buckets congruent to
its number, so that tasks with different parts need not know of each other. A key that another
number of parts put elsewhere stays there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.files.buckets import BucketKey, grouped, partition_codes
from keyfold.files.hash_index import Hashes, encoded, hash_path
from keyfold.files.paimon_values import hashes
from keyfold.options.clusters import clusters
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.stores.opened import store_of
from keyfold.types.literals import manifest_value
from keyfold.wire.specs import CommitMessage, HashFile, WriteSpec
from keyfold.write.job import Job, file_names
from keyfold.write.keys.known_hashes import KnownHashes, known_hashes, parts_of
from keyfold.write.keys.room import BucketRoom, Buckets


class _Partition:
    """The buckets of a partition, and what this task adds to them."""

    def __init__(self, spec: WriteSpec, options: TableOptions, files: Sequence[HashFile]) -> None:
        self._layout, self._options, self._files = spec.layout, options, files
        self._clusters = clusters(options)
        self._rows = {file.bucket: file.rows for file in files}
        self._parts: dict[int, KnownHashes] = {}
        self._rooms: dict[int, BucketRoom] = {}
        self.added: dict[int, list[Hashes]] = {}

    def assign(self, wanted: Hashes) -> Buckets:
        """The bucket of each hash."""
        unique, back = np.unique(wanted, return_inverse=True)
        found = np.empty(len(unique), np.int16)
        numbers = parts_of(unique, self._clusters)
        lacking = set(np.unique(numbers).tolist()) - self._parts.keys()
        if lacking:
            self._parts |= known_hashes(self._layout, self._files, self._clusters, lacking)
        for rows in grouped(numbers):
            at = slice(None) if rows is None else rows
            found[at] = self._of_part(int(numbers[at][0]), unique[at])
        return found[back]

    def _of_part(self, part: int, wanted: Hashes) -> Buckets:
        known = self._parts[part]
        found = known.find(wanted)
        is_new = found < 0
        if is_new.any():
            new = wanted[is_new]
            found[is_new] = self._assigned(part, new)
            known.add(new, found[is_new])
        return found

    def _assigned(self, part: int, new: Hashes) -> Buckets:
        """The buckets of hashes that are not known."""
        room = self._rooms.get(part)
        if room is None:
            room = BucketRoom(self._layout.name, self._options, part, self._rows)
            self._rooms[part] = room
        found = room.assign(new)
        for rows in grouped(found.astype(np.int64)):
            at = slice(None) if rows is None else rows
            self.added.setdefault(int(found[at][0]), []).append(new[at])
        return found


class AssignedPlaces:
    """The buckets that the keys of a task are in, or get."""

    def __init__(self, spec: WriteSpec) -> None:
        self._spec, self._options = spec, parse(spec.layout)
        self._files: dict[tuple[Any, ...], list[HashFile]] = {}
        for file in spec.hashes:
            self._files.setdefault(file.partition.values, []).append(file)
        self._partitions: dict[tuple[Any, ...], _Partition] = {}

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
        """The rows of each bucket, in their order."""
        for part in _grouped(batch, partition_codes(self._spec.layout, batch)):
            names = self._spec.layout.partition_keys
            values = tuple(manifest_value(part.column(name)[0]) for name in names)
            buckets = self._partition(values).assign(self._hashes(part)).astype(np.int64)
            for rows in grouped(buckets):
                bucket = int(buckets[0 if rows is None else rows[0]])
                some = part if rows is None else part.take(pa.array(rows))
                yield BucketKey(values, bucket), some

    def _hashes(self, batch: pa.RecordBatch) -> Hashes:
        layout = self._spec.layout
        found = hashes(layout, layout.key, [batch.column(name) for name in layout.key])
        return found.astype(np.int32)

    def _partition(self, values: tuple[Any, ...]) -> _Partition:
        found = self._partitions.get(values)
        if found is None:
            files = self._files.get(values, ())
            found = self._partitions[values] = _Partition(self._spec, self._options, files)
        return found

    def noted(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        """The messages with files of the hashes that were added to their buckets. On an error the
        files of the messages are removed.
        """
        layout, names = self._spec.layout, file_names("index-")
        store = store_of(layout.location, layout.store)
        with Job(layout, messages) as job:
            for at, message in enumerate(job.messages):
                added = self._partition(message.partition.values).added.pop(message.bucket, None)
                if added is not None:
                    found = np.concatenate(added)
                    name = next(names)
                    file = HashFile(message.partition, message.bucket, name, len(found))
                    job.messages[at] = replace(message, hashes=file)
                    store.write(hash_path(layout, name), encoded(found))
        return job.messages


def _grouped(batch: pa.RecordBatch, codes: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    for rows in grouped(codes):
        yield batch if rows is None else batch.take(pa.array(rows))
