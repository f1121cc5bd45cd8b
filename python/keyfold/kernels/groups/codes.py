"""Codes of values: equal values have one code, which is below the count. Null is a value too.

Equality is that of Java's `equals`: NaN is NaN and -0.0 is not 0.0. Structs and lists are equal
field by field and element by element.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Rows, pack, view
from keyfold.kernels.groups.by_key import group_starts
from keyfold.kernels.keys.comparable import encode_nullable
from keyfold.kernels.keys.order import sort_order

_MOST = 1 << 62


def codes(columns: Sequence[pa.Array]) -> tuple[Rows, int]:
    """int64 codes of the rows of these columns taken together, and how many codes there may be."""
    found, count = _codes(columns[0])
    for column in columns[1:]:
        following, more = _codes(column)
        found, count = found * more + following, count * more
        if count > max(4 * len(found), 1 << 16) or count > _MOST // (1 << 31):
            found, count = _encoded(pa.array(found))
    return found, count


def _codes(column: pa.Array) -> tuple[Rows, int]:
    if types.is_struct(column.type):
        fields = column.flatten()
        is_valid = column.is_valid()
        return codes([is_valid, *fields]) if fields else _encoded(is_valid)
    if types.is_nested(column.type):
        return _encoded(_sequences(column))
    if types.is_floating(column.type):
        return _encoded(_bits(column))
    return _encoded(column)


def _encoded(column: pa.Array) -> tuple[Rows, int]:
    encoded = column.dictionary_encode(null_encoding="encode")
    found = view(encoded.indices.buffers()[1], np.int32, encoded.indices.offset, len(column))
    return found.astype(np.int64), len(encoded.dictionary)


def _bits(column: pa.Array) -> pa.Array:
    """The bits of floats, one pattern for NaN, as integers with the same nulls."""
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
    numbers = np.where(np.isnan(numbers), numbers.dtype.type(np.nan), numbers)
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return pa.array(numbers.view(f"i{numbers.dtype.itemsize}"), mask=missing)


def _sequences(column: pa.Array) -> pa.Array:
    """Lists as the bytes of their elements' codes; maps likewise, their entries in one order."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    if types.is_map(column.type):
        keys, values = column.keys.slice(first, last - first), column.items
        names, count = codes([keys])
        entries, _ = codes([keys, values.slice(first, last - first)])
        rows = np.repeat(np.arange(len(column)), np.diff(offsets))
        found = entries[np.argsort(rows * count + names, kind="stable")]
    else:
        found, _ = codes([column.values.slice(first, last - first)])
    validity = pack(column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8))
    buffers = [validity, pa.py_buffer((offsets - first) * found.itemsize), pa.py_buffer(found)]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers)


def ranks(columns: Sequence[pa.Array]) -> Rows:
    """int64 numbers that order the rows by these columns, NULL first; equal rows have one number.

    In a single column NULL, and nothing else, is 0. The order is that of Paimon's comparators, as
    in `keyfold.kernels.keys.comparable`.
    """
    found = _ranks(columns[0])
    for column in columns[1:]:
        own = _ranks(column)
        found = found * (int(own.max(initial=0)) + 1) + own
        found = np.unique(found, return_inverse=True)[1].astype(np.int64)
    return found


def _ranks(column: pa.Array) -> Rows:
    """0 for null, else 1 plus the place among the distinct values."""
    keys, valid = encode_nullable(column)
    rows = np.flatnonzero(valid)
    words, order = sort_order(keys, rows)
    starts = group_starts(keys, words, order)
    out = np.zeros(len(column), dtype=np.int64)
    out[order] = np.repeat(np.arange(1, len(starts)), np.diff(starts))
    return out
