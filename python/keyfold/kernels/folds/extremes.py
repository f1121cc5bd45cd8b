"""The row with the greatest or least valid value of each group. The values are words or bytes that
order as they do.
"""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from keyfold.kernels.array_tuples import Groups, Texts
from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.comparable import MORE, encode_nullable
from keyfold.kernels.keys.order import compare_bytes
from keyfold.kernels.ops import ADD, RESET


@kernel("void(uint64[::1], uint64, uint8[::1], Groups, int64[::1])")
def greatest_word(words: Words, flip: np.uint64, valid: Mask, groups: Groups, out: Rows) -> None:
    """out[g] is the row of group g whose word ^ flip is the greatest of its valid added rows, or
    -1. RESET starts again from its row.
    """
    ops, order, starts = groups
    for g in range(len(out)):
        pick = -1
        for at in range(starts[g], starts[g + 1]):
            row, is_added = order[at], ops[at] == ADD and valid[order[at]]
            if ops[at] == RESET:
                pick = row if valid[row] else -1
            elif is_added and (pick < 0 or words[row] ^ flip > words[pick] ^ flip):
                pick = row
        out[g] = pick


@kernel("void(Texts, Groups, int64, int64[::1])")
def extreme_bytes(texts: Texts, groups: Groups, sign: int, out: Rows) -> None:
    """`greatest_word` over byte strings; with sign -1 the least."""
    (offsets, data, valid), (ops, order, starts) = texts, groups
    for g in range(len(out)):
        pick = -1
        for at in range(starts[g], starts[g + 1]):
            row, is_added = order[at], ops[at] == ADD and valid[order[at]]
            if ops[at] == RESET:
                pick = row if valid[row] else -1
            elif is_added and (pick < 0 or compare_bytes(offsets, data, row, pick, 0) * sign > 0):
                pick = row
        out[g] = pick


@kernel("boolean(uint64[::1], uint64, uint8[::1], int32[::1], uint64[::1], int64[::1])")
def greatest_rows(
    words: Words, flip: np.uint64, valid: Mask, numbers: Numbers, best: Words, out: Rows
) -> bool:
    """`greatest_word`, row by row, each added to group numbers[row]: groups of few rows would end
    where no processor expects it. Of equal words the last stays; `best` is 0 at first. Returns
    whether no two words were equal that stand for long keys.
    """
    out[:] = -1
    decides = True
    for row in range(len(numbers)):
        if valid[row]:
            group, word = np.uint64(numbers[row]), words[row] ^ flip
            held = best[group]
            decides &= (word != held) | (words[row] & np.uint64(255) != np.uint64(MORE))
            best[group] = max(held, word)
            out[group] += (row - out[group]) * np.int64(word >= held)
    return decides


def pick_extremes(
    column: pa.Array, groups: Groups, *, is_least: bool, numbers: Numbers | None = None
) -> Rows:
    """The picked row of each group, or -1 if no value is valid. `numbers` are the groups of the
    rows, given if every row is added in the order they have.
    """
    keys, valid = encode_nullable(column)
    out = np.empty(len(groups.starts) - 1, dtype=np.int64)
    flip = np.uint64(2**64 - 1 if is_least else 0)
    if numbers is not None:
        best = np.zeros(len(out), dtype=np.uint64)
        if greatest_rows(keys.words, flip, valid, numbers, best, out) or not keys.is_wide:
            return out
    if keys.is_wide:
        sign = -1 if is_least else 1
        extreme_bytes(Texts(keys.offsets, keys.data, valid), groups, sign, out)
    else:
        greatest_word(keys.words, flip, valid, groups, out)
    return out


def rank(value: Any) -> Any:
    """A stand-in for a value that Python compares in Paimon's order; for definitions."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float | np.floating):
        number = 0.0 if math.isnan(value) else float(value)
        return (math.isnan(value), number, math.copysign(1.0, number))
    return value
