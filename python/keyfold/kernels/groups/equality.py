"""Pairs of rows whose values differ. Equality is that of Java's `equals`, as in `kernels.codes`:
NULL is NULL, NaN is NaN, -0.0 is not 0.0, and maps are equal whatever the order of their entries.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Mask, Rows, bits, is_text, text, validity, values, view
from keyfold.kernels.groups.codes import codes
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.order import compare_bytes

Flags = npt.NDArray[np.bool_]


@kernel("void(int64[::1], uint8[::1], int64[::1], int64[::1], uint8[::1])")
def differ_bytes(offsets: Rows, data: Mask, left: Rows, right: Rows, out: Mask) -> None:
    """out[i] says whether the byte strings of rows left[i] and right[i] differ."""
    for i in range(len(out)):
        out[i] = compare_bytes(offsets, data, left[i], right[i], 0) != 0


def differing(columns: Sequence[pa.Array], left: Rows, right: Rows) -> Flags:
    """Whether row right[i] has another value than row left[i] in any of the columns."""
    found = np.zeros(len(left), dtype=np.bool_)
    for column in columns:
        rest = np.flatnonzero(~found)  # pairs that differ already are not looked at again
        if not len(rest):
            break
        if len(rest) == len(left):
            found = _differing(column, left, right)
        else:
            found[rest] = _differing(column, left[rest], right[rest])
    return found


def _differing(column: pa.Array, left: Rows, right: Rows) -> Flags:
    if types.is_nested(column.type):
        both = column.take(pa.array(np.concatenate((left, right))))
        found, _ = codes([both])
        nested: Flags = found[: len(left)] != found[len(left) :]
        return nested
    differs = _other_values(column, left, right)
    if not column.null_count:
        return differs
    valid = validity(column)
    before, after = valid[left], valid[right]
    flags: Flags = (before != after) | (((before & after) == 1) & differs)
    return flags


def _other_values(column: pa.Array, left: Rows, right: Rows) -> Flags:
    """Whether the values differ where both are there."""
    if is_text(column.type):
        offsets, data = text(column)
        out = np.empty(len(left), dtype=np.uint8)
        differ_bytes(offsets, data, left, right, out)
        return out.view(np.bool_)
    found = _fixed(column)
    before, after = found[left], found[right]
    differs: Flags = before != after
    if found.ndim > 1:
        return np.logical_or(differs[:, 0], differs[:, 1])
    if types.is_floating(column.type):
        as_numbers = f"f{found.dtype.itemsize}"
        differs &= ~(np.isnan(before.view(as_numbers)) & np.isnan(after.view(as_numbers)))
    return differs


def _fixed(column: pa.Array) -> npt.NDArray[Any]:
    """The bits of values of a fixed width, as one integer each, or two."""
    if types.is_boolean(column.type):
        return bits(column.buffers()[1], column.offset, len(column))
    size = column.type.bit_width // 8
    if size <= 8:
        return values(column, f"u{size}")
    words = view(column.buffers()[1], np.uint64, 2 * column.offset, 2 * len(column))
    return words.reshape(-1, 2)
