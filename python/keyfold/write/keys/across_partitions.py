"""Keys that are one across partitions (`bucket` = -1, a primary key without a partition column).

The rows of a task fold by key first, whatever their partitions. Each result is then looked up in
all partitions: it goes to the bucket that has its key, or moves it from there. deduplicate moves a
row: a -D goes to the old partition. first-row keeps the stored row, partial-update and aggregation
fold in the old partition. An UPDATE moves a row under every engine. Paimon does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.files.buckets import BucketKey, grouped, partition_codes
from keyfold.files.hash_index import Hashes
from keyfold.files.paimon_values import hashes
from keyfold.kernels.buffers import Rows, values
from keyfold.kernels.ops import DELETE, UPDATE_AFTER
from keyfold.lazy import cached_property
from keyfold.lookup.key_places import BucketOfKeys, LookupPlan
from keyfold.lookup.rows_of_keys import stored
from keyfold.merge.kinds import is_retract
from keyfold.options.clusters import clusters
from keyfold.options.declared import TableOptions
from keyfold.options.parsing import parse
from keyfold.read.keyset import KeySet
from keyfold.types.literals import manifest_value
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import KIND, OVERWRITTEN, CommitMessage, WriteSpec
from keyfold.write.keys.known_hashes import parts_of
from keyfold.write.keys.room import BucketRoom

MOST_KEYS, _MOST_BYTES = 1 << 20, 1 << 27  # of the rows that are looked up at once
_Flags = npt.NDArray[np.bool_]


class KeyParts:
    """The rows of one task by the part of their key, in which those of all partitions fold: a
    bucket of the partition columns that are in the key.
    """

    def __init__(self, spec: WriteSpec) -> None:
        self._layout, self._parts = spec.layout, clusters(parse(spec.layout))

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
        """The rows of each part, in their order."""
        layout = self._layout
        names = tuple(name for name in layout.partition_keys if name in layout.primary_key)
        parts = parts_of(_hashes(layout, batch), self._parts)
        codes = partition_codes(replace(layout, partition_keys=names), batch) * self._parts + parts
        for rows in grouped(codes):
            first = 0 if rows is None else int(rows[0])
            of_key = tuple(manifest_value(batch.column(name)[first]) for name in names)
            part = batch if rows is None else batch.take(pa.array(rows))
            yield BucketKey(of_key, int(parts[first])), part

    def noted(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        """The messages as they are."""
        return messages


def firsts(layout: TableLayout) -> tuple[str, ...]:
    """The partition columns of a row that the first of a key decides, where rows fold."""
    return tuple(name for name in layout.partition_keys if name not in layout.primary_key)


@dataclass(frozen=True)
class Routes:
    """The buckets that the folded rows of one task go to. `plan` looks their keys up, None if
    nothing is stored.
    """

    spec: WriteSpec
    plan: LookupPlan | None
    _places: dict[BucketKey, int] = field(default_factory=dict)  # numbered as they are met
    _partitions: dict[str, int] = field(default_factory=dict)
    _values: list[tuple[Any, ...]] = field(default_factory=list)  # of them, by their numbers
    _rooms: dict[tuple[int, int], BucketRoom] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Keys that are stored are looked up."""
        known = self.spec.stored
        assert self.plan is not None or known is None or known.seen is None

    def routed(
        self, part: BucketKey, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
        """The folded rows of a part, ascending by key, by the bucket that they go to. In each they
        ascend.
        """
        for rows in _rounds(batches):
            yield from self._of_round(part, rows)

    @cached_property
    def _options(self) -> TableOptions:
        return parse(self.spec.layout)

    @cached_property
    def _stored(self) -> list[BucketKey]:
        places = () if self.plan is None else self.plan.places
        return [BucketKey(one.split.partition.values, one.split.bucket) for one in places]

    def _of_round(
        self, part: BucketKey, rows: pa.RecordBatch
    ) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
        at = self._found(part, rows)
        own = self._own_partitions(rows)
        is_stored = at >= 0
        numbers = np.array([*map(self._number, self._stored), -1], dtype=np.int64)
        there = np.array([*(self._partition(p.partition) for p in self._stored), -1])[at]
        moved, dropped = self._decided(rows, is_stored, is_stored & (there != own))
        stays = np.flatnonzero(is_stored & ~moved & ~dropped)
        new = np.flatnonzero((~is_stored | moved) & ~dropped)
        gone = np.flatnonzero(moved)
        picked = np.concatenate([stays, new, gone])
        codes = [numbers[at[stays]], self._new_places(part.bucket, rows, own, new)]
        yield from self._by_place(rows, picked, np.concatenate([*codes, numbers[at[gone]]]), gone)

    def _by_place(
        self, rows: pa.RecordBatch, picked: Rows, codes: Rows, gone: Rows
    ) -> Iterator[tuple[BucketKey, pa.RecordBatch]]:
        """The picked rows by the numbers of their places; the last of them are those that are
        `gone` from there.
        """
        if not len(picked):
            return
        deletes = np.arange(len(picked)) >= len(picked) - len(gone)
        order = np.argsort(picked, kind="stable")
        picked, codes, deletes = picked[order], codes[order], deletes[order]
        names = list(self._places)
        for some in grouped(codes):
            at = slice(None) if some is None else some
            place = names[codes[at][0]]
            taken = rows.take(pa.array(picked[at]))
            kinds = np.where(deletes[at], np.int8(DELETE), values(taken.column(KIND), np.int8))
            partition = Partition.of(self.spec.layout, place.partition)
            fixed = {
                name: pa.repeat(value, taken.num_rows)
                for name, value in partition.scalars(self.spec.layout).items()
            }
            yield place, _with(taken, {**fixed, KIND: pa.array(kinds)})

    def _decided(
        self, rows: pa.RecordBatch, is_stored: _Flags, elsewhere: _Flags
    ) -> tuple[_Flags, _Flags]:
        """The rows that move their key from the partition where it is, and those of which nothing
        is written.
        """
        kinds = values(rows.column(KIND), np.int8)
        takes_back, engine = is_retract(kinds), self._options.engine
        changes, named = self.spec.changes, self.spec.named
        has_kinds = changes is not None and changes.has_kinds
        moves = ~takes_back if engine.is_default else np.zeros(len(kinds), dtype=np.bool_)
        if has_kinds and (named is None or {*named} & {*self.spec.layout.partition_keys}):
            moves = moves | (kinds == UPDATE_AFTER)
        elif has_kinds:
            moves = moves & (kinds != UPDATE_AFTER)
        dropped = np.zeros(len(kinds), dtype=np.bool_)
        if has_kinds or engine.is_default:
            dropped |= takes_back & ~is_stored
        if engine.keeps_oldest:
            keeps = is_stored & ~takes_back
            if OVERWRITTEN in rows.schema.names:
                keeps &= pc.is_null(rows.column(OVERWRITTEN)).to_numpy(zero_copy_only=False)
            dropped |= keeps
        return moves & elsewhere, dropped

    def _found(self, part: BucketKey, rows: pa.RecordBatch) -> Rows:
        """The place of the plan that has the key of each row, -1 if none has it."""
        found = np.full(rows.num_rows, -1, dtype=np.int64)
        layout, left = self.spec.layout, np.arange(rows.num_rows)
        columns = [rows.column(name) for name in layout.key]
        keys, order = KeySet.of(layout, columns) if len(left) else (None, left)
        of_key = repr(part.partition)
        for number in self._asked(part.bucket):
            assert self.plan is not None
            if keys is None or repr(layout.of_key(self._stored[number].partition)) != of_key:
                continue
            hit = np.zeros(len(keys), dtype=np.bool_)
            for batch in stored(self.plan, self.plan.places[number], keys):
                hit[keys.places(batch)] = True
            if hit.any():
                found[left[hit[order]]] = number
                left = left[~hit[order]]
                some = [column.take(pa.array(left)) for column in columns]
                keys, order = KeySet.of(layout, some) if len(left) else (None, left)
        return found

    def _asked(self, part: int) -> list[int]:
        """The places of the plan in the order in which keys of a part are asked for: first those
        that the part gets its buckets of, and late partitions.
        """
        step, found = clusters(self._options), range(len(self._stored))
        return sorted(found, key=lambda at: (self._stored[at].bucket % step != part, -at))

    def _own_partitions(self, rows: pa.RecordBatch) -> Rows:
        """The number of the partition that each row brings."""
        names, found = self.spec.layout.partition_keys, np.empty(rows.num_rows, dtype=np.int64)
        for some in grouped(partition_codes(self.spec.layout, rows)):
            at = slice(None) if some is None else some
            first = 0 if some is None else int(some[0])
            partition = tuple(manifest_value(rows.column(name)[first]) for name in names)
            found[at] = self._partition(partition)
        return found

    def _new_places(self, part: int, rows: pa.RecordBatch, own: Rows, new: Rows) -> Rows:
        """The numbers of the places, in their own partitions, of the `new` rows."""
        found = np.empty(len(new), dtype=np.int64)
        if not len(new):
            return found
        asked = rows.take(pa.array(new))
        hashed, partitions = _hashes(self.spec.layout, asked), own[new]
        for some in grouped(partitions):
            at = slice(None) if some is None else some
            partition = int(partitions[at][0])
            buckets = self._room(partition, part).assign(hashed[at])
            numbers = {
                bucket: self._number(BucketKey(self._values[partition], bucket))
                for bucket in np.unique(buckets).tolist()
            }
            found[at] = [numbers[bucket] for bucket in buckets.tolist()]
        return found

    def _room(self, partition: int, part: int) -> BucketRoom:
        if (partition, part) not in self._rooms:
            rows: dict[int, int] = {}
            for one in () if self.plan is None else self.plan.places:
                if repr(one.split.partition.values) == repr(self._values[partition]):
                    rows[one.split.bucket] = _rows_of(one)
            room = BucketRoom(self.spec.layout.name, self._options, part, rows)
            self._rooms[partition, part] = room
        return self._rooms[partition, part]

    def _number(self, place: BucketKey) -> int:
        return self._places.setdefault(place, len(self._places))

    def _partition(self, partition: tuple[Any, ...]) -> int:
        number = self._partitions.setdefault(repr(partition), len(self._values))
        if number == len(self._values):
            self._values.append(partition)
        return number


def _rows_of(place: BucketOfKeys) -> int:
    """The rows of a bucket, those more than once that are in several of its files."""
    files = (file for section in place.split.sections for run in section for file in run)
    return sum(file.rows - (file.delete_rows or 0) for file in files)


def _rounds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows as they follow one another, in batches of which each is looked up at once."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        rows, size = sum(b.num_rows for b in held), sum(b.nbytes for b in held)
        if held and (rows + batch.num_rows > MOST_KEYS or size + batch.nbytes > _MOST_BYTES):
            yield pa.concat_batches(held)
            held = []
        held.append(batch)
    if held:
        yield pa.concat_batches(held)


def _hashes(layout: TableLayout, batch: pa.RecordBatch) -> Hashes:
    found = hashes(layout, layout.key, [batch.column(name) for name in layout.key])
    return found.astype(np.int32)


def _with(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """A batch with other values in some of its columns."""
    arrays = [columns.get(name, batch.column(name)) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
