"""Groups of rows with one key in a sorted order, and the order inside a group.

`starts` is an int64 array: group g is order[starts[g]:starts[g + 1]].
"""

from collections.abc import Sequence

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel
from keyfold.kernels.keys.comparable import Keys
from keyfold.kernels.keys.order import Flags, compare_bytes, merge_flags, packed_runs


@kernel("int64(uint64[::1], int64[::1])")
def mark_words(words: Words, starts: Rows) -> int:
    """Write the start of each group of equal sorted words, and the end; returns how many groups."""
    count = 0
    starts[0] = 0
    for i in range(len(words)):
        starts[count + 1] = i + 1
        count += i + 1 == len(words) or words[i + 1] != words[i]
    return count


@kernel("int64(uint64[::1], int64[::1], int64[::1], uint8[::1], int64[::1])")
def mark_bytes(words: Words, order: Rows, offsets: Rows, data: Mask, starts: Rows) -> int:
    """`mark_words` over wide keys; words[i] belongs to row order[i]."""
    count = 0
    starts[0] = 0
    for i in range(len(words)):
        starts[count + 1] = i + 1
        is_last = i + 1 == len(words) or words[i + 1] != words[i]
        if not is_last and words[i] & np.uint64(255) == np.uint64(8):
            is_last = compare_bytes(offsets, data, order[i], order[i + 1], 7) != 0
        count += is_last
    return count


@kernel("boolean(int64[::1], boolean[::1], int32[::1])")
def number_rows(order: Rows, is_first: Flags, out: Numbers) -> bool:
    """out[row] is the number of the group of each row, in the order given; `is_first` are the
    first rows of groups there. Returns whether the rows of each group ascend.
    """
    group, last, ascends = -1, -1, True
    for at in range(len(order)):
        row, is_new = order[at], is_first[at]
        group += is_new
        ascends &= is_new | (row > last)
        out[np.uint64(row)], last = group, row
    return ascends


def groups_of_rows(order: Rows, starts: Rows, rows: int) -> Numbers | None:
    """The group of each of `rows` rows, by row; that of rows which are left out is behind all
    others. None if the rows of a group are in another order than they came in.
    """
    is_first = np.zeros(len(order) + 1, dtype=np.bool_)
    is_first[starts] = True
    out = np.empty(rows, dtype=np.int32)
    if rows > len(order):
        out[:] = len(starts) - 1
    return out if number_rows(order, is_first[:-1], out) else None


def group_starts(keys: Keys, words: Words, order: Rows) -> Rows:
    """The groups' offsets, one more than there are groups; words[i] is the word of row order[i]."""
    starts = np.empty(len(words) + 1, dtype=np.int64)
    if keys.is_wide:
        count = mark_bytes(words, order, keys.offsets, keys.data, starts)
    else:
        count = mark_words(words, starts)
    return starts[: count + 1]


def merge_groups(keys: Keys, lengths: Sequence[int]) -> tuple[Rows, Rows]:
    """The row numbers of concatenated sorted runs of these lengths, merged, and the groups'
    offsets. On a tie the earlier run comes first.
    """
    packed = packed_runs(keys, lengths)
    if packed is not None:
        return packed.grouped(packed.merged(lengths))
    words, order, is_first = merge_flags(keys, lengths)
    if is_first is None:
        return order, group_starts(keys, words, order)
    return order, np.append(np.flatnonzero(is_first), len(order))


@kernel("void(int64[::1], int64[::1], uint64[::1])")
def sort_in_groups(order: Rows, starts: Rows, words: Words) -> None:
    """Sort the rows of each group by words[row], in place and stable. Groups are small: they have
    about as many rows as there are runs.
    """
    for g in range(len(starts) - 1):
        for i in range(starts[g] + 1, starts[g + 1]):
            row, at = order[i], i
            while at > starts[g] and words[order[at - 1]] > words[row]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = row


@kernel("void(int64[::1], int64[::1], uint64[::1], int64[::1], uint8[::1], boolean)")
def sort_bytes_in_groups(
    order: Rows, starts: Rows, words: Words, offsets: Rows, data: Mask, is_descending: bool
) -> None:
    """`sort_in_groups` over wide keys, ascending or descending."""
    for g in range(len(starts) - 1):
        for i in range(starts[g] + 1, starts[g + 1]):
            row, at = order[i], i
            while at > starts[g]:
                difference = compare_bytes(offsets, data, order[at - 1], row, 0)
                if (difference >= 0) if is_descending else (difference <= 0):
                    break
                order[at] = order[at - 1]
                at -= 1
            order[at] = row
