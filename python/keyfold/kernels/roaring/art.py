"""The bytes of Java's `Roaring64Bitmap`: an adaptive radix tree over the upper 48 bits of the
values, then an array of containers. The leaves of the tree name the containers.

All is little-endian except the leaves' keys: u8 1 (0 alone is the empty bitmap), i64 keys, the tree
in pre-order, i32 1, u8 FE, i32 slots, the slots, i64 containers, i32 0, i32 last slot. A node is
u8 type, i16 children, u8 prefix length, prefix, body. The bytes are those that Java writes of a
bitmap whose containers came in ascending order.
"""

import numpy as np

from keyfold.kernels.buffers import Mask
from keyfold.kernels.jit import kernel
from keyfold.kernels.roaring.containers import (
    ARRAY,
    BITMAP,
    CARDINALITY,
    CHILDREN,
    COUNT,
    ENDS,
    KIND,
    LEVELS,
    NODE,
    ORDER,
    RUN,
    SLOT,
    Table,
    after_payload,
    bad,
    copy,
    fill,
    number,
    payload_bytes,
    put,
)

LEAF = 4
HEAD_BYTES, LEAF_BYTES, KEY_BYTES = 9, 18, 6
STACK_ROWS = 6 * 256  # each of the six bytes of a key leaves at most 255 children waiting
_NOT_TRIMMED, _NO_SLOT = 254, 1 << 62


@kernel("int64(int64)", "int64(uint8)")
def capacity(kind: int) -> int:
    """The number of children that a node of a type can hold."""
    return 4 if kind == 0 else 16 if kind == 1 else 48 if kind == 2 else 256


@kernel("int64(int64)", "int64(uint8)")
def body_bytes(kind: int) -> int:
    """The length of a branch's body: key bytes, an index of 256 bytes, or a mask of 256 bits."""
    return 4 if kind == 0 else 16 if kind == 1 else 256 if kind == 2 else 32


@kernel("int64(uint8[::1], int64[:, ::1])")
def parse_tree(data: Mask, table: Table) -> int:
    """Write keys (column 0) and slots (column 3) of all leaves. Only leaves are looked at: each
    holds its whole key.
    """
    at, end, row, waiting, before = HEAD_BYTES, len(data), 0, 1, -1
    while waiting:
        if at + 4 > end:
            return bad(at, ENDS)
        kind, children, head = data[at], number(data, at + 1, 2), at
        if kind > LEAF:
            return bad(at, NODE)
        at += 4 + number(data, at + 3, 1)
        waiting -= 1
        if kind != LEAF:
            if children < 1 or children > capacity(kind):
                return bad(head + 1, CHILDREN)
            waiting += children
            at += body_bytes(kind)
            continue
        if at + 14 > end or row == len(table):
            return bad(at, ENDS if at + 14 > end else COUNT)
        key = 0
        for i in range(KEY_BYTES):
            key = key << 8 | number(data, at + i, 1)
        if key <= before:
            return bad(at, ORDER)
        before = key
        table[row, 0], table[row, 3] = key, number(data, at + KEY_BYTES, 8)
        row, at = row + 1, at + 14
    return at if row == len(table) else bad(at, COUNT)


@kernel("int64(uint8[::1], int64, int64, int64[:, ::1])")
def parse_slots(data: Mask, at: int, count: int, slots: Table) -> int:
    """Write number, kind, cardinality and payload of each of `count` slots that is not empty."""
    end, found = len(data), 0
    for i in range(len(slots)):
        slots[i, 0] = _NO_SLOT
    for i in range(count):
        if at + 1 > end:
            return bad(at, ENDS)
        at += 1
        if data[at - 1] == 0:
            continue
        if at + 5 > end:
            return bad(at, ENDS)
        kind, cardinality = number(data, at, 1), number(data, at + 1, 4)
        if data[at - 1] != 1 or (kind != RUN and kind != BITMAP and kind != ARRAY):
            return bad(at, KIND)
        if cardinality < 1 or cardinality > 1 << 16 or found == len(slots):
            return bad(at + 1, SLOT if found == len(slots) else CARDINALITY)
        slots[found, 0], slots[found, 1] = i, kind
        slots[found, 2], slots[found, 3] = cardinality, at + 5
        found, at = found + 1, after_payload(data, at + 5, end, kind, cardinality)
        if at < 0:
            return at
    return at


@kernel("int64(int64[:, ::1], int64)")
def place_of(slots: Table, number: int) -> int:
    """The place of the slot of a number, -1 if it is not there."""
    low, high = 0, len(slots)
    while low < high:
        middle = (low + high) // 2
        if slots[middle, 0] < number:
            low = middle + 1
        else:
            high = middle
    return low if low < len(slots) and slots[low, 0] == number else -1


@kernel("int64(uint8[::1], int64, int64[:, ::1], int64[:, ::1])")
def parse_containers(data: Mask, at: int, table: Table, slots: Table) -> int:
    """Complete the rows that `parse_tree` began, from the containers behind the tree. `slots` has a
    row for each of them: no two leaves share a container, and none is without a leaf.
    """
    if at + 9 > len(data):
        return bad(at, ENDS)
    if number(data, at, 4) != 1:
        return bad(at, LEVELS)
    count = number(data, at + 5, 4)
    at = parse_slots(data, at + 9, count, slots)
    if at < 0 or at + 16 > len(data):
        return at if at < 0 else bad(at, ENDS)
    for row in range(len(table)):
        place = place_of(slots, table[row, 3])
        if place < 0 or slots[place, 1] < 0:
            return bad(at, SLOT)
        for i in range(1, 4):
            table[row, i] = slots[place, i]
        slots[place, 1] = -1
    last = number(data, at + 12, 4)  # Java writes the next container behind it
    if number(data, at + 8, 4) != 0 or last >= count or last < slots[len(slots) - 1, 0]:
        return bad(at + 8, SLOT)
    return at + 16


@kernel("int64(int64, int64)")
def key_byte(key: int, depth: int) -> int:
    """Byte `depth` of a key of six, the first most significant."""
    return (key >> (40 - 8 * depth)) & 255


@kernel("int64(uint8[::1], int64, int64, int64, int64, int64)")
def mark_child(out: Mask, at: int, kind: int, child: int, byte: int, word: int) -> int:
    """Enter child number `child`, reached by `byte`, into the body of a branch at `at`."""
    if kind < 2:
        place = child // word * word + word - 1 - child % word
        out[at + place] = byte
    elif kind == 2:
        out[at + byte // 8 * 8 + 7 - byte % 8] = child
    else:
        out[at + byte // 8] |= np.uint8(1 << (byte % 8))
    return at


@kernel("int64(int64[:, ::1], int64[:, ::1], int64, uint8[::1], int64)")
def put_branch(table: Table, stack: Table, top: int, out: Mask, at: int) -> int:
    """Write the branch at stack[top] and replace it there by its children, the first on top;
    returns the place after it.
    """
    first, stop, depth = stack[top, 0], stack[top, 1], stack[top, 2]
    split = depth
    while key_byte(table[first, 0], split) == key_byte(table[stop - 1, 0], split):
        split += 1
    children, end = 0, stop
    for i in range(stop - 1, first - 1, -1):
        if i == first or key_byte(table[i - 1, 0], split) != key_byte(table[i, 0], split):
            stack[top + children, 0], stack[top + children, 1] = i, end
            stack[top + children, 2] = split + 1
            children, end = children + 1, i
    kind = 0 if children <= 4 else 1 if children <= 16 else 2 if children <= 48 else 3
    out[at] = kind
    at = put(out, put(out, at + 1, 2, children), 1, split - depth)
    for i in range(depth, split):
        at = put(out, at, 1, key_byte(table[first, 0], i))
    size = body_bytes(kind)
    fill(out, at, size, 255 if kind == 2 else 0)
    for child in range(children):
        row = stack[top + children - 1 - child, 0]
        mark_child(out, at, kind, child, key_byte(table[row, 0], split), 4 if kind == 0 else 8)
    stack[STACK_ROWS, 0] = children
    return at + size


@kernel("int64(int64[:, ::1], uint8[::1], int64, int64[:, ::1])")
def put_tree(table: Table, out: Mask, at: int, stack: Table) -> int:
    """Write the tree over the keys of a table, leaf i naming slot i."""
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(table), 0
    top = 1
    while top:
        top -= 1
        row = stack[top, 0]
        if stack[top, 1] - row > 1:
            at = put_branch(table, stack, top, out, at)
            top += stack[STACK_ROWS, 0]
            continue
        at = put(out, at, 4, LEAF)
        for i in range(KEY_BYTES):
            at = put(out, at, 1, key_byte(table[row, 0], i))
        at = put(out, at, 8, row)
    return at


@kernel("int64(uint8[::1], int64[:, ::1], uint8[::1], int64)")
def put_slots(data: Mask, table: Table, out: Mask, at: int) -> int:
    """Write the containers of a table, in an array grown as Java grows it: by half."""
    count, slots = len(table), 1
    while slots < count:
        slots = max(slots + slots // 2, slots + 1)
    at = put(out, put(out, put(out, at, 4, 1), 1, _NOT_TRIMMED), 4, slots)
    for i in range(count):
        at = put(out, put(out, put(out, at, 1, 1), 1, table[i, 1]), 4, table[i, 2])
        start = table[i, 3]
        size = payload_bytes(data, start, len(data), table[i, 1], table[i, 2])
        at = copy(data, start, size, out, at)
    at = fill(out, at, slots - count, 0)
    return put(out, put(out, put(out, at, 8, count), 4, 0), 4, count - 1)


@kernel("int64(uint8[::1], int64[:, ::1], uint8[::1], int64[:, ::1])")
def put_art(data: Mask, table: Table, out: Mask, stack: Table) -> int:
    """Write a table as Java's bytes; `out` has `art_bound` bytes, stack STACK_ROWS + 1 rows."""
    if not len(table):
        return put(out, 0, 1, 0)
    at = put(out, put(out, 0, 1, 1), 8, len(table))
    return put_slots(data, table, out, put_tree(table, out, at, stack))


def art_bound(containers: int, payload: int) -> int:
    """A number of bytes that is enough for any tree over these containers. A leaf has 18, a branch
    at most 16 for each of its children, a slot 7; there may be as many empty slots again.
    """
    return 64 + 60 * containers + payload
