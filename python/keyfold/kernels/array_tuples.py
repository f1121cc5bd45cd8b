"""The arrays that most kernels take together, as tuples: rows in groups, texts, lists."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Mask, Rows, Signs, text, validity
from keyfold.kernels.jit import kernel, structure


@structure("int8[::1]", "int64[::1]", "int64[::1]")
class Groups(NamedTuple):
    """Rows in merge order: group g is rows order[starts[g]:starts[g + 1]]; ops[i] is the operation
    of row order[i].
    """

    ops: Signs
    order: Rows
    starts: Rows


@structure("int64[::1]", "uint8[::1]", "uint8[::1]")
class Texts(NamedTuple):
    """Text i is data[offsets[i]:offsets[i + 1]]; it is NULL if valid[i] is 0."""

    offsets: Rows
    data: Mask
    valid: Mask


@structure("int64[::1]", "uint8[::1]")
class Lists(NamedTuple):
    """List i has the elements offsets[i] to offsets[i + 1]; it is NULL if valid[i] is 0."""

    offsets: Rows
    valid: Mask


@structure("int64[::1]", "int64[::1]", "uint8[::1]")
class Gathered(NamedTuple):
    """The list of group g is elements[bounds[g]:bounds[g + 1]]; it is NULL if valid[g] is 0."""

    elements: Rows
    bounds: Rows
    valid: Mask


def texts_of(column: pa.Array) -> Texts:
    """The texts of a text or binary column."""
    return Texts(*text(column), validity(column))


def lists_of(column: pa.Array) -> Lists:
    """The lists of a list or map column. The offsets count from the first of all its children."""
    return Lists(column.offsets.to_numpy().astype(np.int64), validity(column))


@kernel("UniTuple(int64, 2)(Groups, Lists)")
def count_elements(groups: Groups, lists: Lists) -> tuple[int, int]:
    """The number of elements of all groups, and of the largest group."""
    offsets, total, most = lists.offsets, 0, 0
    for g in range(len(groups.starts) - 1):
        size = 0
        for at in range(groups.starts[g], groups.starts[g + 1]):
            row = groups.order[at]
            size += offsets[row + 1] - offsets[row]
        total += size
        most = max(most, size)
    return total, most


def room_for(total: int, groups: Groups) -> Gathered:
    """Empty lists of the groups with room for `total` elements."""
    count = len(groups.starts) - 1
    return Gathered(
        np.empty(total, dtype=np.int64),
        np.empty(count + 1, dtype=np.int64),
        np.empty(count, dtype=np.uint8),
    )
