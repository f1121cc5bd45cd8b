"""What travels between driver and workers: one frozen description per journey, JSON on the wire.

A read is a ScanSpec and one Split per Spark partition; a write is a WriteSpec and the
CommitMessages that come back. All of it is opaque to the JVM. Arrow batches inside are base64 IPC
streams; a partition of an unpartitioned table is None. Readers of JSON ignore keys they don't
know.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from keyfold.wire.layout import TableLayout

Json = Mapping[str, Any]

SEQUENCE = "_SEQUENCE_NUMBER"
KIND = "_VALUE_KIND"
ORDINAL = "_ORDINAL"
FILE_SUFFIX = ".parquet"
# Parquet with columns Paimon does not know: its readers take this for the format, and refuse it.
MARKED_SUFFIX = ".keyfold"


@dataclass(frozen=True)
class FileMeta:
    """A data file that was written: what a manifest entry says of it.

    `keys` has two rows (first key, last key) and the columns of the trimmed primary key;
    `key_stats` and `value_stats` have two rows (column-wise min, max; NULL = unknown), the latter
    over `value_stats_columns` only (atomic types); null counts align with those columns.
    `delete_rows` counts the rows of kind -U and -D.
    """

    name: str
    size: int
    rows: int
    delete_rows: int
    min_sequence: int
    max_sequence: int
    schema_id: int
    level: int
    creation_millis: int
    keys: pa.RecordBatch
    key_stats: pa.RecordBatch
    value_stats: pa.RecordBatch
    key_nulls: tuple[int, ...]
    value_nulls: tuple[int, ...]
    value_stats_columns: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _FILE_NUMBERS}
        batches = {name: batch_to_text(getattr(self, name)) for name in _FILE_BATCHES}
        lists = {name: list(getattr(self, name)) for name in _FILE_LISTS}
        return plain | batches | lists

    @staticmethod
    def from_json(json: Json) -> FileMeta:
        plain: dict[str, Any] = {name: json[name] for name in _FILE_NUMBERS}
        batches = {name: batch_from_text(json[name]) for name in _FILE_BATCHES}
        lists = {name: tuple(json[name]) for name in _FILE_LISTS}
        return FileMeta(**plain | batches | lists)


_FILE_NUMBERS = (
    "name",
    "size",
    "rows",
    "delete_rows",
    "min_sequence",
    "max_sequence",
    "schema_id",
    "level",
    "creation_millis",
)
_FILE_BATCHES = ("keys", "key_stats", "value_stats")
_FILE_LISTS = ("key_nulls", "value_nulls", "value_stats_columns")


@dataclass(frozen=True)
class CommitMessage:
    """The files one task wrote into one bucket of one partition.

    `partition` is a one-row batch of the partition columns, None in an unpartitioned table.
    """

    partition: pa.RecordBatch | None
    bucket: int
    total_buckets: int
    files: tuple[FileMeta, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "partition": _optional_to_text(self.partition),
            "bucket": self.bucket,
            "total_buckets": self.total_buckets,
            "files": [file.to_json() for file in self.files],
        }

    @staticmethod
    def from_json(json: Json) -> CommitMessage:
        return CommitMessage(
            _optional_from_text(json["partition"]),
            json["bucket"],
            json["total_buckets"],
            tuple(FileMeta.from_json(file) for file in json["files"]),
        )


@dataclass(frozen=True)
class DataFile:
    """A live file to read; `delete_rows` None = unknown (an old file, or another engine's)."""

    name: str
    size: int
    rows: int
    delete_rows: int | None
    min_sequence: int
    max_sequence: int
    schema_id: int
    level: int

    @property
    def is_marked(self) -> bool:
        """Whether it has the columns of partial and overwriting writes."""
        return self.name.endswith(MARKED_SUFFIX)

    def to_json(self) -> list[Any]:
        return [
            self.name,
            self.size,
            self.rows,
            self.delete_rows,
            self.min_sequence,
            self.max_sequence,
            self.schema_id,
            self.level,
        ]

    @staticmethod
    def from_json(json: Sequence[Any]) -> DataFile:
        return DataFile(*json)


Run = tuple[DataFile, ...]
Section = tuple[Run, ...]


@dataclass(frozen=True)
class Split:
    """What one Spark partition reads: sections of one bucket, in key order.

    A section is runs ordered by their greatest sequence number; one run is read raw, several are
    merged. `path` is the bucket's directory. `after` (exclusive) and `until` (inclusive) are one-
    row batches of the trimmed key where a bucket is cut by key range, else None.
    """

    partition: pa.RecordBatch | None
    bucket: int
    path: str
    sections: tuple[Section, ...]
    after: pa.RecordBatch | None = None
    until: pa.RecordBatch | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "partition": _optional_to_text(self.partition),
            "bucket": self.bucket,
            "path": self.path,
            "sections": [
                [[file.to_json() for file in run] for run in section] for section in self.sections
            ],
            "after": _optional_to_text(self.after),
            "until": _optional_to_text(self.until),
        }

    @staticmethod
    def from_json(json: Json) -> Split:
        sections = tuple(
            tuple(tuple(DataFile.from_json(file) for file in run) for run in section)
            for section in json["sections"]
        )
        return Split(
            _optional_from_text(json["partition"]),
            json["bucket"],
            json["path"],
            sections,
            _optional_from_text(json.get("after")),
            _optional_from_text(json.get("until")),
        )

    @property
    def files(self) -> tuple[DataFile, ...]:
        return tuple(file for section in self.sections for run in section for file in run)


SchemaColumns = tuple[tuple[int, str, Any], ...]
FileAtLevel = tuple[str, int]


@dataclass(frozen=True)
class Merged:
    """Files that a compaction merges with each other, by name and level; `oldest` says that
    nothing older lies below them, so that deletes end there.
    """

    files: tuple[FileAtLevel, ...]
    oldest: bool

    def to_json(self) -> list[Any]:
        return [[list(file) for file in self.files], self.oldest]

    @staticmethod
    def from_json(json: Sequence[Any]) -> Merged:
        files, oldest = json
        return Merged(tuple((name, level) for name, level in files), oldest)


@dataclass(frozen=True)
class Aggregate:
    """A summary in place of rows: for each split the partition columns `by`, then one column a
    function, (COUNT, None) of rows or (MIN or MAX, column).
    """

    by: tuple[str, ...]
    functions: tuple[tuple[str, str | None], ...]

    def to_json(self) -> dict[str, Any]:
        return {"by": list(self.by), "functions": [list(found) for found in self.functions]}

    @staticmethod
    def from_json(json: Json) -> Aggregate:
        return Aggregate(tuple(json["by"]), tuple((op, name) for op, name in json["functions"]))


@dataclass(frozen=True)
class ScanSpec:
    """What every split of one scan shares.

    `columns` are the output columns in order. `schemas` holds, for schema ids older than the
    layout's that files use, (field id, name, Paimon type JSON) of each column. `limit` counts
    merged rows. `key_filter` is a list of predicates (JSON) over partition and key columns, all of
    which must hold: no row is returned that fails one which `read.condition` decides.
    `value_filter` are predicates over other columns: rows that fail them may be left out. `verify`
    says that checksums of what is read are compared.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    schemas: Mapping[int, SchemaColumns]
    limit: int | None = None
    key_filter: tuple[Json, ...] = ()
    value_filter: tuple[Json, ...] = ()
    aggregate: Aggregate | None = None
    verify: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "layout": self.layout.to_json(),
            "columns": list(self.columns),
            "schemas": {str(k): [list(c) for c in v] for k, v in self.schemas.items()},
            "limit": self.limit,
            "key_filter": list(self.key_filter) or None,
            "value_filter": list(self.value_filter) or None,
            "aggregate": None if self.aggregate is None else self.aggregate.to_json(),
            "verify": self.verify,
        }

    @staticmethod
    def from_json(json: Json) -> ScanSpec:
        schemas = {
            int(schema_id): tuple((c[0], c[1], c[2]) for c in columns)
            for schema_id, columns in json["schemas"].items()
        }
        return ScanSpec(
            TableLayout.from_json(json["layout"]),
            tuple(json["columns"]),
            schemas,
            json["limit"],
            tuple(json["key_filter"] or ()),
            tuple(json.get("value_filter") or ()),
            None if json.get("aggregate") is None else Aggregate.from_json(json["aggregate"]),
            json.get("verify", True),
        )


@dataclass(frozen=True)
class WriteSpec:
    """What every task of one write job shares.

    `columns` names the incoming columns in order (without `_ORDINAL`); with `ordinal` one more
    int64 column follows them. All rows carry the sequence number `sequence`. `mode` is append,
    overwrite or overwrite_dynamic; `filters` (predicate JSON) select what overwrite replaces.
    `snapshot` is the one the job was planned on, None for an empty table. `named` are the columns
    the rows say something of, None for all; the others are passed over, whatever they hold.
    `merge_mode` is default or overwrite: named columns are folded, or replaced.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    ordinal: bool
    sequence: int
    job: str
    mode: str = "append"
    snapshot: int | None = None
    filters: tuple[Json, ...] = ()
    named: tuple[str, ...] | None = None
    merge_mode: str = "default"

    def to_json(self) -> dict[str, Any]:
        return {
            "layout": self.layout.to_json(),
            "columns": list(self.columns),
            "ordinal": self.ordinal,
            "sequence": self.sequence,
            "job": self.job,
            "mode": self.mode,
            "snapshot": self.snapshot,
            "filters": list(self.filters),
            "named": None if self.named is None else list(self.named),
            "merge_mode": self.merge_mode,
        }

    @staticmethod
    def from_json(json: Json) -> WriteSpec:
        return WriteSpec(
            TableLayout.from_json(json["layout"]),
            tuple(json["columns"]),
            json["ordinal"],
            json["sequence"],
            json["job"],
            json["mode"],
            json["snapshot"],
            tuple(json.get("filters") or ()),
            None if json.get("named") is None else tuple(json["named"]),
            json.get("merge_mode", "default"),
        )


def batch_to_text(batch: pa.RecordBatch) -> str:
    """The batch as a base64 Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def batch_from_text(text: str) -> pa.RecordBatch:
    """The single batch of a base64 Arrow IPC stream."""
    with pa.ipc.open_stream(base64.b64decode(text)) as stream:
        return stream.read_next_batch()


def _optional_to_text(batch: pa.RecordBatch | None) -> str | None:
    return None if batch is None else batch_to_text(batch)


def _optional_from_text(text: str | None) -> pa.RecordBatch | None:
    return None if text is None else batch_from_text(text)
