"""Manifests list the files of a snapshot. Commits write and merge them, reads go through a cache.

A manifest never changes under its name, so decoded ones are kept (bounded). Planning then costs
what a commit added, not what the table holds. Without merging, planning grows by each commit: so
small manifests at the young end are joined when there are enough of them. An older one is taken in
only while it is no larger than what is being rewritten already. So a commit rewrites little, and
the number of manifests stays low. A full rewrite works off deletes.
"""

import contextlib
import io
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro

from keyfold.errors import CorruptDataError
from keyfold.files import damage
from keyfold.options.declared import TableOptions
from keyfold.resources.cache import Cache
from keyfold.storage.metadata.avro_records import ENTRY_SCHEMA, LIST_SCHEMA, LISTED, Check
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.storage.metadata.documents import decode, opened
from keyfold.storage.metadata.entries import ADD, LiveFile, Record, RowShapes
from keyfold.storage.metadata.live_files import LiveFiles, left_of, live_of
from keyfold.storage.metadata.manifest_columns import ManifestColumns, columns_of
from keyfold.storage.metadata.partition_bounds import PartitionBounds
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.stores.files import Files

CODEC = "zstandard"
KEPT_BYTES = 400 << 20  # of columns: a million entries
ENTRIES_PER_MANIFEST = 20_000

_ENTRY_SCHEMA = fastavro.parse_schema(ENTRY_SCHEMA)
_LIST_SCHEMA = fastavro.parse_schema(LIST_SCHEMA)
LEAST_DELETES = 64


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
        return live_of([self.decoded(record) for record in listed])

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

    def decoded(self, listed: Record) -> ManifestColumns:
        """The manifest of a record of a manifest list, from the cache or from its file."""
        path = self.path(listed["_FILE_NAME"])
        found = CACHE.get(path)
        if found is None:
            data = self._data(path, listed["_FILE_SIZE"])
            with _understood(path):
                found = columns_of(path, opened(data), self.shapes)
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
        with _understood(path):
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
        data = _encode(_LIST_SCHEMA, records)
        self._write(name, data)
        return len(data)

    def _write(self, name: str, data: bytes) -> None:
        if self.written is not None:
            self.written.append(name)
        self.files.write(self.path(name), data)

    def write(self, records: Sequence[Record], schema_id: int) -> list[Record]:
        """Write entries as one or more manifests; returns their records for a manifest list."""
        starts = range(0, len(records), ENTRIES_PER_MANIFEST)
        chunks = [records[start : start + ENTRIES_PER_MANIFEST] for start in starts]
        return [self._write_one(chunk, schema_id) for chunk in chunks]

    def _write_one(self, records: Sequence[Record], schema_id: int) -> Record:
        name = f"manifest-{uuid.uuid4()}-0"
        data = _encode(_ENTRY_SCHEMA, records)
        self._write(name, data)
        CACHE.put(self.path(name), columns_of(self.path(name), opened(data), self.shapes))
        return _list_record(name, len(data), records, schema_id, self.shapes.partition)

    def remove(self, names: Iterable[str]) -> None:
        """Remove manifests of a commit that was not published."""
        for name in names:
            self.files.remove(self.path(name))


@contextlib.contextmanager
def _understood(path: str) -> Iterator[None]:
    """A context in which every exception means that the file's bytes are damaged: libraries raise
    anything. Only a MemoryError says nothing about the bytes.
    """
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise damage.metadata_file("manifest", path, repr(error)) from error


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


def merged_records(manifests: Sequence[ManifestColumns], *, whole_table: bool) -> list[Record]:
    """Entries of the manifests with ADD and DELETE of one file cancelled.

    A DELETE whose ADD is in none of them is kept, unless they are the `whole_table`.
    """
    live = live_of(manifests)
    rest = [] if whole_table else left_of(manifests)
    parts = zip(live.manifests, live.rows, strict=True)
    rest += [(one, row) for one, rows in parts for row in rows.tolist()]
    return [one.record(row) for one, row in rest]


def _encode(schema: Any, records: Sequence[Record]) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, schema, records, codec=CODEC)
    return buffer.getvalue()


def _list_record(
    name: str, size: int, records: Sequence[Record], schema_id: int, partition: RowCodec
) -> Record:
    added = sum(1 for record in records if record["_KIND"] == ADD)
    buckets = [record["_BUCKET"] for record in records]
    levels = [record["_FILE"]["_LEVEL"] for record in records]
    totals = {record["_TOTAL_BUCKETS"] for record in records}
    return {
        "_VERSION": 2,
        "_FILE_NAME": name,
        "_FILE_SIZE": size,
        "_NUM_ADDED_FILES": added,
        "_NUM_DELETED_FILES": len(records) - added,
        "_PARTITION_STATS": _partition_stats({r["_PARTITION"] for r in records}, partition),
        "_SCHEMA_ID": max((r["_FILE"]["_SCHEMA_ID"] for r in records), default=schema_id),
        "_MIN_BUCKET": min(buckets, default=None),
        "_MAX_BUCKET": max(buckets, default=None),
        "_MIN_LEVEL": min(levels, default=None),
        "_MAX_LEVEL": max(levels, default=None),
        "_MIN_ROW_ID": None,
        "_MAX_ROW_ID": None,
        "_TOTAL_BUCKETS": totals.pop() if len(totals) == 1 else None,
        "_EXTRA_FILES": None,
    }


def _partition_stats(raw: set[bytes], codec: RowCodec) -> Record:
    rows = [codec.decode(data) for data in raw]
    columns = [[row[i] for row in rows] for i in range(len(codec.types))]
    known = [[value for value in column if value is not None] for column in columns]
    return {
        "_MIN_VALUES": codec.encode([min(column, default=None) for column in known]),
        "_MAX_VALUES": codec.encode([max(column, default=None) for column in known]),
        "_NULL_COUNTS": [column.count(None) for column in columns],
    }


def merge(
    manifests: Manifests,
    listed: Sequence[Record],
    options: TableOptions,
    schema_id: int,
    *,
    whole_table: bool = False,
) -> tuple[list[Record], list[str]]:
    """The manifests to list instead of `listed`, and the names of those written anew: those that
    are due, or those of the whole table.
    """
    if whole_table or _is_full(listed, options):
        return _rewrite(manifests, listed, schema_id, whole_table=True)
    young = _young(listed, options)
    if young == 0:
        return list(listed), []
    kept, chosen = listed[:-young], listed[-young:]
    rewritten, names = _rewrite(manifests, chosen, schema_id, whole_table=young == len(listed))
    return [*kept, *rewritten], names


def _is_full(listed: Sequence[Record], options: TableOptions) -> bool:
    if len(listed) < 2:
        return False
    deleted = sum(record["_NUM_DELETED_FILES"] for record in listed)
    added = sum(record["_NUM_ADDED_FILES"] for record in listed)
    changed = sum(record["_FILE_SIZE"] for record in listed if record["_NUM_DELETED_FILES"])
    is_large: bool = changed >= options.manifest_full_compaction_size
    is_mostly_deleted: bool = deleted >= LEAST_DELETES and 2 * deleted >= added
    return is_large or is_mostly_deleted


def _young(listed: Sequence[Record], options: TableOptions) -> int:
    """The number of manifests at the young end to join, 0 if there are too few."""
    total, count = 0, 0
    for record in reversed(listed):
        size = record["_FILE_SIZE"]
        is_outweighed = count >= options.manifest_merge_min_count and size > total
        if size >= options.manifest_target_file_size or is_outweighed:
            break
        total, count = total + size, count + 1
    return count if count >= options.manifest_merge_min_count else 0


def _rewrite(
    manifests: Manifests, chosen: Sequence[Record], schema_id: int, *, whole_table: bool
) -> tuple[list[Record], list[str]]:
    decoded = [manifests.decoded(record) for record in chosen]
    records = merged_records(decoded, whole_table=whole_table)
    written = manifests.write(records, schema_id)
    return written, [record["_FILE_NAME"] for record in written]
