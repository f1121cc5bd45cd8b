"""DELETE by key: the files that hold such keys are written again without them (driver side).

A condition over key columns holds for all records of a key or for none. So removing the records
from each file removes the row from the table, under every merge engine, and a later record of the
key starts afresh. Order is unchanged: rows keep their sequence numbers and files their level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import NotSupportedError, TableError
from keyfold.files.paths import bucket_path
from keyfold.predicates.condition import satisfies, undecided
from keyfold.predicates.prune import pruning
from keyfold.predicates.ranges import conjuncts
from keyfold.predicates.sql_text import describe
from keyfold.read.parquet import Wanted, read_file
from keyfold.read.planner import files_to_read, schemas_of
from keyfold.storage.metadata.entries import LiveFile, partition_batch
from keyfold.storage.table import Table
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CommitMessage, Json, ScanSpec
from keyfold.write.job import Job
from keyfold.write.parquet import Target, write_files


@dataclass
class Deletion:
    """The files to remove, and the job of the files with the rows that are left of them."""

    table: Table
    job: Job
    removed: list[LiveFile] = field(default_factory=list)


def delete_rows(table: Table, filters: Sequence[Json]) -> Deletion:
    """The files a commit has to replace so that no row satisfies all of `filters`, predicates over
    key columns. Raises NotSupportedError if a predicate is not over key columns. On an error no
    files are left behind.
    """
    layout, predicates = table.layout, list(conjuncts(filters))
    _check_accepts(table)
    _check_decided(layout, predicates)
    files = files_to_read(table, pruning(layout, table.options, predicates))
    scan = ScanSpec(layout, tuple(layout.arrow_schema.names), schemas_of(table, files))
    with Job(layout) as job:
        found = Deletion(table, job)
        for file in files:
            _delete_in(found, scan, predicates, file)
    return found


def _check_accepts(table: Table) -> None:
    name, options = table.layout.name, table.options
    if options.delete_behavior == "disable":
        raise TableError(f"DELETE FROM {name}: its table.delete.behavior is 'disable'")
    if options.ignore_delete or options.delete_behavior == "ignore":
        raise TableError(f"DELETE FROM {name}: the table ignores deletes (ignore-delete)")


def _check_decided(layout: TableLayout, predicates: Sequence[Json]) -> None:
    predicate = undecided(layout, predicates)
    if predicate is not None:
        raise NotSupportedError(
            f"table {layout.name}: rows can't be deleted by {describe(predicate)}; compare columns "
            f"of the primary key ({', '.join(layout.primary_key)}) with constants of their type"
        )


def _delete_in(found: Deletion, scan: ScanSpec, predicates: Sequence[Json], file: LiveFile) -> None:
    layout, options = found.table.layout, found.table.options
    if file.is_marked:
        raise NotSupportedError(
            f"DELETE FROM {layout.name}: data file {file.name} holds partial rows; "
            "rows that were written to named columns can't be deleted before a compaction"
        )
    partition = partition_batch(layout, file.partition)
    directory = bucket_path(layout, partition, file.bucket)
    target = Target(layout, options, file.level)
    stored = file.as_read(options)
    hits = 0
    for batch in read_file(scan, target.store, directory, stored, Wanted(layout.primary_key)):
        hits += pc.sum(satisfies(layout, predicates, batch)).as_py() or 0
    if not hits:
        return
    found.removed.append(file)
    if hits == file.rows:
        return

    def rest() -> Iterator[pa.RecordBatch]:
        for batch in read_file(scan, target.store, directory, stored, Wanted(scan.columns, True)):
            yield batch.filter(pc.invert(satisfies(layout, predicates, batch)))

    files = tuple(write_files(target, directory, rest()))
    found.job.messages.append(CommitMessage(partition, file.bucket, file.total_buckets, files))
