"""Quantile states: u8 version 1, u16 compression, u8 form; of form 0 a u32 count and so many DOUBLE
values, of form 1 a t-digest of DataSketches, which is checked here and opened by its library.

A digest is u8 words of its head, u8 version 1, u8 family 20, u16 k, u8 flags and two bytes; unless
it is empty or of one value, u32 centroids, u32 waiting values, two DOUBLE, and these: a centroid
has a DOUBLE and a u64 weight.
"""

import numpy as np

from keyfold.kernels.buffers import Floats, Mask, Rows
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel
from keyfold.kernels.roaring.containers import bad, number, put

DIGEST = -1
HEAD_BYTES, COUNTED_BYTES, MOST_EXACT = 4, 8, 2048
ENDS, HEAD, COUNT, DIGEST_HEAD, COMPRESSION, CENTROIDS, WEIGHT = range(1, 8)
PROBLEMS = (
    "",
    "it ends before what it announces",
    "there is no head of a quantile state of version 1",
    "there are not as many values as announced, of at most 2048",
    "there is no head of a t-digest of version 1",
    "its compression is not 10 to 10000",
    "there is no number of centroids that its compression allows",
    "there is no weight of a centroid",
)
_FAMILY, _EMPTY, _SINGLE = 20, 1, 2
_DIGEST_HEAD, _COUNTS, _CENTROID = 8, 24, 16
_LEAST_K, _MOST_K, _SPARE, _WAITING = 10, 10000, 30, 4
_MOST_WEIGHT, _MOST_UNITED = 1 << 48, (1 << 63) - 1


@kernel("int64(uint8[::1], int64, int64)")
def weights_in(part: Mask, centroids: int, heaviest: int) -> int:
    """DIGEST if each of these centroids has a weight, at most the heaviest, else a problem."""
    at = HEAD_BYTES + _DIGEST_HEAD + _COUNTS + 8
    for place in range(at, at + _CENTROID * centroids, _CENTROID):
        if not 0 < number(part, place, 8) <= heaviest:
            return bad(place, WEIGHT)
    return DIGEST


@kernel("int64(uint8[::1], int64)")
def digest_in(part: Mask, heaviest: int) -> int:
    """DIGEST if the bytes behind the head of a state are a digest, else a problem."""
    at = HEAD_BYTES + _DIGEST_HEAD
    if len(part) < at:
        return bad(len(part), ENDS)
    k, flags, words = number(part, 7, 2), part[9], part[4]
    is_small = flags & (_EMPTY | _SINGLE) != 0
    if part[5] != 1 or part[6] != _FAMILY or words != (1 if is_small else 2):
        return bad(HEAD_BYTES, DIGEST_HEAD)
    if not _LEAST_K <= k <= _MOST_K:
        return bad(7, COMPRESSION)
    if is_small:
        return DIGEST if flags & _EMPTY or at + 8 <= len(part) else bad(len(part), ENDS)
    if at + _COUNTS > len(part):
        return bad(len(part), ENDS)
    centroids, waiting, most = number(part, at, 4), number(part, at + 4, 4), 2 * k + _SPARE
    if centroids > most or waiting > _WAITING * most or centroids + waiting < 1:
        return bad(at, CENTROIDS)
    if at + _COUNTS + _CENTROID * centroids + 8 * waiting > len(part):
        return bad(len(part), ENDS)
    return weights_in(part, centroids, heaviest)


@kernel("int64(uint8[::1], int64, int64)")
def state_in(part: Mask, most: int, heaviest: int) -> int:
    """The number of values of a state, at most `most`; or DIGEST, or a problem."""
    if len(part) < HEAD_BYTES:
        return bad(len(part), ENDS)
    if part[0] != 1 or part[3] > 1:
        return bad(0, HEAD)
    if part[3] == 1:
        return digest_in(part, heaviest)
    if len(part) < COUNTED_BYTES:
        return bad(len(part), ENDS)
    count = number(part, HEAD_BYTES, 4)
    return count if count <= most and len(part) == COUNTED_BYTES + 8 * count else bad(4, COUNT)


@kernel("void(uint8[::1], int64[::1], uint8[::1], int64, int64, int64[::1])")
def plan_quantiles(
    data: Mask, bounds: Rows, valid: Mask, most: int, heaviest: int, plans: Rows
) -> None:
    """Write for each row the number of its values, DIGEST, or a problem."""
    for row in range(len(plans)):
        part = data[bounds[row] : bounds[row + 1]]
        plans[row] = state_in(part, most, heaviest) if valid[row] else 0


def plans_of(data: Mask, bounds: Rows, valid: Mask, *, is_united: bool = True) -> Rows:
    """The plans that `plan_quantiles` writes, of states of at most MOST_EXACT values. The weights
    of united states are sums; others have less, so that these fit.
    """
    plans = np.empty(len(valid), dtype=np.int64)
    heaviest = _MOST_UNITED if is_united else _MOST_WEIGHT
    plan_quantiles(data, bounds, valid, MOST_EXACT, heaviest, plans)
    return plans


@kernel("int64(uint8[::1], int64[::1], int32[::1], int64[::1], int32[::1], float64[::1])")
def read_quantiles(
    data: Mask, bounds: Rows, groups: Numbers, plans: Rows, owners: Numbers, values: Floats
) -> int:
    """Write the values of states, but no NaN, and their groups; returns how many there are."""
    count = 0
    bits = values.view(np.uint8)
    for row in range(len(plans)):
        at = bounds[row] + COUNTED_BYTES
        for i in range(plans[row]):
            for k in range(8):
                bits[8 * count + k] = data[at + 8 * i + k]
            if values[count] == values[count]:
                owners[count] = groups[row]
                count += 1
    return count


@kernel("void(float64[::1], int64[::1], int64[::1], int64, uint8[::1])")
def put_quantiles(values: Floats, ends: Rows, compressions: Rows, first: int, out: Mask) -> None:
    """Write the states of groups, whose values end there; those of the first begin at `first`."""
    at, bits = 0, values.view(np.uint8)
    for i in range(len(ends)):
        put(out, at, 1, 1)
        put(out, at + 1, 2, compressions[i])
        put(out, at + 3, 1, 0)
        put(out, at + HEAD_BYTES, 4, ends[i] - first)
        at += COUNTED_BYTES
        for k in range(8 * first, 8 * ends[i]):
            out[at] = bits[k]
            at += 1
        first = ends[i]


@kernel("void(int32[::1], float64[::1], int64[::1], float64[::1])")
def place_values(owners: Numbers, values: Floats, places: Rows, out: Floats) -> None:
    """Write each value at places[owner], which moves on by one."""
    for i in range(len(owners)):
        owner = owners[i]
        out[places[owner]] = values[i]
        places[owner] += 1
