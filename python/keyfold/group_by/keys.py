"""The keys of groups, each with the number of its group: groups are numbered as they come."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import text, validity
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.groups.numbered import (
    RowTable,
    WordTable,
    codes_of,
    number_rows,
    number_words,
    place_again,
)
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.layout import WORD, bits_of, column_of_bits, unsigned, width

_FIRST = 1 << 12


class GroupKeys(Protocol):
    """The keys of all groups."""

    count: int

    @property
    def held(self) -> int:
        """The bytes that they take at most, while they grow."""

    def number(self, column: pa.Array) -> Numbers:
        """The group of each row with these keys; a new key is the next group."""

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """The keys of the groups from start to stop."""


class NoKeys:
    """All rows are one group, which is there even if there are no rows."""

    count, held = 1, 0

    def number(self, column: pa.Array) -> Numbers:
        """See `GroupKeys.number`."""
        return np.zeros(len(column), dtype=np.int32)

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """See `GroupKeys.columns`."""
        return []


class WordKeys:
    """Keys of one column of fixed width; NULL is a key too."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._table = WordTable(_places(0), np.zeros(_FIRST, dtype=np.uint64))
        self.count, self._null = 0, -1

    @property
    def held(self) -> int:
        """See `GroupKeys.held`."""
        return 2 * sum(array.nbytes for array in self._table)

    def number(self, column: pa.Array) -> Numbers:
        """See `GroupKeys.number`."""
        words, valid = np.ascontiguousarray(bits_of(column), dtype=np.uint64), validity(column)
        self._reach(self.count + len(words) + 1)
        numbers = np.empty(len(words), dtype=np.int32)
        self.count = number_words(words, valid, self._table, self.count, numbers)
        if column.null_count:
            if self._null < 0:
                self._null, self.count = self.count, self.count + 1
            numbers[valid == 0] = self._null
        return numbers

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """See `GroupKeys.columns`."""
        valid = np.ones(stop - start, dtype=np.uint8)
        if start <= self._null < stop:
            valid[self._null - start] = 0
        size = width(self._kind)
        assert size is not None
        items = self._table.keys[start:stop].astype(unsigned(size))
        return [column_of_bits(self._kind, items, valid)]

    def _reach(self, most: int) -> None:
        places, keys = self._table
        if 2 * most > len(places):
            places = _places(most)
            place_again(keys[: self.count], self._null, places)
        self._table = WordTable(places, _grown(keys, most))


class RowKeys:
    """Keys of any columns, as bytes of Spark's rows of them."""

    def __init__(self, kinds: Sequence[pa.DataType]) -> None:
        self._kinds, self.count = kinds, 0
        empty = np.zeros(_FIRST, dtype=np.uint64)
        self._table = RowTable(_places(0), empty, empty.copy(), np.zeros(_FIRST, dtype=np.int64))

    @property
    def held(self) -> int:
        """See `GroupKeys.held`."""
        return 2 * sum(array.nbytes for array in self._table)

    def number(self, column: pa.Array) -> Numbers:
        """See `GroupKeys.number`; the column has the bytes of rows."""
        bounds, data = text(column)
        words = data[int(bounds[0]) :].view(np.uint64)
        ends = (bounds[1:] - bounds[0]) // WORD
        codes = np.empty(len(ends), dtype=np.uint64)
        codes_of(words, ends, codes)
        self._reach(len(ends), len(words))
        numbers = np.empty(len(ends), dtype=np.int32)
        self.count = number_rows(words, ends, codes, self._table, self.count, numbers)
        return numbers

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """See `GroupKeys.columns`."""
        first = int(self._table.ends[start - 1]) if start else 0
        ends = self._table.ends[start:stop] - first
        words = self._table.words[first : first + int(ends[-1]) if len(ends) else first]
        bounds = [None, pa.py_buffer(np.concatenate(([0], WORD * ends))), pa.py_buffer(words)]
        rows = pa.Array.from_buffers(pa.large_binary(), len(ends), bounds)
        return decode(rows, self._kinds)

    def _reach(self, rows: int, more: int) -> None:
        places, codes, words, ends = self._table
        most = self.count + rows
        if 2 * most > len(places):
            places = _places(most)
            place_again(codes[: self.count], -1, places)
        used = int(ends[self.count - 1]) if self.count else 0
        grown = _grown(codes, most), _grown(words, used + more), _grown(ends, most)
        self._table = RowTable(places, *grown)


def keys_of(kinds: Sequence[pa.DataType]) -> GroupKeys:
    """The keys of columns of these types; a column of fixed width comes as it is, any others as one
    column of rows' bytes.
    """
    if not kinds:
        return NoKeys()
    is_word = len(kinds) == 1 and width(kinds[0]) is not None
    return WordKeys(kinds[0]) if is_word else RowKeys(kinds)


def _places(count: int) -> Numbers:
    """Empty places, enough for `count` keys and as many more."""
    return np.zeros(max(_FIRST, 1 << (2 * count).bit_length()), dtype=np.int32)


def _grown(array: Any, length: int) -> Any:
    """The array with room for `length` items; its room doubles, so that it moves rarely."""
    if length <= len(array):
        return array
    found = np.zeros(max(length, 2 * len(array)), dtype=array.dtype)
    found[: len(array)] = array
    return found
