"""rbm64, Doris' BITMAP_UNION: the union of Roaring bitmaps of 64-bit numbers, stored as Java's
`Roaring64Bitmap` writes them.
"""

from pyroaring import BitMap64

from keyfold.aggregates.declare import Combine, Records
from keyfold.aggregates.states import BYTES, NULLS, RETRACTION, live, not_fixed, united
from keyfold.kernels.roaring import bitmaps


def definition(records: Records) -> bytes | None:
    """The set of all numbers in any of the states; one state alone is kept byte for byte."""
    states = live(records)
    if len(states) < 2:
        return states[0] if states else None
    return bitmaps.write64(BitMap64(sorted(set().union(*map(bitmaps.read64, states)))))


def union(states: list[bytes]) -> bytes:
    """Java's bytes of the union, run-optimised."""
    return bitmaps.write64(bitmaps.union(list(map(bitmaps.read64, states))))


RBM64 = Combine(
    name="rbm64",
    accepts=BYTES,
    definition=definition,
    aliases=("BITMAP_UNION",),
    refuses=not_fixed("roaring bitmap"),
    reversal="append",
    normalize=bitmaps.to_java,
    summary="union of 64-bit Roaring bitmaps",
    nulls=NULLS,
    retraction=RETRACTION,
    combine=united(union),
)
