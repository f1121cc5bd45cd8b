"""The form of Spark's UnsafeRow, UnsafeArrayData and UnsafeMapData, and kernels that copy parts.

A row is one bit a field (set: NULL) in whole words, one word a field, then the variable parts, each
rounded up to whole words. The word of a field that has such a part is its offset in the row
(upper half) and its length. An array has its number of elements in front, and narrow elements. A
map has the size of the array of its keys in front, that array, and the array of its values.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.errors import NotSupportedError
from keyfold.kernels.buffers import Mask, Rows, Words, bits, is_text, pack, values
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.words import values_of_decimal

WORD = 8
LONG_DIGITS = 18  # decimals of no more digits are a word
WIDE_DECIMAL = 16  # the bytes that a row has for any other
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def is_wide_decimal(kind: pa.DataType) -> bool:
    """Whether values are decimals of more than one word."""
    return bool(types.is_decimal(kind) and kind.precision > LONG_DIGITS)


def width(kind: pa.DataType) -> int | None:
    """The bytes of an element of an array; None if it has a variable part. Raises
    NotSupportedError if Spark has no such type.
    """
    if types.is_boolean(kind):
        return 1
    if is_text(kind) or is_wide_decimal(kind) or is_nested(kind):
        return None
    if types.is_decimal(kind):
        return WORD
    if types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind):
        return int(kind.bit_width) // 8
    raise NotSupportedError(f"values of type {kind} have no form in a row of Spark")


def is_nested(kind: pa.DataType) -> bool:
    """Whether values are structs, lists or maps."""
    return bool(types.is_struct(kind) or types.is_list(kind) or types.is_map(kind))


def unsigned(size: int) -> Any:
    """numpy's unsigned integer of that many bytes."""
    return _UNSIGNED[size]


def words_for_bits(count: Any) -> Any:
    """The number of words that hold one bit for each of `count` items."""
    return (count + 63) // 64


def whole(sizes: Any) -> Any:
    """Sizes in bytes, rounded up to whole words."""
    return (sizes + (WORD - 1)) // WORD * WORD


def fixed_size(fields: int) -> int:
    """The bytes of a row without its variable parts."""
    return WORD * (int(words_for_bits(fields)) + fields)


def bits_of(array: pa.Array) -> npt.NDArray[Any]:
    """The values of a fixed-width array as unsigned numbers of their width."""
    if types.is_boolean(array.type):
        return bits(array.buffers()[1], array.offset, len(array))
    if types.is_decimal(array.type):
        return values_of_decimal(array)[:, 0]
    size = width(array.type)
    assert size is not None
    return values(array, unsigned(size))


def column_of_bits(kind: pa.DataType, items: npt.NDArray[Any], valid: Mask) -> pa.Array:
    """The inverse of `bits_of`: numbers of the width of the type's values, of decimals of at most
    18 digits 64 bits.
    """
    if types.is_boolean(kind):
        held = pa.py_buffer(np.packbits(items != 0, bitorder="little"))
    elif types.is_decimal(kind):
        low = np.ascontiguousarray(items).view(np.int64) * valid
        held = pa.py_buffer(np.stack((low, low >> 63), 1))
    else:
        held = pa.py_buffer(np.ascontiguousarray(items))
    return pa.Array.from_buffers(kind, len(valid), [pack(valid), held])


def within(counts: Rows) -> tuple[Rows, Rows]:
    """For lists of these lengths, each element's list and its place there."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)


def sums(amounts: Rows, counts: Rows) -> Rows:
    """The sum of each list's amounts."""
    running = np.concatenate(([0], np.cumsum(amounts)))
    ends = np.cumsum(counts)
    found: Rows = running[ends] - running[ends - counts]
    return found


def fields_of(kind: pa.DataType) -> Sequence[pa.Field]:
    """The fields of a struct type."""
    return [kind.field(i) for i in range(kind.num_fields)]


@kernel("void(uint8[::1], int64[::1], int64[::1], uint8[::1], int64[::1])")
def copy_pieces(source: Mask, starts: Rows, lengths: Rows, out: Mask, places: Rows) -> None:
    """Copy source[starts[i]:starts[i] + lengths[i]] to out[places[i]:]."""
    for i in range(len(starts)):
        start, place = starts[i], places[i]
        for at in range(lengths[i]):
            out[place + at] = source[start + at]


@kernel("void(uint64[:, ::1], uint8[::1], int64[::1])")
def decimal_lengths(pairs: Words, valid: Mask, lengths: Rows) -> None:
    """The bytes of each number in two's complement, as few as keep its sign; 0 of NULL."""
    for i in range(len(lengths)):
        low, high = pairs[i, 0], pairs[i, 1]
        if high >> np.uint64(63):
            low, high = ~low, ~high
        top, size = (high, 9) if high else (low, 1)
        while top >> np.uint64(7):
            top >>= np.uint64(8)
            size += 1
        lengths[i] = size if valid[i] else 0


@kernel("void(uint64[:, ::1], int64[::1], uint8[::1], int64[::1])")
def write_decimals(pairs: Words, lengths: Rows, out: Mask, places: Rows) -> None:
    """Write the lower lengths[i] bytes of number i to out[places[i]:], the highest first."""
    for i in range(len(lengths)):
        for at in range(lengths[i]):
            shift = lengths[i] - 1 - at
            word = pairs[i, 1] if shift >= 8 else pairs[i, 0]
            out[places[i] + at] = (word >> np.uint64(8 * (shift & 7))) & np.uint64(255)


@kernel("void(uint8[::1], int64[::1], int64[::1], uint64[:, ::1])")
def read_decimals(data: Mask, starts: Rows, lengths: Rows, pairs: Words) -> None:
    """The inverse of `write_decimals`."""
    for i in range(len(starts)):
        is_negative = lengths[i] > 0 and data[starts[i]] >= 128
        low = np.uint64(2**64 - 1) if is_negative else np.uint64(0)
        high = low
        for at in range(starts[i], starts[i] + lengths[i]):
            high = (high << np.uint64(8)) | (low >> np.uint64(56))
            low = (low << np.uint64(8)) | np.uint64(data[at])
        pairs[i, 0], pairs[i, 1] = low, high
