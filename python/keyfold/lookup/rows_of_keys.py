"""The rows of given keys, as a scan gives them (executor side, or any process).

Keys go to their buckets; of a bucket only the files whose key range holds one of them are opened,
and of these only the row groups that may hold one. Their keys are compared before the merge, so
that memory holds the records of the keys that are asked for, and one row group.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.files.buckets import grouped, partition_codes
from keyfold.files.paimon_values import hashes
from keyfold.kernels.buffers import Rows
from keyfold.kernels.folds.picked import indices, take
from keyfold.lookup.indexes import without_others
from keyfold.lookup.key_places import BucketOfKeys, LookupPlan
from keyfold.read import task
from keyfold.read.keyset import KeySet
from keyfold.read.reader import read
from keyfold.read.waiting.waiting_records import parted
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.types.literals import manifest_value
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import ScanSpec, Split

Made = TypeVar("Made")
Jobs = Sequence[Callable[[], Made]]
Spread = Callable[[Jobs[Any]], Iterable[Any]]
OfBucket = Callable[[BucketOfKeys, KeySet], Iterator[pa.RecordBatch]]


def one_by_one(jobs: Jobs[Made]) -> Iterator[Made]:
    """The results of jobs, all made by this thread."""
    return (job() for job in jobs)


def look_up(
    plan: LookupPlan,
    keys: pa.RecordBatch,
    of_bucket: OfBucket | None = None,
    spread: Spread = one_by_one,
) -> tuple[pa.BooleanArray, pa.RecordBatch]:
    """Whether each key has a row, and a batch of `plan.columns` that has the row of each key at its
    place, or NULLs. `keys` has the columns of the primary key, in any order and of the table's
    Arrow types; keys may repeat. NULL is a key only if its column may hold NULL.

    All found rows are in memory at once, so callers bound the number of keys. `of_bucket` gives the
    rows of a bucket that have one of the keys, by default `stored`; `spread` runs jobs, of one
    bucket each. Raises TableError if a column of the key is missing or of another type.
    """
    layout = plan.scan.layout
    asked = key_columns(layout, layout.primary_key, keys)
    found = np.full(keys.num_rows, -1, dtype=np.int64)
    batches: list[pa.RecordBatch] = []
    count = 0
    reading = of_bucket or partial(stored, plan)
    jobs = [partial(_job, plan, reading, asked, *one) for one in by_bucket(plan, asked)]
    for rows, at, more in spread(jobs):
        found[rows] = np.where(at < 0, found[rows], at + count)  # a key may be in any of several
        batches += more
        count += sum(batch.num_rows for batch in more)
    return pa.array(found >= 0), taken(plan, batches, found)


def _job(
    plan: LookupPlan, of_bucket: OfBucket, asked: pa.RecordBatch, place: BucketOfKeys, rows: Rows
) -> tuple[Rows, Rows, list[pa.RecordBatch]]:
    """Keys of one bucket, the row of each in the batches of their rows, and these."""
    keys = asked.take(pa.array(rows))
    wanted, places = KeySet.of(
        plan.scan.layout, [keys.column(name) for name in plan.scan.layout.key]
    )
    at = np.full(len(wanted), -1, dtype=np.int64)
    batches, count = [], 0
    for batch in of_bucket(place, wanted):
        at[wanted.places(batch)] = np.arange(count, count + batch.num_rows)
        count += batch.num_rows
        batches.append(batch.select(plan.columns))
    return rows, at[places], batches


def stored(plan: LookupPlan, place: BucketOfKeys, wanted: KeySet) -> Iterator[pa.RecordBatch]:
    """The rows of a bucket that have one of the keys, in columns of the scan, read anew."""
    return read(plan.scan, _narrowed(plan.scan, place, wanted), plan.merge, wanted)


def runs_of(plan: LookupPlan, keys: pa.RecordBatch) -> Iterator[Iterator[pa.RecordBatch]]:
    """For each bucket that may hold one of the keys its rows that have one, in columns of the scan,
    ascending by key; they are read as they are taken. `keys` are as for `look_up`.
    """
    layout = plan.scan.layout
    asked = key_columns(layout, layout.primary_key, keys)
    for place, rows in by_bucket(plan, asked):
        columns = [asked.column(name).take(pa.array(rows)) for name in layout.key]
        yield stored(plan, place, KeySet.of(layout, columns)[0])


def schema_of(plan: LookupPlan) -> pa.Schema:
    """The columns of `look_up`'s rows, each of which may be NULL."""
    own = task.schema_of(plan.scan)
    return pa.schema([own.field(name).with_nullable(True) for name in plan.columns])


def key_columns(layout: TableLayout, names: Sequence[str], keys: pa.RecordBatch) -> pa.RecordBatch:
    """Columns of keys by name. Raises TableError if their types are not those of the table."""
    fields = [layout.column(name).arrow_field for name in names]
    given = {field.name: field.type for field in keys.schema}
    for field in fields:
        if given.get(field.name) != field.type:
            raise TableError(
                f"looking keys up in table {layout.name}: expected column {field.name} of type "
                f"{field.type}, found {given.get(field.name, 'no such column')}"
            )
    return keys.select([field.name for field in fields])


def by_bucket(plan: LookupPlan, keys: pa.RecordBatch) -> Iterator[tuple[BucketOfKeys, Rows]]:
    """The keys that each bucket may hold, by their row numbers; buckets without one are left
    out.
    """
    layout = plan.scan.layout
    rows = np.flatnonzero(may_be_keys(layout, keys))
    if not len(rows):
        return
    if not {*layout.partition_keys} <= {*keys.schema.names}:  # the key is one across partitions
        yield from _across_partitions(plan, keys, rows)
        return
    for of_partition in _by_partition(layout, keys, rows):
        values = _partition_at(layout, keys, int(of_partition[0]))
        places = plan.by_partition.get(repr(values), [])
        yield from _in_partition(plan, places, keys, of_partition)


def _across_partitions(
    plan: LookupPlan, keys: pa.RecordBatch, rows: Rows
) -> Iterator[tuple[BucketOfKeys, Rows]]:
    layout = plan.scan.layout
    named = [name for name in layout.partition_keys if name in keys.schema.names]
    columns = [keys.column(name) for name in named]
    own = replace(layout, partition_keys=tuple(named))
    for some in _by_partition(own, keys, rows):
        values = repr(tuple(manifest_value(column[int(some[0])]) for column in columns))
        for places in plan.by_partition.values():
            if repr(layout.of_key(places[0].split.partition.values)) == values:
                yield from _in_partition(plan, places, keys, some)


def partitions_of(layout: TableLayout, keys: pa.RecordBatch) -> list[Partition]:
    """The partitions that hold the keys, each once."""
    if not keys.num_rows:
        return []
    groups = _by_partition(layout, keys, np.arange(keys.num_rows))
    return [_partition_at(layout, keys, int(rows[0])) for rows in groups]


def _partition_at(layout: TableLayout, keys: pa.RecordBatch, row: int) -> Partition:
    return tuple(manifest_value(keys.column(name)[row]) for name in layout.partition_keys)


def _by_partition(layout: TableLayout, keys: pa.RecordBatch, rows: Rows) -> Iterator[Rows]:
    if not layout.partition_keys or len(rows) == 1:
        yield rows
        return
    codes = partition_codes(layout, keys)[rows]
    for group in grouped(codes):
        yield rows if group is None else rows[group]


def by_prefix(plan: LookupPlan, key: pa.RecordBatch) -> list[BucketOfKeys]:
    """The buckets that may hold rows with the values of a one-row batch, of columns of the key and
    the partition.
    """
    layout, names = plan.scan.layout, plan.bucket_key
    given = [name for name in layout.partition_keys if name in key.schema.names]
    places = [layout.partition_keys.index(name) for name in given]
    values = repr([manifest_value(key.column(name)[0]) for name in given])
    number = None
    if names and all(name in key.schema.names for name in names):
        number = abs(int(hashes(layout, names, [key.column(name) for name in names])[0]))
    return [
        place
        for place in plan.places
        if number is None or not place.buckets or number % place.buckets == place.split.bucket
        if not given or repr([place.split.partition.values[at] for at in places]) == values
    ]


def may_be_keys(layout: TableLayout, keys: pa.RecordBatch) -> Rows:
    """Whether the key of a row holds NULL only where a key may."""
    found = np.ones(keys.num_rows, dtype=np.bool_)
    for name, column in zip(keys.schema.names, keys.columns, strict=True):
        if column.null_count and not layout.column(name).type.nullable:
            found &= pc.is_valid(column).to_numpy(zero_copy_only=False)
    return found


def _in_partition(
    plan: LookupPlan, places: Sequence[BucketOfKeys], keys: pa.RecordBatch, rows: Rows
) -> Iterator[tuple[BucketOfKeys, Rows]]:
    if not places:
        return
    layout, names = plan.scan.layout, plan.bucket_key
    columns = [keys.column(name) for name in names]
    if len(rows) < keys.num_rows:
        columns = [column.take(pa.array(rows)) for column in columns]
    hashed = np.abs(hashes(layout, names, columns)) if names else None
    for buckets, some in itertools.groupby(places, key=lambda place: place.buckets):
        if not buckets or hashed is None:
            yield from ((place, rows) for place in some)
            continue
        numbers = hashed % buckets
        if len(rows) == 1:
            number = int(numbers[0])
            yield from ((place, rows) for place in some if place.split.bucket == number)
            continue
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        for place in some:
            start, stop = np.searchsorted(ordered, [place.split.bucket, place.split.bucket + 1])
            if start < stop:
                yield place, rows[order[start:stop]]


def _narrowed(scan: ScanSpec, place: BucketOfKeys, wanted: KeySet) -> Split:
    """The split with only those files that may hold a key."""
    found = without_others(scan, place, wanted, wanted.reach_into(place.ends))
    flags = iter(found.tolist())
    sections = []
    for section in place.split.sections:
        last = parted(section)[1]  # in no order of keys
        runs = (tuple(file for file in run if next(flags) or run is last) for run in section)
        if kept := tuple(run for run in runs if run):
            sections.append(kept)
    return replace(place.split, sections=tuple(sections))


def taken(plan: LookupPlan, batches: Sequence[pa.RecordBatch], places: Rows) -> pa.RecordBatch:
    """The rows of batches at these places, counted through all of them; NULLs at -1."""
    schema = schema_of(plan)
    if not batches:
        arrays = [pa.nulls(len(places), field.type) for field in schema]
    else:
        parts = [pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches]
        picked = indices(places)
        arrays = [take(column, picked) for column in pa.concat_batches(parts).columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
