"""Bitmaps as the set of their bits, from and to the bytes that columns hold."""

from collections.abc import Iterable

from pyroaring import BitMap, BitMap64

PORTABLE = (b"\x3a\x30", b"\x3b\x30")  # the cookies of a 32-bit bitmap, little-endian
WORD = 2**32


def encode(bits: Iterable[int], function: str) -> bytes:
    """The bits as a bitmap for a column of the function; 64-bit functions get the wider form."""
    wide = "64" in function or function.upper() == "BITMAP_UNION"
    made: bytes = (BitMap64 if wide else BitMap)(bits).serialize()
    return made


def decode(data: bytes) -> tuple[int, ...]:
    """The bits in ascending order; ValueError for bytes of no known form."""
    form = BitMap if data[:2] in PORTABLE else BitMap64
    return tuple(form.deserialize(data))
