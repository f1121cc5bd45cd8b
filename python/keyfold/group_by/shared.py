"""Intersections of the bitmaps of some values: `intersect_count`, `orthogonal_bitmap_intersect`. A
row has a bitmap, and for each value whether it is the row's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.group_by.bitmap_algebra import shared
from keyfold.group_by.sets import SetCall, Sets
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.roaring import bitmaps
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode


@dataclass(frozen=True)
class SharedCall:
    """One of these calls; `values` is the number of values that it names."""

    name: str
    values: int

    @property
    def counts(self) -> bool:
        """Whether the result is how many numbers are shared."""
        return self.name == "intersect_count"

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of its results."""
        return pa.int64() if self.counts else pa.binary()


class Shared:
    """The groups of such a call: for each value the union of its bitmaps."""

    keeps_rows = False

    def __init__(self, call: SharedCall) -> None:
        self.call = call
        union = SetCall("bitmap_union", "bitmaps", shown=call.name)
        self._unions = [Sets(union) for _ in range(call.values)]

    @property
    def held(self) -> int:
        """See `Sets.held`."""
        return sum(union.held for union in self._unions)

    def clear(self) -> None:
        """Forget all groups."""
        for union in self._unions:
            union.clear()

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add the rows to the unions of their values. Raises GroupError if bytes are no bitmap."""
        found, *flags = column.flatten()
        for union, own in zip(self._unions, flags, strict=True):
            rows = np.flatnonzero(pc.fill_null(own, False).to_numpy(zero_copy_only=False))
            union.add(np.ascontiguousarray(groups[rows]), found.take(pa.array(rows)))

    def merge(self, groups: Numbers, states: pa.Array) -> None:
        """Add states of other tasks to these groups."""
        if states.null_count:
            groups = np.ascontiguousarray(groups[states.is_valid().to_numpy(zero_copy_only=False)])
            states = states.drop_null()
        parts = decode(states, [pa.binary()] * self.call.values)
        for union, part in zip(self._unions, parts, strict=True):
            union.merge(groups, part)

    def states(self, start: int, stop: int) -> Iterator[pa.Array]:
        """The states of these groups: those of all unions."""
        parts = [pa.concat_arrays(list(union.states(start, stop))) for union in self._unions]
        yield encode(parts)

    def values(self, start: int, stop: int) -> pa.Array:
        """The results of these groups; of one without rows that of an empty bitmap."""
        parts = [union.values(start, stop).to_pylist() for union in self._unions]
        found = [shared(list(of_group)) for of_group in zip(*parts, strict=True)]
        if self.call.counts:
            return pa.array([len(bitmaps.read64(one)) for one in found], pa.int64())
        return pa.array(found, pa.binary())
