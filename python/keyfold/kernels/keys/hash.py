"""Paimon's bucket hash: murmur3 over the BinaryRow of the bucket key.

Rows are laid out in 8-byte words, as Paimon's BinaryRowWriter does: a header with null bits, one
word for each field, then the parts of longer values. The same vectors test the Scala side.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Mask, Rows, Words, bits, text, validity, values
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.words import values_of_decimal, width

Hashes = npt.NDArray[np.int32]
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@kernel("void(uint64[::1], int64[::1], int32[::1])")
def murmur(words: Words, starts: Rows, out: Hashes) -> None:
    """out[row] is the 32-bit murmur3 (seed 42) of words[starts[row]:starts[row + 1]], low halves
    first.
    """
    for row in range(len(out)):
        state = np.uint32(42)
        for at in range(2 * starts[row], 2 * starts[row + 1]):
            half = np.uint32(words[at // 2] >> np.uint64(32 * (at % 2)) & np.uint64(0xFFFFFFFF))
            half = np.uint32(half * np.uint32(0xCC9E2D51))
            half = np.uint32(half << np.uint32(15)) | (half >> np.uint32(17))
            state ^= np.uint32(half * np.uint32(0x1B873593))
            state = np.uint32(state << np.uint32(13)) | (state >> np.uint32(19))
            state = np.uint32(state * np.uint32(5) + np.uint32(0xE6546B64))
        state ^= np.uint32(8 * (starts[row + 1] - starts[row]))
        state = np.uint32((state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B))
        state = np.uint32((state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35))
        out[row] = np.int32(state ^ (state >> np.uint32(16)))


@kernel("void(int64[::1], uint8[::1], uint8[::1], int64, int64[::1], int64[::1], uint64[::1])")
def put_text(
    offsets: Rows, data: Mask, valid: Mask, field: int, starts: Rows, cursor: Rows, out: Words
) -> None:
    """Lay out a text field: up to seven bytes are in its word. Longer texts are put at cursor[row],
    which moves.
    """
    for row in range(len(cursor)):
        length = offsets[row + 1] - offsets[row]
        if not valid[row]:
            continue
        at, word = cursor[row], np.uint64(0)
        for i in range(length):
            word |= np.uint64(data[offsets[row] + i]) << np.uint64(8 * (i % 8))
            if length > 7 and (i % 8 == 7 or i + 1 == length):
                out[cursor[row]], word = word, np.uint64(0)
                cursor[row] += 1
        if length > 7:
            word = np.uint64(8 * (at - starts[row])) << np.uint64(32) | np.uint64(length)
        else:
            word |= np.uint64(0x80 | length) << np.uint64(56)
        out[starts[row] + field] = word


@kernel("void(uint64[:, ::1], uint8[::1], int64, int64[::1], int64[::1], uint64[::1])")
def put_decimal(
    numbers: Words, valid: Mask, field: int, starts: Rows, cursor: Rows, out: Words
) -> None:
    """Lay out a decimal of more than 18 digits: 16 bytes, big-endian, as short as two's complement
    allows. A NULL keeps its 16 bytes and their offset.
    """
    for row in range(len(cursor)):
        at = cursor[row]
        cursor[row] += 2
        if not valid[row]:
            out[starts[row] + field] = np.uint64(8 * (at - starts[row])) << np.uint64(32)
            continue
        low, high = numbers[row, 0], numbers[row, 1]
        sign = np.uint64(255) if high >> np.uint64(63) else np.uint64(0)
        length = 16
        while length > 1:
            word, under = high if length > 8 else low, high if length > 9 else low
            top = word >> np.uint64(8 * ((length - 1) % 8)) & np.uint64(255)
            following = under >> np.uint64(8 * ((length - 2) % 8)) & np.uint64(255)
            if top != sign or (following >> np.uint64(7)) != (sign >> np.uint64(7)):
                break
            length -= 1
        for i in range(length):
            place = length - 1 - i
            word = high if place > 7 else low
            byte = word >> np.uint64(8 * (place % 8)) & np.uint64(255)
            out[at + i // 8] |= byte << np.uint64(8 * (i % 8))
        offset = np.uint64(8 * (at - starts[row]))
        out[starts[row] + field] = offset << np.uint64(32) | np.uint64(length)


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_binary(kind))


def _is_long_timestamp(kind: pa.DataType) -> bool:
    return types.is_timestamp(kind) and kind.unit not in ("s", "ms")


def _part_words(column: pa.Array) -> Rows | int:
    """The number of words that each row takes behind the fields."""
    if _is_text(column.type):
        lengths = np.diff(text(column)[0])
        return np.where((lengths > 7) & (validity(column) == 1), (lengths + 7) // 8, 0)
    if types.is_decimal(column.type) and width(column.type) is None:
        return 2
    return 1 if _is_long_timestamp(column.type) else 0


def _raw_words(column: pa.Array) -> Words:
    """Values as the low bytes of a word, not sign-extended."""
    kind = column.type
    if types.is_boolean(kind):
        return bits(column.buffers()[1], column.offset, len(column)).astype(np.uint64)
    if types.is_decimal(kind):
        return np.ascontiguousarray(values_of_decimal(column)[:, 0])
    return values(column, _UNSIGNED[kind.bit_width]).astype(np.uint64)


def _put(column: pa.Array, field: int, starts: Rows, cursor: Rows, out: Words) -> None:
    kind, valid = column.type, validity(column)
    if _is_text(kind):
        put_text(*text(column), valid, field, starts, cursor, out)
    elif types.is_decimal(kind) and width(kind) is None:
        numbers = np.ascontiguousarray(values_of_decimal(column))
        put_decimal(numbers, valid, field, starts, cursor, out)
    elif _is_long_timestamp(kind):
        _put_timestamp(column, valid, field, starts, cursor, out)
    else:
        out[starts[:-1] + field] = _raw_words(column) * valid


def _put_timestamp(
    column: pa.Array, valid: Mask, field: int, starts: Rows, cursor: Rows, out: Words
) -> None:
    per_milli = {"us": 1000, "ns": 1_000_000}[column.type.unit]
    millis, rest = np.divmod(values(column, np.int64), per_milli)
    nanos = rest * (1_000_000 // per_milli) * valid  # a NULL keeps its place and the offset of it
    offset = (8 * (cursor - starts[:-1])) << 32
    out[cursor] = millis.view(np.uint64) * valid
    out[starts[:-1] + field] = (offset | nanos).view(np.uint64)
    cursor += 1


def bucket_hash(columns: Sequence[pa.Array]) -> Hashes:
    """The int32 hash of each row of the bucket-key columns. The bucket is abs(hash % buckets), with
    Java's remainder.

    Columns have the Arrow types of atomic columns. A TIMESTAMP of up to three digits must be
    timestamp[ms].
    """
    rows, header = len(columns[0]), (len(columns) + 8 + 63) // 64
    starts = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(
        sum((_part_words(c) for c in columns), np.full(rows, header + len(columns))), out=starts[1:]
    )
    out = np.zeros(int(starts[-1]), dtype=np.uint64)
    cursor = starts[:-1] + header + len(columns)
    for place, column in enumerate(columns):
        _put(column, header + place, starts, cursor, out)
        if column.null_count:
            at, bit = divmod(8 + place, 64)
            out[starts[:-1] + at] |= (validity(column) ^ 1).astype(np.uint64) << np.uint64(bit)
    hashes = np.empty(rows, dtype=np.int32)
    murmur(out, starts, hashes)
    return hashes
