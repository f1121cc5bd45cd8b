"""One unsigned word for each value of a fixed-width type, ordered as Paimon's comparators order
the values.

Integers, dates, timestamps and decimals order by value, and false < true. Floats order as by
Float/Double.compare: -0.0 < 0.0, NaN is greatest. Null slots get any word.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Words, bits, values, view
from keyfold.kernels.jit import kernel

_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def width(kind: pa.DataType) -> int | None:
    """The bits of the ordered word of a type; None if values don't fit 64 bits (text, wide
    decimals, nested types).
    """
    if types.is_boolean(kind):
        return 8
    if types.is_decimal(kind):
        return 32 if kind.precision <= 9 else 64 if kind.precision <= 18 else None
    if types.is_nested(kind) or not types.is_primitive(kind):
        return None
    return int(kind.bit_width)


def ordered(array: pa.Array) -> Words:
    """uint64 words of a fixed-width array, in the low `width` bits."""
    bit_width = width(array.type)
    assert bit_width is not None
    if types.is_boolean(array.type):
        return bits(array.buffers()[1], array.offset, len(array)).astype(np.uint64)
    if types.is_floating(array.type):
        return _floating(array, bit_width)
    if types.is_decimal(array.type):
        low = values_of_decimal(array)[:, 0].view(np.int64)
        return _flipped(low if bit_width == 64 else low.astype(np.int32), bit_width)
    return _flipped(values(array, _SIGNED[bit_width]), bit_width)


def unordered(words: Words, kind: pa.DataType) -> npt.NDArray[Any]:
    """The inverse of `ordered` for integers, times and floats, as bits of the type's width."""
    sign = np.uint64(1 << (kind.bit_width - 1))
    flipped: Any = sign  # of floats below zero, whose words lack the sign, all bits
    if types.is_floating(kind):
        flipped = ((words >> np.uint64(kind.bit_width - 1)) - np.uint64(1)) | sign
    bits: Words = words ^ flipped
    return bits.astype(_UNSIGNED[kind.bit_width], copy=False)


def values_of_decimal(array: pa.Array) -> Words:
    """The 128-bit values of a decimal array as (low, high) words."""
    pairs = view(array.buffers()[1], np.uint64, 2 * array.offset, 2 * len(array))
    return pairs.reshape(-1, 2)


def _flipped(signed: npt.NDArray[Any], bit_width: int) -> Words:
    sign = _UNSIGNED[bit_width](1 << (bit_width - 1))
    flipped: Words = (signed.view(_UNSIGNED[bit_width]) ^ sign).astype(np.uint64, copy=False)
    return flipped


@kernel("void(uint64[::1], uint64[::1])")
def order_doubles(bits: Words, out: Words) -> None:
    """Write words that order as the doubles of these bits do; every NaN has the greatest word."""
    sign, infinity = np.uint64(1 << 63), np.uint64(0x7FF << 52)
    for i in range(len(out)):
        word = bits[i]
        if word & ~sign > infinity:
            word = np.uint64(0x7FF8 << 48)
        out[i] = ~word if word & sign else word | sign


@kernel("void(uint32[::1], uint64[::1])")
def order_floats(bits: npt.NDArray[np.uint32], out: Words) -> None:
    """`order_doubles` for 32 bits, in the low half of the words."""
    sign, infinity = np.uint64(1 << 31), np.uint64(0xFF << 23)
    for i in range(len(out)):
        word = np.uint64(bits[i])
        if word & ~sign > infinity:
            word = np.uint64(0x7FC << 20)
        out[i] = word ^ np.uint64(0xFFFFFFFF) if word & sign else word | sign


def _floating(array: pa.Array, bit_width: int) -> Words:
    out = np.empty(len(array), dtype=np.uint64)
    order = order_doubles if bit_width == 64 else order_floats
    order(values(array, _UNSIGNED[bit_width]), out)
    return out
