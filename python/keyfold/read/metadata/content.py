"""Metadata tables of the content of a snapshot: files, their sums by partition and bucket, and
manifests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from keyfold.files.initial_values import initial
from keyfold.files.vectors import deleted
from keyfold.lazy import cached_property
from keyfold.read.metadata.asked_partitions import PartitionTexts
from keyfold.read.metadata.metadata_table import MetadataTable, columns
from keyfold.read.metadata.texts import compact, key_text, row_text
from keyfold.storage.metadata.entries import (
    APPEND_SOURCE,
    Bounds,
    LiveFile,
    Record,
    created_millis,
)
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.table import Table
from keyfold.types.literals import manifest_value
from keyfold.types.value_text import shown
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition, partition_text
from keyfold.wire.specs import MARKED_SUFFIX

_SOURCES = {None: None, APPEND_SOURCE: "APPEND"}


@dataclass(frozen=True)
class _Place:
    """One bucket of one partition: its folder, and the partition as text."""

    layout: TableLayout
    values: tuple[Any, ...]
    bucket: int

    @cached_property
    def partition(self) -> str | None:
        return partition_text(self.layout, self.values)

    @cached_property
    def folder(self) -> str:
        return Partition.of(self.layout, self.values).bucket_folder(self.layout, self.bucket)


@dataclass(frozen=True)
class _File:
    """A live file, with the place and the table that describe it."""

    live: LiveFile
    place: _Place
    table: Table

    @property
    def path(self) -> str:
        return self.live.external_path or f"{self.place.folder}/{self.live.name}"

    @property
    def format(self) -> str:
        """The format by the name; Parquet also if the suffix keeps Paimon from reading the file."""
        suffix = self.live.name.rpartition(".")[2]
        return "parquet" if f".{suffix}" == MARKED_SUFFIX else suffix

    @property
    def deleted(self) -> int:
        """The number of rows that its deletion vector marks."""
        vector, table = self.live.vector, self.table
        if vector is None or vector.rows is not None:
            return 0 if vector is None else vector.rows or 0
        return len(deleted(table.files, table.layout, self.path, self.live))

    @property
    def created(self) -> int | None:
        is_known = self.live.file["_CREATION_TIME"] is not None
        return created_millis(self.live) if is_known else None

    @cached_property
    def stats(self) -> dict[str, tuple[Any, Any, int | None]]:
        """The least and greatest value and the number of NULLs, by today's names of columns. A
        column that the file lacks has only the DEFAULT it was added with, or NULLs.
        """
        stored = self.table.schema(self.live.schema_id)
        by_name = self.live.value_stats(stored)
        kinds = {column.id: column for column in stored.columns}
        found: dict[str, tuple[Any, Any, int | None]] = {}
        for column in self.table.layout.columns:
            was = kinds.get(column.id)
            if was is None:
                value = manifest_value(initial(column))
                text = shown(value, column.type)
                found[column.name] = (text, text, self.live.rows if value is None else 0)
            else:
                low, high, nulls = by_name.get(was.name, _UNKNOWN)
                found[column.name] = (shown(low, was.type), shown(high, was.type), nulls)
        return found


_UNKNOWN: Bounds = (None, None, None)


def _files(table: Table, takes: PartitionTexts | None = None) -> Iterator[_File]:
    """The files in partitions that are taken. They are not kept as objects: there may be a million
    of them.
    """
    places: dict[tuple[tuple[Any, ...], int], _Place] = {}
    for live in table.live(asked=Asked.where(takes)).each():
        at = (live.partition, live.bucket)
        if at not in places:
            places[at] = _Place(table.layout, *at)
        yield _File(live, places[at], table)


def _stat(part: int) -> Callable[[_File], str]:
    """A function that gives one of the three statistics, for all columns of a file."""
    return lambda file: compact({name: bounds[part] for name, bounds in file.stats.items()})


FILES = MetadataTable(
    "files",
    columns(
        ("partition", "STRING", attrgetter("place.partition")),
        ("bucket", "INT NOT NULL", attrgetter("live.bucket")),
        ("file_path", "STRING NOT NULL", attrgetter("path")),
        ("file_format", "STRING NOT NULL", attrgetter("format")),
        ("schema_id", "BIGINT NOT NULL", attrgetter("live.schema_id")),
        ("level", "INT NOT NULL", attrgetter("live.level")),
        ("record_count", "BIGINT NOT NULL", attrgetter("live.rows")),
        ("file_size_in_bytes", "BIGINT NOT NULL", attrgetter("live.size")),
        ("min_key", "STRING", lambda f: key_text(f.table.layout, f.live.min_key)),
        ("max_key", "STRING", lambda f: key_text(f.table.layout, f.live.max_key)),
        ("null_value_counts", "STRING NOT NULL", _stat(2)),
        ("min_value_stats", "STRING NOT NULL", _stat(0)),
        ("max_value_stats", "STRING NOT NULL", _stat(1)),
        ("min_sequence_number", "BIGINT", attrgetter("live.min_sequence")),
        ("max_sequence_number", "BIGINT", attrgetter("live.max_sequence")),
        ("creation_time", "TIMESTAMP(3)", attrgetter("created")),
        ("deleteRowCount", "BIGINT", attrgetter("live.delete_rows")),
        ("file_source", "STRING", lambda f: _SOURCES.get(f.live.source, "COMPACT")),
        ("first_row_id", "BIGINT", lambda f: f.live.file.get("_FIRST_ROW_ID")),
        (
            "write_cols",
            {"type": "ARRAY", "element": "STRING"},
            lambda f: f.live.file.get("_WRITE_COLS"),
        ),
    ),
    _files,
    by_partition=True,
)


@dataclass(frozen=True)
class _Sum:
    """Files of one partition, or one bucket."""

    place: _Place
    files: Sequence[_File]

    @property
    def rows(self) -> int:
        return sum(file.live.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.live.size for file in self.files)

    @property
    def count(self) -> int:
        return len(self.files)

    @property
    def updated(self) -> int | None:
        return max((t for file in self.files if (t := file.created) is not None), default=None)

    @property
    def deleted(self) -> int:
        """The number of rows that deletion vectors mark."""
        return sum(file.deleted for file in self.files)

    @property
    def buckets(self) -> int:
        """The number of buckets that its newest file was written for."""
        return self.files[-1].live.total_buckets


def _summed(table: Table, takes: PartitionTexts | None, by: Callable[[_File], Any]) -> list[_Sum]:
    groups: dict[Any, list[_File]] = {}
    for file in _files(table, takes):
        groups.setdefault(by(file), []).append(file)
    sums = [_Sum(files[0].place, files) for files in groups.values()]
    return sorted(sums, key=lambda found: (found.place.partition or "", found.place.bucket))


def _nothing(_: Any) -> None:
    """NULL, for a value that only a catalog service knows."""


PARTITIONS = MetadataTable(
    "partitions",
    columns(
        ("partition", "STRING", attrgetter("place.partition")),
        ("record_count", "BIGINT NOT NULL", attrgetter("rows")),
        ("file_size_in_bytes", "BIGINT NOT NULL", attrgetter("bytes")),
        ("file_count", "BIGINT NOT NULL", attrgetter("count")),
        ("last_update_time", "TIMESTAMP(3)", attrgetter("updated")),
        ("created_at", "TIMESTAMP(3)", _nothing),
        ("created_by", "STRING", _nothing),
        ("updated_by", "STRING", _nothing),
        ("options", "STRING", _nothing),
        ("total_buckets", "INT NOT NULL", attrgetter("buckets")),
        ("done", "BOOLEAN NOT NULL", lambda _: False),
        ("deleted_record_count", "BIGINT", attrgetter("deleted")),
    ),
    lambda table, takes: _summed(table, takes, lambda file: file.live.partition),
    by_partition=True,
)

BUCKETS = MetadataTable(
    "buckets",
    columns(
        ("partition", "STRING", attrgetter("place.partition")),
        ("bucket", "INT NOT NULL", attrgetter("place.bucket")),
        ("record_count", "BIGINT NOT NULL", attrgetter("rows")),
        ("file_size_in_bytes", "BIGINT NOT NULL", attrgetter("bytes")),
        ("file_count", "BIGINT NOT NULL", attrgetter("count")),
        ("last_update_time", "TIMESTAMP(3)", attrgetter("updated")),
    ),
    lambda table, takes: _summed(table, takes, lambda f: (f.live.partition, f.live.bucket)),
    by_partition=True,
)


def _manifests(table: Table) -> Iterator[tuple[Record, Table]]:
    if table.snapshot is not None:
        listed = table.manifests.listed(table.snapshot)
        yield from ((record, table) for record in listed)


def _record(name: str) -> Callable[[tuple[Mapping[str, Any], Table]], Any]:
    return lambda item: item[0].get(name)


def _partitions(side: str) -> Callable[[tuple[Mapping[str, Any], Table]], str]:
    def text(item: tuple[Mapping[str, Any], Table]) -> str:
        record, table = item
        values = table.shapes.partition.decode(record["_PARTITION_STATS"][side])
        return row_text(table.layout, values)

    return text


MANIFESTS = MetadataTable(
    "manifests",
    columns(
        ("file_name", "STRING NOT NULL", _record("_FILE_NAME")),
        ("file_size", "BIGINT NOT NULL", _record("_FILE_SIZE")),
        ("num_added_files", "BIGINT NOT NULL", _record("_NUM_ADDED_FILES")),
        ("num_deleted_files", "BIGINT NOT NULL", _record("_NUM_DELETED_FILES")),
        ("schema_id", "BIGINT NOT NULL", _record("_SCHEMA_ID")),
        ("min_partition_stats", "STRING", _partitions("_MIN_VALUES")),
        ("max_partition_stats", "STRING", _partitions("_MAX_VALUES")),
        ("min_row_id", "BIGINT", _record("_MIN_ROW_ID")),
        ("max_row_id", "BIGINT", _record("_MAX_ROW_ID")),
    ),
    _manifests,
)
