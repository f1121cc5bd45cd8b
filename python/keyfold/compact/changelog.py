"""The changelog files of one task of a compaction: what a reader saw of files whose changes are
emitted already, compared with what it sees of the task's result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from keyfold.changelog.compare import changes
from keyfold.compact.old_rows import deletes, sections_before
from keyfold.compact.rows_below import keys_in_pieces
from keyfold.kernels.ops import DELETE, UPDATE_BEFORE
from keyfold.merge.change_images import ChangeImages
from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.options.changelogs import NONE
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.read.keyset import KeySet
from keyfold.read.reader import read
from keyfold.wire.specs import (
    KIND,
    ChangelogInput,
    CompactionSpec,
    FileMeta,
    ScanSpec,
    Section,
    Split,
    Task,
)
from keyfold.write.changelog import changelog_target
from keyfold.write.parquet import write_files


def write_changelog(
    spec: CompactionSpec,
    task: Task,
    made: Sequence[FileMeta],
    seen: ChangeImages | None,
    go_on: Callable[[], None],
    *,
    gone: int = 0,
) -> list[FileMeta]:
    """The changelog files of a task whose result is in the files `made`; none if it has no changes.
    `seen` has the rows that the merge changed, if it could show them. `go_on` is called for each
    batch. So many rows are `gone` for their age, which shows only if the table's options ask for
    it. On an error no changelog file is left behind.
    """
    if task.changelog is None and not gone:
        return []
    options = parse(spec.layout)
    if task.changelog is not None:
        is_shown = options.row_changes or not gone
        states = _States(spec, task, task.changelog, made if is_shown else None)
        found = states.changes() if seen is None else states.compared(seen)
    elif options.row_changes and options.changelog_producer != NONE:
        found = deletes(spec, _scan(spec), task, options)
    else:
        return []
    target = changelog_target(spec.layout, options, task.level)
    number = max(file.max_sequence for file in task.split.files)
    return write_files(target, task.directory, asking(found, go_on), number)


def asking(
    batches: Iterator[pa.RecordBatch], go_on: Callable[[], None]
) -> Iterator[pa.RecordBatch]:
    """The batches; `go_on` is called for each."""
    for batch in batches:
        go_on()
        yield batch


def new_names(task: Task) -> frozenset[str]:
    """The files of a task whose changes are not in the changelog yet."""
    known = () if task.changelog is None else task.changelog.before
    before = {file.name for section in known for run in section for file in run}
    return frozenset(file.name for file in task.split.files if file.name not in before)


def _scan(spec: CompactionSpec) -> ScanSpec:
    columns = tuple(spec.layout.arrow_schema.names)
    return ScanSpec(spec.layout, columns, spec.schemas, snapshot=spec.snapshot)


class _States:
    """The two states of one task, whose result is in the files `made`; None: as its merge has it
    before rows go for their age.
    """

    def __init__(
        self,
        spec: CompactionSpec,
        task: Task,
        given: ChangelogInput,
        made: Sequence[FileMeta] | None,
    ) -> None:
        self._scan = _scan(spec)
        self._options = parse(spec.layout)
        self._plan: MergePlan = plan_merge(spec.layout, self._scan.columns)
        self._task, self._given = task, given
        after: tuple[Section, ...] = ((tuple(made),),) if made else ()
        if made is None:
            after = sections_before(task, given.stays)
        elif given.stays:
            after = ((*given.stays, *after[0]),) if made else (given.stays,)
        self._states = [
            replace(task.split, sections=sections) for sections in (given.before, after)
        ]

    def changes(self) -> Iterator[pa.RecordBatch]:
        """The changes, in key order."""
        if not self._given.new:
            yield from self._compared(self._states, None)
            return
        whole = [replace(split, after=None, until=None) for split in self._states]
        for keys in self._new_keys():
            yield from self._compared(whole, keys)

    def compared(self, seen: ChangeImages) -> Iterator[pa.RecordBatch]:
        """The changes among the rows that a merge has shown."""
        return self._rows_of(seen.before.batches(), seen.after.batches())

    def _compared(self, states: Sequence[Split], keys: KeySet | None) -> Iterator[pa.RecordBatch]:
        before, after = (read(self._scan, split, self._plan, keys) for split in states)
        return self._rows_of(before, after)

    def _rows_of(
        self, before: Iterator[pa.RecordBatch], after: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        ignore, keeps = self._options.changelog_ignored, not self._options.changelog_deduplicates
        for batch in changes(self._scan.layout, before, after, ignore=ignore, keeps_equal=keeps):
            kept = _without(batch, _left_out(self._options))
            if kept.num_rows:
                yield kept

    def _new_keys(self) -> Iterator[KeySet]:
        """The keys of the files that are new to the changelog."""
        names = frozenset(self._given.new)
        files = [file for file in self._task.split.files if file.name in names]
        return keys_in_pieces(self._scan, self._task.split, files)


def _left_out(options: TableOptions) -> list[int]:
    """The kinds that the changelog leaves out; Fluss' image WAL is one without rows before."""
    drops_before = options.changelog_drops_before or options.changelog_image == "wal"
    kinds = [UPDATE_BEFORE] if drops_before else []
    return [*kinds, DELETE] if options.changelog_drops_deletes else kinds


def _without(batch: pa.RecordBatch, kinds: list[int]) -> pa.RecordBatch:
    if not kinds:
        return batch
    dropped = pc.is_in(batch.column(KIND), value_set=pa.array(kinds, pa.int8()))
    return batch.filter(pc.invert(dropped))
