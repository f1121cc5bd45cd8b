"""Keys looked up among sorted keys, by binary search."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.comparable import Keys

Flags = npt.NDArray[np.bool_]


@kernel("int64(int64[::1], uint8[::1], int64, int64[::1], uint8[::1], int64)")
def compare_across(
    offsets: Rows, data: Mask, row: int, offsets2: Rows, data2: Mask, row2: int
) -> int:
    """A number below, at or above 0, as a row's bytes compare with those of a row elsewhere."""
    at, other = offsets[row], offsets2[row2]
    length, other_length = offsets[row + 1] - at, offsets2[row2 + 1] - other
    for i in range(min(length, other_length)):
        if data[at + i] != data2[other + i]:
            return 1 if data[at + i] > data2[other + i] else -1
    return int(length - other_length)


@kernel(
    "void(uint64[::1], int64[::1], uint8[::1], uint64[::1], int64[::1], uint8[::1], "
    "int64[::1], boolean[::1])"
)
def find_keys(
    words: Words,
    offsets: Rows,
    data: Mask,
    asked: Words,
    asked_offsets: Rows,
    asked_data: Mask,
    places: Rows,
    is_there: Flags,
) -> None:
    """places[i] is the number of sorted keys below the asked key i; is_there[i] says whether the
    next one equals it.
    """
    for i in range(len(asked)):
        word, low, high = asked[i], 0, len(words)
        is_long = len(asked_offsets) > 1 and word & np.uint64(255) == np.uint64(8)
        while low < high:
            middle = (low + high) >> 1
            is_below = words[middle] < word
            if is_long and words[middle] == word:
                difference = compare_across(offsets, data, middle, asked_offsets, asked_data, i)
                is_below = difference < 0
            if is_below:
                low = middle + 1
            else:
                high = middle
        places[i], is_there[i] = low, low < len(words) and words[low] == word
        if is_there[i] and is_long:
            is_there[i] = compare_across(offsets, data, low, asked_offsets, asked_data, i) == 0


def find(sorted_keys: Keys, asked: Keys) -> tuple[Rows, Flags]:
    """For each asked key the number of sorted, distinct keys below it, and whether the next one of
    them equals it. Both are keys of `encode`, of columns of the same types.
    """
    places, is_there = np.empty(len(asked), dtype=np.int64), np.empty(len(asked), dtype=np.bool_)
    find_keys(
        sorted_keys.words,
        sorted_keys.offsets,
        sorted_keys.data,
        asked.words,
        asked.offsets,
        asked.data,
        places,
        is_there,
    )
    return places, is_there
