"""Elements of a group's lists in one list: all of them, or each value once, less what is retracted.

Row r holds the elements offsets[r] to offsets[r + 1]; equal elements of a group have one code. A
group of one row stays as it is. All write the elements of group g to out[bounds[g]:bounds[g + 1]],
and whether it has a list at all.
"""

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Signs, Words
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.kernels.order import compare_bytes

_ROWS = "int8[::1], int64[::1], int64[::1], int64[::1], uint8[::1]"
_OUTPUTS = "int64[::1], int64[::1], uint8[::1]"


@kernel
def _append(offsets: Rows, row: int, out: Rows, end: int) -> int:
    """All elements of a row behind out[:end]; the new end."""
    for element in range(offsets[row], offsets[row + 1]):
        out[end] = element
        end += 1
    return end


@kernel(f"void({_ROWS}, {_OUTPUTS})")
def concatenate(
    ops: Signs,
    order: Rows,
    starts: Rows,
    offsets: Rows,
    valid: Mask,
    out: Rows,
    bounds: Rows,
    out_valid: Mask,
) -> None:
    """All elements in order; there are no retractions."""
    end, bounds[0] = 0, 0
    for g in range(len(starts) - 1):
        begin, is_found = end, False
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if ops[at] == RESET:
                end, is_found = begin, False
            if ops[at] != SKIP and valid[row]:
                end, is_found = _append(offsets, row, out, end), True
        bounds[g + 1], out_valid[g] = end, is_found


@kernel("void(int64[::1], uint8[::1], uint64[::1])")
def hash_bytes(offsets: Rows, data: Mask, out: Words) -> None:
    """A hash of each byte string."""
    for row in range(len(out)):
        hashed = np.uint64(0xCBF29CE484222325)
        for at in range(offsets[row], offsets[row + 1]):
            hashed = (hashed ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        out[row] = hashed


@kernel(
    "void(int64[::1], int64[::1], int64[::1], uint8[::1], uint64[::1], uint8[::1], int64[::1], "
    "uint8[::1], boolean, int64[::1], int64[::1], int64[::1])"
)
def code_in_groups(
    order: Rows,
    starts: Rows,
    offsets: Rows,
    valid: Mask,
    words: Words,
    has_value: Mask,
    text_offsets: Rows,
    data: Mask,
    is_wide: bool,
    stamps: Rows,
    firsts: Rows,
    codes: Rows,
) -> None:
    """codes[element] counts up from 0 in each group, one code for all equal elements of a group.

    Elements with one word are equal, where `is_wide` if their bytes are. `stamps` (-1) and `firsts`
    are a hash table with room for twice the elements of a group, a power of two.
    """
    mask = np.uint64(len(stamps) - 1)
    for g in range(len(starts) - 1):
        count = 0
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if not valid[row]:
                continue
            for element in range(offsets[row], offsets[row + 1]):
                word = words[element]
                place = word * np.uint64(0x9E3779B97F4A7C15)
                place = (place ^ (place >> np.uint64(32))) & mask
                while stamps[place] == g:
                    first = firsts[place]
                    if words[first] == word and has_value[first] == has_value[element]:
                        if not is_wide:
                            break
                        if compare_bytes(text_offsets, data, first, element, 0) == 0:
                            break
                    place = (place + np.uint64(1)) & mask
                if stamps[place] == g:
                    codes[element] = codes[firsts[place]]
                else:
                    stamps[place], firsts[place], codes[element] = g, element, count
                    count += 1


@kernel
def _keep_first(out: Rows, begin: int, end: int, codes: Rows, counts: Rows) -> int:
    """Drop elements whose code came before; the new end. counts[code] becomes 1."""
    kept = begin
    for at in range(begin, end):
        counts[codes[out[at]]] = 0
    for at in range(begin, end):
        code = codes[out[at]]
        if counts[code] == 0:
            counts[code], out[kept] = 1, out[at]
            kept += 1
    return kept


@kernel
def _remove(
    offsets: Rows, row: int, codes: Rows, counts: Rows, taken: Rows, out: Rows, begin: int, end: int
) -> int:
    """Drop the first element of out[begin:end] for each of the row's that is equal; the new end."""
    for element in range(offsets[row], offsets[row + 1]):
        taken[codes[element]] += 1
    kept = begin
    for at in range(begin, end):
        code = codes[out[at]]
        if taken[code] > 0:
            taken[code] -= 1
            counts[code] -= 1
        else:
            out[kept] = out[at]
            kept += 1
    for element in range(offsets[row], offsets[row + 1]):
        taken[codes[element]] = 0
    return kept


@kernel(f"void({_ROWS}, int64[::1], int64[::1], int64[::1], boolean, boolean, {_OUTPUTS})")
def collect_values(
    ops: Signs,
    order: Rows,
    starts: Rows,
    offsets: Rows,
    valid: Mask,
    codes: Rows,
    counts: Rows,
    taken: Rows,
    is_distinct: bool,
    collapses: bool,
    out: Rows,
    bounds: Rows,
    out_valid: Mask,
) -> None:
    """`concatenate` with retractions, which remove one equal element each, and each value once if
    distinct.

    What a reset leaves may hold a value twice; with `collapses` the next list that is added ends
    that. `counts` and `taken` are zeros, as many as a group has codes.
    """
    end, bounds[0] = 0, 0
    for g in range(len(starts) - 1):
        begin, is_found, is_raw = end, False, False
        is_lone = starts[g + 1] - starts[g] == 1
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == RESET or (is_lone and op != SKIP):
                for place in range(begin, end):
                    counts[codes[out[place]]] = 0
                end, is_found, is_raw = begin, valid[row] == 1, True
                if is_found:
                    end = _append(offsets, row, out, begin)
                for place in range(begin, end):
                    counts[codes[out[place]]] += 1
                continue
            if op == SKIP or not valid[row]:
                continue
            if op == ADD and is_distinct and collapses and is_raw:
                end, is_raw = _keep_first(out, begin, end, codes, counts), False
            if op == RETRACT:
                if is_found:
                    end = _remove(offsets, row, codes, counts, taken, out, begin, end)
                continue
            is_found = True
            for element in range(offsets[row], offsets[row + 1]):
                if not is_distinct or counts[codes[element]] == 0:
                    counts[codes[element]] += 1
                    out[end] = element
                    end += 1
        for place in range(begin, end):
            counts[codes[out[place]]] = 0
        bounds[g + 1], out_valid[g] = end, is_found
