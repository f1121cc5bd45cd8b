"""The rows of one split, merged; a Spark partition of a scan runs this (executor side).

Sections come one after another in key order. A section of one run is streamed as it is stored,
without -U and -D. The others go through the merge, whose memory a few batches per run bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from keyfold.files.fetch import FILE, RUN, SECTION, begun, fetch_footers, one_ahead
from keyfold.files.sections import needs_sequence
from keyfold.merge.deferred import Deferred
from keyfold.merge.kinds import is_retract
from keyfold.merge.origins import ORIGIN, with_origin
from keyfold.merge.plan import MergePlan, plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.predicates.ranges import Ranges, may_be_true
from keyfold.predicates.row_filter import RowFilter
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import BATCH_ROWS, Wanted
from keyfold.read.keyrange import KeyRange
from keyfold.read.keyset import KeySet
from keyfold.read.provenance import Provenance, needs_number, needs_origin
from keyfold.read.run_sizes import Batches, RunEstimate, sized_runs
from keyfold.read.waiting.waiting_records import parted, sorted_runs, waits
from keyfold.resources import budget
from keyfold.resources.merge_room import MergeRoom
from keyfold.resources.metering import count, each, reach
from keyfold.stores.opened import store_of
from keyfold.stores.snapshot_folder import reading_each
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import KIND, SEQUENCE, DataFile, Run, ScanSpec, Section, Split

LEAST_ROWS = 1 << 12
AHEAD = 16  # the largest section, as stored, times this must fit into the memory there is


def read(
    scan: ScanSpec, split: Split, merge: MergePlan | None = None, keys: KeySet | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of `scan.columns` in table types, then of `scan.metadata`, with one row for each key,
    in ascending key order, and at most `scan.limit` rows. `merge` is the plan of the scan, if the
    caller has made it. `keys` are the only ones whose rows are read, of a split without bounds.
    """
    source = _Source(scan, split, merge or plan_merge(scan.layout, scan.columns), keys)
    found = (_lazily(source, section) for section in split.sections)
    is_ahead = source.is_ahead
    batches = one_ahead(found, SECTION) if is_ahead else itertools.chain.from_iterable(found)
    batches = reading_each(scan, batches)
    return batches if scan.limit is None else limited(batches, scan.limit)


class _Source:
    """One split being read."""

    def __init__(self, scan: ScanSpec, split: Split, merge: MergePlan, keys: KeySet | None) -> None:
        self._scan = scan
        self._split = split
        self._store = store_of(scan.layout.location, scan.layout.store)
        self._plan = merge
        self._range = keys or KeyRange.of(split, scan.layout)
        self._is_lookup = keys is not None
        self._keys = RowFilter.of(
            scan.layout, scan.key_filter, scan.layout.primary_key, split.partition
        )
        self._values = RowFilter.of(scan.layout, scan.value_filter, scan.columns)
        self._batch_rows = BATCH_ROWS if scan.limit is None else _rows_for(scan.limit)
        self._provenance = Provenance.of(scan, split)
        self._number = needs_number(scan)
        self._origins = (
            {file.name: place for place, file in enumerate(split.files)}
            if needs_origin(scan)
            else None
        )
        self._is_remote = not self._store.is_local
        self._filters = scan.key_filter
        self._keep = partial(may_matter, self._filters, self._range, scan.layout.key)

    @property
    def is_ahead(self) -> bool:
        """Whether a section is begun before the one before it has ended."""
        most = max((_size(section) for section in self._split.sections), default=0)
        return self._is_remote and AHEAD * most <= budget.bytes()

    def section(self, section: Section) -> Iterator[pa.RecordBatch]:
        """The rows of one section."""
        found = self._section(section)
        return found if self._provenance is None else map(self._provenance.attached, found)

    def _section(self, section: Section) -> Iterator[pa.RecordBatch]:
        reach("runs", len(section))
        files = [file for run in section for file in run if file.is_marked]
        if any(file.delete_rows != 0 for file in files):
            return self._whole(section)
        if len(section) == 1 and not files and not waits(section):
            return self._raw(section[0])
        return map(self._values.kept, self._merged(section, self._plan))

    def _merged(self, section: Section, merge: MergePlan) -> Iterator[pa.RecordBatch]:
        keep = self._keep if self._is_filtered else None
        is_marked = any(file.is_marked for run in section for file in run)
        picks = self._is_lookup or self._keys.predicates
        decides = (merge.keeps_records or picks) and not is_marked
        sieve = self._values if self._values.predicates and not is_marked else None
        decide = merge.decide
        if sieve is not None and merge.keeps_records:
            decide = tuple(name for name in merge.reads if name in {*decide, *sieve.columns})
        wanted = Wanted(
            merge.reads,
            needs_sequence(section) or self._number,
            keep=keep,
            decide=decide if decides else None,
            batch_rows=self._batch_rows,
        )

        def batches(run: Run, size: int) -> Batches:
            found = self._batches(run, replace(wanted, batch_bytes=size))
            return begun(found, RUN) if self._is_remote else found

        stored, waiting = parted(section)
        if self._is_remote:
            firsts = {f"{self._split.path}/{run[0].name}": run[0].size for run in stored}
            fetch_footers(self._store, firsts)

        few = None if self._scan.limit is None else self._batch_rows
        source, room = (
            RunEstimate(self._store, self._split.path, frozenset(merge.reads)),
            MergeRoom.now(),
        )
        runs = [*sized_runs(source, stored, room, batches), *self._waiting(waiting, merge)]
        return merge_runs(
            merge,
            runs,
            system_columns=self._number,
            room=room,
            round_rows=few,
            passes=None if sieve is None else sieve.flags,
        )

    def _waiting(self, run: Run, merge: MergePlan) -> Sequence[SortedRun]:
        """The records of files whose rows have no buckets yet."""
        if not run:
            return ()
        wanted = Wanted(merge.reads, kinds=True, marks=any(file.is_marked for file in run))
        found = (batch for file in run for batch in self._file(file, wanted))
        kept = map(self._keys.kept, found)
        if isinstance(self._range, KeySet):
            kept = map(self._range.among, kept)
        within = self._range if isinstance(self._range, KeyRange) else None
        return sorted_runs(merge, kept, run[0].min_sequence, within)

    def _whole(self, section: Section) -> Iterator[pa.RecordBatch]:
        """The rows of a section if the values of all columns decide whether a row exists."""
        columns = self._scan.layout.arrow_schema.names
        for batch in self._merged(section, plan_merge(self._scan.layout, columns)):
            yield self._values.kept(batch.select(self._names(batch.schema)))

    def _raw(self, run: Run) -> Iterator[pa.RecordBatch]:
        columns = self._scan.columns
        needed = self._keys.columns if self._range is None else self._scan.layout.key
        columns = (*columns, *(name for name in needed if name not in columns))
        keep, filters = None, (*self._filters, *self._values.predicates)
        if filters or self._range is not None:
            keep = partial(may_matter, filters, self._range, self._scan.layout.key)
        decide = {*needed, *self._values.columns} if filters or self._is_lookup else columns
        size = MergeRoom.now().round
        wanted = Wanted(
            columns,
            self._number,
            keep=keep,
            ranges=self._values.columns,
            decide=tuple(decide),
            batch_bytes=size,
            batch_rows=self._batch_rows,
        )
        for batch in self._batches(run, wanted):
            kept = self._values.kept(_without_deletes(batch))
            if kept.num_rows:
                yield kept.select(self._names(kept.schema))

    def _names(self, schema: pa.Schema) -> list[str]:
        """The columns of a batch that results are made of: the scan's, then the metadata's own."""
        own = [name for name in (SEQUENCE, ORIGIN) if schema.get_field_index(name) >= 0]
        return [*self._scan.columns, *(own if self._provenance is not None else ())]

    @property
    def _is_filtered(self) -> bool:
        return bool(self._scan.key_filter) or self._range is not None

    def _batches(self, run: Run, wanted: Wanted) -> Iterator[pa.RecordBatch | Deferred]:
        reads = (self._file(file, wanted) for file in run)
        ahead = self._is_remote
        for batch in one_ahead(reads, FILE) if ahead else itertools.chain.from_iterable(reads):
            cut = batch if self._range is None else self._range.cut(batch)
            kept = self._keys.kept(cut)
            count("rows_in", kept.num_rows)
            yield kept

    def _file(self, file: DataFile, wanted: Wanted) -> Iterator[pa.RecordBatch | Deferred]:
        found = read_file(self._scan, self._store, self._split.path, file, wanted)
        if self._origins is not None:
            found = map(partial(with_origin, number=self._origins[file.name]), found)
        return each("decode", found)


def _lazily(source: _Source, section: Section) -> Iterator[pa.RecordBatch]:
    yield from source.section(section)


def _size(section: Section) -> int:
    return sum(file.size for run in section for file in run)


def _rows_for(limit: int) -> int:
    """The rows of a batch if `limit` results are enough; some rows are deleted, or of one key."""
    return min(max(2 * limit, LEAST_ROWS), BATCH_ROWS)


def may_matter(
    filters: Sequence[Predicate],
    key_range: KeyRange | KeySet | None,
    key: Sequence[str],
    ranges: Ranges,
) -> bool:
    """Whether rows of a row group can pass the filters and be in the split's key range."""
    if key_range is not None and not key_range.may_hold(ranges, key):
        return False
    return all(may_be_true(predicate, ranges) for predicate in filters)


def _without_deletes(batch: pa.RecordBatch | Deferred) -> pa.RecordBatch | Deferred:
    place = batch.schema.get_field_index(KIND)
    if place < 0:
        return batch
    takes_back = is_retract(batch.column(place).to_numpy())
    return batch.filter(pa.array(~takes_back)) if takes_back.any() else batch


def limited(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    """The first `limit` rows; no more batches are asked for than these need."""
    left = limit
    while left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        yield batch if batch.num_rows <= left else batch.slice(0, left)
        left -= batch.num_rows
