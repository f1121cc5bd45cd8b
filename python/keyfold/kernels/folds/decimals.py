"""128-bit decimals as (low, high) words: exact sums, and the check of their digits."""

from typing import NamedTuple

import numpy as np

from keyfold.kernels.array_tuples import Groups
from keyfold.kernels.buffers import Mask, Signs, Words
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.ops import RESET, RETRACT, SKIP


def halves(number: int) -> tuple[np.uint64, np.uint64]:
    """The low and the high word of a number of 128 bits."""
    return np.uint64(number % 2**64), np.uint64(number >> 64)


@kernel("int64(uint64[:, ::1], uint8[::1], Groups, uint64[:, ::1], uint8[::1])")
def sum_decimals(values: Words, valid: Mask, groups: Groups, out: Words, out_valid: Mask) -> int:
    """out[g] is the sum of group g. Returns the first group whose sum leaves 128 bits, or -1."""
    (ops, order, starts), overflowed = groups, -1
    one, zero, ones = np.uint64(1), np.uint64(0), np.uint64(2**64 - 1)
    for g in range(len(out)):
        low, high, top, is_found = zero, zero, zero, False
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == RESET:
                low, high, top, is_found = zero, zero, zero, False
            if op != SKIP and valid[row]:
                flip = ones if op == RETRACT else zero
                add_low, add_high = values[row, 0] ^ flip, values[row, 1] ^ flip
                add_top = ones if add_high >> np.uint64(63) else zero
                carry = one if op == RETRACT else zero
                after = low + add_low
                with_carry = after + carry
                carry = one if (after < low) or (with_carry < after) else zero
                low = with_carry
                after = high + add_high
                with_carry = after + carry
                carry = one if (after < high) or (with_carry < after) else zero
                high, top, is_found = with_carry, top + add_top + carry, True
        out[g, 0], out[g, 1], out_valid[g] = low, high, is_found
        if overflowed < 0 and top != (ones if high >> np.uint64(63) else zero):
            overflowed = g
    return overflowed


@structure("uint64[::1]", "uint64[::1]", "uint64[::1]", "uint8[::1]")
class Totals(NamedTuple):
    """Sums of 192 bits, of the lower, the middle and the upper 64, and whether there is one."""

    low: Words
    high: Words
    top: Words
    found: Mask


@kernel("void(uint64[:, ::1], uint8[::1], int32[::1], Totals)")
def add_decimals(values: Words, valid: Mask, groups: Numbers, totals: Totals) -> None:
    """Add to the totals of the groups."""
    one, zero, ones = np.uint64(1), np.uint64(0), np.uint64(2**64 - 1)
    lows, highs, tops, found = totals
    for row in range(len(groups)):
        if valid[row]:
            group, high = groups[row], values[row, 1]
            low = lows[group] + values[row, 0]
            carry = one if low < values[row, 0] else zero
            middle = highs[group] + high
            more = one if middle < high else zero
            middle += carry
            more += one if middle < carry else zero
            tops[group] += more + (ones if high >> np.uint64(63) else zero)
            lows[group], highs[group], found[group] = low, middle, 1


@kernel("void(uint64[:, ::1], uint8[::1], int8[::1], int32[::1], Totals)")
def add_signed_decimals(
    values: Words, valid: Mask, signs: Signs, groups: Numbers, totals: Totals
) -> None:
    """`add_decimals`, but rows with a sign below 0 are subtracted: ~value + 1 is added."""
    one, zero, ones = np.uint64(1), np.uint64(0), np.uint64(2**64 - 1)
    lows, highs, tops, found = totals
    for row in range(len(groups)):
        if valid[row]:
            group, flip = groups[row], ones if signs[row] < 0 else zero
            add_low, add_high = values[row, 0] ^ flip, values[row, 1] ^ flip
            after = lows[group] + add_low
            low = after + (flip & one)
            carry = one if (after < add_low) or (low < after) else zero
            after = highs[group] + add_high
            high = after + carry
            carry = one if (after < add_high) or (high < after) else zero
            tops[group] += carry + (ones if add_high >> np.uint64(63) else zero)
            lows[group], highs[group], found[group] = low, high, 1


@kernel("int64(uint64[:, ::1], uint64, uint64)")
def beyond(values: Words, limit_low: np.uint64, limit_high: np.uint64) -> int:
    """The place of the first value whose magnitude is the limit or more, or -1."""
    for i in range(len(values)):
        low, high = values[i, 0], values[i, 1]
        if high >> np.uint64(63):
            low, high = ~low + np.uint64(1), ~high + np.uint64(low == 0)
        if high > limit_high or (high == limit_high and low >= limit_low):
            return i
    return -1
