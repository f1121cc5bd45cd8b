"""Manifests list the files of a snapshot. Commits write and merge them, reads go through a cache.

A manifest never changes under its name, so decoded ones are kept (bounded). Planning then costs
what a commit added, not what the table holds. `merging` says which ones a commit writes anew.
"""

import contextlib
import io
import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import fastavro
import numpy as np

from keyfold.errors import CorruptDataError
from keyfold.files import damage
from keyfold.resources import budget
from keyfold.resources.cache import Cache
from keyfold.storage.metadata.avro_records import ENTRY_SCHEMA, LIST_SCHEMA, LISTED, Check
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.metadata.documents import blocks, decode, opened
from keyfold.storage.metadata.entries import LiveFile, Record, RowShapes
from keyfold.storage.metadata.live_files import LiveFiles, live_of
from keyfold.storage.metadata.manifest_columns import ManifestColumns
from keyfold.storage.metadata.manifest_decoding import columns_of
from keyfold.storage.metadata.partition_bounds import PartitionBounds
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.stores.avro_blocks import SYNC_BYTES
from keyfold.stores.files import Files

CODEC = "zstandard"
KEPT_BYTES = 400 << 20  # of columns: two million entries
MOST_ENTRIES = 20_000
_READS = 16  # manifests of a store that are read at a time
_LOCAL_READS = min(4, os.cpu_count() or 1)
_MOST_WRITTEN = 5  # manifests of a commit that are kept: those of 100,000 files

_ENTRY_SCHEMA = fastavro.parse_schema(ENTRY_SCHEMA)
_LIST_SCHEMA = fastavro.parse_schema(LIST_SCHEMA)

CACHE: Cache[ManifestColumns] = Cache(KEPT_BYTES, lambda columns: columns.memory)


@dataclass(frozen=True)
class Manifests:
    """The manifest folder of the table at `location`. The names of files that are written are
    added to `written`, if it is given.
    """

    files: Files
    location: str
    shapes: RowShapes
    written: list[str] | None = None

    def path(self, name: str) -> str:
        """The path of a manifest or manifest list."""
        return f"{self.location}/manifest/{name}"

    def listed(self, snapshot: Snapshot) -> list[Record]:
        """Records of the manifests that make up a snapshot, oldest first."""
        base = snapshot.base_manifest_list, snapshot.base_manifest_list_size
        listed = self._listed(*base)
        changed = self.changed(snapshot)
        names = {record["_FILE_NAME"] for record in listed}
        for record in changed:
            if record["_FILE_NAME"] in names:
                raise self._named_twice(snapshot.delta_manifest_list, record["_FILE_NAME"])
        return listed + changed

    def changed(self, snapshot: Snapshot) -> list[Record]:
        """Records of the manifests that hold the changes of a snapshot."""
        delta = snapshot.delta_manifest_list, snapshot.delta_manifest_list_size
        return self._listed(*delta)

    def _listed(self, name: str, size: int | None) -> list[Record]:
        """Records of a manifest list. Raises CorruptDataError if it names a manifest twice: each of
        them would be read, and its files counted twice.
        """
        listed = self.records(LISTED, name, size)
        names = Counter(record["_FILE_NAME"] for record in listed)
        for found, count in names.items():
            if count > 1:
                raise self._named_twice(name, found)
        return listed

    def _named_twice(self, name: str, found: str) -> CorruptDataError:
        words = f"manifest {found} is named again, expected each once"
        return damage.metadata_file("manifest list", self.path(name), words)

    def live(self, snapshot: Snapshot) -> LiveFiles:
        """The files a snapshot holds, in the order they were added."""
        return self.live_in(self.listed(snapshot))

    def live_in(self, listed: Iterable[Record]) -> LiveFiles:
        """The files that manifests of a list add and none of them deletes, in their order."""
        return live_of(self.all_decoded(list(listed)))

    def that_may_hold(
        self, listed: Iterable[Record], may_hold: Callable[[PartitionBounds], bool]
    ) -> list[Record]:
        """The manifests of a list that may hold some partitions, by what the list says of them."""
        codec = self.shapes.partition
        return [one for one in listed if may_hold(PartitionBounds.of(one, codec))]

    def changes(self, snapshot: Snapshot) -> Iterator[tuple[list[LiveFile], list[LiveFile]]]:
        """The files that each manifest of a snapshot's changes adds, and those that it removes."""
        for listed in self.changed(snapshot):
            found = self.decoded(listed)
            yield found.files(found.added), found.files(found.deleted)

    def touched(self, snapshot: Snapshot) -> list[LiveFile]:
        """The files that a snapshot adds and those that it removes."""
        return [file for parts in self.changes(snapshot) for part in parts for file in part]

    def logged(self, snapshot: Snapshot) -> list[LiveFile]:
        """The changelog files of a snapshot."""
        name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
        listed = [] if name is None else self._listed(name, size)
        return [file for one in listed for file in self.added(one)]

    def added(self, listed: Record) -> list[LiveFile]:
        """The files that the manifest of a record of a manifest list adds."""
        found = self.decoded(listed)
        return found.files(found.added)

    def all_decoded(self, listed: Sequence[Record]) -> list[ManifestColumns]:
        """The manifests of records of a manifest list. Those that are not kept are read several at
        a time: a store answers many at once, and codecs and kernels let go of Python's lock.
        """
        unread = sum(CACHE.get(self.path(one["_FILE_NAME"])) is None for one in listed)
        count = _LOCAL_READS if self.files.is_local else _READS
        if unread < 2 or budget.is_capped():
            return list(map(self.decoded, listed))
        with ThreadPoolExecutor(min(count, unread)) as threads:
            return list(threads.map(self.decoded, listed))

    def decoded(self, listed: Record) -> ManifestColumns:
        """The manifest of a record of a manifest list, from the cache or from its file."""
        path = self.path(listed["_FILE_NAME"])
        found = CACHE.get(path)
        if found is None:
            data = self._data(path, listed["_FILE_SIZE"])
            with understood("manifest", path):
                found = columns_of(path, data, self.shapes)
            CACHE.put(path, found)
        return found

    def files_of(self, records: Iterable[Record]) -> list[LiveFile]:
        """The files that records add."""
        return [LiveFile.of(one, self.partition(one), self.shapes) for one in records]

    def partition(self, record: Record) -> tuple[Any, ...]:
        """The partition's values in an entry."""
        return self.shapes.partition.decode(record["_PARTITION"])

    def records(self, check: Check, name: str, size: int | None = None) -> list[Record]:
        """Records of a manifest list or index manifest of `size` bytes (if known), each of which
        passes `check` (`LISTED` or `INDEXED`). Raises CorruptDataError if it is not; the cause is
        a FileNotFoundError if the file is missing.
        """
        path = self.path(name)
        data = self._data(path, size)
        with understood("manifest", path):
            records: list[Any] = decode(data)
            for record in records:
                check(record)
        return records

    def _data(self, path: str, size: int | None) -> bytes:
        try:
            data = self.files.read(path)
        except (FileNotFoundError, IsADirectoryError) as error:
            is_missing = isinstance(error, FileNotFoundError)
            found = "it is missing" if is_missing else error
            raise damage.metadata_file("manifest", path, found) from error
        if size and len(data) != size:  # a cut between two blocks would go unnoticed
            raise damage.metadata_file("manifest", path, damage.of_size(len(data), size))
        return data

    def write_list(self, name: str, records: Sequence[Record]) -> int:
        """Write a manifest list; returns its size in bytes."""
        return self.write_records(_LIST_SCHEMA, name, records)

    def write_records(self, schema: Any, name: str, records: Sequence[Record]) -> int:
        """Write records of a parsed Avro schema; returns the size of the file in bytes."""
        data = _encode(schema, records)
        self._write(name, data)
        return len(data)

    def _write(self, name: str, data: bytes) -> None:
        if self.written is not None:
            self.written.append(name)
        self.files.write(self.path(name), data)

    def write(self, records: Iterable[Record], count: int, schema_id: int) -> Iterator[Record]:
        """Write `count` entries as one or more manifests; yields their records for a manifest
        list, each when it is written. The entries of one are gone through at once. Many manifests
        are not kept: nobody may ask for them while the job that they are of takes memory.
        """
        left, is_kept = iter(records), count <= _MOST_WRITTEN * MOST_ENTRIES
        for start, end in even_parts(count):
            data = _encode(_ENTRY_SCHEMA, islice(left, end - start))
            yield self._write_one(data, schema_id, is_kept=is_kept)
        assert next(left, None) is None, f"more than {count} entries"

    def write_again(
        self, entries: Sequence[tuple[ManifestColumns, int]], schema_id: int
    ) -> list[Record]:
        """Write entries of manifests as one or more, in their order. Those of our own manifests are
        copied as they are encoded there.
        """
        parts = (entries[start:end] for start, end in even_parts(len(entries)))
        return [self._write_one(_copied(part), schema_id) for part in parts]

    def _write_one(self, data: bytes, schema_id: int, *, is_kept: bool = True) -> Record:
        name = f"manifest-{uuid.uuid4()}-0"
        self._write(name, data)
        found = columns_of(self.path(name), data, self.shapes)
        if is_kept:
            CACHE.put(found.path, found)
        return _list_record(len(data), found, schema_id)

    def remove(self, names: Iterable[str]) -> None:
        """Remove manifests of a commit that was not published."""
        for name in names:
            self.files.remove(self.path(name))


@contextlib.contextmanager
def understood(kind: str, path: str) -> Iterator[None]:
    """A context in which every exception means that the file's bytes are damaged: libraries raise
    anything. Only a MemoryError says nothing about the bytes.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise damage.metadata_file(kind, path, repr(error)) from error


@contextlib.contextmanager
def unless_missing() -> Iterator[None]:
    """A context that ends without an error where a manifest or manifest list is missing: it has
    expired. Other damage is raised.
    """
    try:
        yield
    except CorruptDataError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise


def even_parts(count: int) -> Iterator[tuple[int, int]]:
    """The places where parts of entries begin and end, each for a manifest, of about one size."""
    parts = -(-count // MOST_ENTRIES)
    places = [count * part // max(parts, 1) for part in range(parts + 1)]
    return pairwise(places)


def _copied(entries: Sequence[tuple[ManifestColumns, int]]) -> bytes:
    """A manifest of entries of others. Each of these is gone through at once: in the order of the
    entries it might be decompressed again for each of them.
    """
    buffer, parts = io.BytesIO(), [b""] * len(entries)
    fastavro.writer(buffer, _ENTRY_SCHEMA, (), codec=CODEC)
    header = buffer.getvalue()
    own, places = opened(header).schema, dict[ManifestColumns, list[int]]()
    for place, (one, _) in enumerate(entries):
        places.setdefault(one, []).append(place)
    for one, of_one in places.items():
        is_own = one.schema_text == own
        for place in of_one:
            row = entries[place][1]
            parts[place] = one.entry(row) if is_own else _again(one.record(row))
    return header + b"".join(blocks(parts, header[-SYNC_BYTES:]))


def _again(record: Record) -> bytes:
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, _ENTRY_SCHEMA, record)
    return buffer.getvalue()


def _encode(schema: Any, records: Iterable[Record]) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, records, codec=CODEC)
    return buffer.getvalue()


def _list_record(size: int, found: ManifestColumns, schema_id: int) -> Record:
    deleted, totals = len(found.deleted), np.unique(found.total_buckets)
    bucket, level = found.bucket, found.level
    is_empty = len(found) == 0
    return {
        "_VERSION": 2,
        "_FILE_NAME": found.path.rpartition("/")[2],
        "_FILE_SIZE": size,
        "_NUM_ADDED_FILES": len(found) - deleted,
        "_NUM_DELETED_FILES": deleted,
        "_PARTITION_STATS": _partition_stats(found.partitions, found.shapes.partition),
        "_SCHEMA_ID": schema_id if is_empty else int(found.schema_ids.max()),
        "_MIN_BUCKET": None if is_empty else int(bucket.min()),
        "_MAX_BUCKET": None if is_empty else int(bucket.max()),
        "_MIN_LEVEL": None if is_empty else int(level.min()),
        "_MAX_LEVEL": None if is_empty else int(level.max()),
        "_MIN_ROW_ID": None,
        "_MAX_ROW_ID": None,
        "_TOTAL_BUCKETS": int(totals[0]) if len(totals) == 1 else None,
        "_EXTRA_FILES": None,
    }


def _partition_stats(rows: Sequence[tuple[Any, ...]], codec: RowCodec) -> Record:
    columns = [[row[i] for row in rows] for i in range(len(codec.types))]
    known = [[value for value in column if value is not None] for column in columns]
    return {
        "_MIN_VALUES": codec.encode([min(column, default=None) for column in known]),
        "_MAX_VALUES": codec.encode([max(column, default=None) for column in known]),
        "_NULL_COUNTS": [column.count(None) for column in columns],
    }
