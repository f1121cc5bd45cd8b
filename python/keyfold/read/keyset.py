"""The keys that are asked for, in place of a split's key range.

Rows of other keys are left out before the merge, as a key belongs to a row or to none of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Rows
from keyfold.kernels.groups.by_key import group_starts
from keyfold.kernels.keys.comparable import Keys, encode
from keyfold.kernels.keys.membership import Flags, find
from keyfold.kernels.keys.order import sort_order
from keyfold.lazy import cached_property
from keyfold.merge.deferred import Deferred
from keyfold.predicates.ranges import Ranges
from keyfold.read.key_cuts import highest, lowest
from keyfold.types.literals import manifest_values
from keyfold.wire.layout import TableLayout


@dataclass(frozen=True)
class KeySet:
    """Distinct keys, ascending: the columns `names` of the trimmed key, and their one form for
    comparison. If they are not `is_whole`, they are its first columns.
    """

    names: tuple[str, ...]
    nullable: tuple[bool, ...]
    columns: tuple[pa.Array, ...]
    keys: Keys
    is_whole: bool

    @staticmethod
    def of_one(layout: TableLayout, columns: Sequence[pa.Array]) -> KeySet:
        """One key, by columns of one row, as `of` takes them."""
        names, nullable = layout.key[: len(columns)], layout.nullable_key[: len(columns)]
        is_whole = len(columns) == len(layout.key)
        return KeySet(names, nullable, tuple(columns), encode(columns, nullable), is_whole)

    @staticmethod
    def of(layout: TableLayout, columns: Sequence[pa.Array]) -> tuple[KeySet, Rows]:
        """The distinct ones of keys in any order, at least one, and the place of each among them.
        `columns` are those of `layout.key`, or its first ones, without NULL where that has none.
        """
        names, nullable = layout.key[: len(columns)], layout.nullable_key[: len(columns)]
        is_whole = len(columns) == len(layout.key)
        keys = encode(columns, nullable)
        words, order = sort_order(keys, np.arange(len(keys), dtype=np.int64))
        starts = group_starts(keys, words, order)
        firsts = pa.array(order[starts[:-1]])
        places = np.empty(len(keys), dtype=np.int64)
        places[order] = np.repeat(np.arange(len(firsts)), np.diff(starts))
        distinct = tuple(column.take(firsts) for column in columns)
        return KeySet(names, nullable, distinct, encode(distinct, nullable), is_whole), places

    def __len__(self) -> int:
        return len(self.keys)

    def places(self, batch: pa.RecordBatch) -> Rows:
        """The place among these keys of each row of a batch, whose keys are all among them."""
        return find(self.keys, self._keys_of(batch))[0]

    def cut(self, batch: pa.RecordBatch | Deferred) -> pa.RecordBatch | Deferred:
        """The rows of a batch, sorted by key without a key twice, whose keys are asked for."""
        if not self.is_whole:
            return self.among(batch)
        places, is_there = find(self._keys_of(batch), self.keys)
        passes = np.zeros(batch.num_rows, dtype=np.bool_)
        passes[places[is_there]] = True
        return batch.filter(pa.array(passes))

    def among(self, batch: pa.RecordBatch | Deferred) -> pa.RecordBatch | Deferred:
        """The rows of a batch, in any order, whose keys are asked for."""
        return batch.filter(pa.array(find(self.keys, self._keys_of(batch))[1]))

    def has_any(self, batch: pa.RecordBatch) -> bool:
        """Whether a row of a batch, sorted by key, has one of these keys, which are whole."""
        few, many = sorted((self.keys, self._keys_of(batch)), key=len)
        return bool(find(many, few)[1].any())

    def are_in(self, batch: pa.RecordBatch) -> Flags:
        """Whether each of these keys, which are whole, is in a batch that is sorted by key."""
        return find(self._keys_of(batch), self.keys)[1]

    def may_hold(self, ranges: Ranges, key: Sequence[str]) -> bool:
        """False only if sorted rows with these ranges of `key` columns hold no key of these."""
        most = len(self.names)
        return self.reaches(*(wrapped(end(ranges, key)[:most]) for end in (lowest, highest)))

    def reaches(self, low: tuple[Any, ...], high: tuple[Any, ...]) -> bool:
        """Whether a key is from `low` to `high`, `wrapped` values of some leading columns."""
        first = bisect_left(self.values, low, key=lambda value: value[: len(low)])
        return first < bisect_right(self.values, high, key=lambda value: value[: len(high)])

    def reach_into(self, ends: pa.RecordBatch) -> Flags:
        """For each pair of rows of `ends`, the first and last key of a file, whether a key of these
        is from one to the other.
        """
        return self.reach_between(self._keys_of(ends))

    def reach_between(self, ends: Keys) -> Flags:
        """For each pair of encoded `ends`, whether a key of these is from one to the other."""
        places, is_there = find(self.keys, ends)
        found: Flags = places[::2] < places[1::2] + is_there[1::2]
        return found

    @cached_property
    def values(self) -> list[tuple[Any, ...]]:
        """The keys as manifests hold them, in a form that compares with NULL as the least."""
        columns = zip(*map(manifest_values, self.columns), strict=True)
        return [wrapped(values) for values in columns]

    def _keys_of(self, batch: pa.RecordBatch | Deferred) -> Keys:
        return encode([batch.column(name) for name in self.names], self.nullable)


def wrapped(values: Sequence[Any]) -> tuple[Any, ...]:
    """Values in a form that compares with NULL as the least."""
    return tuple((value is not None, value) for value in values)
