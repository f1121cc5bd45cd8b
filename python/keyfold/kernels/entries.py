"""Folding nested rows and map entries: which elements of a group's arrays stay, by their key.

Arrays are given flat: row r holds the elements offsets[r] to offsets[r + 1]. An element has a code
(equal keys, equal codes), a rank that decides between elements of one code, and a use: 0 drops it.
Elements stay where their key was first seen. All write out[bounds[g]:bounds[g + 1]] for group g,
and whether the group has an array at all. A group begins at its last RESET; the array of a group
of one row stays as it is.
"""

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Signs
from keyfold.kernels.jit import kernel
from keyfold.kernels.ops import RESET, RETRACT, SKIP

_ROWS = "int8[::1], int64[::1], int64[::1], int64[::1], uint8[::1]"
_OUT = "int64[::1], int64[::1], int64[::1], int64[::1], uint8[::1]"


@kernel
def _begin(ops: Signs, start: int, stop: int) -> int:
    """Where the folding of a group begins: at its last RESET."""
    for at in range(stop - 1, start - 1, -1):
        if ops[at] == RESET:
            return at
    return start


@kernel
def _closed(out: Rows, start: int, stop: int) -> int:
    """Close the gaps (-1) in out[start:stop]; the new end."""
    end = start
    for at in range(start, stop):
        if out[at] >= 0:
            out[end] = out[at]
            end += 1
    return end


@kernel
def _verbatim(
    row: int, offsets: Rows, valid: Mask, g: int, out: Rows, end: int, out_valid: Mask
) -> int:
    """All elements of one row; the new end."""
    out_valid[g] = valid[row]
    if valid[row]:
        for element in range(offsets[row], offsets[row + 1]):
            out[end] = element
            end += 1
    return end


@kernel(f"void({_ROWS}, int64[::1], int64[::1], uint8[::1], int64, {_OUT})")
def latest_by_key(
    ops: Signs,
    order: Rows,
    starts: Rows,
    offsets: Rows,
    valid: Mask,
    codes: Rows,
    ranks: Rows,
    used: Mask,
    limit: int,
    stamp: Rows,
    slot: Rows,
    out: Rows,
    bounds: Rows,
    out_valid: Mask,
) -> None:
    """One element a key: the last of the greatest rank. New keys only below `limit`; a retraction
    removes its keys. `stamp` (-1) and `slot` have a place a code.
    """
    end = 0
    bounds[0] = 0
    for g in range(len(starts) - 1):
        if starts[g + 1] == starts[g] + 1:
            end = _verbatim(order[starts[g]], offsets, valid, g, out, end, out_valid)
            bounds[g + 1] = end
            continue
        base, alive = end, 0
        out_valid[g] = 0
        for at in range(_begin(ops, starts[g], starts[g + 1]), starts[g + 1]):
            row = order[at]
            if ops[at] == SKIP or not valid[row] or (ops[at] == RETRACT and not out_valid[g]):
                continue
            out_valid[g] = 1
            for element in range(offsets[row], offsets[row + 1]):
                code = codes[element]
                is_known = stamp[code] == g
                if not used[element]:
                    continue
                if ops[at] == RETRACT:
                    if is_known:
                        out[slot[code]], stamp[code] = -1, -1
                        alive -= 1
                elif is_known:
                    if ranks[element] >= ranks[out[slot[code]]]:
                        out[slot[code]] = element
                elif alive < limit:
                    stamp[code], slot[code], out[end] = g, end, element
                    end += 1
                    alive += 1
        end = _closed(out, base, end)
        bounds[g + 1] = end


@kernel(f"void({_ROWS}, int64[::1], uint8[::1], int64, int64[::1], int64[::1], uint8[::1])")
def appended(
    ops: Signs,
    order: Rows,
    starts: Rows,
    offsets: Rows,
    valid: Mask,
    codes: Rows,
    used: Mask,
    limit: int,
    out: Rows,
    bounds: Rows,
    out_valid: Mask,
) -> None:
    """All elements in order, up to `limit`; a retraction removes every equal one. `codes` are only
    looked at where there is a retraction.
    """
    end = 0
    bounds[0] = 0
    for g in range(len(starts) - 1):
        if starts[g + 1] == starts[g] + 1:
            end = _verbatim(order[starts[g]], offsets, valid, g, out, end, out_valid)
            bounds[g + 1] = end
            continue
        base = end
        out_valid[g] = 0
        for at in range(_begin(ops, starts[g], starts[g + 1]), starts[g + 1]):
            row = order[at]
            if ops[at] == SKIP or not valid[row] or (ops[at] == RETRACT and not out_valid[g]):
                continue
            out_valid[g] = 1
            for element in range(offsets[row], offsets[row + 1]):
                if used[element] and ops[at] == RETRACT:
                    for place in range(base, end):
                        if codes[out[place]] == codes[element]:
                            out[place] = -1
                    end = _closed(out, base, end)
                elif used[element] and end - base < limit:
                    out[end] = element
                    end += 1
        bounds[g + 1] = end


@kernel(f"void({_ROWS}, int64[::1], int64[::1], uint8[::1], {_OUT})")
def newest_by_time(
    ops: Signs,
    order: Rows,
    starts: Rows,
    offsets: Rows,
    valid: Mask,
    codes: Rows,
    times: Rows,
    held: Mask,
    stamp: Rows,
    slot: Rows,
    out: Rows,
    bounds: Rows,
    out_valid: Mask,
) -> None:
    """One element a key: the first array's as they are, then whatever has a later time (0 = null).

    An element without a value (`held` 0) removes its key, one without a time changes nothing.
    """
    end = 0
    bounds[0] = 0
    for g in range(len(starts) - 1):
        if starts[g + 1] == starts[g] + 1:
            end = _verbatim(order[starts[g]], offsets, valid, g, out, end, out_valid)
            bounds[g + 1] = end
            continue
        base = end
        out_valid[g] = 0
        for at in range(_begin(ops, starts[g], starts[g + 1]), starts[g + 1]):
            row = order[at]
            if ops[at] == SKIP or not valid[row]:
                continue
            for element in range(offsets[row], offsets[row + 1]):
                code = codes[element]
                is_known = stamp[code] == g
                if out_valid[g] and not held[element]:
                    if is_known:
                        out[slot[code]], stamp[code] = -1, -1
                elif out_valid[g] and times[element] == 0:
                    continue
                elif not is_known:
                    stamp[code], slot[code], out[end] = g, end, element
                    end += 1
                else:
                    stored = out[slot[code]]
                    if not held[stored] or times[element] > times[stored]:
                        out[slot[code]] = element
            out_valid[g] = 1
        end = _closed(out, base, end)
        bounds[g + 1] = end


@kernel(f"void({_ROWS}, int64[::1], {_OUT}, uint8[::1])")
def slots_by_key(
    ops: Signs,
    order: Rows,
    starts: Rows,
    offsets: Rows,
    valid: Mask,
    codes: Rows,
    stamp: Rows,
    slot: Rows,
    out: Rows,
    bounds: Rows,
    out_valid: Mask,
    used: Mask,
) -> None:
    """out[element] is the place in the result of the element's key, -1 if it is not used."""
    end = 0
    bounds[0] = 0
    for g in range(len(starts) - 1):
        out_valid[g] = 0
        is_lone = starts[g + 1] == starts[g] + 1
        for at in range(_begin(ops, starts[g], starts[g + 1]), starts[g + 1]):
            row = order[at]
            if ops[at] == SKIP or not valid[row]:
                continue
            out_valid[g] = 1
            for element in range(offsets[row], offsets[row + 1]):
                code = codes[element]
                if not used[element] and not is_lone:
                    continue
                if stamp[code] != g or is_lone:
                    stamp[code], slot[code] = g, end
                    end += 1
                out[element] = slot[code]
        bounds[g + 1] = end


@kernel("void(int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1])")
def last_valid_in_slot(order: Rows, offsets: Rows, slots: Rows, valid: Mask, picks: Rows) -> None:
    """picks[slot] is the last valid element of that slot, in the order of the rows."""
    for at in range(len(order)):
        for element in range(offsets[order[at]], offsets[order[at] + 1]):
            if slots[element] >= 0 and valid[element]:
                picks[slots[element]] = element


def places(count: int) -> tuple[Rows, Rows]:
    """`stamp` and `slot` for so many codes."""
    return np.full(count, -1, dtype=np.int64), np.empty(count, dtype=np.int64)
