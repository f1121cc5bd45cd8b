"""The items of values in DataSketches' HLL sketches (`item_sets`)."""

import numpy as np

from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.folds.item_sets import Items
from keyfold.kernels.jit import kernel

_SLOT, _VALUE, _MOST_ZEROS = (1 << 26) - 1, 26, 62
_SEED = np.uint64(9001)
_FIRST, _SECOND = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)


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
