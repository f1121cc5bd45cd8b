"""Containers of Roaring bitmaps in portable bytes, found and written: common to both 64-bit forms.

A bitmap is a table of containers ascending by key: int64 rows (key = bits 16 to 63 of the values,
kind, cardinality, start of the payload in `data`). Payloads are the same in every form. Layout: the
Roaring Format Specification; 64-bit: u64 count of maps, each u32 high half and a 32-bit bitmap. A
parser returns the place where it stopped, or a problem and its place below zero: see `problem`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Mask
from keyfold.kernels.jit import kernel

Table = npt.NDArray[np.int64]

RUN, BITMAP, ARRAY = 0, 1, 2  # Java's numbers, as Roaring64Bitmap stores them
PLAIN_COOKIE, RUN_COOKIE = 12346, 12347
MOST_IN_ARRAY = 4096
BITMAP_BYTES = 8192
_NO_OFFSETS_BELOW = 4

(
    ENDS,
    COOKIE,
    ORDER,
    CARDINALITY,
    NODE,
    CHILDREN,
    COUNT,
    SLOT,
    KIND,
    LEVELS,
    NUMBERS,
) = range(11)
_PROBLEMS = (
    "it ends before what it announces",
    "there is no cookie 12346 or 12347",
    "keys don't ascend",
    "a container has no cardinality of 1 to 65536",
    "there is no node of a type 0 to 4",
    "a node has not as many children as its type holds",
    "the tree has not as many keys as its head says",
    "not each leaf has a container of its own",
    "there is no container of a type 0 to 2",
    "its containers are not in one array",
    "the numbers of a container don't ascend, two runs of it touch, or they are not as many as "
    "announced",
)


def problem(code: int, words: Sequence[str] = _PROBLEMS) -> str:
    """The words for a problem that a parser found."""
    at, reason = divmod(-code - 1, 16)
    return f"at byte {at} {words[reason]}"


@kernel("int64(int64, int64)")
def bad(at: int, reason: int) -> int:
    """The number, below zero, that a parser returns for a problem at a byte."""
    return -(at * 16 + reason) - 1


@kernel("int64(uint8[::1], int64, int64)")
def number(data: Mask, at: int, width: int) -> int:
    """The little-endian number of `width` bytes."""
    value: Any = np.int64(0)
    for i in range(width):
        value |= np.int64(data[at + i]) << np.int64(8 * i)
    found: int = value
    return found


@kernel("int64(uint8[::1], int64, int64, int64)")
def put(out: Mask, at: int, width: int, value: int) -> int:
    """Write a little-endian number; returns the place after it."""
    for i in range(width):
        out[at + i] = (value >> (8 * i)) & 255
    return at + width


@kernel("int64(uint8[::1], int64, int64, uint8[::1], int64)")
def copy(data: Mask, start: int, size: int, out: Mask, at: int) -> int:
    """Copy bytes; returns the place after them. A loop over slices becomes one memcpy. An
    assignment of slices is several times as slow.
    """
    source, target = data[start : start + size], out[at : at + size]
    for i in range(len(target)):
        target[i] = source[i]
    return at + size


@kernel("int64(uint8[::1], int64, int64, int64)")
def fill(out: Mask, at: int, size: int, byte: int) -> int:
    """Set bytes; returns the place after them."""
    target = out[at : at + size]
    for i in range(len(target)):
        target[i] = byte
    return at + size


@kernel("int64(uint8[::1], int64, int64, int64, int64)")
def payload_bytes(data: Mask, at: int, end: int, kind: int, cardinality: int) -> int:
    """The length of a container's payload; more than is left if the payload ends too early."""
    if kind == RUN:
        return 2 + 4 * number(data, at, 2) if at + 2 <= end else 2
    return BITMAP_BYTES if kind == BITMAP else 2 * cardinality


@kernel("int64(uint8[::1], int64, int64)")
def ones_in(data: Mask, start: int, size: int) -> int:
    """How many bits are set."""
    count: Any = 0
    for at in range(start, start + size):
        byte = data[at]
        byte = byte - ((byte >> 1) & 0x55)
        byte = (byte & 0x33) + ((byte >> 2) & 0x33)
        count += np.int64((byte + (byte >> 4)) & 0x0F)
    found: int = count
    return found


@kernel("int64(uint8[::1], int64, int64)")
def ascending(data: Mask, at: int, count: int) -> int:
    """How many numbers an array has, -1 if they don't ascend."""
    before: Any = -1
    for place in range(at, at + 2 * count, 2):
        value = np.int64(data[place]) | np.int64(data[place + 1]) << 8
        if value <= before:
            return -1
        before = value
    return count


@kernel("int64(uint8[::1], int64, int64)")
def numbers_in_runs(data: Mask, at: int, runs: int) -> int:
    """How many numbers are in runs, -1 if they don't ascend or two of them are one: the format
    has no word on these, and CRoaring refuses them.
    """
    count, free = 0, 0
    for place in range(at, at + 4 * runs, 4):
        first, more = number(data, place, 2), number(data, place + 2, 2)
        if first < free or first + more > 0xFFFF:
            return -1
        count, free = count + more + 1, first + more + 2
    return count


@kernel("int64(uint8[::1], int64, int64, int64, int64)")
def after_payload(data: Mask, at: int, end: int, kind: int, cardinality: int) -> int:
    """The place after a container's payload, or a problem: it ends too early, or its numbers are
    not right.
    """
    stop = at + payload_bytes(data, at, end, kind, cardinality)
    if stop > end:
        return bad(at, ENDS)
    if kind == RUN:
        found = numbers_in_runs(data, at + 2, number(data, at, 2))
    elif kind == BITMAP:
        found = ones_in(data, at, BITMAP_BYTES)
    else:
        found = ascending(data, at, cardinality)
    return stop if found == cardinality else bad(at, NUMBERS)


@kernel("int64(uint8[::1], int64, int64)")
def map_containers(data: Mask, at: int, end: int) -> int:
    """The number of containers that the 32-bit bitmap at `at` announces."""
    if at + 4 > end:
        return bad(at, ENDS)
    cookie = number(data, at, 4)
    if cookie & 0xFFFF == RUN_COOKIE:
        return (cookie >> 16) + 1
    if cookie != PLAIN_COOKIE:
        return bad(at, COOKIE)
    if at + 8 > end:
        return bad(at, ENDS)
    count = number(data, at + 4, 4)
    return count if count <= 1 << 16 else bad(at + 4, CARDINALITY)


@kernel("int64(uint8[::1], int64, int64, int64, int64[:, ::1], int64)")
def parse_map(data: Mask, at: int, end: int, high: int, table: Table, row: int) -> int:
    """Write the containers of a 32-bit bitmap from a row on, as many as the table has room for."""
    count = map_containers(data, at, end)
    if count < 0:
        return count
    has_runs = number(data, at, 4) != PLAIN_COOKIE
    flags = at + 4
    heads = flags + (count + 7) // 8 if has_runs else at + 8
    is_located = not has_runs or count >= _NO_OFFSETS_BELOW
    start = heads + (8 if is_located else 4) * count
    if start > end:
        return bad(heads, ENDS)
    before = -1
    for i in range(count):
        key, cardinality = number(data, heads + 4 * i, 2), number(data, heads + 4 * i + 2, 2) + 1
        if key <= before:
            return bad(heads + 4 * i, ORDER)
        before, kind = key, ARRAY if cardinality <= MOST_IN_ARRAY else BITMAP
        if has_runs and (data[flags + i // 8] >> (i % 8)) & 1:
            kind = RUN
        if row + i < len(table):
            table[row + i, 0], table[row + i, 1] = (high << 16) | key, kind
            table[row + i, 2], table[row + i, 3] = cardinality, start
        start = after_payload(data, start, end, kind, cardinality)
        if start < 0:
            return start
    return start


@kernel("int64(uint8[::1], int64[:, ::1], int64[::1])")
def parse_maps(data: Mask, table: Table, found: Table) -> int:
    """Write the containers of a portable 64-bit bitmap; found[0] is their number."""
    end = len(data)
    found[0] = 0
    if end < 8:
        return bad(end, ENDS)
    maps, at, before = number(data, 0, 8), 8, -1
    if maps < 0 or maps > end // 12:
        return bad(0, ENDS)
    for _ in range(maps):
        if at + 4 > end:
            return bad(at, ENDS)
        high = number(data, at, 4)
        if high <= before:
            return bad(at, ORDER)
        before, count = high, map_containers(data, at + 4, end)
        at = parse_map(data, at + 4, end, high, table, found[0])
        if at < 0:
            return at
        found[0] += count
    return at


@kernel("int64(uint8[::1], int64[:, ::1], int64, uint8[::1], int64)")
def put_payload(data: Mask, table: Table, row: int, out: Mask, at: int) -> int:
    """Write a container's payload in the kind that its cardinality requires; runs stay runs."""
    kind, start = table[row, 1], table[row, 3]
    cardinality: int = table[row, 2]
    is_array = cardinality <= MOST_IN_ARRAY
    if kind == RUN or (kind == ARRAY) == is_array:
        size = payload_bytes(data, start, len(data), kind, cardinality)
        return copy(data, start, size, out, at)
    if not is_array:
        fill(out, at, BITMAP_BYTES, 0)
        for i in range(cardinality):
            value = number(data, start + 2 * i, 2)
            out[at + value // 8] |= np.uint8(1 << (value % 8))
        return at + BITMAP_BYTES
    count = 0
    for value in range(1 << 16):
        if count < cardinality and (data[start + value // 8] >> (value % 8)) & 1:
            put(out, at + 2 * count, 2, value)
            count += 1
    return at + 2 * cardinality


@kernel("int64(uint8[::1], int64[:, ::1], int64, int64, uint8[::1], int64)")
def put_map(data: Mask, table: Table, first: int, stop: int, out: Mask, at: int) -> int:
    """Write some rows of a table as a portable 32-bit bitmap."""
    count, base, has_runs = stop - first, at, False
    for i in range(first, stop):
        has_runs |= table[i, 1] == RUN
    if has_runs:
        at = put(out, at, 4, RUN_COOKIE | (count - 1) << 16)
        fill(out, at, (count + 7) // 8, 0)
        for i in range(count):
            out[at + i // 8] |= np.uint8(int(table[first + i, 1] == RUN) << (i % 8))
        at += (count + 7) // 8
    else:
        at = put(out, put(out, at, 4, PLAIN_COOKIE), 4, count)
    for i in range(first, stop):
        at = put(out, put(out, at, 2, table[i, 0] & 0xFFFF), 2, table[i, 2] - 1)
    offsets = at
    is_located = not has_runs or count >= _NO_OFFSETS_BELOW
    at += 4 * count if is_located else 0
    for i in range(count):
        if is_located:
            put(out, offsets + 4 * i, 4, at - base)
        at = put_payload(data, table, first + i, out, at)
    return at


@kernel("int64(uint8[::1], int64[:, ::1], uint8[::1])")
def put_maps(data: Mask, table: Table, out: Mask) -> int:
    """Write a table as a portable 64-bit bitmap; `out` has 32 bytes a container more than data."""
    maps, at, first = 0, 8, 0
    while first < len(table):
        high, stop = table[first, 0] >> 16, first + 1
        while stop < len(table) and table[stop, 0] >> 16 == high:
            stop += 1
        at = put_map(data, table, first, stop, out, put(out, at, 4, high))
        maps, first = maps + 1, stop
    put(out, 0, 8, maps)
    return at
