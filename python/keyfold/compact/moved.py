"""One task that gives rows their buckets, on an executor: those of one bucket are folded in the
order in which they came, and written as a job would write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from keyfold.compact.changelog import asking
from keyfold.files.buckets import BucketKey, buckets_of
from keyfold.merge.plan import plan_merge
from keyfold.options.changelogs import INPUT
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.stores.opened import store_of
from keyfold.stores.snapshot_folder import reading_files
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CommitMessage, CompactionSpec, ScanSpec, Task
from keyfold.write.buffer import WriteBuffer, allowance
from keyfold.write.changelog import input_changelog
from keyfold.write.durable import Flushes
from keyfold.write.job import Job
from keyfold.write.parquet import Target, write_files


def moved(
    spec: CompactionSpec, task: Task, number: int, go_on: Callable[[], None]
) -> CommitMessage:
    """Write the rows of the task's bucket, with this sequence number, and their changelog if the
    table has that of what comes in. The new files are removed on any error.
    """
    assert task.rescaled is not None
    split, bucket = task.split, task.split.bucket
    layout = with_buckets(spec.layout, task.rescaled)
    options, place = parse(layout), BucketKey(split.partition.values, bucket)
    merge = plan_merge(layout, tuple(layout.arrow_schema.names), marks=True)
    has_records = options.changelog_producer == INPUT
    size = allowance(options.write_buffer_size)
    buffer = WriteBuffer(merge, has_ordinal=False, limit=size, keeps_records=has_records)
    for batch in asking(_rows(spec, task, layout, merge.reads), go_on):
        buckets = buckets_of(layout, options, batch)
        buffer.add(place, batch.filter(pa.array(buckets == bucket)))
    folder, target = split.partition.bucket_folder(layout, bucket), Target(layout, options)
    with Job(layout) as job, Flushes() as flushes:
        files = tuple(write_files(target, folder, buffer.finish(place), number, flushes))
        job.messages.append(CommitMessage(split.partition, bucket, task.rescaled, files))
        if has_records and files:
            emitted = input_changelog(
                target, folder, buffer, place, files, number, flushes, shaped=None
            )
            job.messages[0] = replace(job.messages[0], changelog=emitted)
    return job.messages[0]


def _rows(
    spec: CompactionSpec, task: Task, layout: TableLayout, columns: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """All rows without a bucket, in the order in which they came, with their kinds and marks."""
    scan = ScanSpec(layout, columns, spec.schemas, snapshot=spec.snapshot)
    store = store_of(layout.location, layout.store)
    wanted = Wanted(columns, kinds=True, marks=any(file.is_marked for file in task.split.files))
    with reading_files(scan):
        for file in task.split.files:
            for batch in read_file(scan, store, task.split.path, file, wanted):
                assert isinstance(batch, pa.RecordBatch)
                yield batch


def with_buckets(layout: TableLayout, number: int) -> TableLayout:
    """The layout of a table with this number of buckets."""
    return replace(layout, options={**layout.options, TableOptions.bucket.name: str(number)})
