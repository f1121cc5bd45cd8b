"""The bytes of DataSketches' compact theta sketches, checked.

A sketch begins with the words of its head, the version, the family 3, two bytes, flags and the hash
of the seed. Of version 3 follow the number of its entries and theta, unless there is one entry, and
the entries. Version 4 has theta, the number of entries and what each is more than the one before,
in as many bits as the first of the two bytes says. Each entry is above 0 and below theta.
"""

import numpy as np

from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.jit import kernel
from keyfold.kernels.roaring.containers import bad, number

ENDS, HEAD, SEED, THETA, ENTRY = range(1, 6)
PROBLEMS = (
    "",
    "it ends before what it announces",
    "there is no head of a compact theta sketch of version 3 or 4",
    "it was made with another seed",
    "there is no theta",
    "its entries are not above 0, below theta and ascending",
)
_FAMILY, _SEED_HASH, _MOST_THETA = 3, 0x93CC, (1 << 63) - 1
_EMPTY, _ORDERED = 4, 16
_HEAD, _LONG, _MOST_BITS, _MOST_COUNT_BYTES = 8, 8, 63, 4


@kernel("int64(uint8[::1], int64, int64, int64, boolean)")
def entries_in(part: Mask, at: int, count: int, theta: int, is_ordered: bool) -> int:
    """0 if these are entries, else a problem."""
    if at + _LONG * count > len(part):
        return bad(len(part), ENDS)
    before = 0
    for place in range(at, at + _LONG * count, _LONG):
        entry = number(part, place, _LONG)
        if entry <= before or entry >= theta:
            return bad(place, ENTRY)
        before = entry if is_ordered else 0
    return 0


@kernel("int64(uint8[::1])")
def plain_in(part: Mask) -> int:
    """0 if bytes of version 3 are a sketch, else a problem."""
    longs, theta = number(part, 0, 1), _MOST_THETA
    if longs == 1:
        return entries_in(part, _HEAD, 1, theta, True)
    if len(part) < _LONG * longs:
        return bad(len(part), ENDS)
    if longs > 2:
        theta = number(part, 16, _LONG)
        if theta <= 0:
            return bad(16, THETA)
    is_ordered = part[5] & _ORDERED != 0
    return entries_in(part, _LONG * longs, number(part, _HEAD, 4), theta, is_ordered)


@kernel("int64(uint8[::1], int64, int64)")
def bits_at(part: Mask, place: int, width: int) -> int:
    """The number of `width` bits from bit `place` on, the highest first."""
    value, stop = np.int64(0), place + width
    while place < stop:
        free = 8 - (place & 7)
        taken = min(free, stop - place)
        byte = np.int64(part[place >> 3]) >> (free - taken)
        value = value << taken | byte & ((1 << taken) - 1)
        place += taken
    return int(value)


@kernel("int64(uint8[::1])")
def packed_in(part: Mask) -> int:
    """0 if bytes of version 4 are a sketch, else a problem."""
    longs, width, size = number(part, 0, 1), number(part, 3, 1), number(part, 4, 1)
    if longs > 2 or not 1 <= width <= _MOST_BITS or not 1 <= size <= _MOST_COUNT_BYTES:
        return bad(3, HEAD)
    at, theta, entry = _LONG * longs, _MOST_THETA, 0
    if at + size > len(part):
        return bad(len(part), ENDS)
    if longs == 2:
        theta = number(part, _HEAD, _LONG)
        if theta <= 0:
            return bad(_HEAD, THETA)
    count = number(part, at, size)
    at += size
    if at + (width * count + 7) // 8 > len(part):
        return bad(len(part), ENDS)
    for i in range(count):
        more = bits_at(part, 8 * at + width * i, width)
        if more == 0 or more >= theta - entry:
            return bad(at + width * i // 8, ENTRY)
        entry += more
    return 0


@kernel("int64(uint8[::1])")
def sketch_in(part: Mask) -> int:
    """0 if bytes are a sketch, else a problem."""
    if len(part) < _HEAD:
        return bad(len(part), ENDS)
    version = part[1]
    if not 1 <= part[0] <= 3 or version < 3 or version > 4 or part[2] != _FAMILY:
        return bad(0, HEAD)
    if version == 3 and part[5] & _EMPTY:
        return 0
    if number(part, 6, 2) != _SEED_HASH:
        return bad(6, SEED)
    return plain_in(part) if version == 3 else packed_in(part)


@kernel("void(uint8[::1], int64[::1], uint8[::1], int64[::1])")
def check_sketches(data: Mask, bounds: Rows, valid: Mask, found: Rows) -> None:
    """Write for each row 0, or a problem."""
    for row in range(len(found)):
        found[row] = sketch_in(data[bounds[row] : bounds[row + 1]]) if valid[row] else 0


def problems_of(data: Mask, bounds: Rows, valid: Mask) -> Rows:
    """The problems that `check_sketches` writes."""
    found = np.empty(len(valid), dtype=np.int64)
    check_sketches(data, bounds, valid, found)
    return found
