"""Frames of windows: groups of which one may go on from the one before, as a frame that grows does.

Rows of each group fold by themselves. What a group has of those that it goes on from is found for
many groups at once: neighbours are put together, then pairs of them, and so on, so that the states
of a thousand groups take some twenty calls. Large states are put together one after another: pairs
of them would take longer than the calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.folds import Call, folding
from keyfold.kernels.folds.picked import indices, take
from keyfold.kernels.folds.running import Numbers

_BYTES = 1 << 25  # of states that are put together at once
_LARGE = 1 << 15  # bytes of a state that takes longer than a call
_ANSWER_BYTES = 1 << 24  # of results, which may take far more than the rows of all groups


class Frames:
    """The groups of a call over a window. A row of a group that goes on from the one before comes
    with the complement of its number.
    """

    def __init__(self, call: Call, most_waiting: int) -> None:
        self.call = call
        self._own, self._united = (folding(call, most_waiting) for _ in range(2))
        self._goes_on: Any = np.zeros(0, dtype=np.bool_)
        self._reached: tuple[int, pa.Array] | None = None  # the last group found, and its state

    @property
    def held(self) -> int:
        """See `Folds.held`."""
        return self._own.held + self._united.held

    @property
    def keeps_rows(self) -> bool:
        """See `Folds.keeps_rows`."""
        return self._own.keeps_rows

    def clear(self) -> None:
        """See `Folds.clear`."""
        self._own.clear()
        self._united.clear()
        self._goes_on = np.zeros(0, dtype=np.bool_)
        self._reached = None

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `Folds.add`."""
        self._reached = None
        goes_on = groups < 0
        numbers = np.where(goes_on, ~groups, groups)
        missing = int(numbers.max(initial=-1)) + 1 - len(self._goes_on)
        if missing > 0:
            room = max(missing, len(self._goes_on))
            self._goes_on = np.concatenate((self._goes_on, np.zeros(room, dtype=np.bool_)))
        self._goes_on[numbers] = goes_on
        self._own.add(numbers, column)

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """See `Folds.merge`."""
        self._reached = None
        self._own.merge(groups, states)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """See `Folds.states`."""
        for first, found in self._wholes(start, stop):
            yield found.slice(max(start - first, 0))

    def values(self, start: int, stop: int) -> pa.Array:
        """The results of these groups, or of the first of them that take _ANSWER_BYTES."""
        if not self._goes_on[start:stop].any():
            return self._own.values(start, stop)
        found, size = list[pa.Array](), 0
        for first, results in self._wholes(start, stop, as_values=True):
            found.append(results.slice(max(start - first, 0)))
            size += found[-1].nbytes
            if size >= _ANSWER_BYTES:
                break
        return pa.concat_arrays(found)

    def keep(self, last: int) -> None:
        """Forget all groups but this one, which is the first then."""
        (state,) = self.states(last, last + 1)
        self.clear()
        self.merge(np.zeros(1, dtype=np.int32), state)

    def _wholes(
        self, start: int, stop: int, *, as_values: bool = False
    ) -> Iterator[tuple[int, pa.Array]]:
        """The states of these groups, and of those that the first one goes on from, or their
        values; each piece with the group that it begins with.
        """
        goes_on = np.zeros(stop, dtype=np.bool_)
        known = self._goes_on[:stop]
        goes_on[: len(known)] = known
        first, before = start - int(np.argmin(goes_on[start::-1])), None
        if self._reached is not None and first <= self._reached[0] <= start:
            at, before = self._reached
            first = at + 1
            if at == start:
                yield at, self._of(before) if as_values else before
        if first == stop:
            return
        own = pa.concat_arrays(list(self._own.states(first, stop)))
        before = pa.nulls(1, own.type) if before is None else before
        while len(own):
            count = _fitting(before, own)
            on = goes_on[first : first + count]
            found, before = self._piece(before, own.slice(0, count), on, as_values=as_values)
            own, first = own.slice(count), first + count
            self._reached = first - 1, before
            if first > start:
                yield first - count, found

    def _piece(
        self, before: pa.Array, own: pa.Array, goes_on: Any, *, as_values: bool
    ) -> tuple[pa.Array, pa.Array]:
        """The states or values of groups that follow one whose state is `before`, and the state of
        the last of them.
        """
        if as_values and max(before.nbytes, own.nbytes // len(own)) > _LARGE:
            return self._in_turn(before, own, goes_on)
        whole = pa.concat_arrays([before, own])
        whole = self._whole(whole, np.concatenate(([False], goes_on))).slice(1)
        last = take(whole, indices(np.array([len(whole) - 1])))
        return self._of(whole) if as_values else whole, last

    def _in_turn(self, before: pa.Array, own: pa.Array, goes_on: Any) -> tuple[pa.Array, pa.Array]:
        """The values of such groups, one after another, and the state of the last."""
        united, found, first = self._united, list[pa.Array](), np.zeros(1, dtype=np.int32)
        united.clear()
        united.merge(first, before)
        for place, is_more in enumerate(goes_on.tolist()):
            if not is_more:
                united.clear()
            united.merge(first, own.slice(place, 1))
            found.append(united.values(0, 1))
        (state,) = united.states(0, 1)
        united.clear()
        return pa.concat_arrays(found), state

    def _whole(self, states: pa.Array, goes_on: Any) -> pa.Array:
        try:
            return self._put_together(states, goes_on)
        except GroupError:  # a part of a group may not fit where the group does
            found = [states.slice(0, 1)]
            for place in range(1, len(states)):
                one = states.slice(place, 1)
                found.append(self._sum(found[-1], one) if goes_on[place] else one)
            return pa.concat_arrays(found)

    def _put_together(self, states: pa.Array, goes_on: Any) -> pa.Array:
        """Each state with those that it goes on from: of pairs of neighbours first, then of each
        other one with the pairs before it.
        """
        if len(states) == 1:
            return states
        half = len(states) // 2
        even, odd = (take(states, indices(np.arange(at, len(states), 2))) for at in (0, 1))
        pairs = self._sums(even.slice(0, half), odd, goes_on[1::2])
        found = self._put_together(pairs, goes_on[0 : 2 * half : 2] & goes_on[1::2])
        others = even.slice(1)
        rest = self._sums(found.slice(0, len(others)), others, goes_on[2::2])
        places = np.empty(len(states), dtype=np.int64)
        places[1::2], places[2::2] = np.arange(half), half + np.arange(len(others))
        places[0] = half + len(others)
        return take(pa.concat_arrays([found, rest, states.slice(0, 1)]), indices(places))

    def _sums(self, left: pa.Array, right: pa.Array, goes_on: Any) -> pa.Array:
        """The states on the right; those that go on, with the state on the left."""
        rows = np.flatnonzero(goes_on)
        if not len(rows):
            return right
        if len(rows) == len(right):
            return self._sum(left, right)
        at = indices(rows)
        places = np.arange(len(right))
        places[rows] = len(right) + np.arange(len(rows))
        found = self._sum(take(left, at), take(right, at))
        return take(pa.concat_arrays([right, found]), indices(places))

    def _sum(self, left: pa.Array, right: pa.Array) -> pa.Array:
        numbers = np.arange(len(left), dtype=np.int32)
        self._united.clear()
        self._united.merge(numbers, left)
        self._united.merge(numbers, right)
        found = pa.concat_arrays(list(self._united.states(0, len(left))))
        self._united.clear()
        return found

    def _of(self, states: pa.Array) -> pa.Array:
        """The values of states."""
        self._united.clear()
        self._united.merge(np.arange(len(states), dtype=np.int32), states)
        found = self._united.values(0, len(states))
        self._united.clear()
        return found


def _fitting(before: pa.Array, own: pa.Array) -> int:
    """How many of the next groups fit into memory, if each has all bytes of those before."""
    sizes = pc.fill_null(pc.binary_length(own), 0).to_numpy()
    most = (before.nbytes + np.cumsum(sizes)) * np.arange(1, len(own) + 1)
    return max(1, int(np.searchsorted(most, _BYTES)))
