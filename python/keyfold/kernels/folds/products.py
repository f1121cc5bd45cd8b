"""Products of a group's numbers: exact for integers and decimals, with the first overflow found.

A group overflows if a step leaves the type, whatever follows that step, unless it is a reset. ADD
multiplies, RETRACT divides. Nothing divided stays nothing.
"""

from typing import NamedTuple

import numpy as np

from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Floats, Mask, Rows, Words
from keyfold.kernels.folds.decimals import halves
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP

_LIMBS, _LOW = 8, np.uint64(0xFFFFFFFF)
_SHORT = 18  # the most digits that always fit in 64 bits
_CHUNK = 9  # decimal digits by which limbs are divided at once


@structure("int64", "uint64", "uint64", "uint64", "uint64[::1]")
class Scale(NamedTuple):
    """The digits behind the point, 10^(digits - 1) if that fits, the least magnitude that has too
    many digits (low and high word), and room for a long product.
    """

    digits: int
    divisor: np.uint64
    most_low: np.uint64
    most_high: np.uint64
    limbs: Words

    @staticmethod
    def of(precision: int, scale: int) -> "Scale":
        """The scale of a decimal type."""
        divisor = np.uint64(10 ** max(scale - 1, 0) if scale <= _SHORT else 1)
        limbs = np.zeros(_LIMBS, dtype=np.uint64)
        return Scale(scale, divisor, *halves(10**precision), limbs)


@kernel
def _exceeds(left: int, right: int) -> bool:
    """Whether the product of two integers leaves 64 bits."""
    if abs(float(left) * float(right)) < 9.2e18:
        return False
    # unsigned numbers: a signed product that overflows may be compiled to anything
    zero = np.uint64(0)
    size = np.uint64(left) if left >= 0 else zero - np.uint64(left)
    other = np.uint64(right) if right >= 0 else zero - np.uint64(right)
    most = np.uint64(2**63) - np.uint64((left < 0) == (right < 0))
    return bool(size > most // other)


@kernel
def _divided(total: int, value: int) -> int:
    """An integer divided towards zero, as in Java. A quotient that overflows is `total` itself."""
    if value == -1:
        return -total
    quotient = total // value
    is_below = (total < 0) != (value < 0) and quotient * value != total
    return quotient + 1 if is_below else quotient


@kernel("void(int64[::1], uint8[::1], Groups, int64[::1], int64[::1], uint8[::1], int64[::1])")
def multiply_integers(
    values: Rows, valid: Mask, groups: Groups, edges: Rows, out: Rows, out_valid: Mask, failed: Rows
) -> None:
    """out[g] is the product of group g. failed[0] is the first group with a step beyond the two
    edges, failed[1] the first that divides by zero; both are -1 if there is not one.
    """
    (ops, order, starts), failed[:] = groups, -1
    for g in range(len(out)):
        total, is_found, is_beyond = 1, False, False
        for at in range(starts[g], starts[g + 1]):
            value, op = values[order[at]], ops[at]
            if op == RESET:
                total, is_found, is_beyond = 1, False, False
            if op == SKIP or not valid[order[at]] or is_beyond or (op == RETRACT and not is_found):
                continue
            if op != RETRACT:
                is_beyond, is_found, total = _exceeds(total, value), True, total * value
            elif value == 0:
                failed[1] = g if failed[1] < 0 else failed[1]
            else:
                is_beyond = value == -1 and total == np.int64(-(2**63))
                total = _divided(total, value)
            is_beyond = is_beyond or total < edges[0] or total > edges[1]
        out[g], out_valid[g] = total, is_found
        if is_beyond and failed[0] < 0:
            failed[0] = g


@kernel(
    "void(float32[::1], uint8[::1], Groups, float32[::1], uint8[::1])",
    "void(float64[::1], uint8[::1], Groups, float64[::1], uint8[::1])",
)
def multiply_floats(
    values: Floats, valid: Mask, groups: Groups, out: Floats, out_valid: Mask
) -> None:
    """out[g] is the product of group g, each step rounded to the width of `out`."""
    ops, order, starts = groups
    for g in range(len(out)):
        out[g], out_valid[g] = 1, 0
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == RESET:
                out[g], out_valid[g] = 1, 0
            if op == SKIP or not valid[row]:
                continue
            if op != RETRACT:
                out[g] = out[g] * values[row] if out_valid[g] else values[row]
                out_valid[g] = 1
            elif out_valid[g]:
                out[g] = np.divide(out[g], values[row])  # x / 0 is an infinity or NaN, no error


@kernel
def _divide(limbs: Words, divisor: np.uint64) -> np.uint64:
    """Divide in place by a number of 32 bits; returns the remainder."""
    rest = np.uint64(0)
    for i in range(_LIMBS - 1, -1, -1):
        part = (rest << np.uint64(32)) | limbs[i]
        limbs[i] = part // divisor
        rest = part - limbs[i] * divisor
    return rest


@kernel
def _rescale(limbs: Words, scale: int) -> None:
    """Divide in place by 10^scale, halves away from zero: only the first dropped digit decides."""
    if scale == 0:
        return
    left = scale - 1
    while left > 0:
        step = min(left, _CHUNK)
        _divide(limbs, np.uint64(10**step))
        left -= step
    if _divide(limbs, np.uint64(10)) < np.uint64(5):
        return
    for i in range(_LIMBS):
        limbs[i] += np.uint64(1)
        if limbs[i] <= _LOW:
            return
        limbs[i] = np.uint64(0)


@kernel
def _multiply_long(
    low: np.uint64, high: np.uint64, by_low: np.uint64, by_high: np.uint64, scale: int, limbs: Words
) -> None:
    """limbs = the product of two magnitudes of 128 bits, divided by 10^scale."""
    limbs[:] = np.uint64(0)
    half = np.uint64(32)
    left = (low & _LOW, low >> half, high & _LOW, high >> half)
    right = (by_low & _LOW, by_low >> half, by_high & _LOW, by_high >> half)
    for i in range(4):
        carry = np.uint64(0)
        for j in range(4):
            part = left[i] * right[j] + limbs[i + j] + carry
            limbs[i + j], carry = part & _LOW, part >> half
        limbs[i + 4] = carry
    _rescale(limbs, scale)


@kernel("int64(uint64[:, ::1], uint8[::1], Groups, Scale, uint64[:, ::1], uint8[::1])")
def multiply_decimals(
    values: Words, valid: Mask, groups: Groups, scale: Scale, out: Words, out_valid: Mask
) -> int:
    """out[g] is the product of group g at this scale, each step rounded half up. Nothing is
    divided: retractions are skipped.

    Returns the first group with a step whose magnitude is the limit or more, or -1. Nearly all
    products have 64 bits: these take one multiplication and one division.
    """
    overflowed, one, zero = -1, np.uint64(1), np.uint64(0)
    (ops, order, starts), (digits, divisor, most_low, most_high, limbs) = groups, scale
    is_short = digits <= _SHORT
    for g in range(len(out)):
        low, high, is_found, is_negative, is_beyond = zero, zero, False, False, False
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if ops[at] == RESET:
                is_found, is_beyond = False, False
            if (ops[at] != ADD and ops[at] != RESET) or not valid[row] or is_beyond:
                continue
            by_low, by_high = values[row, 0], values[row, 1]
            is_flipping = by_high >> np.uint64(63) != zero
            if is_flipping:
                by_low, by_high = ~by_low + one, ~by_high + np.uint64(by_low == zero)
            if not is_found:
                low, high, is_negative, is_found = by_low, by_high, is_flipping, True
                continue
            is_negative ^= is_flipping
            if is_short and (high | by_high) == zero and float(low) * float(by_low) < 1.8e19:
                low *= by_low
                if digits:
                    low = (low // divisor + np.uint64(5)) // np.uint64(10)
            else:
                _multiply_long(low, high, by_low, by_high, digits, limbs)
                low = (limbs[1] << np.uint64(32)) | limbs[0]
                high = (limbs[3] << np.uint64(32)) | limbs[2]
                is_beyond = bool((limbs[4] | limbs[5] | limbs[6] | limbs[7]) != zero)
            if high > most_high or (high == most_high and low >= most_low):
                is_beyond = True
        if is_negative and is_found:
            low, high = ~low + one, ~high + np.uint64(low == zero)
        out[g, 0], out[g, 1], out_valid[g] = low, high, is_found
        if is_beyond and overflowed < 0:
            overflowed = g
    return overflowed
