"""Moments of numbers that were counted apart, put together as Spark's aggregates do, by the
formulas of Chan and others: count, mean, and sums of powers of the distances from the mean.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from keyfold.kernels.buffers import Rows
from keyfold.kernels.jit import kernel

Table = npt.NDArray[np.float64]


@kernel("void(float64[:, ::1], int64[::1], float64[:, ::1])")
def merge_moments(rows: Table, starts: Rows, out: Table) -> None:
    """out[g] is n, mean, m2 and perhaps m3 and m4 of the rows from starts[g] to starts[g + 1]."""
    fields = rows.shape[1]
    for g in range(len(out)):
        for field in range(fields):
            out[g, field] = rows[starts[g], field]
        for row in range(starts[g] + 1, starts[g + 1]):
            n1, n2 = out[g, 0], rows[row, 0]
            n = n1 + n2
            delta = rows[row, 1] - out[g, 1]
            part = 0.0 if n == 0 else delta / n
            if fields > 4:
                powers = part * part * part * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2)
                squares = n1 * n1 * rows[row, 2] + n2 * n2 * out[g, 2]
                cubes = n1 * rows[row, 3] - n2 * out[g, 3]
                out[g, 4] += rows[row, 4] + powers + 6 * part * part * squares + 4 * part * cubes
            if fields > 3:
                powers = part * part * delta * n1 * n2 * (n1 - n2)
                squares = n1 * rows[row, 2] - n2 * out[g, 2]
                out[g, 3] += rows[row, 3] + powers + 3 * part * squares
            out[g, 2] += rows[row, 2] + delta * part * n1 * n2
            out[g, 1] += part * n2
            out[g, 0] = n


@kernel("void(float64[:, ::1], int64[::1], float64[:, ::1])")
def merge_pairs(rows: Table, starts: Rows, out: Table) -> None:
    """out[g] is n, both means, the sum of products of distances from them, and perhaps their two
    sums of squares, of the rows from starts[g] to starts[g + 1].
    """
    fields = rows.shape[1]
    for g in range(len(out)):
        for field in range(fields):
            out[g, field] = rows[starts[g], field]
        for row in range(starts[g] + 1, starts[g + 1]):
            n1, n2 = out[g, 0], rows[row, 0]
            n = n1 + n2
            dx, dy = rows[row, 1] - out[g, 1], rows[row, 2] - out[g, 2]
            part_x, part_y = (0.0, 0.0) if n == 0 else (dx / n, dy / n)
            if fields > 4:
                out[g, 4] += rows[row, 4] + dx * part_x * n1 * n2
                out[g, 5] += rows[row, 5] + dy * part_y * n1 * n2
            out[g, 3] += rows[row, 3] + dx * part_y * n1 * n2
            out[g, 1] += part_x * n2
            out[g, 2] += part_y * n2
            out[g, 0] = n


def merged(merge: Any, rows: Table, starts: Rows) -> Table:
    """The result of one of these kernels for each group, which has a row at least."""
    out = np.empty((len(starts) - 1, rows.shape[1]))
    merge(np.ascontiguousarray(rows), starts, out)
    return out
