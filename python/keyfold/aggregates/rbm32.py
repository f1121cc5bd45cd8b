"""rbm32: the union of Roaring bitmaps of 32-bit numbers, stored in the portable format."""

import pyarrow as pa
from pyroaring import BitMap

from keyfold.aggregates.declare import BadRecord, Combine, Records
from keyfold.aggregates.states import BYTES, NULLS, RETRACTION, live, not_fixed, united
from keyfold.kernels.roaring import bitmaps


def definition(records: Records) -> bytes | None:
    """The set of all numbers in any of the states; one state alone is kept byte for byte."""
    states = live(records)
    if len(states) < 2:
        return states[0] if states else None
    return bitmaps.write32(BitMap(sorted(set().union(*map(bitmaps.read32, states)))))


def union(states: list[bytes]) -> bytes:
    """The portable bytes of the union, run-optimised."""
    return bitmaps.write32(bitmaps.union(list(map(bitmaps.read32, states))))


def normalize(column: pa.Array) -> pa.Array:
    """64-bit bitmaps become the portable 32-bit form; BadRecord for numbers above 2^32 - 1."""
    try:
        return bitmaps.to_portable32(column)
    except bitmaps.BitmapError as error:
        raise BadRecord(error.row, str(error)) from error


RBM32 = Combine(
    name="rbm32",
    accepts=BYTES,
    definition=definition,
    refuses=not_fixed("roaring bitmap"),
    reversal="append",
    normalize=normalize,
    summary="union of 32-bit Roaring bitmaps",
    nulls=NULLS,
    retraction=RETRACTION,
    combine=united(union),
)
