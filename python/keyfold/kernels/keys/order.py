"""The order of rows by key. Sorted runs are merged pairwise without a branch per comparison.
Unsorted rows are sorted as packed words or by radix.

An order is an int64 array of row numbers. It is stable: equal keys keep the order of runs, or of
arrival.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.comparable import MORE, Keys, words_at
from keyfold.kernels.keys.packed import Packed
from keyfold.kernels.keys.pairwise import PairwiseMerge, merge_steps

Flags = npt.NDArray[np.bool_]

# Comparisons for each row, of long keys that begin alike, before they are sorted by all bytes.
COMPARISONS = 8


@kernel("int64(int64[::1], uint8[::1], int64, int64, int64)")
def compare_bytes(offsets: Rows, data: Mask, left: int, right: int, skip: int) -> int:
    """A number below, at or above 0, as row `left` compares with `right` from byte `skip` on."""
    at, other = offsets[left] + skip, offsets[right] + skip
    length, other_length = offsets[left + 1] - at, offsets[right + 1] - other
    equal, shorter = 0, min(length, other_length)
    while equal + 8 <= shorter:  # no exit inside the loop, so that it is one comparison
        difference = np.uint8(0)
        for i in range(equal, equal + 8):
            difference |= data[at + i] ^ data[other + i]
        if difference:
            break
        equal += 8
    for i in range(equal, shorter):
        if data[at + i] != data[other + i]:
            return 1 if data[at + i] > data[other + i] else -1
    return int(length - other_length)


@kernel("void(uint64[::1], int64[::1], int64, int64, int64, uint64[::1], int64[::1])")
def merge_words(
    words: Words, rows: Rows, start: int, middle: int, stop: int, out_words: Words, out_rows: Rows
) -> None:
    """Merge sorted start:middle and middle:stop into the same place of out, from both ends. On a
    tie the left row goes first.
    """
    left, right, at = start, middle, start
    last_left, last_right, last = middle - 1, stop - 1, stop - 1
    half = (stop - start) // 2
    while True:
        ahead = min(half - (at - start), middle - left, stop - right)
        steps = min(ahead, last_left - start + 1, last_right - middle + 1)
        if steps <= 0:
            break
        for _ in range(steps):
            a, b = words[left], words[right]
            is_right = int(b < a)
            out_words[at] = b if is_right else a
            out_rows[at] = rows[left + (right - left) * is_right]
            left += 1 - is_right
            right += is_right
            at += 1
            a, b = words[last_left], words[last_right]
            is_left = int(a > b)
            out_words[last] = a if is_left else b
            out_rows[last] = rows[last_right + (last_left - last_right) * is_left]
            last_left -= is_left
            last_right -= 1 - is_left
            last -= 1
    while left <= last_left and right <= last_right:
        is_right = int(words[right] < words[left])
        source = left + (right - left) * is_right
        out_words[at], out_rows[at] = words[source], rows[source]
        left += 1 - is_right
        right += is_right
        at += 1
    for i in range(last_left - left + 1):
        out_words[at + i], out_rows[at + i] = words[left + i], rows[left + i]
    for i in range(last_right - right + 1):
        out_words[at + i], out_rows[at + i] = words[right + i], rows[right + i]


@kernel("boolean(uint64[::1], int64[::1], int64[::1], uint8[::1], int64, boolean[::1])")
def sort_equal_words(
    words: Words, rows: Rows, offsets: Rows, data: Mask, budget: int, is_first: Flags
) -> bool:
    """Sort the rows of equal words of long keys by their bytes, in place and stable, and flag the
    first row of each key. Returns false if that takes more comparisons than `budget`: rows of
    equal words are then in any order.
    """
    start = 0
    is_first[0] = True
    for i in range(1, len(words)):
        is_first[i] = words[i] != words[i - 1]
        if is_first[i] or words[i] & np.uint64(255) != np.uint64(8):
            start = i
            continue
        row, at, is_new = rows[i], i, True
        while at > start:
            difference = compare_bytes(offsets, data, rows[at - 1], row, 7)
            if difference <= 0:
                is_new = difference != 0
                break
            rows[at], is_first[at] = rows[at - 1], is_first[at - 1]
            at -= 1
        rows[at], is_first[at] = row, is_new
        budget -= i - at + 1
        if budget < 0:
            return False
    return True


def packed_runs(keys: Keys, lengths: Sequence[int]) -> Packed | None:
    """The keys of two or more sorted runs, packed with their rows; None if they don't fit."""
    is_one = sum(length > 0 for length in lengths) < 2
    return None if keys.is_wide or is_one else Packed.of(keys.words)


def merge_order(keys: Keys, lengths: Sequence[int]) -> tuple[Words, Rows]:
    """Words and row numbers of concatenated sorted runs of these lengths, merged. On a tie the
    earlier run comes first.
    """
    packed = packed_runs(keys, lengths)
    if packed is not None:
        return packed.opened(packed.merged(lengths))
    words, order, _ = merge_flags(keys, lengths)
    return words, order


def merge_flags(keys: Keys, lengths: Sequence[int]) -> tuple[Words, Rows, Flags | None]:
    """The result of `merge_order` of keys that can't be packed, and flags of the rows that are the
    first of their key. The flags are None unless the merge of long keys has found them anyway.
    """
    lengths = [length for length in lengths if length]
    rows = np.arange(len(keys), dtype=np.int64)
    if len(lengths) < 2:
        return keys.words, rows, None
    spare = np.empty_like(keys.words), np.empty_like(rows)
    runs = PairwiseMerge(lengths, (keys.words.copy(), rows), spare)
    for start, middle, stop in merge_steps(lengths):
        (words, order), (out_words, out_order) = runs.step(start, middle, stop)
        merge_words(words, order, start, middle, stop, out_words, out_order)
    words, order = runs.result
    if not keys.is_wide:
        return words, order, None
    flags, budget = np.empty(len(order), dtype=np.bool_), COMPARISONS * len(order)
    if sort_equal_words(words, order, keys.offsets, keys.data, budget, flags):
        return words, order, flags
    return *sort_order(keys, np.arange(len(keys), dtype=np.int64)), None


@kernel("void(uint64[::1], int64[:, ::1])")
def count_digits(words: Words, counts: Rows) -> None:
    """counts[d, v] is the number of words that have the value v in their d-th lowest byte."""
    for word in words:
        for digit in range(8):
            counts[digit, (word >> np.uint64(8 * digit)) & np.uint64(255)] += 1


@kernel("void(uint64[::1], int64[::1], int64, int64[::1], uint64[::1], int64[::1])")
def scatter_digit(
    words: Words, rows: Rows, digit: int, places: Rows, out_words: Words, out_rows: Rows
) -> None:
    """Do one stable radix pass; places[v] is the place of the next row with byte v."""
    for i in range(len(words)):
        value = (words[i] >> np.uint64(8 * digit)) & np.uint64(255)
        at = places[value]
        places[value] = at + 1
        out_words[at] = words[i]
        out_rows[at] = rows[i]


@kernel("boolean(uint64[::1])")
def is_sorted(words: Words) -> bool:
    """Whether the words never descend."""
    for i in range(1, len(words)):  # noqa: SIM110 - numba has no generators here
        if words[i] < words[i - 1]:
            return False
    return True


def radix(words: Words, rows: Rows) -> tuple[Words, Rows]:
    """Words sorted ascending, with the row numbers that belong to them; stable. If a word and its
    row number fit in one word, these are sorted. Else a radix sort skips bytes all words share.
    """
    if is_sorted(words):
        return words, rows
    packed = Packed.of(words)
    if packed is not None:
        words, places = packed.opened(packed.sorted())
        return words, rows[places]
    counts = np.zeros((8, 256), dtype=np.int64)
    count_digits(words, counts)
    spare = (np.empty_like(words), np.empty_like(rows))
    own: tuple[Words, Rows] | None = None
    for digit in np.flatnonzero(counts.max(axis=1) < len(words)):
        places = np.cumsum(counts[digit]) - counts[digit]
        scatter_digit(words, rows, int(digit), places, *spare)
        (words, rows), spare = spare, own or (np.empty_like(words), np.empty_like(rows))
        own = words, rows
    return words, rows


def sort_order(keys: Keys, rows: Rows, *, is_descending: bool = False) -> tuple[Words, Rows]:
    """Words and row numbers of `rows`, sorted by their keys; stable, also if descending."""
    flip = np.uint64(2**64 - 1) if is_descending else np.uint64(0)
    words, rows = radix(keys.words[rows] ^ flip, rows)
    if keys.is_wide:
        rows = rows.copy()
        _sort_ties(keys, words, rows, flip)
    return words ^ flip, rows


def _sort_ties(keys: Keys, words: Words, rows: Rows, flip: np.uint64) -> None:
    """Sort rows of equal words by the next seven bytes, and so on, while a tie has more bytes."""
    depth = 7
    places, tie = _ties(
        np.arange(len(rows), dtype=np.int64), words, np.zeros(len(rows), dtype=np.uint64), flip
    )
    while len(places):
        chunk = _next_words(keys, rows[places], depth) ^ flip
        words, inner = radix(chunk, np.arange(len(places), dtype=np.int64))
        tie, outer = radix(tie[inner], inner)
        rows[places] = rows[places[outer]]
        places, tie = _ties(places, chunk[outer], tie, flip)
        depth += 7


def _ties(places: Rows, words: Words, tie: Words, flip: np.uint64) -> tuple[Rows, Words]:
    """Places that have the same tie and word as a neighbour, and more bytes, with the number of
    the new tie of each.
    """
    is_new = np.ones(len(words) + 1, dtype=bool)
    is_new[1:-1] = (words[1:] != words[:-1]) | (tie[1:] != tie[:-1])
    is_tied = ~(is_new[:-1] & is_new[1:]) & (((words ^ flip) & np.uint64(255)) == MORE)
    return places[is_tied], np.cumsum(is_new[:-1]).astype(np.uint64)[is_tied]


def _next_words(keys: Keys, rows: Rows, depth: int) -> Words:
    starts = keys.offsets[rows] + depth
    words = np.empty(len(rows), dtype=np.uint64)
    words_at(starts, keys.offsets[rows + 1], keys.data, words)
    return words
