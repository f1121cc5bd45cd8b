"""Keys of rows that are compared only with one another, as narrow as these rows allow.

A key is one word if its columns, in these rows, differ in at most 64 bits together: numbers by
their range, texts by the few bytes behind the prefix that all share. Keys that stay bytes lose
that prefix too, so that the seven bytes of a word decide more.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Mask, Rows, Words, is_text, text
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.comparable import Keys, encode, is_wide, of_bytes, words_at
from keyfold.kernels.keys.nulls import without_nulls
from keyfold.kernels.keys.words import ordered, values_of_decimal, width


@kernel("int64(int64[::1], int64[::1], uint8[::1])")
def common_prefix(starts: Rows, stops: Rows, data: Mask) -> int:
    """The number of leading bytes that all of data[starts[i]:stops[i]] share."""
    first, shared = starts[0], stops[0] - starts[0]
    for row in range(1, len(starts)):
        start = starts[row]
        shared = min(shared, stops[row] - start)
        for i in range(shared):
            if data[start + i] != data[first + i]:
                shared = i
                break
        if shared == 0:
            break
    return int(shared)


@kernel("void(int64[::1], uint8[::1], int64, int64[::1], uint8[::1])")
def cut_prefix(offsets: Rows, data: Mask, size: int, out_offsets: Rows, out: Mask) -> None:
    """Copy every row without its first `size` bytes."""
    at = np.int64(0)
    out_offsets[0] = 0
    for row in range(len(offsets) - 1):
        for i in range(offsets[row] + size, offsets[row + 1]):
            out[at] = data[i]
            at += 1
        out_offsets[row + 1] = at


@kernel("void(int64[::1], uint8[::1], int64, uint64[::1])")
def whole_words(starts: Rows, data: Mask, size: int, out: Words) -> None:
    """out[i] is the number that the `size` bytes from starts[i] spell; `size` is at most 8."""
    for i in range(len(out)):
        word = np.uint64(0)
        for byte in range(size):
            word = (word << np.uint64(8)) | np.uint64(data[starts[i] + byte])
        out[i] = word


def encode_closed(columns: Sequence[pa.Array], lengths: Sequence[int] = ()) -> Keys:
    """Keys of rows given by their key columns, in key order. They compare with one another as the
    keys of `encode` do, and with no other keys. NULL comes first. If the rows are sorted runs,
    `lengths` are those of the runs: the ends of the runs then show what all rows share.
    """
    nullable = [column.null_count > 0 for column in columns]
    if any(nullable):
        columns = without_nulls(columns, nullable, is_closed=True)
    if len(columns) == 1 and not is_wide([columns[0].type]):
        return encode(columns)
    if not len(columns[0]):
        return encode(columns)
    ends = _ends(lengths) if len(lengths) else None
    packed = _packed(columns, None if any(nullable) else ends)
    return Keys(packed) if packed is not None else _without_prefix(encode(columns), ends)


def _ends(lengths: Sequence[int]) -> Rows:
    """The first and the last row of each run."""
    found = np.array([length for length in lengths if length], dtype=np.int64)
    stops = np.cumsum(found)
    return np.concatenate((stops - found, stops - 1))


def _shared(offsets: Rows, data: Mask, rows: Rows | None) -> int:
    """The number of leading bytes that these texts share; with None all texts are compared."""
    starts, stops = offsets[:-1], offsets[1:]
    if rows is not None:
        starts, stops = starts[rows], stops[rows]
    return int(common_prefix(starts, stops, data))


def _packed(columns: Sequence[pa.Array], ends: Rows | None) -> Words | None:
    """One word for each row, if the bits in which the rows differ fit; else None. The first column
    has its least and its greatest value among the rows `ends`.
    """
    total, used = np.zeros(len(columns[0]), dtype=np.uint64), 0
    for place, column in enumerate(columns):
        words = _words(column, ends if place == 0 else None)
        if words is None:
            return None
        differing = int(np.bitwise_or.reduce(words ^ words[0]))
        if not differing:
            continue
        unused = np.uint64((differing & -differing).bit_length() - 1)
        least = words.min()
        bits = (int(words.max() - least) >> int(unused)).bit_length()
        used += bits
        if used > 64:
            return None
        shifted = total << np.uint64(bits) if bits < 64 else total
        total = shifted | ((words - least) >> unused)
    return total


def _words(column: pa.Array, ends: Rows | None) -> Words | None:
    """Ordered words that hold all of a key column: of numbers, of wide decimals with equal high
    words, of texts with few bytes behind a common prefix. None for other columns.
    """
    if width(column.type) is not None:
        return ordered(column)
    if is_text(column.type):
        return _text_words(*text(column), ends)
    pairs = values_of_decimal(column)
    is_low = bool((pairs[:, 1] == pairs[0, 1]).all())
    return np.ascontiguousarray(pairs[:, 0]) if is_low else None


def _text_words(offsets: Rows, data: Mask, ends: Rows | None) -> Words | None:
    prefix = _shared(offsets, data, ends)
    lengths = np.diff(offsets) - prefix
    longest, is_even = int(lengths.max()), bool((lengths == lengths[0]).all())
    if longest > (8 if is_even else 7):
        return None
    words = np.empty(len(lengths), dtype=np.uint64)
    starts = offsets[:-1] + prefix
    if is_even:
        whole_words(starts, data, longest, words)
    else:
        words_at(starts, offsets[1:], data, words)
    return words


def _without_prefix(keys: Keys, ends: Rows | None) -> Keys:
    size = _shared(keys.offsets, keys.data, ends)
    if not size:
        return keys
    offsets = np.empty_like(keys.offsets)
    left = int(keys.offsets[-1] - keys.offsets[0]) - size * len(keys)
    data = np.empty(max(left, 1), dtype=np.uint8)
    cut_prefix(keys.offsets, keys.data, size, offsets, data)
    return of_bytes(offsets, data)
