"""Keys in the one form that every kernel compares: a uint64 word for each row, and memcomparable
bytes if a word is too short.

A key of fixed width up to 8 bytes is its word. Any other key is a byte string. Its word holds the
first seven bytes and, in the lowest byte, how many bytes the key has (8 = more than seven).
Unequal words decide, equal words with a count below 8 mean equal keys, and only the rest needs the
bytes. The order is that of Paimon's key comparator.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from keyfold.kernels.buffers import Mask, Rows, Words, is_text, text, validity
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.nulls import filled, without_nulls
from keyfold.kernels.keys.words import ordered, values_of_decimal, width

NO_OFFSETS: Rows = np.zeros(1, dtype=np.int64)
NO_BYTES: Mask = np.zeros(1, dtype=np.uint8)
MORE = 8


@dataclass(frozen=True)
class Keys:
    """Keys of some rows. If `is_wide`, `offsets` and `data` hold their bytes."""

    words: Words
    offsets: Rows = field(default_factory=lambda: NO_OFFSETS)
    data: Mask = field(default_factory=lambda: NO_BYTES)
    is_wide: bool = False

    def __len__(self) -> int:
        return len(self.words)

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        own = self.offsets.nbytes + self.data.nbytes if self.is_wide else 0
        return int(self.words.nbytes + own)

    def slice(self, start: int, stop: int) -> "Keys":
        """The keys of some rows, without a copy."""
        offsets = self.offsets[start : stop + 1] if self.is_wide else self.offsets
        return Keys(self.words[start:stop], offsets, self.data, self.is_wide)

    def scalar(self, row: int) -> int | bytes:
        """The key of one row as Python compares it: a number, or bytes if the keys are wide."""
        if not self.is_wide:
            return int(self.words[row])
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()

    def below(self, bound: int | bytes) -> int:
        """The number of leading rows of sorted keys that are below `bound`, a `scalar`."""
        if not self.is_wide:
            return int(np.searchsorted(self.words, np.uint64(bound)))
        return bisect_left(range(len(self)), bound, key=self.scalar)

    def above(self, bound: int | bytes) -> int:
        """The number of leading rows of sorted keys that are not above `bound`, a `scalar`."""
        if not self.is_wide:
            return int(np.searchsorted(self.words, np.uint64(bound), side="right"))
        return bisect_right(range(len(self)), bound, key=self.scalar)


@kernel("void(int64[::1], int64[::1], uint8[::1], uint64[::1])")
def words_at(starts: Rows, stops: Rows, data: Mask, out: Words) -> None:
    """out[i] is the word of data[starts[i]:stops[i]]: seven bytes, and their count (8 = more)."""
    eight, room = np.uint64(8), np.uint64(len(data))
    for i in range(len(out)):
        start, length, word = np.uint64(starts[i]), max(stops[i] - starts[i], 0), np.uint64(0)
        if start + eight <= room:  # one load, and a mask of the bytes that belong to the text
            for byte in range(8):
                word = (word << eight) | np.uint64(data[start + np.uint64(byte)])
            unused = np.uint64(64 - 8 * min(max(length, 1), 7))
            word &= ~((np.uint64(1) << unused) - np.uint64(1)) if length else np.uint64(0)
        else:
            for byte in range(min(length, 7)):
                word |= np.uint64(data[start + np.uint64(byte)]) << np.uint64(56 - 8 * byte)
        out[i] = word | np.uint64(min(length, 8))


@kernel("void(uint64[::1], int64, uint8[::1], int64[::1])")
def put_words(words: Words, size: int, data: Mask, cursor: Rows) -> None:
    """Write the low `size` bytes of each word, most significant first, at cursor[row]; move it."""
    for row in range(len(words)):
        for i in range(size):
            data[cursor[row] + i] = (words[row] >> np.uint64(8 * (size - 1 - i))) & np.uint64(255)
        cursor[row] += size


@kernel("void(int64[::1], uint8[::1], uint8[::1], int64[::1])")
def put_escaped(offsets: Rows, source: Mask, data: Mask, cursor: Rows) -> None:
    """Write each text with 0 as 0 255, and 0 0 behind the text, so that a prefix sorts first; move
    the cursor.
    """
    for row in range(len(cursor)):
        at = cursor[row]
        for i in range(offsets[row], offsets[row + 1]):
            data[at] = source[i]
            at += 1
            if source[i] == 0:
                data[at] = 255
                at += 1
        data[at] = 0
        data[at + 1] = 0
        cursor[row] = at + 2


@kernel("void(int64[::1], uint8[::1], uint8[::1], int64[::1])")
def put_raw(offsets: Rows, source: Mask, data: Mask, cursor: Rows) -> None:
    """Write each text as it is at cursor[row]; move the cursor."""
    for row in range(len(cursor)):
        at = cursor[row]
        for i in range(offsets[row], offsets[row + 1]):
            data[at] = source[i]
            at += 1
        cursor[row] = at


@kernel("void(int64[::1], uint8[::1], int64[::1])")
def escaped_lengths(offsets: Rows, source: Mask, lengths: Rows) -> None:
    """Add the number of bytes that `put_escaped` writes to lengths[row]."""
    for row in range(len(lengths)):
        count = offsets[row + 1] - offsets[row] + 2
        for i in range(offsets[row], offsets[row + 1]):
            count += source[i] == 0
        lengths[row] += count


def is_wide(kinds: Sequence[pa.DataType]) -> bool:
    """Whether keys of these Arrow types need bytes besides the word."""
    widths = [width(kind) for kind in kinds]
    return None in widths or sum(bits or 0 for bits in widths) > 64


def encode(columns: Sequence[pa.Array], nullable: Sequence[bool] = ()) -> Keys:
    """Keys of rows given by their key columns, in key order; NULL comes first.

    `nullable` says of each column whether it may hold NULL in any batch whose keys are compared
    with these. Without `nullable` no column may. The keys of null slots are then arbitrary: a
    caller masks them itself.
    """
    if any(nullable):
        columns = without_nulls(columns, nullable)
    if not is_wide([column.type for column in columns]):
        return Keys(_packed(columns))
    if len(columns) == 1 and is_text(columns[0].type):
        return of_bytes(*text(columns[0]))
    lengths = np.zeros(len(columns[0]), dtype=np.int64)
    for place, column in enumerate(columns):
        _measure(column, place == len(columns) - 1, lengths)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    cursor = offsets[:-1].copy()
    for place, column in enumerate(columns):
        _write(column, place == len(columns) - 1, data, cursor)
    return of_bytes(offsets, data)


def rows_up_to(
    columns: Sequence[pa.Array], bound: int | bytes, nullable: Sequence[bool] = ()
) -> int:
    """The number of leading rows of sorted key columns that are not above `bound`, a `scalar`;
    `nullable` as for `encode`.

    The last row of each block decides first, then the rows of one block, so few keys are encoded.
    """
    rows = len(columns[0])
    step = max(math.isqrt(rows), 1)
    marks = pa.array(np.arange(step - 1, rows, step))
    start = encode([column.take(marks) for column in columns], nullable).above(bound) * step
    block = [column.slice(start, step) for column in columns]
    return start + encode(block, nullable).above(bound)


def encode_nullable(column: pa.Array) -> tuple[Keys, Mask]:
    """Keys of one column, equal for all its nulls, and the column's validity."""
    if column.null_count == 0 or not is_wide([column.type]):
        keys, valid = encode([column]), validity(column)
        return (Keys(keys.words * valid) if column.null_count else keys), valid
    return encode([filled(column)]), validity(column)


def of_bytes(offsets: Rows, data: Mask) -> Keys:
    """Keys that are these byte strings, compared as unsigned bytes."""
    words = np.empty(len(offsets) - 1, dtype=np.uint64)
    words_at(offsets[:-1], offsets[1:], data, words)
    return Keys(words, offsets, data, True)


def _packed(columns: Sequence[pa.Array]) -> Words:
    words = ordered(columns[0])
    for column in columns[1:]:
        words = (words << np.uint64(width(column.type) or 0)) | ordered(column)
    return words


def _measure(column: pa.Array, is_last: bool, lengths: Rows) -> None:
    if not is_text(column.type):
        lengths += (width(column.type) or 128) // 8
    elif is_last:
        lengths += np.diff(text(column)[0])
    else:
        escaped_lengths(*text(column), lengths)


def _write(column: pa.Array, is_last: bool, data: Mask, cursor: Rows) -> None:
    bit_width = width(column.type)
    if is_text(column.type):
        (put_raw if is_last else put_escaped)(*text(column), data, cursor)
    elif bit_width is not None:
        put_words(ordered(column), bit_width // 8, data, cursor)
    else:
        low_high = values_of_decimal(column)
        put_words(low_high[:, 1] ^ np.uint64(1 << 63), 8, data, cursor)
        put_words(np.ascontiguousarray(low_high[:, 0]), 8, data, cursor)
