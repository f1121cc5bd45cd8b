"""Records of Avro data files become slots of columns, those of nested values too: a program of
steps, made of the writer's schema, walks the bytes twice. The first walk counts the slots of each
column, and the second fills them.

A slot has a number, or the place and the length of bytes, or the number of items. A column of items
has the slots of all lists, one after another. The bytes are not believed, as in `records`.
"""

from typing import Any, NamedTuple

import numpy as np

from keyfold.kernels.avro.records import is_utf8, items_at, long_at
from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.jit import kernel, structure

# What a step does: the first number of its row. The second is its argument, the third that of the
# column to fill, -1 for none.
END, BRANCH, JUMP, LIST, AGAIN, REFUSED, NULL, PRESENT, NUMBER, RAW, FIXED, BYTES, TEXT = range(13)


@structure("int64[::1]", "int64[::1]", "int64[::1]", "int64[::1]", "uint8[::1]")
class AvroSlots(NamedTuple):
    """The first slot of each column, and how many it has; then, by slot, the number, the length of
    bytes, and whether it is not NULL. The last three are empty where slots are only counted.
    """

    starts: Rows
    counts: Rows
    numbers: Rows
    sizes: Rows
    valid: Mask


@kernel
def _put(to: AvroSlots, column: int, number: Any, size: Any, valid: int) -> None:
    """Fill the next slot of a column."""
    if column < 0:
        return
    place = to.counts[column]
    to.counts[column] = place + 1
    if len(to.numbers) > 0:
        at = to.starts[column] + place
        to.numbers[at], to.sizes[at], to.valid[at] = number, size, valid


@kernel
def _raw(data: Mask, at: int, size: int) -> Any:
    """The number in `size` bytes, the least first."""
    found = np.uint64(0)
    for place in range(size):
        found |= np.uint64(data[at + place]) << np.uint64(8 * place)
    return np.int64(found)


@kernel
def _bytes(data: Mask, at: int, step: Rows, to: AvroSlots) -> Any:
    """The place after bytes or a text, -1 if they are not there."""
    size, at = long_at(data, at, 64)
    if at < 0 or size < 0 or size > len(data) - at:
        return -1
    if step[0] == TEXT and not is_utf8(data, at, at + size):
        return -1
    _put(to, step[2], at, size, 1)
    return at + size


@kernel
def _value(data: Mask, at: int, step: Rows, to: AvroSlots) -> Any:
    """The place after a value without parts, -1 if the bytes have none."""
    kind, argument, column = step[0], step[1], step[2]
    if kind >= BYTES:
        return _bytes(data, at, step, to)
    if kind == NUMBER:
        number, at = long_at(data, at, argument)
        if at >= 0:
            _put(to, column, number, 0, 1)
        return at
    if kind <= PRESENT:
        _put(to, column, 0, 0, kind == PRESENT)
        return at
    if argument > len(data) - at:
        return -1
    number = at if kind == FIXED else _raw(data, at, argument)
    _put(to, column, number, argument, 1)
    return at + argument


@kernel
def _next_items(
    data: Mask, at: int, program: Rows, place: int, stack: Rows, to: AvroSlots
) -> tuple[Any, Any]:
    """The place in the bytes and the next step, where a list begins or one of its items ended. The
    stack has its own depth, and how many items are left in each list.
    """
    kind, argument, column = program[place, 0], program[place, 1], program[place, 2]
    if kind == AGAIN:
        stack[stack[0]] -= 1
        if stack[stack[0]] > 0:
            return at, argument + 1
    else:
        stack[0] += 1
        _put(to, column, 0, 0, 1)
    count, at = items_at(data, at)
    stack[stack[0]] = count
    if count == 0:
        stack[0] -= 1
        return at, place + 1 if kind == AGAIN else argument
    if column >= 0 and len(to.numbers) > 0:
        to.numbers[to.starts[column] + to.counts[column] - 1] += count
    return at, argument + 1 if kind == AGAIN else place + 1


@kernel
def _after_record(data: Mask, at: int, program: Rows, stack: Rows, to: AvroSlots) -> Any:
    """The place after a record, -1 if a step does not accept it."""
    place, stack[0] = 0, 0
    while at >= 0:
        kind = program[place, 0]
        if kind in (END, REFUSED):
            return at if kind == END else -1
        if kind == JUMP:
            place = program[place, 1]
        elif kind == BRANCH:
            branch, at = long_at(data, at, 64)
            at = at if 0 <= branch < program[place, 1] else -1
            place += 1 + branch
        elif kind <= AGAIN:
            at, place = _next_items(data, at, program, place, stack, to)
        else:
            at = _value(data, at, program[place], to)
            place += 1
    return -1


@kernel("int64(uint8[::1], int64[:, ::1], int64[::1], int64, AvroSlots)")
def walk_records(data: Mask, program: Rows, stack: Rows, rows: int, to: AvroSlots) -> int:
    """Count or fill the slots of `rows` records; returns the place after them, or -1 less the
    number of records before one that is not accepted. The stack has one place more than lists are
    deep.
    """
    at = 0
    for row in range(rows):
        at = _after_record(data, at, program, stack, to)
        if at < 0:
            return -1 - row
    return at


@kernel("void(uint8[::1], int64[::1], int64[::1], uint8[::1])")
def gather_bytes(data: Mask, starts: Rows, sizes: Rows, out: Mask) -> None:
    """Write the bytes of all places, one after another."""
    end = 0
    for row in range(len(starts)):
        for place in range(sizes[row]):
            out[end + place] = data[starts[row] + place]
        end += sizes[row]


@kernel("int64(uint8[::1], int64[::1], int64[::1], uint64[:, ::1])")
def gather_decimals(data: Mask, starts: Rows, sizes: Rows, out: Words) -> int:
    """Write the numbers whose bytes, the greatest first, are at these places, in two words each.
    Returns the first row with more bytes, -1 if there is none.
    """
    for row in range(len(starts)):
        start, size = starts[row], sizes[row]
        if size > 16:
            return row
        is_negative = size > 0 and data[start] >= 0x80
        out[row, 0] = out[row, 1] = ~np.uint64(0) if is_negative else np.uint64(0)
        for place in range(start, start + size):
            out[row, 1] = (out[row, 1] << np.uint64(8)) | (out[row, 0] >> np.uint64(56))
            out[row, 0] = (out[row, 0] << np.uint64(8)) | np.uint64(data[place])
    return -1
