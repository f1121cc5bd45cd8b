"""Pages of Parquet column chunks: their headers, and numbers stored as packed differences.

Whatever the bytes are, nothing outside them is read. A kernel that finds them wrong says so, and
its caller leaves the chunk to pyarrow.
"""

from typing import Any

import numpy as np

from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.jit import kernel

# Places in a row of `page_headers`: a field of a PageHeader is at its number, a field of its
# DataPageHeader eight places on.
START, KIND, SIZE, STORED, CRC, DATA_PAGE = 0, 1, 2, 3, 4, 5
VALUES, ENCODING, LEVELS = 9, 10, 11
FIELDS = 16
ABSENT = -1 << 62
_LONGEST = 63  # bits of a number
_FEW_BITS = 57  # within eight bytes, wherever they begin
_DEPTH = 4  # of structs in structs
_LEAST_HEADER = 7  # bytes: the kind and both sizes, and the end
_LARGEST_BLOCK = 1 << 24  # of packed differences; writers take 128
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 7, 8, 12


@kernel
def number(data: Mask, at: int) -> tuple[Any, int]:
    """The number of seven bits a byte at `at`, and the place after it, -1 if it has no end."""
    value, shift = np.uint64(0), np.uint64(0)
    while 0 <= at < len(data) and shift <= np.uint64(_LONGEST):
        byte = np.uint64(data[at])
        at += 1
        value |= (byte & np.uint64(127)) << shift
        shift += np.uint64(7)
        if byte < np.uint64(128):
            return np.int64(value), at
    return np.int64(0), -1


@kernel
def signed(value: int) -> int:
    """The number below or above zero."""
    return ((value >> 1) & ((1 << 63) - 1)) ^ -(value & 1)


@kernel
def after(data: Mask, at: int, kind: int) -> Any:
    """The place after a value that is not a number of Thrift's compact protocol, -1 if wrong."""
    if kind == _BINARY:
        size, at = number(data, at)
        return at + size if at >= 0 and 0 <= size <= len(data) - at else -1
    if kind in (_TRUE, _FALSE, _STRUCT):
        return at
    return at + 1 if kind == _BYTE else at + 8 if kind == _DOUBLE else -1


@kernel
def _header(data: Mask, at: int, field: Rows, found: Rows) -> int:
    """Read the PageHeader at `at` into `found`; returns the place after it, -1 if it is not one.
    `field` has room for the number of a field at each depth.
    """
    depth, field[0] = 0, 0
    while 0 <= at < len(data):
        head: Any = np.int64(data[at])
        at += 1
        if head == 0:
            if depth == 0:
                return at
            depth -= 1
            continue
        kind, step = head & 15, head >> 4
        if step == 0:
            value, at = number(data, at)
            field[depth], step = signed(value), 0
        field[depth] += step
        if at >= 0 and 4 <= kind <= 6:
            value, at = number(data, at)
            if depth < 2 and 0 < field[depth] < 8 and (depth == 0 or field[0] == DATA_PAGE):
                found[8 * depth + field[depth]] = signed(value)
        elif at >= 0:
            at = after(data, at, kind)
            depth += kind == _STRUCT
            if depth >= len(field):
                return -1
            field[depth] *= kind != _STRUCT
    return -1


@kernel("int64(uint8[::1], int64[::1], int64[:, ::1])")
def page_headers(data: Mask, field: Rows, found: Rows) -> int:
    """Write a row for each page of a column chunk, up to the first bytes that are not a page
    header, or as many as there is room for; returns how many. Absent sizes are 0.
    """
    at = count = 0
    while at < len(data) and count < len(found):
        row = found[count]
        row[:] = ABSENT
        row[SIZE] = row[STORED] = 0
        start = _header(data, at, field, row)
        if start < 0 or row[STORED] < 0 or row[STORED] > len(data) - start:
            break
        row[START] = start
        at = start + row[STORED]
        count += 1
    return count


def headers_of(data: Mask) -> Rows:
    """A row for each page of a column chunk, with the fields named above; START is the place of
    the page's bytes. The rows end before the first bytes that are not a page header, or if there
    are more than headers of so few bytes can say.
    """
    room, field = 16, np.empty(_DEPTH, dtype=np.int64)
    most = room + len(data) // _LEAST_HEADER
    while True:
        found = np.empty((room, FIELDS), dtype=np.int64)
        count = page_headers(data, field, found)
        if count < room or room == most:
            return found[:count]
        room = min(4 * room, most)


@kernel
def _unpack(data: Mask, at: int, bits: Any, least: int, value: Any, out: Rows) -> Any:
    """Write the sums of `value` and of the numbers of at most 57 bits from byte `at` on, each
    `least` more; returns the last. There are eight more bytes behind the last number.
    """
    width, seven = np.uint64(bits), np.uint64(7)
    mask = (np.uint64(1) << width) - np.uint64(1)
    place = np.uint64(at) << np.uint64(3)
    for i in range(len(out)):
        byte = place >> np.uint64(3)
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(data[byte + np.uint64(k)]) << np.uint64(8 * k)
        value += np.int64((word >> (place & seven)) & mask) + least
        out[i] = value
        place += width
    return value


@kernel
def _unpack_bytes(data: Mask, at: int, bits: Any, least: int, value: Any, out: Rows) -> Any:
    """`_unpack` of any number of bits, byte by byte: of the last numbers, and of the longest."""
    for i in range(len(out)):
        place, word, done = 8 * at + i * bits, np.uint64(0), 0
        while done < bits:
            word |= (np.uint64(data[place >> 3]) >> np.uint64(place & 7)) << np.uint64(done)
            done += 8 - (place & 7)
            place += 8 - (place & 7)
        if bits < 64:
            word &= (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
        value += np.int64(word) + least
        out[i] = value
    return value


@kernel
def _add_up(data: Mask, at: int, bits: Any, least: int, value: Any, out: Rows) -> Any:
    """The fastest `_unpack` for numbers of this many bits."""
    if bits == 0:
        for i in range(len(out)):
            value += least
            out[i] = value
        return value
    if bits <= _FEW_BITS and at + (bits * len(out) + 7) // 8 + 8 <= len(data):
        return _unpack(data, at, bits, least, value, out)
    return _unpack_bytes(data, at, bits, least, value, out)


@kernel
def _opening(data: Mask, at: Any, count: int) -> tuple[Any, Any, Any, Any]:
    """The numbers of a miniblock, the miniblocks of a block, the first number, and the place after
    it; -1 if these are broken, or there are not `count` numbers.
    """
    block, at = number(data, at)
    parts, at = number(data, at)
    total, at = number(data, at)
    value, at = number(data, at)
    is_right = at >= 0 and total == count and 1 <= parts <= block <= _LARGEST_BLOCK
    if not is_right or block % (8 * parts):
        return 0, 0, 0, -1
    return block // parts, parts, signed(value), at


@kernel("int64(uint8[::1], int64, int32[::1])", "int64(uint8[::1], int64, int64[::1])")
def unpack_deltas(data: Mask, at: Any, out: Rows) -> Any:
    """Decode `len(out)` packed differences at `at`; returns the place after them, -1 if wrong."""
    each, parts, value, at = _opening(data, at, len(out))
    if at < 0:
        return -1
    done, total = 0, len(out)
    if total:
        out[0], done = value, 1
    while done < total:
        least, at = number(data, at)
        widths, step = at, signed(least)
        if widths < 0 or parts > len(data) - at:
            return -1
        at += parts
        for part in range(parts):
            count, bits = min(each, total - done), np.int64(data[widths + part])
            if count <= 0:
                break
            after = at + bits * each // 8
            if bits > 64 or after > len(data):
                return -1
            value = _add_up(data, at, bits, step, value, out[done : done + count])
            at, done = after, done + count
    return at


@kernel("int64(int32[::1], int64, int64)")
def add_lengths(offsets: Rows, start: int, most: int) -> int:
    """Turn lengths into the offsets of texts, the first of which begins at `start`; returns the end
    of the last, -1 if a length is negative or the end is above `most`.
    """
    at = start
    for i in range(len(offsets)):
        length = offsets[i]
        at += length
        if length < 0 or at > most:
            return -1
        offsets[i] = at
    return at


@kernel("int64(uint8[::1], int64, int64)")
def after_levels(data: Mask, at: int, count: int) -> int:
    """The place after the definition levels at `at`; -1 unless they say in one run that none of
    `count` values is null.
    """
    if at < 0 or at + 6 > len(data):
        return -1
    size = np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16
    size |= np.int64(data[at + 3]) << 24
    run, level = number(data, at + 4)
    is_whole = run & 1 == 0 and run >> 1 == count and level == at + 3 + size
    return level + 1 if is_whole and level < len(data) and data[level] == 1 else -1
