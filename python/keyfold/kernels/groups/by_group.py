"""Rows in the order of their groups, by counting: rows of one group stay in the order they came."""

from typing import NamedTuple

import numpy as np

from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel


class Grouped(NamedTuple):
    """Group touched[i] has the rows order[starts[i]:starts[i + 1]]."""

    touched: Rows
    order: Rows
    starts: Rows


@kernel("void(int32[::1], int64, int64[::1], int64[::1])")
def place_rows(groups: Numbers, first: int, places: Rows, order: Rows) -> None:
    """Write row first + i at places[groups[i]], which moves on by one."""
    for row in range(len(groups)):
        group = groups[row]
        order[places[group]] = first + row
        places[group] += 1


def grouped(groups: Numbers, is_there: Mask, count: int) -> Grouped:
    """The groups of `count` that these rows touch, the rows numbered from `count` on. If a group is
    there already, row `group`, which holds its state, comes first.
    """
    sizes = np.bincount(groups, minlength=count)
    touched = np.flatnonzero(sizes)
    has_state = is_there[touched].view(bool)
    starts = np.concatenate(([0], np.cumsum(sizes[touched] + has_state)))
    order = np.empty(int(starts[-1]), dtype=np.int64)
    order[starts[:-1][has_state]] = touched[has_state]
    places = np.zeros(count, dtype=np.int64)
    places[touched] = starts[:-1] + has_state
    place_rows(groups, count, places, order)
    return Grouped(touched, order, starts)
