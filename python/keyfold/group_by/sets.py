"""Bitmaps and HLL sketches in groups: `bitmap_agg`, `hll_union` and their kin, built by kernels
from values or united from stored ones. The bytes of results are those of the JVM's functions of the
same name; states are kernels' own words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.errors import CorruptDataError
from keyfold.group_by import set_bytes, set_inputs
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.keys import WordKeys
from keyfold.kernels.buffers import text, values
from keyfold.kernels.folds.item_sets import (
    SKETCH_BYTES,
    Dense,
    Given,
    Owned,
    count_in_states,
    find_large,
    join_dense,
    move_large,
    put_states,
    read_states,
    sizes,
    take_in,
    unite,
)
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.roaring.containers import BITMAP_BYTES

_LEAST_WAITING = 1 << 18
_FEW = {BITMAP_BYTES: 1024, SKETCH_BYTES: 384}  # of more items a set is dense
_WORD = 8


@dataclass(frozen=True)
class SetCall:
    """A call of such a function by its name, of a column of what `of` names: see `set_inputs`.
    Errors name it as `shown`, if that is another.
    """

    name: str
    of: str
    shown: str = ""

    @property
    def is_bitmap(self) -> bool:
        """Whether it makes bitmaps, else sketches."""
        return self.name.startswith("bitmap")

    @property
    def counts(self) -> bool:
        """Whether the result is how many numbers differ."""
        return self.name in ("bitmap_union_int", "bitmap_union_count", "hll_union_agg")

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of its results."""
        return pa.int64() if self.counts else pa.binary()


class Sets:
    """See `accumulate.Accumulated`, which folds all other functions."""

    keeps_rows = False

    def __init__(self, call: SetCall) -> None:
        self.call = call
        self._size = BITMAP_BYTES if call.is_bitmap else SKETCH_BYTES
        self.clear()

    def clear(self) -> None:
        """Forget all groups."""
        self._highs, self._pairs = WordKeys(pa.int64()), WordKeys(pa.int64())
        self._owners = self._large = self._count = 0
        self._words = np.empty(0, dtype=np.uint64)
        self._waiting: list[Any] = []
        self._dense = Dense(np.zeros(0, np.int32), np.zeros(0, np.uint8), self._size)
        self._index: Owned | None = None
        self._of_owners = np.empty(0, dtype=np.int64)

    @property
    def held(self) -> int:
        """The bytes that all take at most, while they grow or are sorted."""
        dense = self._dense.places.nbytes + self._dense.data.nbytes
        keys = self._highs.held + self._pairs.held if self.call.is_bitmap else 0
        return 2 * (self._words.nbytes + _WORD * self._count + dense) + keys

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a value to each of these groups. Raises GroupError if bytes are no set."""
        for given in set_inputs.read(
            self.call.shown or self.call.name, self.call.of, groups, column
        ):
            self._join(*given)

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """Add states of other tasks to these groups."""
        if states.null_count:
            groups = np.ascontiguousarray(groups[states.is_valid().to_numpy(zero_copy_only=False)])
            states = states.drop_null()
        bounds, data = text(states)
        words = data[int(bounds[0]) :].view(np.uint64)
        ends = (bounds[1:] - bounds[0]) // _WORD
        counts = np.zeros(2, dtype=np.int64)
        wrong = count_in_states(words, ends, self._size, counts)
        if wrong >= 0:
            group = int(groups[wrong])
            words_of = f"function {self.call.name}, group {group}: bytes of a task are no state"
            raise GroupError(group, CorruptDataError(words_of))
        few, many = (
            Given(np.empty(n, np.int32), np.empty(n, np.uint64), np.empty(n, np.uint32))
            for n in counts.tolist()
        )
        starts = np.empty(len(many.groups), dtype=np.int64)
        read_states(words, ends, groups, self._size, few, many, starts)
        self._join(few, many, starts, words)

    def _join(self, few: Given, many: Given, starts: Any, words: Any) -> None:
        """Add items, and dense sets that begin there in the words."""
        self._take(self._numbered(few.groups, few.highs), few.items)
        owners = self._numbered(many.groups, many.highs)
        if len(owners):
            fresh = np.unique(owners[self._dense.places[owners] == 0])
            self._dense.places[fresh] = self._large + 1 + np.arange(len(fresh), dtype=np.int32)
            self._grow(self._large + len(fresh))
            join_dense(words, starts, owners, self._dense)
            self._index = None

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """The sets of these groups as bytes."""
        owned, bounds = self._owned(start, stop)
        own = owned.owners[bounds[0] : bounds[-1]]
        large = self._dense.places[own] > 0
        small = owned.ends[own] - np.where(own > 0, owned.ends[own - 1], 0)
        room = int(np.where(large, self._size // _WORD, small).sum()) + 2 * len(own)
        words, ends = np.empty(room, dtype=np.uint64), np.empty(stop - start, dtype=np.int64)
        put_states(owned, self._dense, bounds, words, ends)
        yield set_bytes.column(_WORD * ends, words.view(np.uint8))

    def values(self, start: int, stop: int) -> pa.Array:
        """The results of these groups; of one without rows that of an empty set."""
        owned, bounds = self._owned(start, stop)
        if not self.call.counts:
            made = set_bytes.bitmaps if self.call.is_bitmap else set_bytes.sketches
            return made(owned, self._dense, bounds)
        own = np.ascontiguousarray(owned.owners[bounds[0] : bounds[-1]])
        counts = np.empty(len(own), dtype=np.int64)
        sizes(own, owned.ends, self._dense, counts)
        for place in np.flatnonzero(counts < 0).tolist():
            counts[place] = set_bytes.estimate(self._dense, int(own[place]))
        counts[owned.highs[own] == set_inputs.WIDE] = 0
        totals = np.concatenate(([0], np.cumsum(counts)))[bounds - bounds[0]]
        return pa.array(np.diff(totals))

    def _numbered(self, groups: Numbers, highs: Any) -> Numbers:
        """The owner of each item: a group, or a group with the upper bits."""
        if not self.call.is_bitmap:
            self._reach(int(groups.max(initial=-1)) + 1)
            return groups
        numbers = self._highs.number(pa.array(highs.view(np.int64)))
        owners = self._pairs.number(pa.array(groups.astype(np.int64) << 32 | numbers))
        self._reach(self._pairs.count)
        return owners

    def _reach(self, owners: int) -> None:
        self._owners = max(self._owners, owners)
        places = self._dense.places
        if self._owners > len(places):
            grown = np.zeros(max(self._owners, 2 * len(places)), dtype=np.int32)
            grown[: len(places)] = places
            self._dense = self._dense._replace(places=grown)

    def _take(self, owners: Numbers, items: Any) -> None:
        self._index = None
        words = np.empty(len(items), dtype=np.uint64)
        count = take_in(owners, items, self._dense, words)
        if count:
            self._waiting.append(words[:count].copy() if 2 * count < len(words) else words[:count])
            self._count += count
        if self._count >= max(_LEAST_WAITING, len(self._words)):
            self._settle()

    def _settle(self) -> None:
        """Sort what waits into the words; the large sets of these become dense."""
        if self._waiting:
            fresh = np.concatenate(self._waiting)
            fresh.sort()
            words = np.empty(len(self._words) + len(fresh), dtype=np.uint64)
            words = words[: unite(self._words, fresh, words)]
            self._waiting, self._count = [], 0
            self._grow(find_large(words, _FEW[self._size], self._dense.places, self._large))
            self._words = words[: move_large(words, self._dense)] if self._large else words

    def _grow(self, large: int) -> None:
        """Make room for `large` dense sets."""
        self._large, data = large, self._dense.data
        if large * self._size > len(data):
            grown = np.zeros(max(large * self._size, 2 * len(data)), dtype=np.uint8)
            grown[: len(data)] = data
            self._dense = self._dense._replace(data=grown)

    def _owned(self, start: int, stop: int) -> tuple[Owned, Any]:
        """The sets in the order of groups and upper bits, and where those of each group begin."""
        if self._index is None:
            self._settle()
            if self._large:
                self._words = self._words[: move_large(self._words, self._dense)]
            counts = np.bincount(
                (self._words >> np.uint64(32)).view(np.int64), minlength=self._owners
            )
            highs, self._of_owners = np.zeros(self._owners, np.uint64), np.arange(self._owners)
            order = self._of_owners
            if self.call.is_bitmap:
                (pairs,) = self._pairs.columns(0, self._owners)
                (known,) = self._highs.columns(0, self._highs.count)
                own = values(pairs, np.int64)
                highs = values(known, np.uint64)[own & 0xFFFFFFFF]
                order = np.lexsort((highs, own >> 32))
                self._of_owners = (own >> 32)[order]
            self._index = Owned(order, highs, self._words, np.cumsum(counts))
        return self._index, np.searchsorted(self._of_owners, np.arange(start, stop + 1))
