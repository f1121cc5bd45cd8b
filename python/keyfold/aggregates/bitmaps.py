"""rbm32 and rbm64, Doris' BITMAP_UNION: the unions of Roaring bitmaps of 32-bit numbers, stored in
the portable format, and of 64-bit numbers, stored as Java's `Roaring64Bitmap` writes them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from keyfold.aggregates.declaration import BadRecord, Records
from keyfold.aggregates.states.opaque import live, union_of
from keyfold.kernels.roaring import bitmaps

Read = Callable[[bytes], Any]
Write = Callable[[Any], bytes]


def definition(kind: Any, read: Read, write: Write, records: Records) -> bytes | None:
    """The set of all numbers in any of the states; one state alone is kept byte for byte."""
    states = live(records)
    if len(states) < 2:
        return states[0] if states else None
    return write(kind(sorted(set().union(*map(read, states)))))


def union(read: Read, write: Write, states: list[bytes]) -> bytes:
    """The bytes of the union, run-optimised."""
    return write(bitmaps.union(list(map(read, states))))


def stored(convert: Callable[[pa.Array], pa.Array], column: pa.Array) -> pa.Array:
    """Bitmaps of any form in the one that is stored. Raises BadRecord if bytes are not a bitmap, or
    if it does not fit.
    """
    try:
        return convert(column)
    except bitmaps.BitmapError as error:
        raise BadRecord(error.row, str(error)) from error


RBM32 = union_of(
    "rbm32",
    "roaring bitmap",
    partial(union, bitmaps.read32, bitmaps.write32),
    partial(definition, BitMap, bitmaps.read32, bitmaps.write32),
    normalize=partial(stored, bitmaps.to_portable32),
    summary="union of 32-bit Roaring bitmaps",
)
RBM64 = union_of(
    "rbm64",
    "roaring bitmap",
    partial(union, bitmaps.read64, bitmaps.write64),
    partial(definition, BitMap64, bitmaps.read64, bitmaps.write64),
    aliases=("BITMAP_UNION",),
    normalize=partial(stored, bitmaps.to_java),
    summary="union of 64-bit Roaring bitmaps",
)
