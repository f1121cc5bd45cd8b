"""Arrow columns as bytes of Spark's rows: those that Spark's UnsafeProjection makes of the values.

The sizes of all parts are computed first. Each part is then written at its place, a whole column at
once. NULL parts of lists and structs are left out before anything is written of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.buffers import Rows, Words, is_text, text, validity
from keyfold.kernels.keys.words import values_of_decimal
from keyfold.kernels.unsafe_rows.layout import (
    WIDE_DECIMAL,
    WORD,
    bits_of,
    copy_pieces,
    decimal_lengths,
    fixed_size,
    is_wide_decimal,
    sums,
    unsigned,
    whole,
    width,
    within,
    words_for_bits,
    write_decimals,
)

MOST_BYTES = (1 << 31) - 1


def encode(columns: Sequence[pa.Array]) -> pa.Array:
    """One binary value for each row of the columns, none NULL. Its type is large_binary if they are
    2 GiB or more.
    """
    starts = np.concatenate(([0], np.cumsum(_row_sizes(columns))))
    out = np.zeros(int(starts[-1]) // WORD, dtype=np.uint64)
    _write_rows(columns, out, starts[:-1])
    is_large = int(starts[-1]) > MOST_BYTES
    bounds = starts if is_large else starts.astype(np.int32)
    kind = pa.large_binary() if is_large else pa.binary()
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(out)]
    return pa.Array.from_buffers(kind, len(starts) - 1, buffers)


def _row_sizes(columns: Sequence[pa.Array]) -> Rows:
    sizes = np.full(len(columns[0]), fixed_size(len(columns)), dtype=np.int64)
    for column in columns:
        if width(column.type) is None:
            sizes += _sizes(column, is_field=True)
    return sizes


def _sizes(column: pa.Array, *, is_field: bool) -> Rows:
    """The bytes of each value's variable part, in whole words. A wide decimal that `is_field` of a
    row has room for any other, even if it is NULL; as an element of an array it has not.
    """
    if is_field and is_wide_decimal(column.type):
        return np.full(len(column), WIDE_DECIMAL, dtype=np.int64)
    if is_text(column.type) or is_wide_decimal(column.type):
        return whole(_lengths(column))  # type: ignore[no-any-return]
    return _spread(column, _nested_sizes(column.drop_null()))


def _lengths(column: pa.Array) -> Rows:
    """The bytes of each text or wide decimal; 0 of NULL."""
    lengths = np.empty(len(column), dtype=np.int64)
    if is_text(column.type):
        np.multiply(np.diff(text(column)[0]), validity(column), out=lengths)
    else:
        decimal_lengths(values_of_decimal(column), validity(column), lengths)
    return lengths


def _nested_sizes(live: pa.Array) -> Rows:
    """The bytes of structs, lists or maps of which none is NULL."""
    if types.is_struct(live.type):
        return _row_sizes(live.flatten())
    counts, elements = _elements(live)
    total = np.full(len(live), WORD if types.is_map(live.type) else 0, dtype=np.int64)
    for column in elements:
        total += _array_sizes(counts, column)
    return total


def _array_sizes(counts: Rows, elements: pa.Array) -> Rows:
    size = width(elements.type)
    fixed = WORD + WORD * words_for_bits(counts) + whole(counts * (size or WORD))
    if size is None:
        fixed += sums(_sizes(elements, is_field=False), counts)
    return fixed  # type: ignore[no-any-return]


def _elements(live: pa.Array) -> tuple[Rows, list[pa.Array]]:
    """The number of elements of each list or map, and all elements: of a map its keys and values.
    No list is NULL.
    """
    bounds = live.offsets.to_numpy().astype(np.int64)
    children = [live.keys, live.items] if types.is_map(live.type) else [live.values]
    first, count = int(bounds[0]), int(bounds[-1] - bounds[0])
    return np.diff(bounds), [child.slice(first, count) for child in children]


def _spread(column: pa.Array, found: Rows) -> Rows:
    """Amounts of the values of a column as amounts of its rows, 0 of NULL."""
    if column.null_count == 0:
        return found
    amounts = np.zeros(len(column), dtype=np.int64)
    amounts[validity(column).view(bool)] = found
    return amounts


def _write_rows(columns: Sequence[pa.Array], out: Words, starts: Rows) -> None:
    """Write row i at byte starts[i] of `out`."""
    first = starts // WORD
    slot, place = first + int(words_for_bits(len(columns))), starts + fixed_size(len(columns))
    for number, column in enumerate(columns):
        if column.null_count:
            nulls = np.uint64(1) - validity(column).astype(np.uint64)
            out[first + number // 64] |= nulls << np.uint64(number % 64)
        if width(column.type) is None:
            sizes = _sizes(column, is_field=True)
            out[slot + number] = _write_parts(column, out, place, starts, sizes)
            place = place + sizes
        else:
            out[slot + number] = _inline(column)


def _inline(column: pa.Array) -> npt.NDArray[Any]:
    """The values of a fixed-width column as unsigned numbers, 0 for NULL."""
    found = bits_of(column)
    return found * validity(column) if column.null_count else found


def _write_parts(column: pa.Array, out: Words, places: Rows, bases: Rows, sizes: Rows) -> Words:
    """Write the variable part of value i at byte places[i]; returns the words that point there from
    bases[i]. The word of a NULL is 0, except that of a decimal which has room for a value.
    """
    lengths = sizes
    if is_text(column.type) or is_wide_decimal(column.type):
        lengths = _lengths(column)
        _write_plain(column, out, places, lengths)
    else:
        live = column.drop_null()
        is_live = slice(None) if live is column else validity(column).view(bool)
        _write_nested(live, out, places[is_live])
    pointers = ((places - bases) << 32) | lengths
    if not is_wide_decimal(column.type) or not sizes.all():
        pointers *= validity(column)
    return pointers.view(np.uint64)


def _write_plain(column: pa.Array, out: Words, places: Rows, lengths: Rows) -> None:
    if is_text(column.type):
        offsets, data = text(column)
        copy_pieces(data, offsets[:-1], lengths, out.view(np.uint8), places)
    else:
        write_decimals(values_of_decimal(column), lengths, out.view(np.uint8), places)


def _write_nested(live: pa.Array, out: Words, places: Rows) -> None:
    if types.is_struct(live.type):
        _write_rows(live.flatten(), out, places)
        return
    counts, elements = _elements(live)
    if types.is_map(live.type):
        out[places // WORD] = _array_sizes(counts, elements[0])
        places = places + WORD
    for column in elements:
        _write_arrays(counts, column, out, places)
        places = places + _array_sizes(counts, column)


def _write_arrays(counts: Rows, elements: pa.Array, out: Words, places: Rows) -> None:
    """Write array i, of counts[i] elements, at byte places[i]."""
    out[places // WORD] = counts
    owners, number = within(counts)
    if elements.null_count:
        gone = np.flatnonzero(validity(elements) == 0)
        words = places[owners[gone]] // WORD + 1 + number[gone] // 64
        np.bitwise_or.at(out, words, np.uint64(1) << (number[gone] % 64).astype(np.uint64))
    first, size = places + WORD + WORD * words_for_bits(counts), width(elements.type)
    if size is not None:
        out.view(unsigned(size))[first[owners] // size + number] = _inline(elements)
        return
    sizes = _sizes(elements, is_field=False)
    before = np.cumsum(sizes) - sizes
    starts = first + WORD * counts - np.append(before, 0)[np.cumsum(counts) - counts]
    parts = _write_parts(elements, out, starts[owners] + before, places[owners], sizes)
    out[first[owners] // WORD + number] = parts
