"""rbm32 and rbm64, Doris' BITMAP_UNION: the unions of Roaring bitmaps of 32-bit numbers, stored in
the portable format, and of 64-bit numbers, stored as Java's `Roaring64Bitmap` writes them.
"""

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from keyfold.aggregates.declare import BadRecord, Fold, Records
from keyfold.aggregates.states.opaque import BYTES, NULLS, RETRACTION, live, not_fixed, united
from keyfold.kernels.roaring import bitmaps


def definition32(records: Records) -> bytes | None:
    """The set of all numbers in any of the states; one state alone is kept byte for byte."""
    states = live(records)
    if len(states) < 2:
        return states[0] if states else None
    return bitmaps.write32(BitMap(sorted(set().union(*map(bitmaps.read32, states)))))


def union32(states: list[bytes]) -> bytes:
    """The portable bytes of the union, run-optimised."""
    return bitmaps.write32(bitmaps.union(list(map(bitmaps.read32, states))))


def narrowed(column: pa.Array) -> pa.Array:
    """64-bit bitmaps as portable 32-bit ones. Raises BadRecord if a number is above 2^32 - 1."""
    try:
        return bitmaps.to_portable32(column)
    except bitmaps.BitmapError as error:
        raise BadRecord(error.row, str(error)) from error


RBM32 = Fold(
    name="rbm32",
    accepts=BYTES,
    definition=definition32,
    refuses=not_fixed("roaring bitmap"),
    reversal="append",
    unites=True,
    normalize=narrowed,
    summary="union of 32-bit Roaring bitmaps",
    nulls=NULLS,
    retraction=RETRACTION,
    fold=united(union32),
)


def definition64(records: Records) -> bytes | None:
    """The set of all numbers in any of the states; one state alone is kept byte for byte."""
    states = live(records)
    if len(states) < 2:
        return states[0] if states else None
    return bitmaps.write64(BitMap64(sorted(set().union(*map(bitmaps.read64, states)))))


def union64(states: list[bytes]) -> bytes:
    """Java's bytes of the union, run-optimised."""
    return bitmaps.write64(bitmaps.union(list(map(bitmaps.read64, states))))


RBM64 = Fold(
    name="rbm64",
    accepts=BYTES,
    definition=definition64,
    aliases=("BITMAP_UNION",),
    refuses=not_fixed("roaring bitmap"),
    reversal="append",
    unites=True,
    normalize=bitmaps.to_java,
    summary="union of 64-bit Roaring bitmaps",
    nulls=NULLS,
    retraction=RETRACTION,
    fold=united(union64),
)
