"""The numbers in columns of bitmaps of all three forms: the containers of every row in one table,
with places in the bytes of the column, and their contents as items of 16 bits or as dense bits.
"""

from typing import NamedTuple

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.folds.item_sets import Given, Items
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.roaring import art
from keyfold.kernels.roaring.containers import (
    BITMAP,
    BITMAP_BYTES,
    MOST_IN_ARRAY,
    PLAIN_COOKIE,
    RUN,
    RUN_COOKIE,
    Table,
    map_containers,
    number,
    parse_map,
    parse_maps,
)

NARROW, WIDE, BAD = 0, 1, 2
_HEAD, _LEAF, _CONTAINER = 9, 18, 6  # the bytes that each has at least


@kernel("boolean(uint8[::1])")
def has_cookie(part: Mask) -> bool:
    """Whether bytes may be a bitmap of 32 bits."""
    cookie = number(part, 0, 2) if len(part) >= 4 else 0
    return cookie in (PLAIN_COOKIE, RUN_COOKIE)


@kernel("int64(uint8[::1])")
def keys_of_tree(part: Mask) -> int:
    """The keys that bytes announce as Java's form, 0 if they can't be one."""
    if len(part) < _HEAD or part[0] != 1:
        return 0
    keys = number(part, 1, 8)
    return keys if 0 < keys <= len(part) // _LEAF else 0


@kernel("void(uint8[::1], int64[::1], uint8[::1], int64[::1])")
def most_containers(data: Mask, bounds: Rows, valid: Mask, most: Rows) -> None:
    """Write how many containers each row has at most; most[i] is of row i, the last the sum."""
    total = 0
    for row in range(len(valid)):
        part = data[bounds[row] : bounds[row + 1]]
        count = 0
        if valid[row]:
            count = max(len(part) // _CONTAINER, keys_of_tree(part))
            if has_cookie(part):
                count = max(count, min(map_containers(part, 0, len(part)), len(part) // 4))
        most[row] = count
        total += count
    most[len(valid)] = total


@kernel("boolean(uint8[::1], int64[:, ::1], int64[:, ::1], int64[::1])")
def is_java(part: Mask, table: Table, slots: Table, found: Rows) -> bool:
    """Whether bytes are Java's form; then the table has their containers, found[0] of them."""
    found[0] = 0
    if len(part) == 1:
        return bool(part[0] == 0)
    keys = keys_of_tree(part)
    at = art.parse_tree(part, table[:keys]) if keys else -1
    if at < 0:
        return False
    found[0] = keys
    return art.parse_containers(part, at, table[:keys], slots[:keys]) == len(part)


@kernel("int64(uint8[::1], int64[:, ::1], int64[:, ::1], int64[::1])")
def containers_in(part: Mask, table: Table, slots: Table, found: Rows) -> int:
    """Write the containers of one bitmap, found[0] of them; returns its form. The bytes are of the
    first form of which they are to their very end.
    """
    if has_cookie(part):
        if parse_map(part, 0, len(part), 0, table, 0) == len(part):
            found[0] = map_containers(part, 0, len(part))
            return NARROW
    elif is_java(part, table, slots, found):
        return WIDE
    return WIDE if parse_maps(part, table, found) == len(part) else BAD


@structure("int64[:, ::1]", "int64[:, ::1]", "int64[::1]", "uint8[::1]")
class Parsed(NamedTuple):
    """The containers of all rows, room for those of one in their order, the row of each, the
    form of each row.
    """

    table: Table
    slots: Table
    rows: Rows
    forms: Mask


@kernel("int64(uint8[::1], int64[::1], uint8[::1], int64[::1], Parsed)")
def parse_rows(data: Mask, bounds: Rows, valid: Mask, found: Rows, parsed: Parsed) -> int:
    """Write the containers of all rows, which are counted, and how many numbers each has."""
    count = 0
    for row in range(len(valid)):
        start = bounds[row]
        parsed.forms[row] = NARROW
        if valid[row]:
            part, table = data[start : bounds[row + 1]], parsed.table[count:]
            parsed.forms[row] = containers_in(part, table, parsed.slots, found)
            for i in range(found[0] if parsed.forms[row] != BAD else 0):
                table[i, 3] += start
                parsed.rows[count] = row
                count += 1
    return count


@kernel("boolean(int64[:, ::1], int64)")
def is_dense(table: Table, row: int) -> bool:
    """Whether a container becomes bits."""
    return bool(table[row, 1] == BITMAP or table[row, 2] > MOST_IN_ARRAY)


@kernel("void(uint8[::1], int64[:, ::1], int64, uint8[::1], int64)")
def put_dense(data: Mask, table: Table, row: int, bits: Mask, start: int) -> None:
    """Set the bits of a container's numbers, none of which is set yet."""
    kind, at = table[row, 1], table[row, 3]
    if kind == BITMAP:
        for i in range(BITMAP_BYTES):
            bits[start + i] = data[at + i]
        return
    is_run = kind == RUN
    for i in range(number(data, at, 2) if is_run else table[row, 2]):
        first = number(data, at + 2 + 4 * i if is_run else at + 2 * i, 2)
        for value in range(first, first + (number(data, at + 4 + 4 * i, 2) if is_run else 0) + 1):
            place = value & 0xFFFF
            bits[start + place // 8] |= np.uint8(1 << place % 8)


@kernel("int64(uint8[::1], int64[:, ::1], int64, uint32[::1], int64)")
def put_few(data: Mask, table: Table, row: int, items: Items, count: int) -> int:
    """Write a container's numbers behind `count` others; returns how many there are then."""
    kind, at = table[row, 1], table[row, 3]
    is_run = kind == RUN
    for i in range(number(data, at, 2) if is_run else table[row, 2]):
        first = number(data, at + 2 + 4 * i if is_run else at + 2 * i, 2)
        for value in range(first, first + (number(data, at + 4 + 4 * i, 2) if is_run else 0) + 1):
            items[count] = value & 0xFFFF
            count += 1
    return count


@kernel("void(uint8[::1], int64[:, ::1], int32[::1], Given, Given, int64[::1], uint64[::1])")
def read_contents(
    data: Mask, table: Table, groups: Numbers, few: Given, many: Given, starts: Rows, words: Words
) -> None:
    """Write the numbers of containers, each of a group: the items of small ones, and of those that
    become bits group, upper bits and where in the words they are, which are 0 yet.
    """
    some, large = 0, 0
    for row in range(len(table)):
        high = np.uint64(table[row, 0])
        if is_dense(table, row):
            many.groups[large], many.highs[large] = groups[row], high
            starts[large] = large * BITMAP_BYTES // 8
            put_dense(data, table, row, words.view(np.uint8), large * BITMAP_BYTES)
            large += 1
        else:
            stop = put_few(data, table, row, few.items, some)
            for i in range(some, stop):
                few.groups[i], few.highs[i] = groups[row], high
            some = stop
