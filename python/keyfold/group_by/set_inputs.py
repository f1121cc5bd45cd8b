"""Inputs of the bitmaps and sketches of groups, by name: whole numbers (`numbers`), texts or
bytes (`texts`), stored bitmaps (`bitmaps`), stored HLL sketches (`sketches`). All become items and
dense sets, each of a group (`kernels.folds.item_sets`).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.errors import CorruptDataError
from keyfold.group_by.accumulate import GroupError
from keyfold.kernels.buffers import Mask, Rows, text, validity, values
from keyfold.kernels.folds import sketches
from keyfold.kernels.folds.item_sets import SKETCH_BYTES, Given
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.keys.words import values_of_decimal
from keyfold.kernels.roaring import contents
from keyfold.kernels.roaring.art import LEAF_BYTES
from keyfold.kernels.roaring.containers import BITMAP, BITMAP_BYTES, MOST_IN_ARRAY
from keyfold.kernels.states import hll

# Upper bits that no number has: the mark of a bitmap whose form is that of 64 bits.
WIDE = np.uint64(1 << 48)
_WORD = 8
_PIECE = 1 << 25  # bytes that containers become at once
_SHOWN = 16
_NO_STARTS, _NO_WORDS = np.empty(0, np.int64), np.empty(0, np.uint64)
_EMPTY_TEXT = np.array([0xFF], dtype=np.uint8)  # DataSketches drops an empty value; no text has it

Read = tuple[Given, Given, Rows, Any]


def read(name: str, of: str, groups: Numbers, column: pa.Array) -> Iterator[Read]:
    """Items, dense sets and where these begin in words. Raises GroupError if bytes are no set."""
    if of == "bitmaps":
        yield from _of_bitmaps(name, groups, column)
    elif of == "sketches":
        yield _of_sketches(name, groups, column)
    else:
        found = _of_numbers if name.startswith("bitmap") else _of_values
        yield found(groups, column), _given(0), _NO_STARTS, _NO_WORDS


def _given(count: int) -> Given:
    return Given(np.empty(count, np.int32), np.zeros(count, np.uint64), np.empty(count, np.uint32))


def _of_numbers(groups: Numbers, column: pa.Array) -> Given:
    """The items of bitmaps: numbers from 0 to 2^64 - 1."""
    if pa.types.is_decimal(column.type):
        words = values_of_decimal(column)
        numbers, fits = words[:, 0], words[:, 1] == 0
    else:
        signed = values(column.cast(pa.int64()), np.int64)
        numbers, fits = signed.view(np.uint64), signed >= 0
    kept = np.flatnonzero(fits & validity(column).view(bool))
    numbers = numbers[kept]
    items = numbers.astype(np.uint32) & np.uint32(0xFFFF)
    return Given(groups[kept], numbers >> np.uint64(16), items)


def _of_values(groups: Numbers, column: pa.Array) -> Given:
    """The items of sketches of numbers, texts or bytes."""
    items = np.empty(len(column), dtype=np.uint32)
    if pa.types.is_integer(column.type):
        sketches.coupons(values(column.cast(pa.int64()), np.int64), items)
    else:
        bounds, data = text(column)
        sketches.coupons_of_texts(data, bounds, _EMPTY_TEXT, items)
    if column.null_count:
        flags = validity(column).view(bool)
        groups, items = groups[flags], items[flags]
    return Given(groups, np.zeros(len(items), np.uint64), items)


def _of_sketches(name: str, groups: Numbers, column: pa.Array) -> Read:
    bounds, data = text(column)
    plans = hll.plans_of(data, bounds, validity(column))
    check(name, "not an HLL sketch", groups, column, plans < hll.DENSE)
    few, many = _given(int(plans[plans > 0].sum())), _given(int((plans == hll.DENSE).sum()))
    size = SKETCH_BYTES // _WORD
    words = np.zeros(size * len(many.groups), dtype=np.uint64)
    count = hll.read_sketches(data, bounds, groups, plans, few, many, words)
    found = Given(few.groups[:count], few.highs[:count], few.items[:count])
    return found, many, size * np.arange(len(many.groups)), words


def _of_bitmaps(name: str, groups: Numbers, column: pa.Array) -> Iterator[Read]:
    bounds, data = text(column)
    valid, forms = validity(column), np.empty(len(column), dtype=np.uint8)
    most = np.empty(len(column) + 1, dtype=np.int64)
    contents.most_containers(data, bounds, valid, most)
    room, keys = int(most[-1]), int(np.diff(bounds).max(initial=0)) // LEAF_BYTES
    table, rows = np.empty((room, 4), dtype=np.int64), np.empty(room, dtype=np.int64)
    parsed = contents.Parsed(table, np.empty((keys, 4), dtype=np.int64), rows, forms)
    count = contents.parse_rows(data, bounds, valid, np.empty(1, dtype=np.int64), parsed)
    check(name, "not a bitmap", groups, column, forms == contents.BAD)
    table, owners = table[:count], groups[rows[:count]]
    are_dense = (table[:, 1] == BITMAP) | (table[:, 2] > MOST_IN_ARRAY)
    sizes = np.where(are_dense, BITMAP_BYTES, _WORD * table[:, 2])
    pieces = np.cumsum(sizes) // _PIECE
    for piece in range(int(pieces[-1]) + 1 if count else 0):
        start, stop = np.searchsorted(pieces, (piece, piece + 1)).tolist()
        yield _piece(data, table[start:stop], owners[start:stop], are_dense[start:stop])
    wide = np.unique(groups[forms == contents.WIDE])
    if len(wide):
        few = Given(wide, np.full(len(wide), WIDE), np.zeros(len(wide), dtype=np.uint32))
        yield few, _given(0), _NO_STARTS, _NO_WORDS


def _piece(data: Mask, table: Any, owners: Numbers, are_dense: Any) -> Read:
    few, many = _given(int(table[~are_dense, 2].sum())), _given(int(are_dense.sum()))
    starts = np.empty(len(many.groups), dtype=np.int64)
    words = np.zeros(BITMAP_BYTES // _WORD * len(starts), dtype=np.uint64)
    contents.read_contents(data, table, owners, few, many, starts, words)
    return few, many, starts, words


def check(name: str, wrong: str, groups: Numbers, column: pa.Array, are_bad: Any) -> None:
    """Raises GroupError about the first of the rows that are bad."""
    if are_bad.any():
        row = int(np.flatnonzero(are_bad)[0])
        found = column[row].as_py()
        shown = found[:_SHOWN].hex() + ("…" if len(found) > _SHOWN else "")
        group = int(groups[row])
        words = f"function {name}, group {group}: {wrong}: {len(found)} bytes X'{shown}'"
        raise GroupError(group, CorruptDataError(words))
