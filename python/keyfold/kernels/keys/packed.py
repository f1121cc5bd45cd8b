"""Narrow keys and row numbers in one word for each row, if they fit. The order is that of words.

The high bits are the key's distance from the least key, the low bits are the row. So no two words
are equal, and the order is stable. One array is sorted instead of two: measured on 2^18 rows, ns a
row, 4 runs merge in 3.4 instead of 6.2, 32 sort in 5.4 (numpy's vectorised sort) instead of 15.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyfold.kernels.buffers import Rows, Words
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.pairwise import PairwiseMerge, merge_steps

# The number of passes over all rows, merging pairs, that cost as much as one sort of them.
MOST_PASSES = 3.0
_ONE = np.uint64(1)


@kernel("void(uint64[::1], uint64, uint64, uint64[::1])")
def pack_words(words: Words, least: np.uint64, bits: np.uint64, out: Words) -> None:
    """out[i] is words[i] - least, shifted above `bits` bits that hold i."""
    for i in range(len(words)):
        out[i] = ((words[i] - least) << bits) | np.uint64(i)


@kernel("void(uint64[::1], uint64, uint64, uint64[::1], int64[::1])")
def unpack_words(
    packed: Words, least: np.uint64, bits: np.uint64, words: Words, rows: Rows
) -> None:
    """The inverse of `pack_words`, in the order of `packed`."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    for i in range(len(packed)):
        words[i] = (packed[i] >> bits) + least
        rows[i] = np.int64(packed[i] & mask)


@kernel("int64(uint64[::1], uint64, int64[::1], int64[::1])")
def unpack_groups(packed: Words, bits: np.uint64, rows: Rows, starts: Rows) -> int:
    """Write the rows of sorted packed words, the start of each group of one key, and the end;
    returns how many groups.
    """
    mask, count = (np.uint64(1) << bits) - np.uint64(1), 0
    starts[0] = 0
    for i in range(len(packed)):
        rows[i] = np.int64(packed[i] & mask)
        starts[count + 1] = i + 1
        count += i + 1 == len(packed) or packed[i + 1] >> bits != packed[i] >> bits
    return count


@kernel
def _left_part(words: Words, start: int, middle: int, stop: int, count: int) -> int:
    """The words of sorted start:middle among the least `count` of them and of middle:stop."""
    low, high = max(0, count - (stop - middle)), min(count, middle - start)
    while low < high:
        taken = (low + high) // 2
        if words[start + taken] < words[middle + count - taken - 1]:
            low = taken + 1
        else:
            high = taken
    return low


@kernel
def _put_least(words: Words, left: Any, right: Any, at: Any, out: Words) -> tuple[Any, Any, Any]:
    """Write the lesser of two words; returns the next places. The comparison does not branch."""
    is_right = np.uint64(words[right] < words[left])
    out[at] = min(words[left], words[right])
    return left + _ONE - is_right, right + is_right, at + _ONE


@kernel
def _put_greatest(words: Words, left: Any, right: Any, at: Any, out: Words) -> tuple[Any, Any, Any]:
    """`_put_least` of the greater word, downwards; the places are behind the words."""
    is_left = np.uint64(words[left - _ONE] > words[right - _ONE])
    out[at - _ONE] = max(words[left - _ONE], words[right - _ONE])
    return left - is_left, right + is_left - _ONE, at - _ONE


@kernel
def _merge_rest(
    words: Words, left: Any, middle: Any, right: Any, stop: Any, at: Any, out: Words
) -> None:
    """Merge sorted left:middle and right:stop into `out`, from `at` on."""
    while left < middle and right < stop:
        left, right, at = _put_least(words, left, right, at, out)
    for i in range(middle - left):
        out[at + i] = words[left + i]
    for i in range(stop - right):
        out[at + i] = words[right + i]


@kernel("void(uint64[::1], int64, int64, int64, uint64[::1])")
def merge_packed(words: Words, start: int, middle: int, stop: int, out: Words) -> None:
    """Merge sorted start:middle and middle:stop into the same place of out; no two words are equal.

    The two halves of the result are merged from both their ends at once, so that no chain of loads
    waits for another: 1.0 ns a word, where two chains take 1.7.
    """
    at, half, last = np.uint64(start), np.uint64(start + (stop - start) // 2), np.uint64(stop)
    taken = _left_part(words, start, middle, stop, (stop - start) // 2)
    a, c, last_c = np.uint64(start), np.uint64(start + taken), np.uint64(middle)
    b, d, last_d = np.uint64(middle), half + np.uint64(middle) - c, np.uint64(stop)
    last_a, last_b, end, to = c, d, half, half
    while True:
        lower = min(last_a - a, last_b - b, (end - at) >> _ONE)
        steps = min(lower, last_c - c, last_d - d, (last - to) >> _ONE)
        if steps == 0:
            break
        for _ in range(steps):
            a, b, at = _put_least(words, a, b, at, out)
            last_a, last_b, end = _put_greatest(words, last_a, last_b, end, out)
            c, d, to = _put_least(words, c, d, to, out)
            last_c, last_d, last = _put_greatest(words, last_c, last_d, last, out)
    _merge_rest(words, a, last_a, b, last_b, at, out)
    _merge_rest(words, c, last_c, d, last_d, to, out)


@dataclass(frozen=True)
class Packed:
    """Packed words of rows 0, 1, 2 …; `least` and `bits` unpack them."""

    words: Words
    least: np.uint64
    bits: np.uint64

    @staticmethod
    def of(words: Words) -> Packed | None:
        """Words of keys packed with row numbers; None if they don't fit."""
        if not len(words):
            return None
        least, bits = words.min(), (len(words) - 1).bit_length()
        if int(words.max() - least).bit_length() + bits > 64 or bits > 63:
            return None
        out = np.empty_like(words)
        pack_words(words, least, np.uint64(bits), out)
        return Packed(out, least, np.uint64(bits))

    def opened(self, ordered: Words) -> tuple[Words, Rows]:
        """Words and row numbers of packed words, which may be in any order."""
        words, rows = np.empty_like(ordered), np.empty(len(ordered), dtype=np.int64)
        unpack_words(ordered, self.least, self.bits, words, rows)
        return words, rows

    def grouped(self, ordered: Words) -> tuple[Rows, Rows]:
        """Row numbers of sorted packed words, and the offsets of the groups of equal words."""
        rows, starts = np.empty((2, len(ordered) + 1), dtype=np.int64)
        count = unpack_groups(ordered, self.bits, rows, starts)
        return rows[:-1], starts[: count + 1]

    def sorted(self) -> Words:
        """The packed words, ascending."""
        self.words.sort()
        return self.words

    def merged(self, lengths: Sequence[int]) -> Words:
        """The packed words, ascending, of sorted runs of these lengths."""
        lengths = [length for length in lengths if length]
        steps = merge_steps(lengths)
        if sum(stop - start for start, _, stop in steps) > MOST_PASSES * len(self.words):
            return self.sorted()
        runs = PairwiseMerge(lengths, (self.words,), (np.empty_like(self.words),))
        for start, middle, stop in steps:
            (source,), (out,) = runs.step(start, middle, stop)
            merge_packed(source, start, middle, stop, out)
        merged: Words = runs.result[0]
        return merged
