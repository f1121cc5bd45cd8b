"""DataSketches' HLL sketches as sets of items (`item_sets`): the items of values, and those, or the
registers, of the bytes of sketches in any of their forms.

A sketch begins with the words of its head, the version 1, the family 7, lgK, lgArr, flags, a count
and its form: a list or a hash set of items, or registers of 4, 6 or 8 bits.
"""

from typing import Any

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.folds.item_sets import (
    ESTIMATE_BYTES,
    REGISTERS,
    SKETCH_BYTES,
    Given,
    Items,
)
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel
from keyfold.kernels.roaring.containers import number

BAD, DENSE = -2, -1
_SLOT, _VALUE, _MOST_ZEROS = (1 << 26) - 1, 26, 62
_SEED = np.uint64(9001)
_FIRST, _SECOND = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_LIST, _SET, _HLL = 0, 1, 2
_HLL_4, _HLL_6 = 0, 1
_EMPTY, _COMPACT, _UNITED = 4, 8, 16
_HEAD, _REGISTERS_AT, _ESTIMATE_AT = 8, 40, 8
_IN_AUX = 15
_LG_K, _LEAST_LG_K, _MOST_LG_K = 12, 4, 21


@kernel
def mixed(word: np.uint64) -> np.uint64:
    """The last step of MurmurHash3."""
    word ^= word >> np.uint64(33)
    word *= np.uint64(0xFF51AFD7ED558CCD)
    word ^= word >> np.uint64(33)
    word *= np.uint64(0xC4CEB9FE1A85EC53)
    return np.uint64(word ^ (word >> np.uint64(33)))


@kernel
def turned(word: np.uint64, by: int) -> np.uint64:
    """The bits turned to the left."""
    return np.uint64((word << np.uint64(by)) | (word >> np.uint64(64 - by)))


@kernel("uint32(uint64, uint64, int64)")
def coupon(first: np.uint64, second: np.uint64, size: int) -> np.uint32:
    """The item of a value of some bytes, of the two halves of MurmurHash3 before they are mixed:
    the lower 26 bits of the first half and one more than the leading zeros of the other.
    """
    first = np.uint64(first ^ np.uint64(size))
    second = np.uint64(second ^ np.uint64(size))
    first += second
    second += first
    first, second = np.uint64(mixed(first)), np.uint64(mixed(second))
    first += second
    second += first
    zeros = 0
    while zeros < _MOST_ZEROS and not second >> np.uint64(63 - zeros):
        zeros += 1
    slot = first & np.uint64(_SLOT)
    return np.uint32(slot | np.uint64(zeros + 1) << np.uint64(_VALUE))


@kernel("void(int64[::1], uint32[::1])")
def coupons(values: Rows, items: Items) -> None:
    """Write the items of whole numbers."""
    for row in range(len(values)):
        word = turned(np.uint64(values[row]) * _FIRST, 31) * _SECOND
        items[row] = coupon(_SEED ^ word, _SEED, 8)


@kernel("uint64(uint8[::1], int64, int64)")
def word_at(data: Mask, start: int, stop: int) -> np.uint64:
    """The little-endian number of at most eight bytes."""
    word = np.uint64(0)
    for at in range(start, min(stop, start + 8)):
        word |= np.uint64(data[at]) << np.uint64(8 * (at - start))
    return word


@kernel("uint32(uint8[::1], int64, int64)")
def coupon_of_bytes(data: Mask, start: int, stop: int) -> np.uint32:
    """The item of bytes: MurmurHash3 of 128 bits takes 16 of them at a time."""
    first, second = _SEED, _SEED
    at = start
    while at < stop:
        one, other = word_at(data, at, stop), word_at(data, at + 8, stop)
        first = np.uint64(first ^ turned(one * _FIRST, 31) * _SECOND)
        if at + 16 > stop:
            second = np.uint64(second ^ turned(other * _SECOND, 33) * _FIRST)
            break
        first = np.uint64(turned(first, 27) + second)
        first = np.uint64(first * np.uint64(5) + np.uint64(0x52DCE729))
        second = np.uint64(second ^ turned(other * _SECOND, 33) * _FIRST)
        second = np.uint64(turned(second, 31) + first)
        second = np.uint64(second * np.uint64(5) + np.uint64(0x38495AB5))
        at += 16
    return np.uint32(coupon(first, second, stop - start))


@kernel("void(uint8[::1], int64[::1], uint8[::1], uint32[::1])")
def coupons_of_texts(data: Mask, bounds: Rows, nothing: Mask, items: Items) -> None:
    """Write the items of texts or bytes; one without bytes counts as `nothing`."""
    for row in range(len(items)):
        start, stop = bounds[row], bounds[row + 1]
        is_empty = start == stop
        items[row] = (
            coupon_of_bytes(nothing, 0, 1) if is_empty else coupon_of_bytes(data, start, stop)
        )


@kernel("int64(uint8[::1], int64, int64, int64)")
def entries(data: Mask, start: int, stop: int, form: int) -> int:
    """How many items, 0 among them, are in a list or set; BAD if there are not so many."""
    at = start + (8 if form == _LIST else 12)
    if at > stop:
        return BAD
    count = number(data, start + 6, 1) if form == _LIST else number(data, start + 8, 4)
    if form == _SET and not data[start + 5] & _COMPACT:
        return (stop - at) // 4
    return count if at + 4 * count <= stop else BAD


@kernel("int64(uint8[::1], int64, int64)")
def size_of_registers(data: Mask, start: int, stop: int) -> int:
    """DENSE if all registers of a sketch are there, else BAD."""
    if start + _REGISTERS_AT > stop:
        return BAD
    slots, kind = 1 << number(data, start + 3, 1), number(data, start + 7, 1) >> 2 & 3
    size = slots // 2 if kind == _HLL_4 else slots * 3 // 4 + 1 if kind == _HLL_6 else slots
    more = number(data, start + 36, 4) if kind == _HLL_4 and data[start + 5] & _COMPACT else 0
    return DENSE if start + _REGISTERS_AT + size + 4 * more <= stop else BAD


@kernel("void(uint8[::1], int64[::1], uint8[::1], int64[::1])")
def plan_sketches(data: Mask, bounds: Rows, valid: Mask, plans: Rows) -> None:
    """Write for each row the number of its items, DENSE if it has registers, or BAD."""
    for row in range(len(plans)):
        start, stop = bounds[row], bounds[row + 1]
        plans[row] = 0
        if valid[row]:
            plans[row] = BAD
            if stop - start >= _HEAD and data[start + 1] == 1 and data[start + 2] == 7:
                form, is_empty = number(data, start + 7, 1) & 3, data[start + 5] & _EMPTY
                head, lg_k = data[start] & 63, data[start + 3]
                if lg_k < _LEAST_LG_K or lg_k > _MOST_LG_K:
                    continue
                if form == _HLL and head == 10:
                    plans[row] = size_of_registers(data, start, stop)
                elif (form == _LIST and head == 2) or (form == _SET and head == 3):
                    plans[row] = 0 if is_empty else entries(data, start, stop, form)


@kernel("int64(uint8[::1], int64, int64, int64)")
def register(data: Mask, start: int, kind: int, slot: int) -> int:
    """The register of a slot; those of 4 bits are without the least one and without exceptions."""
    if kind == _HLL_4:
        return (number(data, start + slot // 2, 1) >> 4 * (slot & 1)) & 15
    if kind == _HLL_6:
        at = start + 6 * slot // 8
        return (number(data, at, 2) >> 6 * slot % 8) & 63
    return number(data, start + slot, 1)


@kernel("void(uint8[::1], int64, int64, uint8[::1], int64)")
def put_registers(data: Mask, start: int, stop: int, out: Mask, at: int) -> None:
    """Write the registers of a sketch as a dense set; many slots become fewer."""
    lg_k, kind = number(data, start + 3, 1), number(data, start + 7, 1) >> 2 & 3
    first, least = start + _REGISTERS_AT, number(data, start + 6, 1) if kind == _HLL_4 else 0
    for slot in range(1 << lg_k):
        value, to = register(data, first, kind, slot), at + slot % REGISTERS
        if kind != _HLL_4 or value != _IN_AUX:
            out[to] = max(out[to], value + least)
    if kind == _HLL_4:
        first += (1 << lg_k) // 2
        is_compact = data[start + 5] & _COMPACT
        more = number(data, start + 36, 4) if is_compact else (stop - first) // 4
        for i in range(more):
            pair = number(data, first + 4 * i, 4)
            to = at + (pair & (1 << lg_k) - 1) % REGISTERS
            out[to] = max(out[to], pair >> _VALUE)
    if not data[start + 5] & _UNITED:
        for i in range(ESTIMATE_BYTES):
            out[at + REGISTERS + i] = data[start + _ESTIMATE_AT + i]
    out[at + REGISTERS + ESTIMATE_BYTES] = max(_LG_K - lg_k, 0)


@kernel("int64(uint8[::1], int64[::1], int32[::1], int64[::1], Given, Given, uint64[::1])")
def read_sketches(
    data: Mask, bounds: Rows, groups: Numbers, plans: Rows, few: Given, many: Given, dense: Words
) -> int:
    """Write the items of sketches, which are counted, and the dense sets, which are empty yet."""
    some, large = 0, 0
    for row in range(len(plans)):
        start, stop = bounds[row], bounds[row + 1]
        if plans[row] == DENSE:
            many.groups[large] = groups[row]
            put_registers(data, start, stop, dense.view(np.uint8), large * SKETCH_BYTES)
            large += 1
        at = start + (8 if data[start + 7] & 3 == _LIST else 12) if plans[row] > 0 else 0
        for i in range(plans[row]):
            item: Any = number(data, at + 4 * i, 4)
            if item:
                few.groups[some], few.items[some] = groups[row], np.uint32(item)
                some += 1
    return some
