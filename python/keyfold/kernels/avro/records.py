"""Records of Avro become columns: a program of steps, made of the writer's schema, walks the bytes.

The bytes are not believed: each step says how far it goes, and nothing outside them is read. A
number has at most 64 bits, text is UTF-8, a name is one part of a path. A record that a step does
not accept ends the walk. A name with letters beyond ASCII makes its record an odd one, whose names
the caller checks.
"""

from typing import Any, NamedTuple

import numpy as np

from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.jit import kernel, structure

# What a step does: the first number of its row. The second is its argument, the third that of the
# column to write, -1 for none.
END, NUMBER, FIXED, BYTES, TEXT, NAME, BRANCH, JUMP, NULL, LIST, AGAIN, REFUSED = range(12)
DEPTH = 34  # of lists in lists
_LONGEST_NAME = 255
_DELETE, _SLASH, _BACKSLASH, _DOT, _SPACE = 0x7F, 0x2F, 0x5C, 0x2E, 0x20


@structure("int64[:, ::1]", "uint8[:, ::1]", "int32[:, :, ::1]", "int32[::1]", "uint8[::1]")
class RecordColumns(NamedTuple):
    """Numbers by column and record, where they are NULL, the start and length of bytes (-1: NULL),
    the ends of records, and which are odd. The length of a list is 0 if it is empty, else 1.
    """

    numbers: Rows
    nulls: Mask
    spans: Any
    ends: Any
    odd: Mask


@kernel
def long_at(data: Mask, at: int, bits: int) -> tuple[Any, Any]:
    """The number at `at`, and the place after it, -1 if it has more than `bits` bits."""
    value, shift = np.uint64(0), np.uint64(0)
    while 0 <= at < len(data) and shift < np.uint64(64):
        byte = np.uint64(data[at])
        at += 1
        if shift == np.uint64(63) and byte > np.uint64(1):
            return np.int64(0), -1
        value |= (byte & np.uint64(127)) << shift
        shift += np.uint64(7)
        if byte < np.uint64(128):
            found = np.int64(value >> np.uint64(1)) ^ -np.int64(value & np.uint64(1))
            is_within = bits == 64 or -(1 << 31) <= found < 1 << 31
            return found, at if is_within else -1
    return np.int64(0), -1


@kernel
def _letter(data: Mask, at: int, end: int) -> int:
    """The bytes of the letter of UTF-8 at `at`, 0 if there is none."""
    first = np.int64(data[at])
    if first < 0x80:
        return 1
    size = 0 if first < 0xC2 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if size == 0 or first > 0xF4 or at + size > end:
        return 0
    low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
    high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
    if not low <= np.int64(data[at + 1]) <= high:
        return 0
    for place in range(at + 2, at + size):
        if data[place] & 0xC0 != 0x80:
            return 0
    return size


@kernel
def is_utf8(data: Mask, at: int, end: int) -> bool:
    while at < end:
        size = _letter(data, at, end)
        if size == 0:
            return False
        at += size
    return True


@kernel
def _is_name(data: Mask, at: int, end: int) -> int:
    """1 for a name, 0 for what is not one, -1 for text whose letters decide."""
    size, is_odd = end - at, False
    if size == 0 or size > _LONGEST_NAME or (data[at] == _DOT and size == 1):
        return 0
    if size == 2 and data[at] == _DOT and data[at + 1] == _DOT:
        return 0
    for place in range(at, end):
        byte = data[place]
        if byte < _SPACE or byte in (_DELETE, _SLASH, _BACKSLASH):
            return 0
        is_odd |= byte > _DELETE
    if is_odd:
        return -1 if is_utf8(data, at, end) else 0
    return 1


@kernel
def _bytes(data: Mask, at: int, step: Rows, row: int, to: RecordColumns) -> Any:
    """The place after bytes of some kind, -1 if they are not of that kind."""
    size, at = long_at(data, at, 64)
    if at < 0 or size < 0 or size > len(data) - at:
        return -1
    end = at + size
    if step[0] == TEXT and not is_utf8(data, at, end):
        return -1
    if step[0] == NAME:
        is_name = _is_name(data, at, end)
        if is_name == 0:
            return -1
        to.odd[row] |= is_name < 0
    if step[2] >= 0:
        to.spans[step[2], row, 0], to.spans[step[2], row, 1] = at, size
    return end


@kernel
def _plain(data: Mask, at: int, step: Rows, row: int, to: RecordColumns) -> Any:
    """The place after a value without parts, -1 if the bytes have none."""
    if step[0] == NUMBER:
        value, at = long_at(data, at, step[1])
        if at >= 0 and step[2] >= 0:
            to.numbers[step[2], row], to.nulls[step[2], row] = value, 0
        return at
    if step[0] == FIXED:
        return at + step[1] if step[1] <= len(data) - at else -1
    return _bytes(data, at, step, row, to)


@kernel
def items_at(data: Mask, at: int) -> tuple[Any, Any]:
    """How many items follow in a list, and the place where they begin, -1 if it can't be."""
    count, at = long_at(data, at, 64)
    if at >= 0 and count < 0:
        size, at = long_at(data, at, 64)
        count = -count if size >= 0 else count
    # each item has a byte at least
    return count, at if 0 <= count <= len(data) - at else -1


@kernel
def _turn(data: Mask, at: int, program: Rows, place: int, stack: Rows) -> tuple[Any, Any]:
    """The place in the bytes and the next step, of a step that decides which one is next. The
    stack has its own depth, and how many items are left in each list.
    """
    kind, argument = program[place, 0], program[place, 1]
    if kind == JUMP:
        return at, argument
    if kind == BRANCH:
        branch, at = long_at(data, at, 64)
        is_there = at >= 0 and 0 <= branch < argument
        return (at, place + 1 + branch) if is_there else (-1, place)
    depth = stack[0]
    if kind == AGAIN:
        stack[depth] -= 1
        if stack[depth] > 0:
            return at, argument + 1
        place = argument
    else:
        depth = stack[0] = depth + 1
    count, at = items_at(data, at)
    stack[depth] = count
    if count == 0:
        stack[0] = depth - 1
        return at, program[place, 1]
    return at, place + 1


@kernel
def _record(
    data: Mask, at: int, program: Rows, row: int, stack: Rows, to: RecordColumns
) -> tuple[Any, Any]:
    """The place after a record, -1 if a step does not accept it, and the step that was last."""
    place, stack[0] = 0, 0
    while at >= 0:
        step = program[place]
        kind = step[0]
        if kind == END:
            return at, place
        if kind == LIST and step[2] >= 0 and at < len(data):
            to.spans[step[2], row, 0], to.spans[step[2], row, 1] = at, data[at] != 0
        if BRANCH <= kind <= JUMP or LIST <= kind <= AGAIN:
            at, place = _turn(data, at, program, place, stack)
            continue
        if kind == REFUSED:
            return -1, place
        if kind != NULL:
            at = _plain(data, at, step, row, to)
        place += 1
    return -1, place


@kernel("int64(uint8[::1], int64[:, ::1], int64[::1], RecordColumns)")
def decode_records(data: Mask, program: Rows, stack: Rows, to: RecordColumns) -> int:
    """Write the columns of all records; returns how many were accepted. The stack has one place
    more than lists are deep. Columns are NULL before.
    """
    at = 0
    for row in range(len(to.ends)):
        at, _ = _record(data, at, program, row, stack, to)
        if at < 0:
            return row
        to.ends[row] = at
    return len(to.ends)
