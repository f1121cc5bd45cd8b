"""The tasks of a compaction, on an executor: sections are merged, streaming, into files of another
level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.compact.changelog import asking, new_names, write_changelog
from keyfold.compact.kept_deletes import NONE, first_kept, kept
from keyfold.compact.moved import moved
from keyfold.compact.old_rows import rows_gone
from keyfold.compact.rows_below import RowsBelow
from keyfold.files.buckets import buckets_of
from keyfold.files.footers import forget
from keyfold.merge.change_images import ChangeImages
from keyfold.merge.marks.mark_columns import with_marks
from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.options.changelogs import changelog_level
from keyfold.options.parsing import parse
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.read.keyrange import KeyRange
from keyfold.read.reader import read
from keyfold.read.run_sizes import Batches, RunEstimate, sized_runs
from keyfold.resources.merge_room import MergeRoom
from keyfold.resources.metering import each
from keyfold.stores.opened import store_of
from keyfold.stores.snapshot_folder import reading_files
from keyfold.types.logical import with_nullability
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import (
    SEQUENCE,
    CommitMessage,
    CompactionSpec,
    ReplacedRows,
    Run,
    ScanSpec,
    Section,
    Split,
    Task,
)
from keyfold.write.job import Job
from keyfold.write.parquet import Target, write_files

OLDER = -1  # no record has this number


class Rewriter:
    """Does the tasks of one compaction, maybe in several threads; it has what is the same for all
    of them.
    """

    def __init__(self, spec: CompactionSpec) -> None:
        columns = tuple(spec.layout.arrow_schema.names)
        self.spec, self.options = spec, parse(spec.layout)
        self.scan = ScanSpec(spec.layout, columns, spec.schemas, snapshot=spec.snapshot)
        self.store = store_of(spec.layout.location, spec.layout.store)
        self.plan: MergePlan = plan_merge(spec.layout, columns, marks=True)
        self.first_kept = first_kept(self.options)
        self._targets: dict[int, Target] = {}

    def rewrite(self, task: Task, go_on: Callable[[], None] = lambda: None) -> CommitMessage:
        """Merge and write, the changelog too. The message names the new files: nothing refers to
        them before a commit. `go_on` is called for each batch. The new files are removed on any
        error, also one of `go_on`. Footers of the merged files are not kept: these files are about
        to leave.
        """
        spec, split = self.spec, task.split
        if task.number is not None:
            return moved(spec, task, task.number, go_on)
        merging = _Merging(self, task)
        batches = asking(merging.batches(), go_on)
        try:
            with merging.reading_files():
                files = tuple(write_files(self._target(task.level), task.directory, batches))
            message = CommitMessage(split.partition, split.bucket, self.options.bucket, files)
            with Job(spec.layout, [message]):
                written = tuple(
                    write_changelog(spec, task, files, merging.images, go_on, gone=merging.gone)
                )
        finally:
            forget(f"{split.path}/{file.name}" for file in split.files)
        return replace(message, changelog=written, gone=merging.gone, replaced=merging.replaced)

    def _target(self, level: int) -> Target:
        """The form of the files of a level, all of whose names come from one row of names."""
        target = Target(self.spec.layout, self.options, level)
        return self._targets.setdefault(level, target)


class _Merging:
    """The merged rows of one task; `gone` counts those that were left out for their age."""

    def __init__(self, shared: Rewriter, task: Task) -> None:
        spec = shared.spec
        self._scan, self._options, self._plan = shared.scan, shared.options, shared.plan
        self._store, self._first_kept = shared.store, shared.first_kept
        # Rows whose changes are not emitted yet stay until they are.
        emits = task.level >= changelog_level(self._options)
        self._earliest = spec.earliest if emits else None
        self._task, self.gone = task, 0
        self._path = task.split.path
        self._range = KeyRange.of(task.split, spec.layout)
        self._below: RowsBelow | None = None
        if task.below is not None and self._options.has_vectors:
            self._below = RowsBelow(self._scan, task.split, task.below)
        self._in_changelog = {
            file.name: file.name not in new_names(task) for file in task.split.files
        }
        self.images = ChangeImages() if self._is_plain() else None

    def _is_plain(self) -> bool:
        """Whether each merge is of files in the changelog, as one run without deletes, and of one
        run of others. Then the merge itself shows what it changes.
        """
        task = self._task
        if task.changelog is None or task.changelog.stays or task.below is not None:
            return False
        if not self._options.changelog_deduplicates:
            return False
        if self._earliest is not None and self._options.row_changes:
            return False
        for section in task.split.sections:
            flags = [{self._in_changelog[file.name] for file in run} for run in section]
            if len(section) > 2 or any(len(found) > 1 for found in flags):
                return False
            if len(section) == 2 and flags[0] == flags[1]:
                return False
        files = task.split.files
        known = [file for file in files if self._in_changelog[file.name]]
        return (
            all(task.oldest)
            and not any(file.is_marked or file.delete_rows != 0 for file in known)
            and not any(file.is_marked for file in files)
            and (self._first_kept == NONE or not any(file.delete_rows != 0 for file in files))
        )

    @property
    def replaced(self) -> tuple[ReplacedRows, ...]:
        """The rows of files that stay which are among the merged ones."""
        return () if self._below is None else self._below.replaced

    def reading_files(self) -> AbstractContextManager[None]:
        """A context for reading the files (`snapshot_folder.reading`)."""
        return reading_files(self._scan)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of all sections, in key order, with system columns and marks."""
        for section, oldest in zip(self._task.split.sections, self._task.oldest, strict=True):
            # Sections with older records below keep their marks; the others have no marks.
            merged = self._merged(section, oldest)
            yield from map(with_marks, self._young(merged, self._earliest) if oldest else merged)

    def _young(
        self, batches: Iterator[pa.RecordBatch], earliest: int | None
    ) -> Iterator[pa.RecordBatch]:
        """The merged rows less those that are too old. Kept deletes are no rows: they stay."""
        if earliest is None:
            yield from batches
            return
        for batch in batches:
            gone = rows_gone(self._scan.layout, self._options, batch, earliest)
            count = gone.true_count
            self.gone += count
            yield batch.filter(pc.invert(gone)) if count else batch

    def _merged(self, section: Section, oldest: bool) -> Iterator[pa.RecordBatch]:
        source, room = (
            RunEstimate(self._store, self._path, frozenset(self._plan.reads)),
            MergeRoom.now(),
        )
        runs = sized_runs(source, section, room, self._rows)
        if self.images is not None:
            flags = [self._in_changelog[run[0].name] for run in section]
            runs = [replace(r, in_changelog=flag) for r, flag in zip(runs, flags, strict=True)]
        if self._below is not None:
            oldest, runs = True, [*self._rows_below(self._below), *runs]
        elif self._task.below is not None:
            return self._new_keys(runs, self._task.below)
        is_kept = oldest and self._first_kept != NONE
        merged = merge_runs(
            self._plan,
            runs,
            system_columns=True,
            drop_deletes=oldest and not is_kept,
            has_oldest=oldest,
            room=room,
            images=self.images,
        )
        return (kept(batch, self._first_kept) for batch in merged) if is_kept else merged

    def _rows_below(self, below: RowsBelow) -> list[SortedRun]:
        """The runs of rows that stay below; none if newer ones take their place as they are."""
        files, options = self._task.split.files, self._options
        keeps_last = self._plan.engine.keeps_last(options) and not options.ignore_update_before
        if not keeps_last or any(file.is_marked for file in files):
            return below.runs(self._plan)
        below.look()
        return []

    def _new_keys(self, runs: list[SortedRun], below: Split) -> Iterator[pa.RecordBatch]:
        """First-row: the rows whose key no row below has. Paimon's readers take each file of a
        level above 0 for rows of its own. Only the keys of the rows below are read, not their
        values.
        """
        merge = plan_merge(_with_nullable_values(self._scan.layout), self._scan.columns)
        older = SortedRun(self._keys(below), (OLDER, OLDER))
        for batch in merge_runs(merge, [older, *runs], system_columns=True, has_oldest=False):
            is_new = pc.not_equal(batch.column(SEQUENCE), OLDER)
            yield batch.filter(is_new)

    def _keys(self, below: Split) -> Iterator[pa.RecordBatch]:
        """The keys that a reader of the files below sees: those of deleted rows are not there."""
        layout = self._scan.layout
        schema = _with_nullable_values(layout).arrow_schema
        for batch in read(replace(self._scan, columns=layout.key), below):
            arrays = [
                batch.column(field.name)
                if field.name in layout.key
                else pa.nulls(batch.num_rows, field.type)
                for field in schema
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _rows(self, run: Run, size: int) -> Batches:
        # Rows of one number need no column of it: the merge gives them the greatest of the run.
        numbers = {number for file in run for number in (file.min_sequence, file.max_sequence)}
        is_marked = any(file.is_marked for file in self._task.split.files)
        decides = self._plan.keeps_records and not is_marked
        decide = self._plan.decide if decides else None
        wanted = Wanted(self._plan.reads, len(numbers) > 1, decide=decide, batch_bytes=size)
        return self._read(run, wanted)

    def _read(self, run: Run, wanted: Wanted) -> Batches:
        if self._range is not None:
            keep = partial(self._range.may_hold, key=self._scan.layout.key)
            wanted = replace(wanted, keep=keep)
        for file in run:
            read = read_file(self._scan, self._store, self._path, file, wanted)
            for batch in each("decode", read):
                rows = batch if self._range is None else self._range.cut(batch)
                yield rows if self._task.rescaled is None else self._of_bucket(rows)

    def _of_bucket(self, batch: Any) -> Any:
        """The rows of a batch, or of deferred rows, whose bucket is the task's."""
        buckets = buckets_of(self._scan.layout, self._options, batch)
        return batch.filter(pa.array(buckets == self._task.split.bucket))


def _with_nullable_values(layout: TableLayout) -> TableLayout:
    columns = [
        column
        if column.name in layout.key
        else replace(column, type=with_nullability(column.type, nullable=True))
        for column in layout.columns
    ]
    return replace(layout, columns=tuple(columns))
