"""Elements of a group's maps and nested tables; one stays for each key. See `elements`."""

from typing import NamedTuple

import numpy as np

from keyfold.kernels.array_tuples import Gathered, Groups, Lists, count_elements, room_for
from keyfold.kernels.buffers import Mask, Rows, Signs
from keyfold.kernels.folds.elements import NO_LIMIT, append, span
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.ops import ADD, RETRACT, SKIP

_NO_PLACES: Rows = np.empty(0, dtype=np.int64)


@kernel
def _closed(elements: Rows, start: int, stop: int) -> int:
    """Close the gaps (-1) in elements[start:stop]; returns the new end."""
    end = start
    for at in range(start, stop):
        if elements[at] >= 0:
            elements[end] = elements[at]
            end += 1
    return end


@structure("int64[::1]", "int64[::1]", "int8[::1]", "boolean", "int64")
class Keyed(NamedTuple):
    """The code of each element's key, the element's rank, and its use: ADD, SKIP or RETRACT. The
    greatest rank of a key stays, the last of equal ones. With `prefers_first` the first of equal
    ones stays, and the first list is taken as it is. A group has at most `limit` elements.
    """

    codes: Rows
    ranks: Rows
    uses: Signs
    prefers_first: bool = False
    limit: int = NO_LIMIT


@structure("int64[::1]", "int64[::1]")
class Slots(NamedTuple):
    """The place of a code's element in the result; it counts only if the stamp is the group."""

    stamps: Rows
    places: Rows


@kernel
def _enter(
    keyed: Keyed, slots: Slots, out: Rows, element: int, use: int, g: int, end: int, is_full: bool
) -> int:
    """Apply one element to its key; returns the change of the number of elements: -1, 0 or 1."""
    codes, ranks, _, prefers_first, _ = keyed
    stamps, places = slots
    code = codes[element]
    if stamps[code] == g:
        place = places[code]
        if use == RETRACT:
            out[place], stamps[code] = -1, -1
            return -1
        if ranks[element] >= ranks[out[place]] + prefers_first:
            out[place] = element
    elif use == ADD and not is_full:
        stamps[code], places[code], out[end] = g, end, element
        return 1
    return 0


@kernel("void(Groups, Lists, Keyed, Slots, Gathered, int64[::1])")
def latest_by_key(
    groups: Groups, lists: Lists, keyed: Keyed, slots: Slots, out: Gathered, found: Rows
) -> None:
    """Gather one element a key, where first seen; `found`, unless empty, gets each key's place."""
    (ops, order, starts), (offsets, valid), (kept, bounds, is_there) = groups, lists, out
    codes, uses, places, end = keyed.codes, keyed.uses, slots.places, 0
    prefers_first, limit, bounds[0] = keyed.prefers_first, keyed.limit, 0
    for g in range(len(is_there)):
        base, alive, is_there[g] = end, 0, 0
        start, stop = span(groups, g)
        if starts[g + 1] - starts[g] == 1:
            is_there[g] = valid[order[start]]
            end, start = append(lists, order[start], kept, end), stop
            for place in range(base, end if len(found) else base):
                found[kept[place]] = place
        for at in range(start, stop):
            row, sign = order[at], -1 if ops[at] == RETRACT else 1
            if ops[at] == SKIP or not valid[row] or (sign < 0 and not is_there[g]):
                continue
            is_whole, is_there[g] = prefers_first and not is_there[g], 1
            for element in range(offsets[row], offsets[row + 1]):
                use = ADD if is_whole else uses[element] * sign
                if use != SKIP:
                    more = _enter(keyed, slots, kept, element, use, g, end, alive >= limit)
                    alive, end = alive + more, end + max(more, 0)
                    if len(found):
                        found[element] = places[codes[element]]
        end = _closed(kept, base, end)
        bounds[g + 1] = end


def kept_by_key(
    groups: Groups, lists: Lists, keyed: Keyed, count: int, found: Rows = _NO_PLACES
) -> Gathered:
    """The result of `latest_by_key`; `count` is the number of codes."""
    slots = Slots(np.full(count, -1, dtype=np.int64), np.empty(count, dtype=np.int64))
    out = room_for(count_elements(groups, lists)[0], groups)
    latest_by_key(groups, lists, keyed, slots, out, found)
    return out


@kernel("void(int64[::1], int64[::1], int64[::1], uint8[::1], int64[::1])")
def last_valid_in_place(order: Rows, offsets: Rows, places: Rows, valid: Mask, out: Rows) -> None:
    """out[place] is the last valid element of that place, in the order of the rows."""
    for at in range(len(order)):
        for element in range(offsets[order[at]], offsets[order[at] + 1]):
            if places[element] >= 0 and valid[element]:
                out[places[element]] = element
