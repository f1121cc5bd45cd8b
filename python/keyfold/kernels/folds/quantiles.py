"""Quantile states: u8 version 1, u16 compression, u8 form; of form 0 a u32 count and so many DOUBLE
values, of form 1 a t-digest, which no kernel opens.
"""

import numpy as np

from keyfold.kernels.buffers import Floats, Mask, Rows
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel
from keyfold.kernels.roaring.containers import number, put

BAD, DIGEST = -2, -1
HEAD_BYTES, COUNTED_BYTES = 4, 8


@kernel("void(uint8[::1], int64[::1], uint8[::1], int64, int64[::1])")
def plan_quantiles(data: Mask, bounds: Rows, valid: Mask, most: int, plans: Rows) -> None:
    """Write for each row the number of its values, DIGEST, or BAD."""
    for row in range(len(plans)):
        start, size = bounds[row], bounds[row + 1] - bounds[row]
        plans[row] = 0
        if valid[row]:
            plans[row] = BAD
            if size >= HEAD_BYTES and data[start] == 1:
                if data[start + 3] == 1:
                    plans[row] = DIGEST
                elif data[start + 3] == 0 and size >= COUNTED_BYTES:
                    count = number(data, start + HEAD_BYTES, 4)
                    if count <= most and size == COUNTED_BYTES + 8 * count:
                        plans[row] = count


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
