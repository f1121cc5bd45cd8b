"""The keys that commits touched: those of the rows in files that they added or removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from keyfold.changelog.specs import ChangeSplit
from keyfold.kernels.buffers import Rows
from keyfold.predicates.row_filter import Sieve
from keyfold.read.keyrange import KeyRange
from keyfold.read.keyset import KeySet
from keyfold.read.parquet import Wanted, read_file
from keyfold.read.reader import may_matter
from keyfold.stores.opened import store_of
from keyfold.wire.specs import DataFile, ScanSpec

WINDOW = 1 << 16  # keys whose rows are in memory at once


@dataclass(frozen=True)
class Touched:
    """Distinct keys, ascending, and of each the newest commit that touched it."""

    keys: KeySet
    commits: Rows


def touched(scan: ScanSpec, split: ChangeSplit) -> Iterator[Touched]:
    """The touched keys of a split, in windows that follow one another."""
    batches: list[pa.RecordBatch] = []
    commits: list[Rows] = []
    for number, file in split.touched:
        for batch in _keys_of(scan, split, file):
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
        yield Touched(KeySet.of(scan.layout, some)[0], newest[start : start + WINDOW])


def _keys_of(scan: ScanSpec, split: ChangeSplit, file: DataFile) -> Iterator[pa.RecordBatch]:
    """The keys of a file that are in the split's range and pass its filters."""
    layout, place = scan.layout, split.after
    reach = KeyRange.of(place, layout)
    sieve = Sieve.of(layout, scan.key_filter, layout.primary_key, place.partition)
    names = tuple(dict.fromkeys((*layout.key, *sieve.columns)))
    filters = scan.key_filter
    keep = partial(may_matter, filters, reach, layout.key) if filters or reach else None
    store = store_of(layout.location, layout.store)
    for batch in read_file(scan, store, place.path, file, Wanted(names, keep=keep)):
        cut = batch if reach is None else reach.cut(batch)
        yield sieve.kept(cut).select(layout.key)
