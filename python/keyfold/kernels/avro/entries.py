"""Entries of manifests by what they are about: codes of partitions, and numbers by which an entry
that adds a file and one that deletes it find each other.

Numbers of different bytes may be equal: `seed`, drawn by each process, keeps a writer from choosing
bytes whose numbers are.
"""

from typing import Any

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.jit import kernel

_MIX, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


@kernel
def _mixed(number: Any, more: Any) -> Any:
    found = (number ^ more) * _MIX
    return found ^ (found >> _SHIFT)


@kernel
def _of_bytes(data: Mask, start: Any, size: Any, seed: Any) -> Any:
    """A number of some bytes."""
    found, at = _mixed(seed, np.uint64(size)), 0
    while at < size:
        word, end = np.uint64(0), min(at + 8, size)
        while at < end:
            word = (word << np.uint64(8)) | np.uint64(data[start + at])
            at += 1
        found = _mixed(found, word)
    return found


@kernel
def _are_equal(data: Mask, one: Any, other: Any, size: Any) -> bool:
    place = 0
    while place < size and data[one + place] == data[other + place]:
        place += 1
    return bool(place == size)


@kernel("int64(uint8[::1], int32[:, ::1], uint64, int32[::1], int32[::1], int32[::1])")
def write_codes(data: Mask, spans: Any, seed: Any, table: Any, codes: Any, firsts: Any) -> int:
    """Write a code for the bytes of each span: equal bytes have one code. `firsts` gets the row
    where each code comes first. Returns how many codes there are. The table, of -1, has a power of
    two places, more than spans.
    """
    mask, count = len(table) - 1, 0
    for row in range(len(spans)):
        start, size = np.int64(spans[row, 0]), np.int64(spans[row, 1])
        found = np.uint64(_of_bytes(data, start, size, seed))
        place = np.int64(found >> np.uint64(1)) & mask
        while table[place] >= 0:
            first = firsts[table[place]]
            is_long = np.int64(spans[first, 1]) == size
            if is_long and _are_equal(data, np.int64(spans[first, 0]), start, size):
                break
            place = (place + 1) & mask
        if table[place] < 0:
            table[place], firsts[count] = count, row
            count += 1
        codes[row] = table[place]
    return count


@kernel("void(uint8[::1], int32[:, ::1], int64[::1], int64[::1], uint64, uint64[::1])")
def write_identities(
    data: Mask, names: Any, buckets: Rows, levels: Rows, seed: Any, found: Words
) -> None:
    """Write a number of the bucket, level and name of each entry."""
    for row in range(len(names)):
        number = np.uint64(_mixed(seed, np.uint64(buckets[row])))
        number = np.uint64(_mixed(number, np.uint64(levels[row])))
        start, size = np.int64(names[row, 0]), np.int64(names[row, 1])
        found[row] = _of_bytes(data, start, size, number)


def codes_of(data: Mask, spans: Any, seed: int) -> tuple[Any, Any]:
    """The code of each span's bytes, and the row where each code comes first."""
    count = len(spans)
    table = np.full(1 << (2 * count + 1).bit_length(), -1, dtype=np.int32)
    codes, firsts = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
    distinct = write_codes(data, spans, np.uint64(seed), table, codes, firsts)
    return codes, firsts[:distinct].copy()


def identities_of(data: Mask, names: Any, buckets: Rows, levels: Rows, seed: int) -> Words:
    """A number of the bucket, level and name of each entry."""
    found = np.empty(len(names), dtype=np.uint64)
    write_identities(data, names, buckets, levels, np.uint64(seed), found)
    return found
