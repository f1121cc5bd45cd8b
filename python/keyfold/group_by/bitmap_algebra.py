"""Numbers that all bitmaps of a group share, and those in an odd number of them: `bitmap_intersect`
and `group_bitmap_xor`. A result has the portable form of 32 bits if all bitmaps had it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import and_, xor
from typing import Any

import pyarrow as pa
from pyroaring import BitMap

from keyfold.aggregates.declaration import Aggregate, Fold
from keyfold.aggregates.states.opaque import union_of
from keyfold.errors import CorruptDataError
from keyfold.group_by.accumulate import Accumulated, GroupError
from keyfold.group_by.bound import BoundCall
from keyfold.kernels.roaring import bitmaps
from keyfold.lazy import cached_property
from keyfold.types.spark import from_spark


def shared(states: list[bytes], operation: Callable[[Any, Any], Any] = and_) -> bytes:
    """Intersect bitmaps, or apply another operation to them from left to right. Raises ValueError
    if bytes are not a bitmap.
    """
    try:
        if all(bitmaps.form(state) == bitmaps.PORTABLE32 for state in states):
            return bitmaps.write32(reduce(operation, map(bitmaps.read32, states)))
        return bitmaps.write64(reduce(operation, map(bitmaps.read64, states)))
    except bitmaps.BitmapError as error:
        raise ValueError(f"not a bitmap: {error.words}") from error


def _of(name: str, operation: Callable[[Any, Any], Any]) -> Fold:
    return union_of(name, "bitmap", partial(shared, operation=operation))


_ALL = {"bitmap_intersect": and_, "group_bitmap_xor": xor}


class AlgebraCall(BoundCall):
    """A call of one of these, of a column of bitmaps."""

    @staticmethod
    def named(name: str) -> AlgebraCall:
        """The call."""
        return AlgebraCall(name, from_spark("binary"), {})

    @cached_property
    def aggregate(self) -> Aggregate:
        """See `BoundCall.aggregate`."""
        return _of(self.name, _ALL[self.name])


class Algebra(Accumulated):
    """The groups of such a call; one without bitmaps has an empty one."""

    def values(self, start: int, stop: int) -> pa.Array:
        """See `Accumulated.values`."""
        states = self._column(start, stop).to_pylist()
        return pa.array(
            [self._written(start + i, one) for i, one in enumerate(states)], pa.binary()
        )

    def _written(self, group: int, state: bytes | None) -> bytes:
        """A bitmap as it is written here, whoever wrote it."""
        if state is None:
            return bitmaps.write32(BitMap())
        try:
            if bitmaps.form(state) == bitmaps.PORTABLE32:
                return bitmaps.write32(bitmaps.read32(state))
            return bitmaps.write64(bitmaps.read64(state))
        except bitmaps.BitmapError as error:
            words = f"{self.call.words}, group {group}: not a bitmap: {error.words}"
            raise GroupError(group, CorruptDataError(words)) from error
