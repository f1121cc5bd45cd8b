"""Reads the changes of one task (executor side)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from keyfold.changelog.compare import changes
from keyfold.changelog.specs import ChangeSplit, ChangesSpec
from keyfold.changelog.views import TIME, VERSION, schema_of, view
from keyfold.kernels.buffers import Rows
from keyfold.merge.plan import plan_merge
from keyfold.predicates.row_filter import RowFilter
from keyfold.read import reader
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.read.keyrange import KeyRange
from keyfold.read.keyset import KeySet
from keyfold.read.reader import may_matter
from keyfold.read.task import joined
from keyfold.stores.opened import store_of
from keyfold.stores.snapshot_folder import reading_each
from keyfold.wire.specs import DataFile, ScanSpec, Split

MILLI = 1000
WINDOW = 1 << 16  # keys whose rows are in memory at once


def schema(spec: ChangesSpec) -> pa.Schema:
    """The Arrow schema of the rows."""
    return schema_of(view(spec.asked.view), spec.scan.layout, spec.columns)


def read_task(spec: ChangesSpec, splits: Sequence[ChangeSplit]) -> Iterator[pa.RecordBatch]:
    """The changes of all splits, as rows of the view; at most `spec.limit` rows."""
    found, names = view(spec.asked.view), spec.columns
    sieve = RowFilter.of(spec.scan.layout, spec.value_filter, spec.scan.columns)
    batches = itertools.chain.from_iterable(read(spec, split) for split in splits)
    kept = (sieve.kept(batch) for batch in reading_each(spec.scan, batches))
    shaped = found.shaped(kept, names, spec.asked.updates)
    if spec.limit is not None:
        shaped = reader.limited(shaped, spec.limit)
    return joined(_typed(shaped, schema(spec)))


def read(spec: ChangesSpec, split: ChangeSplit) -> Iterator[pa.RecordBatch]:
    """The changes of one split: all columns of the table, `_VALUE_KIND`, `_commit_version` (int64)
    and `_commit_timestamp` (timestamp[us, UTC]).
    """
    if split.by_key:
        yield from _of_touched(spec, split)
        return
    for batch in _stored(spec.scan, split) if split.is_stored else compared(spec.scan, split):
        yield _committed(batch, np.full(batch.num_rows, split.snapshot, dtype=np.int64), spec)


def compared(scan: ScanSpec, split: ChangeSplit) -> Iterator[pa.RecordBatch]:
    """The changes between all rows of the two sides of a split, with the kind of each."""
    merge = plan_merge(scan.layout, scan.columns)
    before, after = (reader.read(scan, side, merge) for side in (split.before, split.after))
    return changes(scan.layout, before, after, columns=scan.columns)


def _of_touched(spec: ChangesSpec, split: ChangeSplit) -> Iterator[pa.RecordBatch]:
    """The changes of the touched keys, each with the newest commit that touched it."""
    scan, merge = spec.scan, plan_merge(spec.scan.layout, spec.scan.columns)
    sides = [replace(side, after=None, until=None) for side in (split.before, split.after)]
    for keys, commits in touched(scan, split):
        before, after = (reader.read(scan, side, merge, keys) for side in sides)
        for batch in changes(scan.layout, before, after, columns=scan.columns):
            yield _committed(batch, commits[keys.places(batch)], spec)


def _stored(scan: ScanSpec, split: ChangeSplit) -> Iterator[pa.RecordBatch]:
    """The rows of a producer's files, as they came."""
    layout, side = scan.layout, split.after
    store = store_of(layout.location, layout.store)
    sieve = RowFilter.of(layout, scan.key_filter, layout.primary_key, side.partition)
    for file in side.files:
        for batch in read_file(scan, store, side.path, file, Wanted(scan.columns, kinds=True)):
            assert isinstance(batch, pa.RecordBatch)
            yield sieve.kept(batch)


def _committed(batch: pa.RecordBatch, commits: Rows, spec: ChangesSpec) -> pa.RecordBatch:
    """The changes with the number and the time of the commit of each."""
    known = np.array(sorted(spec.millis.items()), dtype=np.int64).reshape(-1, 2)
    micros = known[np.searchsorted(known[:, 0], commits), 1] * MILLI
    times = pa.array(micros).cast(pa.timestamp("us", "UTC"))
    return batch.append_column(VERSION, pa.array(commits)).append_column(TIME, times)


def _typed(batches: Iterator[pa.RecordBatch], wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=wanted) if len(wanted) else batch


def touched(scan: ScanSpec, split: ChangeSplit) -> Iterator[tuple[KeySet, Rows]]:
    """The touched keys of a split, ascending, and of each the newest commit that touched it, in
    windows that follow one another.
    """
    batches: list[pa.RecordBatch] = []
    commits: list[Rows] = []
    for number, file in split.touched:
        for batch in keys_of(scan, split.after, file):
            batches.append(batch)
            commits.append(np.full(batch.num_rows, number, dtype=np.int64))
    if not batches:
        return
    every = pa.Table.from_batches(batches).combine_chunks()
    columns = [every.column(name).combine_chunks() for name in scan.layout.key]
    found, places = KeySet.of(scan.layout, columns)
    newest = np.zeros(len(found.keys), dtype=np.int64)
    np.maximum.at(newest, places, np.concatenate(commits))
    for start in range(0, len(newest), WINDOW):
        some = [column.slice(start, WINDOW) for column in found.columns]
        yield KeySet.of(scan.layout, some)[0], newest[start : start + WINDOW]


def keys_of(scan: ScanSpec, place: Split, file: DataFile) -> Iterator[pa.RecordBatch]:
    """The keys of a file that are in a split's range and pass the filters of a scan."""
    layout = scan.layout
    reach = KeyRange.of(place, layout)
    sieve = RowFilter.of(layout, scan.key_filter, layout.primary_key, place.partition)
    names = tuple(dict.fromkeys((*layout.key, *sieve.columns)))
    filters = scan.key_filter
    keep = partial(may_matter, filters, reach, layout.key) if filters or reach else None
    store = store_of(layout.location, layout.store)
    for batch in read_file(scan, store, place.path, file, Wanted(names, keep=keep)):
        cut = batch if reach is None else reach.cut(batch)
        yield sieve.kept(cut).select(layout.key)
