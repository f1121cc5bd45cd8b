"""Values added to what their groups hold, row by row: no row is sorted or looked at twice."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Floats, Mask, Rows, Signs, Words
from keyfold.kernels.jit import kernel, structure

Numbers = npt.NDArray[np.int32]


@kernel(
    "void(int32[::1], uint8[::1], int32[::1], int64[::1], int64[::1], uint8[::1])",
    "void(int64[::1], uint8[::1], int32[::1], int64[::1], int64[::1], uint8[::1])",
)
def add_integers(
    values: Rows, valid: Mask, groups: Numbers, totals: Rows, wraps: Rows, found: Mask
) -> None:
    """Add to the totals of the groups; wraps[g] counts how often one left 64 bits, upwards."""
    for row in range(len(groups)):
        if valid[row]:
            group, value = np.uint64(groups[row]), np.int64(values[row])
            before = totals[group]  # added without signs, as a compiler takes these not to overflow
            after = np.int64(np.uint64(before) + np.uint64(value))
            if (before ^ after) & (value ^ after) < 0:
                wraps[group] += -1 if value < 0 else 1
            totals[group], found[group] = after, 1


@kernel(
    "void(int32[::1], uint8[::1], int8[::1], int32[::1], int64[::1], int64[::1], uint8[::1])",
    "void(int64[::1], uint8[::1], int8[::1], int32[::1], int64[::1], int64[::1], uint8[::1])",
)
def add_signed_integers(
    values: Rows,
    valid: Mask,
    signs: Signs,
    groups: Numbers,
    totals: Rows,
    wraps: Rows,
    found: Mask,
) -> None:
    """`add_integers`, but rows with a sign below 0 are subtracted: ~value + 1 is added."""
    for row in range(len(groups)):
        if valid[row]:
            group, flip = np.uint64(groups[row]), np.int64(-1 if signs[row] < 0 else 0)
            before, value = totals[group], np.int64(values[row]) ^ flip
            after = np.int64(np.uint64(before) + np.uint64(value) - np.uint64(flip))
            if (before ^ after) & (value ^ after) < 0:
                wraps[group] += -1 if value < 0 else 1
            totals[group], found[group] = after, 1


@kernel(
    "void(float32[::1], uint8[::1], int32[::1], float32[::1], uint8[::1])",
    "void(float64[::1], uint8[::1], int32[::1], float64[::1], uint8[::1])",
)
def add_floats(values: Floats, valid: Mask, groups: Numbers, totals: Floats, found: Mask) -> None:
    """Add to the totals of the groups, -0.0 at first, each step rounded to their width."""
    for row in range(len(groups)):
        if valid[row]:
            group = np.uint64(groups[row])
            totals[group] += values[row]
            found[group] = 1


@kernel(
    "void(float32[::1], uint8[::1], int8[::1], int32[::1], float32[::1], uint8[::1])",
    "void(float64[::1], uint8[::1], int8[::1], int32[::1], float64[::1], uint8[::1])",
)
def add_signed_floats(
    values: Floats, valid: Mask, signs: Signs, groups: Numbers, totals: Floats, found: Mask
) -> None:
    """`add_floats`, but rows with a sign below 0 are subtracted."""
    for row in range(len(groups)):
        if valid[row]:
            group = np.uint64(groups[row])
            totals[group] += -values[row] if signs[row] < 0 else values[row]
            found[group] = 1


@kernel("void(uint64[::1], uint8[::1], int32[::1], uint64, uint64[::1], uint8[::1])")
def keep_greatest(
    words: Words, valid: Mask, groups: Numbers, flip: np.uint64, best: Words, found: Mask
) -> None:
    """Keep the greatest word ^ flip of each group, 0 at first."""
    for row in range(len(groups)):
        if valid[row]:
            group = np.uint64(groups[row])
            best[group] = max(best[group], words[row] ^ flip)
            found[group] = 1


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
