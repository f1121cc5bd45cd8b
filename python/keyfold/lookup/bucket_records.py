"""The records of keys in one bucket, of which row groups are kept, and the rows they fold to.

The rules are those of `read.reader`: sections share no key, a run holds a key once, and the records
of several runs go through the merge.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import take
from keyfold.kernels.keys.comparable import Keys
from keyfold.kernels.keys.membership import find
from keyfold.lazy import cached_property
from keyfold.lookup.indexes import without_others
from keyfold.lookup.key_places import BucketOfKeys
from keyfold.lookup.row_group_cache import KeptFile
from keyfold.merge.kinds import is_retract, of
from keyfold.merge.plan import MergePlan
from keyfold.merge.run import merge_key, merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.read.keyset import KeySet
from keyfold.wire.specs import ScanSpec


@dataclass(frozen=True)
class RunOfKeys:
    """A run of a bucket; `sequence` is its least and greatest number."""

    files: tuple[KeptFile, ...]
    sequence: tuple[int, int]

    def records(
        self, wanted: KeySet, flags: Iterator[bool], reads: Sequence[str], *, numbered: bool
    ) -> list[pa.RecordBatch]:
        """Records of the keys, in key order; a flag for each file says whether it may hold one."""
        find_in = _of_keys if wanted.is_whole else _of_prefix
        return [
            batch
            for file in self.files
            if next(flags)
            for group in file.groups(wanted)
            if (batch := find_in(file, group, wanted, reads, numbered)) is not None
        ]


def _of_keys(
    file: KeptFile, group: int, wanted: KeySet, reads: Sequence[str], numbered: bool
) -> pa.RecordBatch | None:
    """The records of a row group that have one of the keys, in columns `reads` and those of the
    system that a merge needs.
    """
    keys = file.keys(group, wanted.names)
    if not len(keys):  # all are deleted
        return None
    start, stop = (0, 1) if len(wanted) == 1 else _within(keys, wanted.keys)
    places, is_there = find(keys, wanted.keys.slice(start, stop))
    rows = places[is_there]
    if not len(rows):
        return None
    asked = _taken(wanted.columns, np.flatnonzero(is_there) + start)
    columns = dict(zip(wanted.names, asked, strict=True))  # they need not be decoded
    names = [*reads, *file.system(group, numbered=numbered)]
    others = [name for name in names if name not in columns]
    columns |= zip(others, _taken(file.columns(group, others), rows), strict=True)
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names=names)


def _of_prefix(
    file: KeptFile, group: int, wanted: KeySet, reads: Sequence[str], numbered: bool
) -> pa.RecordBatch | None:
    """Records whose key begins with the one of `wanted`; None if there are none."""
    keys, bound = file.keys(group, wanted.names), wanted.keys.scalar(0)
    start, stop = keys.below(bound), keys.above(bound)
    if start == stop:
        return None
    names = [*reads, *file.system(group, numbered=numbered)]
    columns = [column.slice(start, stop - start) for column in file.columns(group, names)]
    return pa.RecordBatch.from_arrays(columns, names=names)


@dataclass(frozen=True)
class SectionOfKeys:
    """Runs that are merged together. Their files have columns of marks if it `is_marked`, and their
    numbers are compared if it is `numbered`.
    """

    runs: tuple[RunOfKeys, ...]
    merge: MergePlan
    numbered: bool
    is_marked: bool

    def rows(self, wanted: KeySet, flags: Iterator[bool]) -> Iterator[pa.RecordBatch]:
        """The merged rows of the keys."""
        reads, is_one = self.merge.reads, len(wanted) == 1 and wanted.is_whole
        if is_one and self._newest_stays:
            return self._newest(wanted, flags)
        found = [
            (run, batches)
            for run in self.runs
            if (batches := run.records(wanted, flags, reads, numbered=self.numbered))
        ]
        if len(found) == 1 and not self.is_marked:  # one record is the row, as it is
            return map(_without_deletes, found[0][1])
        if is_one and found:
            return merge_key(self.merge, [(run.sequence, batch) for run, (batch,) in found])
        runs = [
            SortedRun(iter(batches), run.sequence, sum(batch.num_rows for batch in batches))
            for run, batches in found
        ]
        return merge_runs(self.merge, runs) if runs else iter(())

    @cached_property
    def _newest_stays(self) -> bool:
        """Whether the record of the last run that holds a key is its result."""
        keeps_last = self.merge.engine.keeps_last(self.merge.options)
        return keeps_last and not self.is_marked and not self.numbered

    def _newest(self, wanted: KeySet, flags: Iterator[bool]) -> Iterator[pa.RecordBatch]:
        """The row of one key. Runs below the record are not searched."""
        reach = [(run, list(itertools.islice(flags, len(run.files)))) for run in self.runs]
        for run, of_run in reversed(reach):
            if found := run.records(wanted, iter(of_run), self.merge.reads, numbered=False):
                return map(_without_deletes, found)
        return iter(())


@dataclass(frozen=True)
class KeptBucket:
    """A bucket; `place` has the ends of its files, and `ends` their encoded form."""

    scan: ScanSpec
    sections: tuple[SectionOfKeys, ...]
    place: BucketOfKeys
    ends: Keys

    def rows(self, wanted: KeySet) -> Iterator[pa.RecordBatch]:
        """The rows of the keys, in key order."""
        whole = wanted.is_whole
        found = wanted.reach_between(self.ends) if whole else wanted.reach_into(self.place.ends)
        found = without_others(self.scan, self.place, wanted, found)
        flags = iter(found.tolist())
        for section in self.sections:
            for batch in section.rows(wanted, flags):
                yield batch.select(self.scan.columns)


def _within(keys: Keys, asked: Keys) -> tuple[int, int]:
    """The range of the asked keys, which are sorted, that are not outside all keys."""
    low, _ = find(asked, keys.slice(0, 1))
    high, is_there = find(asked, keys.slice(len(keys) - 1, len(keys)))
    return int(low[0]), int(high[0]) + int(is_there[0])


def _taken(columns: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
    if len(rows) == 1:
        first = int(rows[0])
        return [column.slice(first, 1) for column in columns]
    places = pa.array(rows)
    return [take(column, places) for column in columns]


def _without_deletes(batch: pa.RecordBatch) -> pa.RecordBatch:
    kinds = of(batch)
    if kinds is None:
        return batch
    takes_back = is_retract(kinds)
    return batch.filter(pa.array(~takes_back)) if takes_back.any() else batch
