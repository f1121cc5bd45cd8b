"""Bytes of Spark's rows as Arrow columns. Bytes that are not such rows are refused.

Each offset and length is checked before it is followed: a part lies behind the words of its row,
inside it, and the parts of a row together are not larger than the row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.errors import CorruptDataError
from keyfold.kernels.buffers import Mask, Rows, Words, is_text, pack, text, validity
from keyfold.kernels.folds.decimals import beyond, halves
from keyfold.kernels.unsafe_rows.layout import (
    WIDE_DECIMAL,
    WORD,
    column_of_bits,
    copy_pieces,
    fields_of,
    fixed_size,
    is_wide_decimal,
    read_decimals,
    sums,
    unsigned,
    whole,
    width,
    within,
    words_for_bits,
)

_MOST_BYTES = (1 << 31) - 1


def decode(rows: pa.Array, kinds: Sequence[pa.DataType]) -> list[pa.Array]:
    """The columns of these types; a NULL row has NULL in each. Raises BadRow if a value is not a
    row of fields of these types.
    """
    live = rows.drop_null()
    area, sizes = _aligned(live)
    columns = _fields(area, _Parts(area.starts, sizes), kinds)
    return [_expanded(column, validity(rows)) for column in columns]


class BadRow(CorruptDataError):
    """A value is not a row; `row` is its number among those that are not NULL."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(f"the bytes of row {row} are not a row of Spark: {what}")
        self.row = row


@dataclass(frozen=True)
class _Area:
    """The bytes of all rows behind one another, each at a whole word."""

    words: Words
    starts: Rows

    def check(self, is_right: Any, places: Rows, what: str) -> None:
        """Raises BadRow if a part is not right."""
        if np.all(is_right):
            return
        wrong = int(np.flatnonzero(~np.broadcast_to(is_right, places.shape))[0])
        if places is not self.starts:  # rows of no bytes begin where the next one does
            wrong = int(np.searchsorted(self.starts, places[wrong], side="right")) - 1
        raise BadRow(wrong, what)


@dataclass(frozen=True)
class _Parts:
    """Rows, arrays or maps: where each begins and its bytes."""

    places: Rows
    sizes: Rows


def _aligned(rows: pa.Array) -> tuple[_Area, Rows]:
    """The bytes of the rows, copied unless they are at whole words already, and their sizes."""
    offsets, data = text(rows)
    sizes, starts = np.diff(offsets), offsets[:-1]
    is_whole = not (sizes % WORD).any()
    if not is_whole or (len(starts) and int(starts[0]) % WORD) or data.ctypes.data % WORD:
        places = np.cumsum(whole(sizes)) - whole(sizes)
        copied = np.zeros(int(whole(sizes).sum()), dtype=np.uint8)
        copy_pieces(data, starts, sizes, copied, places)
        starts, data = places, copied
    area = _Area(data[: len(data) // WORD * WORD].view(np.uint64), starts)
    area.check(sizes % WORD == 0, starts, "its size is not a multiple of 8")
    fits = int(sizes.sum()) <= _MOST_BYTES
    area.check(np.full(len(starts), fits), starts, "together they are 2 GiB or more")
    return area, sizes


def _expanded(column: pa.Array, valid: Mask) -> pa.Array:
    """The column with NULL in each place that is not valid."""
    if len(column) == len(valid):
        return column
    numbers = np.cumsum(valid, dtype=np.int64) - 1
    return column.take(pa.array(numbers, mask=valid == 0))


def _fields(area: _Area, rows: _Parts, kinds: Sequence[pa.DataType]) -> list[pa.Array]:
    fixed = fixed_size(len(kinds))
    area.check(rows.sizes >= fixed, rows.places, f"{len(kinds)} fields take {fixed} bytes or more")
    columns, first, left = [], rows.places // WORD, rows.sizes - fixed
    for number, kind in enumerate(kinds):
        nulls = area.words[first + number // 64] >> np.uint64(number % 64)
        valid = (~nulls & np.uint64(1)).astype(np.uint8)
        slots = area.words[first + int(words_for_bits(len(kinds))) + number]
        if (size := width(kind)) is None:
            parts = _followed(area, rows, fixed, slots, valid)
            left = left - parts.sizes
            area.check(left >= 0, rows.places, "its parts are larger than the row")
            columns.append(_variable(area, kind, parts, valid))
        else:
            narrow = slots if types.is_decimal(kind) else slots.astype(unsigned(size))
            columns.append(_fixed(area, kind, narrow, valid, rows.places))
    return columns


def _followed(area: _Area, owners: _Parts, fixed: Any, slots: Words, valid: Mask) -> _Parts:
    """The parts that the words in `slots` point to, of owners whose own words end at `fixed`. The
    part of a NULL is empty.
    """
    slots = slots * valid
    offsets = (slots >> np.uint64(32)).astype(np.int64)
    lengths = (slots & np.uint64(0xFFFFFFFF)).astype(np.int64)
    is_inside = (offsets >= fixed) & (offsets + lengths <= owners.sizes) & (offsets % WORD == 0)
    area.check(is_inside | (valid == 0), owners.places, "a field points outside of it")
    return _Parts(owners.places + offsets, lengths)


def _fixed(area: _Area, kind: pa.DataType, items: Any, valid: Mask, places: Rows) -> pa.Array:
    """The column of fixed-width values that are given as unsigned numbers."""
    if types.is_decimal(kind):
        low = np.ascontiguousarray(items).view(np.int64) * valid
        return _decimals(area, kind, np.stack((low, low >> 63), 1).view(np.uint64), valid, places)
    return column_of_bits(kind, items, valid)


def _decimals(area: _Area, kind: pa.DataType, pairs: Words, valid: Mask, places: Rows) -> pa.Array:
    is_right = np.ones(len(valid), dtype=bool)
    if (wrong := beyond(pairs, *halves(10**kind.precision))) >= 0:
        is_right[wrong] = False
    area.check(is_right, places, f"a number has more digits than {kind}")
    return pa.Array.from_buffers(kind, len(valid), [pack(valid), pa.py_buffer(pairs)])


def _variable(area: _Area, kind: pa.DataType, parts: _Parts, valid: Mask) -> pa.Array:
    """The column of values that have a variable part."""
    if is_text(kind):
        return _texts(area, kind, parts, valid)
    if is_wide_decimal(kind):
        pairs = np.empty((len(valid), 2), dtype=np.uint64)
        is_right = (parts.sizes <= WIDE_DECIMAL) & ((parts.sizes > 0) | (valid == 0))
        area.check(is_right, parts.places, "a decimal has not 1 to 16 bytes")
        read_decimals(area.words.view(np.uint8), parts.places, parts.sizes, pairs)
        return _decimals(area, kind, pairs, valid, parts.places)
    is_live = valid.view(bool)
    live = _Parts(parts.places[is_live], parts.sizes[is_live])
    if types.is_struct(kind):
        columns = _fields(area, live, [field.type for field in fields_of(kind)])
        found = pa.Array.from_buffers(kind, len(live.places), [None], children=columns)
    else:
        found = _maps(area, kind, live) if types.is_map(kind) else _lists(area, kind, live)
    return _expanded(found, valid)


def _texts(area: _Area, kind: pa.DataType, parts: _Parts, valid: Mask) -> pa.Array:
    bounds = np.concatenate(([0], np.cumsum(parts.sizes)))
    data = np.empty(int(bounds[-1]), dtype=np.uint8)
    copy_pieces(area.words.view(np.uint8), parts.places, parts.sizes, data, bounds[:-1])
    is_large = types.is_large_string(kind) or types.is_large_binary(kind)
    held = [pa.py_buffer(bounds if is_large else bounds.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(valid), [pack(valid), *held])


def _lists(area: _Area, kind: pa.DataType, lists: _Parts) -> pa.Array:
    bounds, elements = _arrays(area, kind.value_type, lists)
    return pa.Array.from_buffers(kind, len(lists.places), [None, bounds], children=[elements])


def _maps(area: _Area, kind: pa.DataType, maps: _Parts) -> pa.Array:
    area.check(maps.sizes >= WORD, maps.places, "a map has no room for its size")
    size = area.words[maps.places // WORD].view(np.int64)
    fits = (size >= WORD) & (size <= maps.sizes - WORD) & (size % WORD == 0)
    area.check(fits, maps.places, "the keys of a map are larger than the map")
    bounds, keys = _arrays(area, kind.key_type, _Parts(maps.places + WORD, size))
    rest = _Parts(maps.places + WORD + size, maps.sizes - WORD - size)
    own, items = _arrays(area, kind.item_type, rest)
    is_pair = bounds.equals(own) and keys.null_count == 0
    area.check(np.full(len(size), is_pair), maps.places, "a map has not one key for each value")
    pairs = pa.struct([kind.key_field, kind.item_field])
    entries = pa.Array.from_buffers(pairs, len(keys), [None], children=[keys, items])
    return pa.Array.from_buffers(kind, len(size), [None, bounds], children=[entries])


def _arrays(area: _Area, kind: pa.DataType, arrays: _Parts) -> tuple[pa.Buffer, pa.Array]:
    """The offsets of these arrays into the column of all their elements, and that column."""
    places, sizes, size = arrays.places, arrays.sizes, width(kind)
    area.check(sizes >= WORD, places, "an array has no room for its length")
    counts = area.words[places // WORD].view(np.int64)
    area.check((counts >= 0) & (counts <= sizes), places, "an array is shorter than its length")
    first = WORD + WORD * words_for_bits(counts)
    fixed = first + counts * (size or WORD)
    area.check(fixed <= sizes, places, "an array is shorter than its length")
    owners, number = within(counts)
    starts = places[owners]
    nulls = area.words[starts // WORD + 1 + number // 64] >> (number % 64).astype(np.uint64)
    valid = (~nulls & np.uint64(1)).astype(np.uint8)
    items = area.words.view(unsigned(size or WORD))[
        (starts + first[owners]) // (size or WORD) + number
    ]
    bounds = pa.py_buffer(np.concatenate(([0], np.cumsum(counts))).astype(np.int32))
    if size is not None:
        return bounds, _fixed(area, kind, items, valid, starts)
    parts = _followed(area, _Parts(starts, sizes[owners]), fixed[owners], items, valid)
    fits = sums(parts.sizes, counts) <= sizes - fixed
    area.check(fits, places, "the elements of an array are larger than the array")
    return bounds, _variable(area, kind, parts, valid)
