"""Rows in any order, grouped by the codes of their values (`codes`)."""

import numpy as np

from keyfold.kernels.buffers import Rows
from keyfold.kernels.by_group import place_rows


def groups_by_code(codes: Rows, count: int) -> tuple[Rows, Rows]:
    """The order of the rows by code, and the offsets of the groups, none of which is empty. Codes
    are below `count`; rows of one code keep their order.
    """
    numbers = codes.astype(np.int32)
    sizes = np.bincount(numbers, minlength=count).astype(np.int64, copy=False)
    stops = np.cumsum(sizes)
    order = np.empty(len(codes), dtype=np.int64)
    place_rows(numbers, 0, stops - sizes, order)
    return order, np.append(np.zeros(1, dtype=np.int64), stops[sizes > 0])
