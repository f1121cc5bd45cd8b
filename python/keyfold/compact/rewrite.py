"""One task of a compaction: sections are merged, streaming, into files of another level (executor
side).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from keyfold.compact.spec import CompactionSpec, Task
from keyfold.journey import CommitMessage, FileMeta, Run, ScanSpec, Section
from keyfold.merge.plan import MergePlan, plan
from keyfold.merge.run import SortedRun, merge_runs
from keyfold.metering import each
from keyfold.options import parse
from keyfold.read.files import store_of
from keyfold.read.keyrange import KeyRange
from keyfold.read.parquet import Wanted, read_file
from keyfold.write.parquet import Target, write_files
from keyfold.write.writer import file_names


def rewrite(spec: CompactionSpec, task: Task) -> CommitMessage:
    """Merge and write; the message names the new files, which nothing refers to before a commit.
    On an error they are removed.
    """
    layout, split = spec.layout, task.split
    options = parse(layout)
    store = store_of(split.path, layout.options)
    target = Target(layout, options, store, split.path, file_names(), task.level)
    files: list[FileMeta] = write_files(target, _Merging(spec, task).batches())
    return CommitMessage(split.partition, split.bucket, options.bucket, tuple(files))


class _Merging:
    """The merged rows of one task."""

    def __init__(self, spec: CompactionSpec, task: Task) -> None:
        columns = tuple(spec.layout.arrow_schema.names)
        self._scan = ScanSpec(spec.layout, columns, spec.schemas)
        self._task = task
        self._path = task.split.path
        self._store = store_of(self._path, spec.layout.options)
        self._plan: MergePlan = plan(spec.layout, columns, marks=True)
        self._range = KeyRange.of(task.split, spec.layout)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Of all sections, in key order, with system columns and marks."""
        for section, oldest in zip(self._task.split.sections, self._task.oldest, strict=True):
            yield from self._merged(section, oldest)

    def _merged(self, section: Section, oldest: bool) -> Iterator[pa.RecordBatch]:
        runs = [SortedRun(self._rows(run), _sequence(run)) for run in section]
        return merge_runs(
            self._plan, runs, system_columns=True, drop_deletes=oldest, has_oldest=oldest
        )

    def _rows(self, run: Run) -> Iterator[pa.RecordBatch]:
        # Rows of one number need no column of it: the merge gives them the greatest of the run.
        is_one = len({number for file in run for number in (file.min_sequence, file.max_sequence)})
        keep = None
        if self._range is not None:
            keep = partial(self._range.may_hold, lead=self._scan.layout.key[0])
        wanted = Wanted(self._plan.reads, sequence=is_one > 1, keep=keep)
        for file in run:
            read = read_file(self._scan, self._store, self._path, file, wanted)
            for batch in each("decode", read):
                yield batch if self._range is None else self._range.cut(batch)


def _sequence(run: Run) -> tuple[int, int]:
    return min(file.min_sequence for file in run), max(file.max_sequence for file in run)
