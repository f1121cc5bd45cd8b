"""The rows of a job meet the keys that are stored, before they fold: the auto-increment column is
filled, or rows of stored keys are left out.

A key that is stored keeps its id. All rows of a new key get one number, in the order in which the
keys came. So all records of a key hold the same id, and whatever an engine makes of them has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import TableError
from keyfold.files.buckets import BucketKey
from keyfold.ids.id_ranges import Ranges
from keyfold.kernels.buffers import Rows
from keyfold.kernels.keys.membership import find
from keyfold.lookup.of_tasks import Plans
from keyfold.lookup.rows_of_keys import look_up
from keyfold.merge import kinds as row_kinds
from keyfold.merge.kinds import is_retract
from keyfold.options.parsing import parse
from keyfold.read.keyset import KeySet
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import ORDINAL, StoredKeys, WriteSpec

MOST_KEYS = 1 << 20  # of one look-up, whose rows are in memory
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Filling:
    """The rows of one task. `plans` look stored keys up, None in an empty table. With `remembers`
    a key that comes again, after others were spilled, gets the number that it had; else the fold
    keeps one of two.
    """

    spec: WriteSpec
    stored: StoredKeys
    plans: Plans | None
    remembers: bool
    _given: dict[BucketKey, list[tuple[KeySet, Rows]]] = field(default_factory=dict)

    def filled(self, place: BucketKey, batches: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch]:
        """Batches of one bucket, as they fold, in the order in which they came."""
        if not batches:
            return []
        columns = _columns(batches, self.spec.layout.primary_key)
        wanted, places = KeySet.of(
            self.spec.layout, [columns.column(name) for name in self.spec.layout.key]
        )
        is_stored, ids = self._stored(columns, wanted, places)
        if self.stored.only_new:
            batches, places = _first_of_new(batches, places, is_stored)
        if self.stored.ids is None or not batches:
            return list(batches)
        taken_back = _retracts(batches)
        is_new = np.zeros(len(wanted), dtype=np.bool_)
        is_new[places[~taken_back]] = True
        self._number(place, wanted, ids, _arrival(batches, places, taken_back, ids == 0, is_new))
        self._check(batches, places, ids, self.stored.ids)
        if not parse(self.spec.layout).engine.keeps_records:
            ids = np.append(ids, 0)  # what a fold takes back is not the id
            places = np.where(taken_back, len(ids) - 1, places)
        return self._with_ids(batches, places, ids, self.stored.ids)

    def _stored(self, columns: pa.RecordBatch, wanted: KeySet, places: Rows) -> tuple[_Flags, Rows]:
        """Whether each distinct key is stored, and its id, or 0."""
        is_stored = np.zeros(len(wanted), dtype=np.bool_)
        ids = np.zeros(len(wanted), dtype=np.int64)
        if self.plans is None:
            return is_stored, ids
        firsts = np.empty(len(wanted), dtype=np.int64)
        firsts[places[::-1]] = np.arange(len(places))[::-1]
        for start in range(0, len(firsts), MOST_KEYS):
            some = slice(start, start + MOST_KEYS)
            keys = columns.take(pa.array(firsts[some]))
            found, rows = look_up(self.plans.of(keys), keys)
            is_stored[some] = found.to_numpy(zero_copy_only=False)
            if self.stored.ids is not None:
                ids[some] = numbers(rows.column(rows.num_columns - 1))
        return is_stored, ids

    def _number(self, place: BucketKey, wanted: KeySet, ids: Rows, new: Rows) -> None:
        """Put numbers of keys into `ids`; `new` are those that need one, as they came."""
        for keys, numbered in self._given.get(place, ()):
            at, is_there = find(keys.keys, wanted.keys)
            known = is_there & (ids == 0)
            ids[known] = numbered[at[known]]
        new = new[ids[new] == 0]
        if not len(new):
            return
        layout = self.spec.layout
        partition = Partition.of(layout, place.partition)
        ranges = Ranges.of(layout).take(partition, place.bucket, len(new))
        ids[new] = np.concatenate([np.arange(first, last + 1) for first, last in ranges])
        if self.remembers:
            self._given.setdefault(place, []).append((wanted, ids.copy()))

    def _check(self, batches: Sequence[pa.RecordBatch], places: Rows, ids: Rows, name: str) -> None:
        """Raises TableError if a row brings another id than its key has."""
        at = 0
        for batch in batches:
            own = ids[places[at : at + batch.num_rows]]
            at += batch.num_rows
            column = batch.column(name)
            if column.null_count == len(column):
                continue
            wrong = np.flatnonzero(pc.is_valid(column).to_numpy(zero_copy_only=False))
            wrong = wrong[numbers(column)[wrong] != own[wrong]]
            if len(wrong):
                row = int(wrong[0])
                key = ", ".join(f"{k} = {batch.column(k)[row]}" for k in self.spec.layout.key)
                raise explicit(self.spec.layout.name, name, f"found {column[row]} at {key}")

    def _with_ids(
        self, batches: Sequence[pa.RecordBatch], places: Rows, ids: Rows, name: str
    ) -> list[pa.RecordBatch]:
        kind = self.spec.layout.column(name).arrow_field.type
        values = pa.array(ids, mask=ids == 0).cast(kind)
        made, at = [], 0
        for batch in batches:
            column = values.take(pa.array(places[at : at + batch.num_rows]))
            at += batch.num_rows
            number = batch.schema.get_field_index(name)
            made.append(batch.set_column(number, batch.schema.field(number), column))
        return made


def explicit(table: str, name: str, found: str) -> TableError:
    """The error, in Fluss' words: somebody writes the auto-increment column."""
    return TableError(
        f"writing table {table}: Explicitly specifying values for the auto increment column {name} "
        f"is not allowed; {found}. Name the other columns, as in INSERT INTO t (key, …): the table "
        "gives each new key a number"
    )


def numbers(column: pa.Array) -> Rows:
    """Ids as integers, NULL as 0."""
    found: Rows = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return found.copy()


def _columns(batches: Sequence[pa.RecordBatch], names: Sequence[str]) -> pa.RecordBatch:
    return pa.concat_batches([batch.select(list(names)) for batch in batches])


def _retracts(batches: Sequence[pa.RecordBatch]) -> _Flags:
    """Whether each row takes one back."""
    found = []
    for batch in batches:
        kinds = row_kinds.of(batch)
        none = np.zeros(batch.num_rows, dtype=np.bool_)
        found.append(none if kinds is None else is_retract(kinds))
    return np.concatenate(found)


def _first_of_new(
    batches: Sequence[pa.RecordBatch], places: Rows, is_stored: _Flags
) -> tuple[list[pa.RecordBatch], Rows]:
    """The first row of each key that is not stored: more would fold, and a DEFAULT add up."""
    kept, at = np.zeros(len(places), dtype=np.bool_), 0
    kept[np.unique(places, return_index=True)[1]] = True
    kept &= ~is_stored[places]
    made = []
    for batch in batches:
        made.append(batch.filter(pa.array(kept[at : at + batch.num_rows])))
        at += batch.num_rows
    return [batch for batch in made if batch.num_rows], places[kept]


def _arrival(
    batches: Sequence[pa.RecordBatch],
    places: Rows,
    taken_back: _Flags,
    lacks: _Flags,
    is_new: _Flags,
) -> Rows:
    """The keys that lack an id and have a row, in the order of their first rows."""
    rows = np.flatnonzero(~taken_back)
    if ORDINAL in batches[0].schema.names:
        ordinals = np.concatenate([batch.column(ORDINAL).to_numpy() for batch in batches])
        rows = rows[np.argsort(ordinals[rows], kind="stable")]
    firsts = np.full(len(lacks), len(rows), dtype=np.int64)
    firsts[places[rows[::-1]]] = np.arange(len(rows))[::-1]
    keys = np.flatnonzero(lacks & is_new)
    found: Rows = keys[np.argsort(firsts[keys], kind="stable")]
    return found
