"""Look-ups of one snapshot by a process that stays: it keeps the row groups that it has decoded.

A key costs a search among the kept keys of each run. Only the records of the keys that are asked
for are merged, by the plan of a scan, so that the answers are those of a scan.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from keyfold.files.sections import needs_sequence, sequence_range
from keyfold.kernels.keys.comparable import encode
from keyfold.lazy import cached_property
from keyfold.lookup.bucket_records import KeptBucket, RunOfKeys, SectionOfKeys
from keyfold.lookup.key_places import BucketOfKeys, LookupPlan
from keyfold.lookup.row_group_cache import KeptFile, RowGroupCache, TooLargeError
from keyfold.lookup.rows_of_keys import (
    Spread,
    by_bucket,
    by_prefix,
    key_columns,
    look_up,
    may_be_keys,
    one_by_one,
    schema_of,
    stored,
)
from keyfold.merge.plan import plan_merge
from keyfold.read.keyset import KeySet
from keyfold.read.reader import read
from keyfold.read.waiting.waiting_records import waits
from keyfold.stores.opened import store_of
from keyfold.stores.snapshot_folder import reading_files
from keyfold.wire.specs import Run, Section


class Warm:
    """Look-ups by one plan, in any thread."""

    def __init__(self, plan: LookupPlan, kept: RowGroupCache) -> None:
        self.plan = plan
        self._kept = kept
        self.layout = layout = plan.scan.layout
        self._store = store_of(layout.location, layout.store)
        self._buckets: dict[int, KeptBucket] = {}

    @property
    def files(self) -> int:
        """The number of files in the plan."""
        return sum(len(place.split.files) for place in self.plan.places)

    def look_up(
        self, keys: pa.RecordBatch, spread: Spread = one_by_one
    ) -> tuple[pa.BooleanArray, pa.RecordBatch]:
        """The answer of `rows.look_up`. `spread` runs jobs, of one bucket each."""
        if keys.num_rows == 1:  # in a third of the time
            row = self._row(keys)
            return pa.array([row is not None]), self._no_row if row is None else row
        return look_up(self.plan, keys, self._rows, spread)

    def look_up_one(self, key: pa.RecordBatch) -> dict[str, Any] | None:
        """The row of a key, of one row; None if there is none."""
        row = self._row(key)
        return None if row is None else {n: row.column(n)[0].as_py() for n in self.plan.columns}

    def _row(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        layout = self.layout
        asked = key_columns(layout, layout.primary_key, key)
        for place, _ in by_bucket(self.plan, asked):
            wanted = KeySet.of_one(layout, [asked.column(name) for name in layout.key])
            for batch in self._rows(place, wanted):
                if batch.num_rows:
                    columns = [batch.column(name) for name in self.plan.columns]
                    return pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return None

    @cached_property
    def _schema(self) -> pa.Schema:
        return schema_of(self.plan)

    @cached_property
    def _no_row(self) -> pa.RecordBatch:
        """The answer for a key that has no row."""
        nulls = [pa.nulls(1, field.type) for field in self._schema]
        return pa.RecordBatch.from_arrays(nulls, schema=self._schema)

    def prefix(self, key: pa.RecordBatch) -> pa.Table:
        """All rows whose first columns of the key have the values of `key`. It is one row, of these
        columns and of some that the table is partitioned by.
        """
        layout = self.layout
        names = [name for name in layout.key if name in key.schema.names]
        schema = self._schema
        found: list[pa.RecordBatch] = []
        if may_be_keys(layout, key).all():
            wanted = KeySet.of_one(layout, [key.column(name) for name in names]) if names else None
            for place in by_prefix(self.plan, key):
                for batch in self._all(place) if wanted is None else self._rows(place, wanted):
                    columns = [batch.column(name) for name in self.plan.columns]
                    found.append(pa.RecordBatch.from_arrays(columns, schema=schema))
        return pa.Table.from_batches(found, schema)

    def _all(self, place: BucketOfKeys) -> Iterator[pa.RecordBatch]:
        """All rows of a bucket."""
        return read(self.plan.scan, place.split, self.plan.merge)

    def _rows(self, place: BucketOfKeys, wanted: KeySet) -> Iterator[pa.RecordBatch]:
        """Batches of the scan's columns: the rows of a bucket that have one of the keys."""
        if not self.plan.scan.metadata and not any(map(waits, place.split.sections)):
            bucket = self._buckets.get(id(place))
            if bucket is None:
                bucket = self._buckets[id(place)] = self._bucket(place)
            with contextlib.suppress(TooLargeError), reading_files(self.plan.scan):
                return iter(list(bucket.rows(wanted)))
        return stored(self.plan, place, wanted)

    def _bucket(self, place: BucketOfKeys) -> KeptBucket:
        scan, split = self.plan.scan, place.split
        layout = scan.layout

        def kept(run: Run) -> RunOfKeys:
            files = [KeptFile(scan, self._store, split.path, file, self._kept) for file in run]
            return RunOfKeys(tuple(files), sequence_range(run))

        def opened(section: Section) -> SectionOfKeys:
            files = [file for run in section for file in run if file.is_marked]
            merge = self.plan.merge
            if any(file.delete_rows != 0 for file in files):  # all columns decide on rows
                merge = plan_merge(layout, layout.arrow_schema.names)
            numbered = needs_sequence(section)
            return SectionOfKeys(tuple(map(kept, section)), merge, numbered, bool(files))

        columns = [place.ends.column(name) for name in layout.key]
        ends = encode(columns, layout.nullable_key)
        sections = tuple(map(opened, split.sections))
        return KeptBucket(scan, sections, place, ends)
