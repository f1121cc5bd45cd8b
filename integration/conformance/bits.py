"""Bitmaps as the set of their bits, from and to the bytes that columns hold."""

from collections.abc import Iterable

from pyroaring import BitMap, BitMap64

from keyfold.kernels.roaring import bitmaps

WIDE = ("rbm64", "BITMAP_UNION")


def encode(bits: Iterable[int], function: str) -> bytes:
    """The bits as a bitmap for a column of the function."""
    if function in WIDE:
        return bitmaps.write64(BitMap64(bits))
    return bitmaps.write32(BitMap(bits))


def decode(data: bytes) -> tuple[int, ...]:
    """The bits in ascending order; ValueError for bytes of no known form."""
    return tuple(bitmaps.read64(data))
