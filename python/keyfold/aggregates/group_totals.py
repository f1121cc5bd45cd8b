"""Sums and extremes of a query's groups, to which every row is added at once.

A declaration says which of its types have one (`running`). All others wait and fold in rounds.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Signs, column_of, dtype_of, validity, values
from keyfold.kernels.folds.decimals import (
    Totals,
    add_decimals,
    add_signed_decimals,
    beyond,
    halves,
)
from keyfold.kernels.folds.running import (
    Numbers,
    OneOf,
    add_floats,
    add_integers,
    add_signed_floats,
    add_signed_integers,
    keep_first,
    keep_greatest,
    keep_last,
)
from keyfold.kernels.keys.words import ordered, unordered, values_of_decimal
from keyfold.kernels.keys.words import width as bit_width
from keyfold.kernels.unsafe_rows.layout import bits_of, column_of_bits, unsigned, width

_EXACT = Context(prec=100)
Flags = npt.NDArray[np.bool_]


class Overflow(Exception):
    """The value of a group does not fit its type; the message shows what was added up."""

    def __init__(self, group: int, shown: str) -> None:
        super().__init__(shown)
        self.group = group


class GroupValues(Protocol):
    """The values of groups, numbered from 0."""

    @property
    def held(self) -> int:
        """The bytes that they take at most, while they grow or fold."""

    def make_room(self, count: int) -> None:
        """Make room for `count` groups, where that number is known ahead."""

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """Add a value to each of these groups, one after another. Raises BadRecord or Overflow."""

    def column(self, start: int, stop: int) -> pa.Array:
        """The values of groups from start to stop, fewer if there are no more. Raises BadRecord or
        Overflow.
        """

    def are_there(self, start: int, stop: int) -> Flags:
        """Whether anything was added to these groups that counts as more than no rows."""


class Growing:
    """Arrays with one item a group, each `at_first` until something is added."""

    at_first = 0.0

    def __init__(self, *kinds: Any) -> None:
        self.arrays: list[npt.NDArray[Any]] = [np.zeros(0, dtype=kind) for kind in kinds]
        self._count = 0

    @property
    def held(self) -> int:
        """See `GroupValues.held`: arrays that grow are there twice."""
        return 2 * sum(array.nbytes for array in self.arrays)

    def are_there(self, start: int, stop: int) -> Flags:
        """See `GroupValues.are_there`: the last array has it."""
        found: Flags = self.arrays[-1][start : min(stop, self._count)].view(bool)
        return found

    def reach(self, groups: Numbers) -> None:
        """Make room for these groups."""
        self.make_room(int(groups.max(initial=-1)) + 1)

    def make_room(self, count: int) -> None:
        """See `GroupValues.make_room`: what is there doubles at least, so that it moves rarely."""
        self._count = max(self._count, count)
        if self._count > len(self.arrays[0]):
            room = max(self._count, 2 * len(self.arrays[0]))
            for place, array in enumerate(self.arrays):
                self.arrays[place] = np.full(room, self.at_first, dtype=array.dtype)
                self.arrays[place][: len(array)] = array

    def part(self, start: int, stop: int) -> list[npt.NDArray[Any]]:
        """The arrays' items of these groups."""
        return [array[start : min(stop, self._count)].copy() for array in self.arrays]


class Signed(Growing):
    """Sums that rows are added to or taken back from."""

    def add_signed(self, groups: Numbers, signs: Signs, column: pa.Array) -> None:
        """Add a value to each of these groups, or take it back where the sign is below 0."""
        raise NotImplementedError


class IntegerSums(Signed):
    """Exact sums of integers: only a sum that is asked for must fit its type."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(np.int64, np.int64, np.uint8)
        self._kind = kind

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `GroupValues.add`."""
        self.reach(groups)
        add_integers(self._numbers(column), validity(column), groups, *self.arrays)

    def add_signed(self, groups: Numbers, signs: Signs, column: pa.Array) -> None:
        """See `Signed.add_signed`."""
        self.reach(groups)
        valid = validity(column)
        add_signed_integers(self._numbers(column), valid, signs, groups, *self.arrays)

    @staticmethod
    def _numbers(column: pa.Array) -> npt.NDArray[Any]:
        """The values, of 32 or 64 bits."""
        numbers = values(column, dtype_of(column.type))
        return numbers.astype(np.int32) if column.type.bit_width < 32 else numbers

    def column(self, start: int, stop: int) -> pa.Array:
        """See `GroupValues.column`."""
        totals, wraps, found = self.part(start, stop)
        limits = np.iinfo(dtype_of(self._kind))
        outside = wraps != 0
        if limits.bits < 64:
            outside |= (totals < limits.min) | (totals > limits.max)
        if outside.any():
            place = int(outside.argmax())
            raise Overflow(start + place, str((int(wraps[place]) << 64) + int(totals[place])))
        return column_of(self._kind, totals.astype(limits.dtype, copy=False), found)


class FloatSums(Signed):
    """Sums of FLOAT or DOUBLE, in their own width."""

    at_first = -0.0  # 0.0 would make a sum of -0.0 positive

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(dtype_of(kind), np.uint8)
        self._kind = kind

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `GroupValues.add`."""
        self.reach(groups)
        numbers = values(column, dtype_of(column.type))
        add_floats(numbers, validity(column), groups, *self.arrays)

    def add_signed(self, groups: Numbers, signs: Signs, column: pa.Array) -> None:
        """See `Signed.add_signed`."""
        self.reach(groups)
        numbers = values(column, dtype_of(column.type))
        add_signed_floats(numbers, validity(column), signs, groups, *self.arrays)

    def column(self, start: int, stop: int) -> pa.Array:
        """See `GroupValues.column`."""
        return column_of(self._kind, *self.part(start, stop))


class DecimalSums(Signed):
    """Exact sums of DECIMAL: only a sum that is asked for must fit its type."""

    def __init__(self, kind: pa.DataType) -> None:
        super().__init__(np.uint64, np.uint64, np.uint64, np.uint8)
        self._kind = kind

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `GroupValues.add`."""
        self.reach(groups)
        add_decimals(values_of_decimal(column), validity(column), groups, Totals(*self.arrays))

    def add_signed(self, groups: Numbers, signs: Signs, column: pa.Array) -> None:
        """See `Signed.add_signed`."""
        self.reach(groups)
        doubled, totals = values_of_decimal(column), Totals(*self.arrays)
        add_signed_decimals(doubled, validity(column), signs, groups, totals)

    def column(self, start: int, stop: int) -> pa.Array:
        """See `GroupValues.column`."""
        low, high, top, found = self.part(start, stop)
        pairs = np.stack((low, high), 1)
        outside = np.flatnonzero(top.view(np.int64) != high.view(np.int64) >> 63)
        place = int(outside[0]) if len(outside) else -1
        if place < 0:
            place = beyond(pairs, *halves(10**self._kind.precision))
        if place >= 0:
            total = (
                (int(top.view(np.int64)[place]) << 128) + (int(high[place]) << 64) + int(low[place])
            )
            raise Overflow(start + place, str(Decimal(total).scaleb(-self._kind.scale, _EXACT)))
        return column_of(self._kind, pairs, found)


class Extremes(Growing):
    """The least or the greatest values of a type of at most 64 bits."""

    def __init__(self, is_least: bool, kind: pa.DataType) -> None:
        super().__init__(np.uint64, np.uint8)
        self._kind = kind
        self._flip = np.uint64(2**64 - 1 if is_least else 0)

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `GroupValues.add`."""
        self.reach(groups)
        keep_greatest(ordered(column), validity(column), groups, self._flip, *self.arrays)

    def column(self, start: int, stop: int) -> pa.Array:
        """See `GroupValues.column`."""
        words, found = self.part(start, stop)
        words ^= self._flip
        if types.is_boolean(self._kind):
            return column_of_bits(self._kind, words, found)
        if types.is_decimal(self._kind):
            numbers = pa.int32() if bit_width(self._kind) == 32 else pa.int64()
            signed = unordered(words, numbers).view(dtype_of(numbers))
            return column_of_bits(self._kind, signed.astype(np.int64), found)
        return column_of(self._kind, unordered(words, self._kind), found)


class Ends(Growing):
    """The first or the last values of a type of at most 64 bits."""

    def __init__(self, is_first: bool, takes_nulls: bool, kind: pa.DataType) -> None:
        super().__init__(np.uint64, np.uint8)
        self._kind, self._takes_nulls = kind, takes_nulls
        self._keep = keep_first if is_first else keep_last

    def add(self, groups: Numbers, column: pa.Array) -> None:
        """See `GroupValues.add`."""
        self.reach(groups)
        bits = np.ascontiguousarray(bits_of(column), dtype=np.uint64)
        self._keep(bits, validity(column), groups, self._takes_nulls, OneOf(*self.arrays))

    def are_there(self, start: int, stop: int) -> Flags:
        """See `GroupValues.are_there`: a NULL counts."""
        return super().are_there(start, stop).view(np.uint8) > 0

    def column(self, start: int, stop: int) -> pa.Array:
        """See `GroupValues.column`."""
        bits, flags = self.part(start, stop)
        size = width(self._kind)
        assert size is not None
        return column_of_bits(self._kind, bits.astype(unsigned(size)), flags // 2)


def sums(kind: pa.DataType) -> GroupValues | None:
    """The groups of a sum; None if this type has none."""
    if types.is_integer(kind):
        return IntegerSums(kind)
    if types.is_decimal(kind):
        return DecimalSums(kind)
    return FloatSums(kind) if types.is_floating(kind) else None


def extremes(is_least: bool, kind: pa.DataType) -> GroupValues | None:
    """The groups of a least or greatest value; None if this type has none."""
    return None if bit_width(kind) is None else Extremes(is_least, kind)


def ends(is_first: bool, takes_nulls: bool, kind: pa.DataType) -> GroupValues | None:
    """The groups of a first or last value; None if this type has none."""
    return None if bit_width(kind) is None else Ends(is_first, takes_nulls, kind)
