"""Sets of items of 32 bits, each of an owner: of a group of a query, say. The items of a small set
are words owner << 32 | item, sorted and each there once. A large set is dense: some bytes of one
array. Those of a bitmap have a bit for each item; those of a sketch have a register for each slot,
the lower 12 bits of an item, with the greatest of the upper 6 bits of the items of that slot.
Behind them a sketch has its own estimate, a DOUBLE that is 0 unless it is of one sketch alone, and
the number of bits by which its slots are fewer.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.roaring.containers import (
    ARRAY,
    BITMAP,
    BITMAP_BYTES,
    MOST_IN_ARRAY,
    PLAIN_COOKIE,
    RUN,
    Table,
    ones_in,
    put,
    put_map,
)

Items = npt.NDArray[np.uint32]

REGISTERS = 1 << 12
SKETCH_BYTES = REGISTERS + 16
ESTIMATE_BYTES = 8
_LOW, _SHIFT, _SIXTEEN = 0xFFFFFFFF, 32, 0xFFFF
_SHIFTED = np.uint64(26)


@structure("int32[::1]", "uint8[::1]", "int64")
class Dense(NamedTuple):
    """The dense sets: the number plus one of that of each owner, 0 of none; the bytes of all, and
    those of one.
    """

    places: Numbers
    data: Mask
    size: int


@kernel("int64(Dense, int64)")
def number_of(dense: Dense, owner: Any) -> int:
    """The number plus one of the dense set of an owner, 0 of none."""
    return int(dense.places[owner])


@kernel("void(uint8[::1], int64)")
def forget_estimate(data: Mask, start: int) -> None:
    """A sketch that others joined has no estimate of its own."""
    for at in range(start + REGISTERS, start + REGISTERS + ESTIMATE_BYTES):
        data[at] = 0


@kernel("void(Dense, int64, uint64)")
def keep(dense: Dense, number: int, item: np.uint64) -> None:
    """Put an item into a dense set."""
    start = number * dense.size
    if dense.size == BITMAP_BYTES:
        at = start + np.int64((item & np.uint64(_SIXTEEN)) >> np.uint64(3))
        dense.data[at] |= np.uint8(1 << (item & np.uint64(7)))
    else:
        at, value = start + np.int64(item & np.uint64(REGISTERS - 1)), np.uint8(item >> _SHIFTED)
        if value > dense.data[at]:
            dense.data[at] = value
            forget_estimate(dense.data, start)


@kernel("int64(int32[::1], uint32[::1], Dense, uint64[::1])")
def take_in(owners: Numbers, items: Items, dense: Dense, waiting: Words) -> int:
    """Put the items of dense sets there, and write those of others, which are counted."""
    count = 0
    for row in range(len(owners)):
        place = number_of(dense, np.int64(owners[row]))
        if place:
            keep(dense, place - 1, np.uint64(items[row]))
        else:
            waiting[count] = np.uint64(owners[row]) << np.uint64(_SHIFT) | np.uint64(items[row])
            count += 1
    return count


@kernel("int64(uint64[::1], uint64[::1], uint64[::1])")
def unite(left: Words, right: Words, out: Words) -> int:
    """Write the words of two sorted arrays, each once, and count them; the first has each once."""
    count, i, last = 0, 0, np.uint64(0)
    for j in range(len(right)):
        word = right[j]
        if j == 0 or word != last:
            while i < len(left) and left[i] < word:
                out[count] = left[i]
                count, i = count + 1, i + 1
            if i == len(left) or left[i] != word:
                out[count] = word
                count += 1
            last = word
    while i < len(left):
        out[count] = left[i]
        count, i = count + 1, i + 1
    return count


@kernel("int64(uint64[::1], int64, int32[::1], int64)")
def find_large(words: Words, most: int, places: Numbers, count: int) -> int:
    """Give numbers, from `count` on, to the owners of more words than `most`."""
    start = 0
    for at in range(1, len(words) + 1):
        owner = words[start] >> np.uint64(_SHIFT)
        if at == len(words) or words[at] >> np.uint64(_SHIFT) != owner:
            if at - start > most and not places[owner]:
                count += 1
                places[owner] = count
            start = at
    return count


@kernel("int64(uint64[::1], Dense)")
def move_large(words: Words, dense: Dense) -> int:
    """Put the words of dense sets there; the others stay, together, and are counted."""
    count = 0
    for at in range(len(words)):
        word = words[at]
        place = number_of(dense, np.int64(word >> np.uint64(_SHIFT)))
        if place:
            keep(dense, place - 1, word & np.uint64(_LOW))
        else:
            words[count] = word
            count += 1
    return count


@kernel("void(int64[::1], int64[::1], Dense, int64[::1])")
def sizes(owners: Rows, ends: Rows, dense: Dense, counts: Rows) -> None:
    """Write how many items the sets of these owners have; of a dense one of a sketch -1."""
    for i in range(len(owners)):
        owner, place = owners[i], number_of(dense, np.int64(owners[i]))
        if not place:
            counts[i] = ends[owner] - (ends[owner - 1] if owner else 0)
        elif dense.size == BITMAP_BYTES:
            counts[i] = ones_in(dense.data, (place - 1) * dense.size, dense.size)
        else:
            counts[i] = -1


@kernel("int64(uint64[::1], int64, int64, uint8[::1], int64, int64[:, ::1], int64)")
def put_items(
    words: Words, start: int, stop: int, out: Mask, at: int, table: Table, row: int
) -> int:
    """Write the items of a small set as the payload of a container, in the kind of fewest bytes;
    returns the place after it.
    """
    runs = 1
    for i in range(start + 1, stop):
        runs += words[i] != words[i - 1] + np.uint64(1)
    count = stop - start
    is_run = 2 + 4 * runs < 2 * count
    table[row, 1], table[row, 2], table[row, 3] = RUN if is_run else ARRAY, count, at
    if is_run:
        at = put(out, at, 2, runs)
    first = start
    for i in range(start, stop):
        is_end = i + 1 == stop or words[i + 1] != words[i] + np.uint64(1)
        if not is_run or is_end:
            at = put(out, at, 2, int(np.int64(words[first if is_run else i]) & 0xFFFF))
            at = put(out, at, 2, i - first) if is_run else at
            first = i + 1
    return at


@kernel("int64(uint8[::1], int64, uint64[::1])")
def words_of_bits(data: Mask, start: int, words: Words) -> int:
    """Write the items of a dense set of bits, which are counted."""
    count = 0
    for at in range(BITMAP_BYTES):
        byte = data[start + at]
        for bit in range(8 if byte else 0):
            if byte >> bit & 1:
                words[count] = np.uint64(8 * at + bit)
                count += 1
    return count


@kernel("int64(uint8[::1], int64, uint64[::1], uint8[::1], int64, int64[:, ::1], int64)")
def put_bits(
    data: Mask, start: int, words: Words, out: Mask, at: int, table: Table, row: int
) -> int:
    """`put_items` of a dense set of bits; `words` are room for its items."""
    count, runs = words_of_bits(data, start, words), 1
    for i in range(1, count):
        runs += words[i] != words[i - 1] + np.uint64(1)
    if count <= MOST_IN_ARRAY or 2 + 4 * runs < BITMAP_BYTES:
        return put_items(words, 0, count, out, at, table, row)
    table[row, 1], table[row, 2], table[row, 3] = BITMAP, count, at
    for i in range(BITMAP_BYTES):
        out[at + i] = data[start + i]
    return at + BITMAP_BYTES


@structure("int64[::1]", "uint64[::1]", "uint64[::1]", "int64[::1]")
class Owned(NamedTuple):
    """The owners of the sets of some groups, in their order, the upper bits of the items of each
    owner; the words of all small sets, and where those of each owner end.
    """

    owners: Rows
    highs: Words
    words: Words
    ends: Rows


@structure("uint8[::1]", "uint64[::1]", "int64[:, ::1]")
class Room(NamedTuple):
    """Room for one bitmap: the payloads of its containers, the items of a dense one, the table."""

    payloads: Mask
    items: Words
    table: Table


@kernel("int64(Owned, Dense, int64, int64, Room)")
def containers_of(owned: Owned, dense: Dense, first: int, stop: int, room: Room) -> int:
    """Write the containers of a bitmap, of the owners from `first` to `stop`: payloads and table.
    Returns the bytes of the payloads.
    """
    at, out, table = 0, room.payloads, room.table
    for row in range(stop - first):
        owner = owned.owners[first + row]
        table[row, 0] = np.int64(owned.highs[owner])
        place = number_of(dense, owner)
        if place:
            at = put_bits(dense.data, (place - 1) * dense.size, room.items, out, at, table, row)
        else:
            start = int(owned.ends[owner - 1]) if owner else 0
            stop_of = int(owned.ends[owner])
            at = put_items(owned.words, start, stop_of, out, at, table, row)
    return at


@kernel("void(Owned, Dense, int64[::1], Room, uint8[::1], int64[::1])")
def put_bitmaps(
    owned: Owned, dense: Dense, bounds: Rows, room: Room, out: Mask, ends: Rows
) -> None:
    """Write bitmaps of 32 bits in the portable form, each of the owners from bounds[i] on, and
    where each ends.
    """
    at = 0
    for i in range(len(ends)):
        first, stop = bounds[i], bounds[i + 1]
        if first == stop:
            at = put(out, put(out, at, 4, PLAIN_COOKIE), 4, 0)
        else:
            containers_of(owned, dense, first, stop, room)
            at = put_map(room.payloads, room.table, 0, stop - first, out, at)
        ends[i] = at


@kernel("void(Owned, Dense, int64[::1], uint64[::1], int64[::1])")
def put_states(owned: Owned, dense: Dense, bounds: Rows, out: Words, ends: Rows) -> None:
    """Write the sets of groups as words: of each set the upper bits, the number of items, 0 of a
    dense one, and the items or bytes.
    """
    at, bits = 0, dense.data.view(np.uint64)
    for i in range(len(ends)):
        for j in range(bounds[i], bounds[i + 1]):
            owner = owned.owners[j]
            place = number_of(dense, owner)
            start = int(owned.ends[owner - 1]) if owner else 0
            count = 0 if place else int(owned.ends[owner]) - start
            if place or count:
                out[at], out[at + 1] = owned.highs[owner], np.uint64(count)
                at += 2
            if place:
                size = dense.size // 8
                for k in range(size):
                    out[at + k] = bits[(place - 1) * size + k]
                at += size
            for k in range(count):
                out[at + k] = owned.words[start + k] & np.uint64(_LOW)
            at += count
        ends[i] = at


@kernel("int64(uint64[::1], int64[::1], int64, int64[::1])")
def count_in_states(words: Words, ends: Rows, size: int, counts: Rows) -> int:
    """Write how many items and how many dense sets there are in states; returns the first that is
    not a state, -1 if each is.
    """
    at = 0
    for i in range(len(ends)):
        while at < ends[i]:
            count: Any = np.int64(words[at + 1]) if at + 2 <= ends[i] else np.int64(-1)
            taken = count if count else size // 8
            if count < 0 or taken > ends[i] - at - 2:
                return i
            counts[0], counts[1] = counts[0] + count, counts[1] + (count == 0)
            at += 2 + taken
    return -1


@structure("int32[::1]", "uint64[::1]", "uint32[::1]")
class Given(NamedTuple):
    """The group of each item of states, its upper bits and itself."""

    groups: Numbers
    highs: Words
    items: Items


@kernel("void(uint64[::1], int64[::1], int32[::1], int64, Given, Given, int64[::1])")
def read_states(
    words: Words, ends: Rows, groups: Numbers, size: int, few: Given, many: Given, starts: Rows
) -> None:
    """Write the items of small sets, and of dense ones group, upper bits and where they are."""
    at: Any = 0
    some, large = 0, 0
    for i in range(len(ends)):
        while at < ends[i]:
            high, count = words[at], np.int64(words[at + 1])
            at += 2
            for k in range(count):
                few.groups[some], few.highs[some] = groups[i], high
                few.items[some] = np.uint32(words[at + k])
                some += 1
            if count == 0:
                many.groups[large], many.highs[large], starts[large] = groups[i], high, at
                large += 1
            at += count if count else size // 8


@kernel("void(uint8[::1], int64, uint8[::1], int64)")
def join_sketch(source: Mask, first: int, target: Mask, start: int) -> None:
    """Add a dense set of a sketch to another one."""
    was_empty, has_grown = True, False
    for k in range(REGISTERS):
        value = target[start + k]
        was_empty &= value == 0
        if source[first + k] > value:
            target[start + k], has_grown = source[first + k], True
    end = REGISTERS + ESTIMATE_BYTES
    if has_grown:
        for k in range(REGISTERS, end):
            target[start + k] = source[first + k] if was_empty else 0
    target[start + end] = max(target[start + end], source[first + end])


@kernel("void(uint64[::1], int64[::1], int32[::1], Dense)")
def join_dense(words: Words, starts: Rows, owners: Numbers, dense: Dense) -> None:
    """Add dense sets to those of their owners, which have one."""
    source, target = words.view(np.uint8), dense.data
    for i in range(len(starts)):
        start = (number_of(dense, np.int64(owners[i])) - 1) * dense.size
        if dense.size == BITMAP_BYTES:
            for k in range(BITMAP_BYTES):
                target[start + k] |= source[8 * starts[i] + k]
        else:
            join_sketch(source, 8 * starts[i], target, start)
