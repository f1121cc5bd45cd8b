"""Keys get buckets (`bucket` = -1): one that an index file knows stays where it is, another goes to
the first bucket that has room, or to a new one.

Keys are parted by their hash (`options.clusters`), and each part has the buckets congruent to
its number, so that tasks with different parts need not know of each other. A key that another
number of parts put elsewhere stays there. The rules are those of Paimon's `HashBucketAssigner`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.errors import TableError
from keyfold.files.buckets import BucketKey, grouped, partition_codes
from keyfold.files.hash_index import Hashes, encoded, hash_path, read_hashes
from keyfold.files.paimon_values import hashes
from keyfold.options.clusters import MOST_BUCKETS, clusters
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.stores.opened import store_of
from keyfold.types.literals import manifest_value
from keyfold.wire.specs import CommitMessage, HashFile, WriteSpec
from keyfold.write.job import Job, file_names

Buckets = npt.NDArray[np.int16]
_FEW = 1 << 16  # hashes that are put beside the others before both become one array


@dataclass
class _Known:
    """Hashes, ascending, and their buckets; those that came last are beside them for a while."""

    hashes: Hashes
    buckets: Buckets
    late_hashes: Hashes = field(default_factory=lambda: np.empty(0, np.int32))
    late_buckets: Buckets = field(default_factory=lambda: np.empty(0, np.int16))

    def find(self, wanted: Hashes) -> Buckets:
        """The bucket of each hash, -1 if it has none."""
        found = np.full(len(wanted), -1, np.int16)
        for known, buckets in (
            (self.hashes, self.buckets),
            (self.late_hashes, self.late_buckets),
        ):
            if len(known):
                at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
                hit = known[at] == wanted
                found[hit] = buckets[at[hit]]
        return found

    def add(self, new: Hashes, buckets: Buckets) -> None:
        """Know the buckets of hashes that were unknown."""
        self.late_hashes, self.late_buckets = _ascending(
            [self.late_hashes, new], [self.late_buckets, buckets]
        )
        if len(self.late_hashes) > max(_FEW, len(self.hashes) // 4):
            self.hashes, self.buckets = _ascending(
                [self.hashes, self.late_hashes], [self.buckets, self.late_buckets]
            )
            self.late_hashes, self.late_buckets = self.late_hashes[:0], self.late_buckets[:0]


def _ascending(parts: Sequence[Hashes], buckets: Sequence[Buckets]) -> tuple[Hashes, Buckets]:
    found, places = np.concatenate(parts), np.concatenate(buckets)
    order = np.argsort(found, kind="stable")
    return found[order], places[order]


class _Partition:
    """The buckets of a partition, and what this task adds to them."""

    def __init__(self, spec: WriteSpec, options: TableOptions, files: Sequence[HashFile]) -> None:
        self._layout, self._options, self._files = spec.layout, options, files
        self._clusters = clusters(options)
        self._rows = {file.bucket: file.rows for file in files}
        self._parts: dict[int, _Known] = {}
        self.added: dict[int, list[Hashes]] = {}

    def assign(self, wanted: Hashes) -> Buckets:
        """The bucket of each hash."""
        unique, back = np.unique(wanted, return_inverse=True)
        found = np.empty(len(unique), np.int16)
        numbers = _parts(unique, self._clusters)
        for rows in grouped(numbers):
            at = slice(None) if rows is None else rows
            found[at] = self._of_part(int(numbers[at][0]), unique[at])
        return found[back]

    def _of_part(self, part: int, wanted: Hashes) -> Buckets:
        known = self._parts.get(part)
        if known is None:
            known = self._parts[part] = self._read(part)
        found = known.find(wanted)
        is_new = found < 0
        if is_new.any():
            new = wanted[is_new]
            found[is_new] = self._assigned(part, new)
            known.add(new, found[is_new])
        return found

    def _read(self, part: int) -> _Known:
        store = store_of(self._layout.location, self._layout.store)
        parts, buckets = [np.empty(0, np.int32)], [np.empty(0, np.int16)]
        for file in self._files:
            found = read_hashes(store, hash_path(self._layout, file.name), file.rows)
            parts.append(found[_parts(found, self._clusters) == part])
            buckets.append(np.full(len(parts[-1]), file.bucket, np.int16))
        return _Known(*_ascending(parts, buckets))

    def _assigned(self, part: int, new: Hashes) -> Buckets:
        """The buckets of hashes that are not known."""
        found, done = np.empty(len(new), np.int16), 0
        while done < len(new):
            bucket = self._with_room(part)
            if bucket is None:  # there may be no more buckets: all of the part grow
                own = np.array(sorted(b for b in self._rows if self._is_of(b, part)), np.int16)
                found[done:] = own[np.abs(new[done:].astype(np.int64)) % 7919 % len(own)]
                break
            end = min(len(new), done + self._options.bucket_keys - self._rows.get(bucket, 0))
            found[done:end] = bucket
            self._rows[bucket] = self._rows.get(bucket, 0) + end - done
            done = end
        for bucket in np.unique(found).tolist():
            self.added.setdefault(bucket, []).append(new[found == bucket])
        return found

    def _is_of(self, bucket: int, part: int) -> bool:
        return bucket % self._clusters == part

    def _with_room(self, part: int) -> int | None:
        """The first bucket of a part that is not full, or a new one; None if there may be no more.
        Raises TableError if the numbers are used up.
        """
        options = self._options
        for bucket in sorted(self._rows):
            if self._is_of(bucket, part) and self._rows[bucket] < options.bucket_keys:
                return bucket
        most = options.most_buckets if options.most_buckets > 0 else MOST_BUCKETS
        for bucket in range(part, most, self._clusters):
            if bucket not in self._rows:
                return bucket
        if options.most_buckets > 0:
            return None
        raise TableError(
            f"writing table {self._layout.name}: a partition has {most} buckets of "
            f"{options.bucket_keys} keys, and no more are possible: raise "
            "dynamic-bucket.target-row-num"
        )


def _parts(found: Hashes, parts: int) -> npt.NDArray[np.int64]:
    return np.abs(found.astype(np.int64)) % parts


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
