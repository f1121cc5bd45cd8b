"""Bloom filters of Paimon's file indexes: values hashed to 64 bits, and the bits of a filter that a
hash sets.

`files.indexes.file_indexes` has the same hashes of single values in plain Python, for look-ups.
"""

from typing import Any

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.jit import kernel

ONE, TWO = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
THREE, FOUR = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
FIVE, ZERO = np.uint64(0x27D4EB2F165667C5), np.uint64(0)
FIRST_LANE, LAST_LANE = np.uint64(0x60EA27EEADC0B5D6), np.uint64(0x61C8864E7A143579)
_BYTE = np.uint64(8)


@kernel("void(int64[::1], uint64[::1])")
def hash_numbers(numbers: Rows, out: Words) -> None:
    """out[row] is Thomas Wang's hash of a whole number of 64 bits."""
    for row in range(len(out)):
        key = numbers[row]
        key = ~key + (key << 21)
        key ^= key >> 24
        key += (key << 3) + (key << 8)
        key ^= key >> 14
        key += (key << 2) + (key << 4)
        key ^= key >> 28
        out[row] = np.uint64(key + (key << 31))


@kernel
def turned(word: Any, bits: Any) -> Any:
    """The word, its bits moved to the left, in a circle."""
    word = np.uint64(word)  # Python's own number where Python calls it
    return word << np.uint64(bits) | word >> np.uint64(64 - bits)


@kernel
def stirred(lane: Any, word: Any) -> Any:
    """A lane of xxHash after one more word."""
    return np.uint64(turned(np.uint64(lane) + np.uint64(word) * TWO, 31)) * ONE


@kernel
def word_at(data: Mask, at: Any, size: Any) -> Any:
    """The number of `size` bytes, the lowest first."""
    word = ZERO
    for place in range(size):
        word |= np.uint64(data[at + place]) << (np.uint64(place) * _BYTE)
    return word


@kernel
def lanes_of(data: Mask, start: Any, stop: Any) -> Any:
    """The xxHash of the parts of 32 bytes, of which there is at least one."""
    one, two, three, four = FIRST_LANE, TWO, ZERO, LAST_LANE
    for at in range(start, stop - 31, 32):
        one, two = stirred(one, word_at(data, at, 8)), stirred(two, word_at(data, at + 8, 8))
        three = stirred(three, word_at(data, at + 16, 8))
        four = stirred(four, word_at(data, at + 24, 8))
    found = ZERO
    for lane, bits in ((one, 1), (two, 7), (three, 12), (four, 18)):
        found += np.uint64(turned(lane, bits))
    for lane in (one, two, three, four):
        found = (found ^ stirred(ZERO, lane)) * ONE + FOUR
    return found


@kernel("void(int64[::1], uint8[::1], uint64[::1])")
def hash_texts(offsets: Rows, data: Mask, out: Words) -> None:
    """out[row] is the xxHash of 64 bits, by seed 0, of data[offsets[row]:offsets[row + 1]]."""
    for row in range(len(out)):
        at, stop = offsets[row], offsets[row + 1]
        size, found = stop - at, FIVE
        if size >= 32:
            found = lanes_of(data, at, stop)
            at += size // 32 * 32
        found += np.uint64(size)
        while at + 8 <= stop:
            found = turned(found ^ stirred(ZERO, word_at(data, at, 8)), 27) * ONE + FOUR
            at += 8
        if at + 4 <= stop:
            found = turned(found ^ word_at(data, at, 4) * ONE, 23) * TWO + THREE
            at += 4
        while at < stop:
            found = turned(found ^ np.uint64(data[at]) * FIVE, 11) * ONE
            at += 1
        found = (found ^ found >> np.uint64(33)) * TWO
        found = (found ^ found >> np.uint64(29)) * THREE
        out[row] = found ^ found >> np.uint64(32)


@kernel("void(uint64[::1], uint8[::1], int64, uint8[::1])")
def set_bits(hashes: Words, valid: Mask, probes: int, out: Mask) -> None:
    """Set the bits of the hashes in a filter; those of NULLs are none."""
    size = 8 * len(out)
    for row in range(len(hashes)):
        if not valid[row]:
            continue
        low = np.int64(np.int32(hashes[row] & np.uint64(0xFFFFFFFF)))
        high = np.int64(np.int32(hashes[row] >> np.uint64(32)))
        for turn in range(1, probes + 1):
            place = np.int64(np.int32(low + turn * high))
            place = (place if place >= 0 else ~place) % size
            out[place >> 3] |= np.uint8(1 << (place & 7))
