"""Values added to what their groups hold, row by row: no row is sorted or looked at twice."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Floats, Mask, Rows, Words
from keyfold.kernels.jit import kernel, structure

Numbers = npt.NDArray[np.int32]


@kernel("void(int64[::1], uint8[::1], int32[::1], int64[::1], int64[::1], uint8[::1])")
def add_integers(
    values: Rows, valid: Mask, groups: Numbers, totals: Rows, wraps: Rows, found: Mask
) -> None:
    """Add to the totals of the groups; wraps[g] counts how often one left 64 bits, upwards."""
    for row in range(len(groups)):
        if valid[row]:
            group, value = groups[row], values[row]
            before = totals[group]  # added without signs, as a compiler takes these not to overflow
            after = np.int64(np.uint64(before) + np.uint64(value))
            if (value < 0) != (after < before) and value != 0:
                wraps[group] += -1 if value < 0 else 1
            totals[group], found[group] = after, 1


@kernel(
    "void(float32[::1], uint8[::1], int32[::1], float32[::1], uint8[::1])",
    "void(float64[::1], uint8[::1], int32[::1], float64[::1], uint8[::1])",
)
def add_floats(values: Floats, valid: Mask, groups: Numbers, totals: Floats, found: Mask) -> None:
    """Add to the totals of the groups, each step rounded to their width."""
    for row in range(len(groups)):
        if valid[row]:
            group = groups[row]
            totals[group] = totals[group] + values[row] if found[group] else values[row]
            found[group] = 1


@structure("uint64[::1]", "uint64[::1]", "uint8[::1]")
class Kept(NamedTuple):
    """What each group keeps: the word by which it compares, its bits, and whether there is one."""

    words: Words
    bits: Words
    found: Mask


@kernel("void(uint64[::1], uint64[::1], uint8[::1], int32[::1], uint64, Kept)")
def keep_greatest(
    words: Words, bits: Words, valid: Mask, groups: Numbers, flip: np.uint64, kept: Kept
) -> None:
    """Keep the bits of the value whose word ^ flip is the greatest of its group."""
    best, held, found = kept
    for row in range(len(groups)):
        if valid[row]:
            group, word = groups[row], words[row] ^ flip
            if not found[group] or word > best[group]:
                best[group], held[group], found[group] = word, bits[row], 1


@structure("uint64[::1]", "uint8[::1]")
class OneOf(NamedTuple):
    """The bits of one value of each group; flags are 0 without one, 1 if it is NULL, else 2."""

    bits: Words
    flags: Mask


@kernel("void(uint64[::1], uint8[::1], int32[::1], boolean, OneOf)")
def keep_last(bits: Words, valid: Mask, groups: Numbers, takes_nulls: bool, kept: OneOf) -> None:
    """Keep the last value of each group; NULL is one if `takes_nulls`."""
    held, flags = kept
    for row in range(len(groups)):
        if valid[row] or takes_nulls:
            held[groups[row]], flags[groups[row]] = bits[row], 1 + valid[row]


@kernel("void(uint64[::1], uint8[::1], int32[::1], boolean, OneOf)")
def keep_first(bits: Words, valid: Mask, groups: Numbers, takes_nulls: bool, kept: OneOf) -> None:
    """Keep the first value of each group; NULL is one if `takes_nulls`."""
    held, flags = kept
    for row in range(len(groups)):
        if (valid[row] or takes_nulls) and not flags[groups[row]]:
            held[groups[row]], flags[groups[row]] = bits[row], 1 + valid[row]
