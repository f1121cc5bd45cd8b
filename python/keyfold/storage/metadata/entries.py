"""Entries of manifests: a live data file as planning sees it, a written file as a record.

Records are Avro dictionaries with Paimon's field names and pass through untouched, so what another
engine stored in them survives our merging of manifests.
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from keyfold.files import damage
from keyfold.files.indexes.file_indexes import name_and_bytes
from keyfold.files.indexes.reading import MOST_EMBEDDED, index_of
from keyfold.lazy import cached_property
from keyfold.options.declared import TableOptions
from keyfold.storage.metadata.binary_row import RowCodec
from keyfold.types import logical
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition, bucket_name
from keyfold.wire.row_stats import RowStats
from keyfold.wire.specs import CommitMessage, DataFile, FileMeta, Section, Split, Vector

ADD = 0
DELETE = 1
APPEND_SOURCE = 0
COMPACT_SOURCE = 1
LAST_SEQUENCE = (1 << 63) - (1 << 32)  # jobs count on from the highest

Record = Mapping[str, Any]
Place = tuple[tuple[Any, ...], int]  # values of a partition, and a bucket
Bounds = tuple[Any, Any, int | None]


@dataclass(frozen=True)
class RowShapes:
    """Codecs of one table's manifest rows."""

    partition: RowCodec
    key: RowCodec

    @staticmethod
    def of(layout: TableLayout) -> RowShapes:
        """The codecs of the layout's partition and key columns."""
        partition = [layout.column(name).type for name in layout.partition_keys]
        return RowShapes(
            RowCodec.of(partition), RowCodec.of([layout.column(name).type for name in layout.key])
        )


@dataclass(frozen=True, eq=False)
class LiveFile(DataFile):
    """One data file that a snapshot holds.

    Values are Python's: DATE is int days, TIMESTAMP int microseconds, DECIMAL Decimal, text str,
    binary bytes. Keys and statistics are decoded at first use and kept.
    """

    partition: tuple[Any, ...]
    bucket: int
    total_buckets: int
    source: int | None  # APPEND_SOURCE, COMPACT_SOURCE, or None if the writer did not record it
    extra_files: tuple[str, ...]  # files beside it that are its own: indexes
    external_path: str | None
    keys: tuple[bytes, bytes]
    shapes: RowShapes
    stored: Callable[[], Record]

    @staticmethod
    def of(record: Record, partition: tuple[Any, ...], shapes: RowShapes) -> LiveFile:
        """The file of an entry, whose partition is decoded."""
        file = record["_FILE"]
        return LiveFile(
            file["_FILE_NAME"],
            file["_FILE_SIZE"],
            file["_ROW_COUNT"],
            file["_DELETE_ROW_COUNT"],
            file["_MIN_SEQUENCE_NUMBER"],
            file["_MAX_SEQUENCE_NUMBER"],
            file["_SCHEMA_ID"],
            file["_LEVEL"],
            partition,
            record["_BUCKET"],
            record["_TOTAL_BUCKETS"],
            file.get("_FILE_SOURCE"),
            tuple(file["_EXTRA_FILES"] or ()),
            file.get("_EXTERNAL_PATH"),
            (file["_MIN_KEY"], file["_MAX_KEY"]),
            shapes,
            lambda: record,
        )

    @cached_property
    def record(self) -> Record:
        """The entry, with all that its writer stored."""
        return self.stored()

    @property
    def file(self) -> Record:
        """The `_FILE` part of the record."""
        found: Record = self.record["_FILE"]
        return found

    @property
    def embedded_index(self) -> bytes | None:
        """The bytes of an index of its columns (`files.file_indexes`), if the entry has it."""
        return self.file.get("_EMBEDDED_FILE_INDEX")

    def index(self, most: int = MOST_EMBEDDED) -> str:
        """The index of its columns, as `index_of` has it. The entry is not kept for it: files with
        an index may be many.
        """
        entry = self.stored()["_FILE"]
        return index_of(entry["_EXTRA_FILES"] or (), entry.get("_EMBEDDED_FILE_INDEX"), most)

    @cached_property
    def min_key(self) -> tuple[Any, ...]:
        """The first key, in primary-key order without partition columns."""
        return self.shapes.key.decode(self.keys[0])

    @cached_property
    def max_key(self) -> tuple[Any, ...]:
        return self.shapes.key.decode(self.keys[1])

    @cached_property
    def first(self) -> tuple[Any, ...]:
        """The first key as a tuple that compares in key order."""
        return ordered(self.min_key, self.shapes.key.types)

    @cached_property
    def last(self) -> tuple[Any, ...]:
        return ordered(self.max_key, self.shapes.key.types)

    @cached_property
    def key_stats(self) -> tuple[Bounds, ...]:
        """(min, max, null count) of each key column; None = unknown."""
        return _bounds(self.shapes.key, self.file["_KEY_STATS"])

    def value_stats(self, layout: TableLayout) -> dict[str, Bounds]:
        """(min, max, null count) by column name; `layout` is that of the file's schema id."""
        names = self.file.get("_VALUE_STATS_COLS")
        columns = layout.columns if names is None else [layout.column(name) for name in names]
        if not all(logical.is_atomic(column.type) for column in columns):
            return {}
        codec = RowCodec.of([column.type for column in columns])
        bounds = _bounds(codec, self.file["_VALUE_STATS"])
        return {column.name: bound for column, bound in zip(columns, bounds, strict=True)}

    def as_read(self, options: TableOptions) -> LiveFile:
        """The file as readers see it. If records are ordered by snapshot, all rows of an appended
        file have the number of its snapshot, which is its least, whatever the file holds.
        """
        is_stamped = options.snapshot_ordering and self.source == APPEND_SOURCE
        return self._with(max_sequence=self.min_sequence) if is_stamped else self

    def in_partition(self, options: TableOptions) -> LiveFile:
        """The file as seen from the folder of its partition. Buckets share no keys, so the files
        of all of them merge as those of one.
        """
        found = self.as_read(options)
        return found._with(name=f"{bucket_name(self.bucket)}/{self.name}")

    def numbered(self, number: int) -> LiveFile:
        """The file as if a job of this sequence number had written its rows."""
        return self._with(min_sequence=number, max_sequence=number)

    @property
    def state(self) -> tuple[Any, ...]:
        """The identifier, and what tells of the rows that are marked: as long as it is the same,
        the file has the same rows. Marks of a file are added to, never taken away.
        """
        vector = self.vector
        marked = vector if vector is None or vector.rows is None else vector.rows
        return (*identifier(self.record), marked)

    def marked_by(self, vector: Vector | None) -> LiveFile:
        """The file with the deletion vector that a snapshot has for it, or with none."""
        return self if vector == self.vector else self._with(vector=vector)

    def _with(self, **changed: Any) -> LiveFile:
        """The file with other fields, as a file of its own."""
        return LiveFile(**{one.name: getattr(self, one.name) for one in fields(LiveFile)} | changed)

    def folder(self, layout: TableLayout) -> str:
        """The directory that it is in."""
        return Partition.of(layout, self.partition).bucket_folder(layout, self.bucket)

    def deleted(self) -> Record:
        """The record that takes this file out of the table."""
        return {**self.record, "_KIND": DELETE}


def _bounds(codec: RowCodec, stats: Record) -> tuple[Bounds, ...]:
    count = len(codec.types)
    nulls = stats["_NULL_COUNTS"] or (None,) * count
    if len(nulls) != count:
        raise damage.entry(f"_NULL_COUNTS has {len(nulls)} numbers, expected {count}")
    lows, highs = (codec.decode(stats[name]) for name in ("_MIN_VALUES", "_MAX_VALUES"))
    return tuple(zip(lows, highs, nulls, strict=True))


def by_place(files: Iterable[LiveFile]) -> dict[Place, list[LiveFile]]:
    """The files of each bucket of a partition."""
    found: dict[Place, list[LiveFile]] = {}
    for file in files:
        found.setdefault((file.partition, file.bucket), []).append(file)
    return found


def decode_keys(files: Iterable[LiveFile]) -> None:
    """Decode the keys of files, which are kept, in the order of the files: mostly that of their
    manifests, which might be decompressed again for each bucket.
    """
    for file in files:
        _ = file.first, file.last


def highest_sequence(files: Iterable[LiveFile]) -> int:
    """The greatest number of any row, -1 without rows. Raises CorruptDataError if no number can
    follow.
    """
    highest = max(files, key=lambda file: file.max_sequence, default=None)
    if highest is None:
        return -1
    if highest.max_sequence >= LAST_SEQUENCE:
        raise damage.entry(
            f"data file {highest.name} has sequence number {highest.max_sequence}, after which "
            "no row can come; DROP PARTITION or TRUNCATE TABLE takes the file out of the table"
        )
    return highest.max_sequence


def ordered(key: Sequence[Any], kinds: Sequence[logical.Atomic]) -> tuple[Any, ...]:
    """A key as a tuple in Paimon's order: NULL first, NaN above all numbers, -0.0 below 0.0."""
    return tuple(_in_order(value, kind) for value, kind in zip(key, kinds, strict=True))


def _in_order(value: Any, kind: logical.Atomic) -> Any:
    if kind.nullable:
        return () if value is None else (_in_javas_order(value, kind),)
    if value is None:
        raise damage.entry("NULL in a key that has none")
    return _in_javas_order(value, kind)


def _in_javas_order(value: Any, kind: logical.Atomic) -> Any:
    if kind.name not in ("FLOAT", "DOUBLE"):
        return value
    return (1, 0.0, 0.0) if math.isnan(value) else (0, value, math.copysign(1.0, value))


def stamped(record: Record, snapshot_id: int) -> Record:
    """The record of a file whose rows all count as of that snapshot (Paimon's
    sequence.snapshot-ordering): its id replaces their numbers, the file stays as it is.
    """
    numbers = {"_MIN_SEQUENCE_NUMBER": snapshot_id, "_MAX_SEQUENCE_NUMBER": snapshot_id}
    return {**record, "_FILE": {**record["_FILE"], **numbers}}


def at_level(record: Record, level: int) -> Record:
    """The record of the same file at another level."""
    return {**record, "_KIND": ADD, "_FILE": {**record["_FILE"], "_LEVEL": level}}


def rewritten(record: Record) -> Record:
    """The record of a file of older rows: each row has the number that the file holds for it."""
    return {**record, "_FILE": {**record["_FILE"], "_FILE_SOURCE": COMPACT_SOURCE}}


def identifier(record: Record) -> tuple[Any, ...]:
    """The values by which an ADD and a DELETE mean the same file (an upgrade changes the level)."""
    file = record["_FILE"]
    return (
        record["_PARTITION"],
        record["_BUCKET"],
        file["_LEVEL"],
        file["_FILE_NAME"],
        tuple(file["_EXTRA_FILES"] or ()),
        file.get("_EMBEDDED_FILE_INDEX"),
        file.get("_EXTERNAL_PATH"),
    )


def added(shapes: RowShapes, messages: Iterable[CommitMessage]) -> Iterator[Record]:
    """The manifest records that add the files of messages, one by one: a million of them would
    take gigabytes.
    """
    return (record for one in messages for record in _added(shapes, one, one.files))


def changelog_of(shapes: RowShapes, messages: Iterable[CommitMessage]) -> Iterator[Record]:
    """The manifest records of the changelog files of messages."""
    return (record for one in messages for record in _added(shapes, one, one.changelog))


def _added(
    shapes: RowShapes, message: CommitMessage, files: Iterable[FileMeta]
) -> Iterator[Record]:
    if not files:
        return
    partition = shapes.partition.encode(message.partition.values)
    for file in files:
        yield {
            "_VERSION": 2,
            "_KIND": ADD,
            "_PARTITION": partition,
            "_BUCKET": message.bucket,
            "_TOTAL_BUCKETS": message.total_buckets,
            "_FILE": _file_record(file),
        }


def _wall_clock(epoch_millis: int) -> int:
    """The time as stored: Paimon stores the local time of the writer as if it were UTC."""
    return epoch_millis + time.localtime(epoch_millis // 1000).tm_gmtoff * 1000


def created_millis(file: LiveFile) -> int:
    """The time at which the file was written: the inverse of `_wall_clock`, but in the hour that
    clocks which are set back show twice.
    """
    stored = file.file["_CREATION_TIME"]
    if isinstance(stored, datetime.datetime):
        stored = round(stored.timestamp() * 1000)
    seconds, millis = divmod(int(stored), 1000)
    return int(time.mktime((*time.gmtime(seconds)[:8], -1))) * 1000 + millis


def split_of(
    layout: TableLayout,
    place: tuple[tuple[Any, ...], int | None],
    sections: Sequence[Section] = (),
) -> Split:
    """A split of sections of a bucket, or of a whole partition, whose bucket is None."""
    values, bucket = place
    partition = Partition.of(layout, values)
    if bucket is None:
        return Split(partition, 0, partition.folder(layout), tuple(sections))
    return Split(partition, bucket, partition.bucket_folder(layout, bucket), tuple(sections))


def _file_record(file: FileMeta) -> Record:
    columns = file.value_stats_columns
    index, embedded = name_and_bytes(file.index) if file.index else (None, None)
    return {
        "_FILE_NAME": file.name,
        "_FILE_SIZE": file.size,
        "_ROW_COUNT": file.rows,
        "_MIN_KEY": file.keys[0],
        "_MAX_KEY": file.keys[1],
        "_KEY_STATS": _stats(file.key_stats),
        "_VALUE_STATS": _stats(file.value_stats),
        "_MIN_SEQUENCE_NUMBER": file.min_sequence,
        "_MAX_SEQUENCE_NUMBER": file.max_sequence,
        "_SCHEMA_ID": file.schema_id,
        "_LEVEL": file.level,
        "_EXTRA_FILES": [] if index is None else [index],
        "_CREATION_TIME": _wall_clock(file.creation_millis),
        "_DELETE_ROW_COUNT": file.delete_rows,
        "_EMBEDDED_FILE_INDEX": embedded,
        "_FILE_SOURCE": APPEND_SOURCE,
        "_VALUE_STATS_COLS": None if columns is None else list(columns),
        "_EXTERNAL_PATH": None,
        "_FIRST_ROW_ID": None,
        "_WRITE_COLS": None,
        "_WRITE_COLS_SEQUENCES": None,
    }


def _stats(found: RowStats) -> Record:
    return {
        "_MIN_VALUES": found.least,
        "_MAX_VALUES": found.greatest,
        "_NULL_COUNTS": list(found.nulls),
    }
