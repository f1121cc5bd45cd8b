"""The specs that travel between driver and workers: frozen, opaque to the JVM.

A read is a ScanSpec and one Split per Spark partition; a write is a WriteSpec and the
CommitMessages that come back; a compaction is a CompactionSpec, Steps that are committed, and their
Tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from keyfold.types.paimon import to_paimon
from keyfold.wire.codec import Wire
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import Predicate
from keyfold.wire.row_stats import RowStats

SEQUENCE = "_SEQUENCE_NUMBER"
KIND = "_VALUE_KIND"
ORDINAL = "_ORDINAL"
FILE_SUFFIX = ".parquet"
# Parquet with columns Paimon lacks: Paimon's readers take this for the format, and refuse it.
MARKED_SUFFIX = ".keyfold"
NAMED = "_NAMED"  # the column of such files, and of some incoming rows, that says which are named
OVERWRITTEN = "_OVERWRITTEN"  # the column of such files that says which columns are replaced …
EVERYTHING = "*"  # … and its text for all of them


@dataclass(frozen=True)
class Vector(Wire):
    """A deletion vector: the place of the bitmap of a data file's deleted positions. It is in an
    index file of `size` bytes, from `offset` on; `length` is what its writer says of it, `rows` how
    many positions are deleted, None if its writer did not say.
    """

    is_list = True

    file: str
    size: int
    offset: int
    length: int
    rows: int | None


@dataclass(frozen=True)
class DataFile(Wire):
    """A data file as readers see it. `delete_rows` is the number of records of kind -U and -D; None
    if the writer, an old or another one, did not count them. Rows that its `vector` marks are not
    read.
    """

    is_list = True

    name: str
    size: int
    rows: int
    delete_rows: int | None
    min_sequence: int
    max_sequence: int
    schema_id: int
    level: int
    vector: Vector | None = field(default=None, kw_only=True)

    @property
    def is_marked(self) -> bool:
        """Whether it has the columns of partial and overwriting writes."""
        return self.name.endswith(MARKED_SUFFIX)


@dataclass(frozen=True)
class FileMeta(DataFile):
    """A data file that was written, as a manifest entry describes it.

    `keys` are the first and the last key, in bytes: rows of the trimmed primary key. `value_stats`
    are over `value_stats_columns`, those of atomic types; None if these are all columns.
    `index` is as `file_indexes.as_text` has it.
    """

    is_list = False

    creation_millis: int
    keys: tuple[bytes, bytes]
    key_stats: RowStats
    value_stats: RowStats
    value_stats_columns: tuple[str, ...] | None = None
    index: str | None = None


@dataclass(frozen=True)
class HashFile(Wire):
    """An index file of a bucket whose keys are assigned: `rows` hashes of keys."""

    partition: Partition
    bucket: int
    name: str
    rows: int


@dataclass(frozen=True)
class ReplacedRows(Wire):
    """Rows of a data file that stays, which a compaction has written anew: their positions in the
    file, as `vectors.to_text` has them.
    """

    is_list = True

    file: str
    positions: str


@dataclass(frozen=True)
class CommitMessage(Wire):
    """The files one task wrote into one bucket of one partition, and those of its changelog. A
    compaction left out `gone` rows for their age, and deletion vectors are to mark those `replaced`
    in files that stay. `hashes` begins with those of keys that the task has assigned to the bucket.
    """

    partition: Partition
    bucket: int
    total_buckets: int
    files: tuple[FileMeta, ...]
    changelog: tuple[FileMeta, ...] = ()
    gone: int = 0
    hashes: HashFile | None = None
    replaced: tuple[ReplacedRows, ...] = ()


def totals(files: Iterable[DataFile]) -> dict[str, int]:
    """The number of files, their bytes and rows."""
    sizes = [(file.size, file.rows) for file in files]
    size, rows = (sum(numbers) for numbers in zip(*sizes, strict=True)) if sizes else (0, 0)
    return {"files": len(sizes), "bytes": size, "rows": rows}


Run = tuple[DataFile, ...]
Section = tuple[Run, ...]


@dataclass(frozen=True)
class Split(Wire):
    """The input of one Spark partition: sections of one bucket, in key order.

    A section is runs ordered by their greatest sequence number. One run is read raw, several are
    merged. `path` is the bucket's directory. `after` (exclusive) and `until` (inclusive) are one-
    row batches of the trimmed key if a bucket is cut by key range, else None.
    """

    partition: Partition
    bucket: int
    path: str
    sections: tuple[Section, ...]
    after: pa.RecordBatch | None = None
    until: pa.RecordBatch | None = None

    @property
    def files(self) -> tuple[DataFile, ...]:
        return tuple(file for section in self.sections for run in section for file in run)


SchemaColumns = tuple[tuple[int, str, Any], ...]
FileAtLevel = tuple[str, int]


def schema_columns(layout: TableLayout) -> SchemaColumns:
    """The columns of a schema, as scans have them."""
    return tuple((c.id, c.name, to_paimon(c.type)) for c in layout.columns)


@dataclass(frozen=True)
class Merged(Wire):
    """Files that a compaction merges with each other, by name and level. `oldest`: nothing older is
    below them, so that they need not keep deletes.
    """

    is_list = True

    files: tuple[FileAtLevel, ...]
    oldest: bool


@dataclass(frozen=True)
class Aggregate(Wire):
    """Groups in place of rows: the columns `by` of each group, then one column a function: (COUNT,
    None) of rows, or COUNT, SUM, MIN or MAX of a column, or an aggregate of keyfold or a user, of
    which `calls` has the call (`queries.bound`) by its name here. SUM may be of an expression, in
    JSON. Then the last ones are VALUE of its columns: of rows that are sent as they are.
    """

    by: tuple[str, ...]
    functions: tuple[tuple[str, str | None], ...]
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class ScanSpec(Wire):
    """The part of one scan that all its splits share.

    `columns` are the output columns in order. `schemas` holds (field id, name, Paimon type JSON) of
    each column, for schema ids that files use: those older than the layout's, and the layout's own
    if parts of its columns are read. `limit` counts merged rows of a task, with `is_top` of each
    split. `key_filter` are predicates over partition and key columns, all of which must hold. If
    `read.condition` decides one, no row that fails it is returned. `value_filter` are predicates
    over other columns: rows that fail them may be left out. `verify` says that the checksums of
    read files are compared. `metadata` are metadata columns, behind the others. `snapshot` names
    the files, or is the oldest one that does; None if none does yet. `keeper` is the file below the
    table's home that keeps it though it has expired, if there is one; `job` is the one that made
    it, if that is known, as a rollback may give its number to another.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    schemas: Mapping[int, SchemaColumns]
    limit: int | None = None
    key_filter: tuple[Predicate, ...] = ()
    value_filter: tuple[Predicate, ...] = ()
    aggregate: Aggregate | None = None
    verify: bool = True
    metadata: tuple[str, ...] = ()
    is_top: bool = False
    snapshot: int | None = None
    keeper: str = ""
    job: str = ""


@dataclass(frozen=True)
class Epoch(Wire):
    """One epoch of a stream, whose numbers grow; a table has each once. `accepts_loss`: it counts
    as new if it is not known whether the table has it. It is one of a streaming query or of a
    program, whose statement may find other rows when it is repeated.
    """

    stream: str
    number: int
    accepts_loss: bool = False
    is_of_query: bool = False


@dataclass(frozen=True)
class RowChanges(Wire):
    """The part of a write job that only statements which change rows have (DELETE, UPDATE, MERGE).

    `reads` is the snapshot whose rows they looked at, 0 for an empty table, None if they looked at
    none; `read_job` is the job that made it, as a rollback may give its id to another. With
    `has_kinds` the incoming columns are followed by the stored values of the sequence fields
    `stored`, then by the row kind. All rows but deletes then carry the number after the job's.
    `is_unique`: each key is written once at most, but for its delete, which counts too with
    `counts_deletes`. `statement` is what its snapshot tells of it.
    """

    reads: int | None = None
    has_kinds: bool = True
    stored: tuple[str, ...] = ()
    is_unique: bool = True
    counts_deletes: bool = False
    read_job: str | None = None
    statement: str | None = None


@dataclass(frozen=True)
class PartitionBuckets(Wire):
    """The number of buckets of a partition, where partitions may have numbers of their own."""

    is_list = True

    partition: Partition
    buckets: int


@dataclass(frozen=True)
class StoredKeys(Wire):
    """A write job's knowledge of the keys that are stored: those of the snapshot `seen`, which the
    job `job` made; both None if the table was empty. `ids` is the auto-increment column, which new
    keys get numbers in. With `only_new` rows of keys that are stored are left out. With `places` a
    key is one across partitions, and the job must know the bucket that it is in.
    """

    ids: str | None
    seen: int | None
    job: str | None
    only_new: bool = False
    places: bool = False


@dataclass(frozen=True)
class WriteSpec(Wire):
    """The part of one write job that all its tasks share.

    `columns` names the incoming columns in order (without `_ORDINAL`); with `kinds` an int8 column
    of row kinds follows them, with `ordinal` an int64 column. All rows carry the sequence number
    `sequence`. `mode` is append, overwrite or overwrite_dynamic; `filters` select what overwrite
    replaces. `snapshot` is the one the job was planned on, None for an empty table; the job
    `planned_by` has made it. `named` are the columns whose values count, None for all; the values
    of others are ignored. `merge_mode` is default (named columns are folded) or overwrite (they are
    replaced). `epoch` is the one that the job commits, if it is part of a stream. With `changes` of
    rows `named` are the columns of updated rows. With `own_columns` a text `_NAMED` comes last, the
    columns that each row names, as `target-columns` does; NULL for all of `columns`. With `stored`
    tasks look the keys of their rows up. `time` is that of the job in microseconds since 1970, if
    writes set columns to it. `hashes` are the index files by which tasks know the buckets of keys,
    if these are dynamic. `buckets` are the numbers of buckets that are not the table's, of
    partitions of a table with postponed ones.
    """

    layout: TableLayout
    columns: tuple[str, ...]
    ordinal: bool
    sequence: int
    job: str
    mode: str = "append"
    snapshot: int | None = None
    filters: tuple[Predicate, ...] = ()
    named: tuple[str, ...] | None = None
    merge_mode: str = "default"
    epoch: Epoch | None = None
    changes: RowChanges | None = None
    kinds: bool = False
    own_columns: bool = False
    stored: StoredKeys | None = None
    time: int | None = None
    hashes: tuple[HashFile, ...] = ()
    buckets: tuple[PartitionBuckets, ...] = ()
    planned_by: str = ""


@dataclass(frozen=True)
class CompactionSpec(Wire):
    """The part of one compaction that all its tasks share: the layout, with the options of this
    call, the columns of older schemas that files use, and the snapshot that names the files. Rows
    whose time is before `earliest`, in seconds since 1970, go; none if it is None.
    """

    layout: TableLayout
    schemas: Mapping[int, SchemaColumns]
    snapshot: int | None = None
    earliest: int | None = None


@dataclass(frozen=True)
class ChangelogInput(Wire):
    """Input of a compaction task that writes a changelog: the changes from the rows of `before`,
    sections of files whose changes were already written, to those of the result. The runs `stays`
    are present before and after: they hold keys of the task and are not merged. Then only the keys
    of the files `new`, by name, are compared; if it is empty, all.
    """

    before: tuple[Section, ...]
    stays: Section = ()
    new: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task(Wire):
    """The input of one task: sections of one bucket, whole or cut by key range.

    `level` is that of the files it writes. `oldest` says of each section whether nothing older is
    below it, so that it need not keep deletes. The files of `below` stay: under
    first-row, rows whose key they show are left out, under deletion vectors their rows of the keys
    of level 0 are merged too. With `rescaled`, the new number of buckets,
    the split is of all buckets of a partition and its path is the partition's folder. The files
    written are those of one new bucket. With `number` the split is of rows that have no bucket yet:
    those of a bucket are written, as a job with this sequence number would. `changelog` are the
    changes that its changelog files hold, None without such files.
    """

    split: Split
    level: int
    oldest: tuple[bool, ...]
    below: Split | None = None
    rescaled: int | None = None
    changelog: ChangelogInput | None = None
    number: int | None = None

    @property
    def directory(self) -> str:
        """The folder of the files it writes."""
        path = self.split.path
        return path if self.rescaled is None else f"{path}/bucket-{self.split.bucket}"


@dataclass(frozen=True)
class CompactionStep(Wire):
    """One commit: sections of a bucket that are merged, and files that only change their level.

    `vectors` are the deletion vectors that the files had by then, by name. The files `below`, by
    name too, stay: the rows that they hold of merged keys are among the merged ones.
    """

    job: str
    partition: Partition
    bucket: int
    total_buckets: int
    level: int
    merged: tuple[Merged, ...]
    upgraded: tuple[FileAtLevel, ...] = ()
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    below: tuple[str, ...] = ()
