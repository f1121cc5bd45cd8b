"""The rows that stay in files below and whose keys a task of a compaction merges (executor side).

Under deletion vectors a key has one row above level 0. The keys of the task's files of level 0 are
looked up in the files that stay: the rows are merged with the others, and their positions go to the
commit, which marks them. So what is written needs no merge with anything below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from keyfold.changelog.changed_rows import keys_of
from keyfold.files.sections import sequence_range
from keyfold.files.vectors import to_text
from keyfold.kernels.buffers import Rows
from keyfold.merge.column_results import combine
from keyfold.merge.plan import MergePlan
from keyfold.merge.sorted_run import SortedRun
from keyfold.merge.window import rounds
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.read.keyset import KeySet
from keyfold.read.positions import POSITION
from keyfold.read.run_sizes import Batches
from keyfold.resources.merge_room import MergeRoom
from keyfold.stores.opened import store_of
from keyfold.wire.specs import DataFile, ReplacedRows, Run, ScanSpec, Split

KEYS = 1 << 16  # that are looked up at once


def keys_in_pieces(scan: ScanSpec, split: Split, files: Sequence[DataFile]) -> Iterator[KeySet]:
    """The keys of files that are in the range of a split, ascending, KEYS at a time."""
    layout = scan.layout
    runs = [SortedRun(keys_of(scan, split, file), (0, 0), file.rows) for file in files]
    for pieces in rounds(runs, layout.key, layout.nullable_key, MergeRoom.now().round, KEYS):
        batches = [batch for parts in pieces for batch in parts]
        columns = [combine([batch.column(name) for batch in batches]) for name in layout.key]
        yield KeySet.of(layout, columns)[0]


class RowsBelow:
    """The rows of the files `below` that have keys of a split's files of level 0."""

    def __init__(self, scan: ScanSpec, split: Split, below: Split) -> None:
        self._scan, self._split, self._below = scan, split, below
        self._store = store_of(scan.layout.location, scan.layout.store)
        self._new = [file for file in split.files if file.level == 0]
        self._found: dict[str, list[Rows]] = {}

    def runs(self, merge: MergePlan) -> list[SortedRun]:
        """Them as runs of a merge. Their positions are known once it has taken them."""
        decide = tuple(dict.fromkeys((*self._scan.layout.key, *merge.decide)))
        wanted = Wanted(merge.reads, sequence=True, decide=decide, positions=True)
        return [
            SortedRun(self._rows(run, wanted), sequence_range(run), sum(file.rows for file in run))
            for run in self._runs
        ]

    def look(self) -> None:
        """Find their positions, by their keys alone."""
        wanted = Wanted(self._scan.layout.key, positions=True)
        for run in self._runs:
            for _ in self._rows(run, wanted):
                pass

    @property
    def replaced(self) -> tuple[ReplacedRows, ...]:
        """The positions that were found in each file."""
        return tuple(
            ReplacedRows(name, to_text(np.concatenate(found)))
            for name, found in self._found.items()
        )

    @property
    def _runs(self) -> list[Run]:
        return [run for section in self._below.sections for run in section]

    def _rows(self, run: Run, wanted: Wanted) -> Batches:
        layout, path = self._scan.layout, self._below.path
        for keys in keys_in_pieces(self._scan, self._split, self._new):
            asked = replace(wanted, keep=partial(keys.may_hold, key=layout.key))
            for file in run:
                for batch in read_file(self._scan, self._store, path, file, asked):
                    rows = keys.cut(batch)
                    if rows.num_rows:
                        found = rows.column(POSITION).to_numpy()
                        self._found.setdefault(file.name, []).append(found)
                        yield rows
