"""One task's rows become data files: split, buffer, fold, write (executor side)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from keyfold.files.buckets import BucketKey
from keyfold.ids.filling import Filling
from keyfold.lookup.of_tasks import NONE, TaskLookups
from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write.buffer import WriteBuffer, allowance
from keyfold.write.changelog import Shaped, input_changelog, writes_input
from keyfold.write.durable import Flushes
from keyfold.write.job import Job
from keyfold.write.keys.across_partitions import Routes, firsts
from keyfold.write.keys.postponed import BucketCounts, names_of_job
from keyfold.write.keys.row_buckets import Places, places_of
from keyfold.write.marking import Marking
from keyfold.write.parquet import Target, write_files
from keyfold.write.preparing import OwnColumns, prepared
from keyfold.write.row_changes import Changing, has_marks
from keyfold.write.rows_before import with_rows_before


def write(
    spec: WriteSpec, batches: Iterable[pa.RecordBatch], plans: TaskLookups = NONE
) -> list[CommitMessage]:
    """Write a task's batches (columns as `spec.columns` says, then those that the spec has more).

    Rows of a key fold in order of arrival, or of the ordinal. Returns one message for each bucket
    that got files. Nothing is visible before a commit. On an error the new files are removed.
    `plans` are what `task_lookups` gives of the job.
    """
    places = places_of(spec)
    return places.noted(write_parts(spec, parts(spec, batches, places), plans))


def parts(
    spec: WriteSpec, batches: Iterable[pa.RecordBatch], places: Places
) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
    """The rows of each batch by bucket, in the form that `write_parts` folds. `places` are the
    buckets of the job, which are then to note its messages.
    """
    _, prepare = preparing(spec, parse(spec.layout))
    for batch in batches:
        if batch.num_rows:
            yield from places.split(prepare(batch))


def write_parts(
    spec: WriteSpec,
    found: Iterable[tuple[BucketKey, pa.RecordBatch]],
    plans: TaskLookups = NONE,
) -> list[CommitMessage]:
    """Fold and write the rows of some buckets, all rows of each, as `write` does."""
    options = parse(spec.layout)
    merge, _ = preparing(spec, options)
    size, has_records = allowance(options.write_buffer_size), writes_input(spec, options)
    has_ordinal = spec.ordinal or _has_kinds(spec)
    more: dict[str, Any] = {"keeps_records": has_records}
    if spec.layout.spans_partitions:
        if options.engine.folds_columns and not _has_kinds(spec):
            merge = replace(merge, firsts=firsts(spec.layout))
    elif spec.stored is not None:
        more["filled"] = Filling(spec, spec.stored, plans.keys, has_records).filled
    buffer = WriteBuffer(merge, has_ordinal, size, **more)
    for place, part in found:
        buffer.add(place, part)
    if spec.layout.spans_partitions:
        stored = None if plans.keys is None else plans.keys.plan
        return _routed(spec, options, buffer, Routes(spec, stored), size // 2)
    shaped = None if plans.before is None else partial(with_rows_before, spec, plans.before)
    return _written(spec, options, buffer, shaped)


def _has_kinds(spec: WriteSpec) -> bool:
    return spec.changes is not None and spec.changes.has_kinds


def preparing(
    spec: WriteSpec, options: TableOptions
) -> tuple[MergePlan, Callable[[pa.RecordBatch], pa.RecordBatch]]:
    """The plan by which the job's rows fold, and what brings incoming rows, with their marks, into
    the form that the buffer folds.
    """
    changes, names = spec.changes, spec.layout.arrow_schema.names
    is_unique = changes is not None and changes.is_unique
    if changes is not None and changes.has_kinds:
        merge = plan_merge(spec.layout, names, marks=has_marks(options), is_unique=is_unique)
        merge = replace(merge, counts_deletes=changes.counts_deletes)
        return merge, Changing(spec, changes, merge).rows
    marking = Marking.of(spec, options)
    is_marked = marking is not None and marking.has_marks
    has_kinds = spec.kinds or options.rowkind_field is not None
    folds = options.engine.folds_columns
    is_marked |= (folds and has_kinds) or (spec.own_columns and (folds or options.partial_insert))
    merge = plan_merge(spec.layout, names, marks=is_marked, is_unique=is_unique)
    if spec.own_columns:
        return merge, OwnColumns(spec, merge).rows
    return merge, partial(prepared, spec, merge, marking)


def _written(
    spec: WriteSpec, options: TableOptions, buffer: WriteBuffer, shaped: Shaped | None
) -> list[CommitMessage]:
    number, counts = _number(spec), BucketCounts(spec, options)
    target = Target(spec.layout, options, names=names_of_job(spec, options))
    with Job(spec.layout) as job, Flushes() as flushes:
        for place in buffer.places:
            partition = Partition.of(spec.layout, place.partition)
            directory = partition.bucket_folder(spec.layout, place.bucket)
            rows = buffer.finish(place)
            files = tuple(write_files(target, directory, rows, number, flushes))
            if files:
                total = counts.of(place.partition)
                job.messages.append(CommitMessage(partition, place.bucket, total, files))
            if files and buffer.keeps_records:
                written = input_changelog(
                    target, directory, buffer, place, files, spec.sequence, flushes, shaped
                )
                job.messages[-1] = replace(job.messages[-1], changelog=written)
    return job.messages


def _number(spec: WriteSpec) -> int | None:
    return None if _has_kinds(spec) else spec.sequence  # else each row has its own


def _routed(
    spec: WriteSpec, options: TableOptions, buffer: WriteBuffer, routes: Routes, limit: int
) -> list[CommitMessage]:
    """The messages of rows whose keys are one across partitions: those of a part of the keys go to
    the buckets of all partitions, in files for each `limit` bytes of them.
    """
    target, number = Target(spec.layout, options), _number(spec)
    held: dict[BucketKey, list[pa.RecordBatch]] = {}

    def messages(flushes: Flushes) -> Iterator[CommitMessage]:
        """Messages of the files that the rows which are held become."""
        while held:
            place, batches = held.popitem()
            partition = Partition.of(spec.layout, place.partition)
            directory = partition.bucket_folder(spec.layout, place.bucket)
            files = tuple(write_files(target, directory, batches, number, flushes))
            yield CommitMessage(partition, place.bucket, options.bucket, files)

    with Job(spec.layout) as job, Flushes() as flushes:
        for part in buffer.places:
            size = 0
            for place, rows in routes.routed(part, buffer.finish(part)):
                held.setdefault(place, []).append(rows)
                size += rows.nbytes
                if size > limit:
                    size = 0
                    job.messages.extend(messages(flushes))
            job.messages.extend(messages(flushes))  # the keys of the next part are others
    return job.messages
