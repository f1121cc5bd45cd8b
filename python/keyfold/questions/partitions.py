"""Questions about the partitions of a table (driver side): list them, drop some.

A partition exists as long as it holds rows. A question names partitions by predicates that decide
about a partition as a whole, as those of an overwrite do.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from keyfold.bridge.channel import Channel
from keyfold.bridge.frames import Frame
from keyfold.files.sections import sections_of_runs
from keyfold.predicates.prune import on_partitions
from keyfold.questions.metadata import send_rows
from keyfold.questions.serve import Questions
from keyfold.read.plan_head import PlanHead
from keyfold.read.reader import read
from keyfold.read.request import ReadRequest
from keyfold.storage.metadata.entries import LiveFile, by_place, split_of
from keyfold.storage.table import Table, open_handle
from keyfold.types.literals import arrow_array
from keyfold.wire.predicates import decoded
from keyfold.wire.specs import ScanSpec, totals
from keyfold.write.overwritten import truncated

FIGURES = {"rows": "record_count", "bytes": "file_size_in_bytes", "files": "file_count"}
QUESTIONS = Questions()


@QUESTIONS.streamed
def read_partitions(channel: Channel, question: Frame) -> None:
    """Send the partitions that satisfy question["filters"], in the snapshot of the handle: their
    values, then the number of records in their files, the bytes and the number of files.
    """

    def rows() -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        table = open_handle(question["table"], question["catalog"]["options"])
        what = f"partitions of table {table.layout.name}"
        batch = partitions(table, on_partitions(table.layout, decoded(question["filters"]), what))
        return batch.schema, iter((batch,))

    send_rows(channel, "listing partitions", rows)


def partitions(table: Table, takes: Callable[[tuple[Any, ...]], bool]) -> pa.RecordBatch:
    """One row for each partition with rows that `takes` accepts."""
    stored: dict[tuple[Any, ...], list[LiveFile]] = {}
    least_level = PlanHead.of(table, ReadRequest(table.layout.key)).least_level
    for file in table.live_files(partition_filter=takes):
        if file.level >= least_level:
            stored.setdefault(file.partition, []).append(file)
    found = {values: files for values, files in stored.items() if has_rows(table, files)}
    columns = [table.layout.column(name) for name in table.layout.partition_keys]
    arrays = [
        arrow_array([values[place] for values in found], column.type)
        for place, column in enumerate(columns)
    ]
    figures = [totals(files) for files in found.values()]
    arrays += [
        pa.array([one[n] for one in figures], pa.int64()) for n in ("rows", "bytes", "files")
    ]
    fields = [column.arrow_field for column in columns]
    fields += [pa.field(name, pa.int64(), False) for name in FIGURES.values()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def has_rows(table: Table, files: Sequence[LiveFile]) -> bool:
    """Whether a partition of these files shows a row. The numbers of their records tell if some
    file has rows of more keys than all deletes have, and nothing marks rows; else the files are
    read up to the first row.
    """
    deletes = [file.delete_rows for file in files]
    if None not in deletes and not any(file.vector for file in files):
        total = sum(file.delete_rows or 0 for file in files)
        if max(file.rows - (file.delete_rows or 0) for file in files) > total:
            return True
    scan = ScanSpec(table.layout, table.layout.key, table.stored_schemas(files), limit=1)
    splits = (
        split_of(table.layout, place, sections_of_runs([f.as_read(table.options) for f in held]))
        for place, held in by_place(files).items()
    )
    return any(batch.num_rows for split in splits for batch in read(scan, split))


@QUESTIONS.plain
def drop_partitions(question: Frame) -> bool:
    """Remove the files of all partitions that satisfy one of question["partitions"], each a list
    of predicates, in one commit: those that exist by then. True if there were any.
    """
    table = open_handle(question["table"], question["catalog"]["options"], latest=True)
    what = f"partitions of table {table.layout.name}"
    named = [on_partitions(table.layout, decoded(one), what) for one in question["partitions"]]
    return truncated(table, lambda values: any(takes(values) for takes in named)) is not None
