"""The bytes of DataSketches' HLL sketches in all of their forms: checked, and read as sets of items
(`folds.item_sets`).

A sketch begins with the words of its head, the version 1, the family 7, lgK, lgArr, flags, a count
or the least register, and its form: a list or a hash set of items, or registers of 4, 6 or 8 bits.
Registers of 4 bits are above the least one; 15 stands for one that is behind them, with its slot.
DataSketches' own reader trusts counts, so no bytes get to it that are not checked here. Bytes that
follow a sketch are ignored, as they are there.
"""

from typing import Any

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.folds.item_sets import (
    ESTIMATE_BYTES,
    REGISTERS,
    SKETCH_BYTES,
    Given,
)
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel
from keyfold.kernels.roaring.containers import bad, number

DENSE = -1
ENDS, HEAD, SIZE, COUNT, ITEM, REGISTER, BEHIND, ESTIMATE = range(1, 9)
PROBLEMS = (
    "",
    "it ends before what it announces",
    "there is no head of an HLL sketch of version 1",
    "there is no size that an HLL sketch can have",
    "there is no count that its form can hold",
    "there is no item, or not in its place, or are not as many as announced",
    "a register is above 63",
    "the registers above 14 do not match those behind the others",
    "there is no estimate",
)
_VALUE, _SLOT, _GREATEST = 26, (1 << 26) - 1, 63
_LIST, _SET, _HLL = 0, 1, 2
_HLL_4, _HLL_6, _HLL_8 = 0, 1, 2
_EMPTY, _COMPACT, _UNITED = 4, 8, 16
_HEAD, _SET_AT, _REGISTERS_AT, _ESTIMATE_AT, _LEAST_COUNT_AT, _BEHIND_AT = 8, 12, 40, 8, 32, 36
_IN_LIST, _ROOM_OF_LIST, _LEAST_ROOM, _FINER = 7, 8, 5, 3
_ELSEWHERE, _MOST_PROBES = 15, 1 << 10
_LG_K, _LEAST_LG_K, _LEAST_LG_K_OF_SET, _MOST_LG_K = 12, 4, 8, 21
_MOST_SEEN, _MOST_SUM = 0x43D0000000000000, 0x4140000000000000  # 2^62 and 2^21 as DOUBLE


@kernel("int64(uint8[::1], int64, int64, int64)")
def items_in(part: Mask, at: int, room: int, count: int) -> int:
    """The room, if there are `count` items in it, else a problem."""
    found = 0
    for place in range(at, at + 4 * room, 4):
        item = number(part, place, 4)
        if item and not item >> _VALUE:
            return bad(place, ITEM)
        found += item != 0
    return room if found == count else bad(at, ITEM)


@kernel("int64(uint8[::1])")
def repeated(part: Mask) -> int:
    """The place of an item of a list that is in it twice, -1 if none is."""
    stop = _HEAD + 4 * number(part, 6, 1)
    for place in range(_HEAD, stop, 4):
        for other in range(place + 4, stop, 4):
            if number(part, place, 4) == number(part, other, 4):
                return other
    return -1


@kernel("int64(uint8[::1], int64)")
def misplaced(part: Mask, lg_room: int) -> int:
    """The place of an item of a hash set that is not found there, -1 if each is: a set that grows
    expects that.
    """
    mask = (1 << lg_room) - 1
    for own in range(1 << lg_room):
        item = number(part, _SET_AT + 4 * own, 4)
        probe, steps = item & mask, 0
        while item and probe != own:
            other = number(part, _SET_AT + 4 * probe, 4)
            steps += 1
            if other == 0 or other == item or steps > _MOST_PROBES:
                return _SET_AT + 4 * own
            probe = (probe + ((item & _SLOT) >> lg_room | 1)) & mask
    return -1


@kernel("int64(uint8[::1])")
def list_in(part: Mask) -> int:
    """How many items a list has, or a problem."""
    count = number(part, 6, 1)
    if count > (0 if part[5] & _EMPTY else _IN_LIST):
        return bad(6, COUNT)
    room = count if part[5] & _COMPACT else _ROOM_OF_LIST
    if _HEAD + 4 * room > len(part):
        return bad(len(part), ENDS)
    found, twice = items_in(part, _HEAD, count, count), repeated(part)
    return bad(twice, ITEM) if found >= 0 and twice >= 0 else found


@kernel("int64(uint8[::1])")
def set_in(part: Mask) -> int:
    """How many places a hash set has, those of no item among them, or a problem."""
    if len(part) < _SET_AT:
        return bad(len(part), ENDS)
    count, most = number(part, 8, 4), number(part, 3, 1) - _FINER
    if most < _LEAST_ROOM:
        return bad(3, SIZE)
    if part[5] & _EMPTY or 4 * count > 3 << most:
        return bad(8, COUNT)
    is_compact, lg_room = part[5] & _COMPACT != 0, number(part, 4, 1)
    if lg_room < _LEAST_ROOM:
        lg_room = _LEAST_ROOM
        while 4 * count > 3 << lg_room:
            lg_room += 1
    if not is_compact and (lg_room > most or 4 * count > 3 << lg_room):
        return bad(4, SIZE)
    room = count if is_compact else 1 << lg_room
    if _SET_AT + 4 * room > len(part):
        return bad(len(part), ENDS)
    found = items_in(part, _SET_AT, room, count)
    wrong = -1 if is_compact or found < 0 else misplaced(part, lg_room)
    return found if wrong < 0 else bad(wrong, ITEM)


@kernel("int64(uint8[::1], int64, int64)")
def register(part: Mask, kind: int, slot: int) -> int:
    """The register of a slot; those of 4 bits are as they are stored."""
    if kind == _HLL_4:
        return (number(part, _REGISTERS_AT + slot // 2, 1) >> 4 * (slot & 1)) & 15
    if kind == _HLL_6:
        return (number(part, _REGISTERS_AT + 6 * slot // 8, 2) >> 6 * slot % 8) & 63
    return number(part, _REGISTERS_AT + slot, 1)


@kernel("int64(uint8[::1])")
def behind(part: Mask) -> int:
    """How many places there are for registers behind those of 4 bits."""
    count = number(part, _BEHIND_AT, 4)
    if part[5] & _COMPACT or count == 0:
        return count
    return 1 << min(number(part, 4, 1), _MOST_LG_K + 1)


@kernel("int64(uint8[::1], int64, uint8[::1])")
def registers_behind(part: Mask, count: int, seen: Mask) -> int:
    """DENSE if there are `count` registers behind those of 4 bits, each of a slot of its own that
    refers to it; else a problem. `seen` has a 0 for each slot, before and after.
    """
    slots, least = 1 << number(part, 3, 1), number(part, 6, 1) + _ELSEWHERE
    first, room, found, wrong = _REGISTERS_AT + slots // 2, behind(part), 0, -1
    for i in range(room):
        pair = number(part, first + 4 * i, 4)
        slot = pair & _SLOT
        if pair or part[5] & _COMPACT:
            found += 1
            is_one = slot < slots and pair >> _VALUE >= least
            if not is_one or register(part, _HLL_4, slot) != _ELSEWHERE or seen[slot]:
                wrong = i
                break
            seen[slot] = 1
    for i in range(room if wrong < 0 else wrong):
        pair = number(part, first + 4 * i, 4)
        if pair:
            seen[pair & _SLOT] = 0
    if wrong >= 0 or found != count:
        return bad(first + 4 * max(wrong, 0), BEHIND)
    return DENSE


@kernel("int64(uint8[::1], int64, uint8[::1])")
def registers_in(part: Mask, kind: int, seen: Mask) -> int:
    """DENSE if all registers of a sketch are right, else a problem."""
    least = number(part, 6, 1) if kind == _HLL_4 else 0
    elsewhere, greatest = 0, 0
    if kind != _HLL_6:
        for slot in range(1 << number(part, 3, 1)):
            value = register(part, kind, slot)
            if kind == _HLL_4 and value == _ELSEWHERE:
                elsewhere += 1
            else:
                greatest = max(greatest, value + least)
    if greatest > _GREATEST:
        return bad(_REGISTERS_AT, REGISTER)
    if elsewhere != number(part, _BEHIND_AT, 4):
        return bad(_BEHIND_AT, BEHIND)
    return registers_behind(part, elsewhere, seen) if elsewhere else DENSE


@kernel("int64(uint8[::1], uint8[::1])")
def dense_in(part: Mask, seen: Mask) -> int:
    """DENSE if a sketch with registers is one, else a problem."""
    if len(part) < _REGISTERS_AT:
        return bad(len(part), ENDS)
    slots, kind = 1 << number(part, 3, 1), number(part, 7, 1) >> 2
    size = slots // 2 if kind == _HLL_4 else slots * 3 // 4 + 1 if kind == _HLL_6 else slots
    more = 4 * behind(part) if kind == _HLL_4 else 0
    if _REGISTERS_AT + size + more > len(part):
        return bad(len(part), ENDS)
    if part[6] > _GREATEST:
        return bad(6, REGISTER)
    if more and not part[5] & _COMPACT and part[4] > part[3]:
        return bad(4, SIZE)
    for at in range(_ESTIMATE_AT, _ESTIMATE_AT + 24, 8):  # its estimate, and sums of its registers
        if not 0 <= number(part, at, 8) <= (_MOST_SEEN if at == _ESTIMATE_AT else _MOST_SUM):
            return bad(at, ESTIMATE)
    if number(part, _ESTIMATE_AT + 8, 8) == 0 and number(part, _ESTIMATE_AT + 16, 8) == 0:
        return bad(_ESTIMATE_AT + 8, ESTIMATE)
    if number(part, _LEAST_COUNT_AT, 4) > slots:
        return bad(_LEAST_COUNT_AT, COUNT)
    return registers_in(part, kind, seen)


@kernel("int64(uint8[::1], uint8[::1])")
def sketch_in(part: Mask, seen: Mask) -> int:
    """How many places for items a sketch has, DENSE if it has registers, or a problem."""
    if len(part) < _HEAD:
        return bad(len(part), ENDS)
    head, form, lg_k = part[0], part[7] & 3, part[3]
    is_head = head == 2 if form == _LIST else head == 3 if form == _SET else head == 10
    if not is_head or part[1] != 1 or part[2] != 7 or form > _HLL or part[7] >> 2 > _HLL_8:
        return bad(0, HEAD)
    if lg_k < _LEAST_LG_K or lg_k > _MOST_LG_K:
        return bad(3, SIZE)
    if form == _HLL:
        return dense_in(part, seen)
    return list_in(part) if form == _LIST else set_in(part)


@kernel("void(uint8[::1], int64[::1], uint8[::1], uint8[::1], int64[::1])")
def plan_sketches(data: Mask, bounds: Rows, valid: Mask, seen: Mask, plans: Rows) -> None:
    """Write for each row the number of places for its items, DENSE if it has registers, or a
    problem. `seen` are zeros, twice as many as the longest row has bytes.
    """
    for row in range(len(plans)):
        plans[row] = sketch_in(data[bounds[row] : bounds[row + 1]], seen) if valid[row] else 0


def plans_of(data: Mask, bounds: Rows, valid: Mask) -> Rows:
    """The plans that `plan_sketches` writes."""
    plans = np.empty(len(valid), dtype=np.int64)
    seen = np.zeros(2 * int(np.diff(bounds).max(initial=0)), dtype=np.uint8)
    plan_sketches(data, bounds, valid, seen, plans)
    return plans


@kernel("void(uint8[::1], uint8[::1], int64)")
def put_registers(part: Mask, out: Mask, at: int) -> None:
    """Write the registers of a sketch as a dense set; many slots become fewer."""
    lg_k, kind = number(part, 3, 1), number(part, 7, 1) >> 2
    least = number(part, 6, 1) if kind == _HLL_4 else 0
    for slot in range(1 << lg_k):
        value, to = register(part, kind, slot), at + slot % REGISTERS
        if kind != _HLL_4 or value != _ELSEWHERE:
            out[to] = max(out[to], value + least)
    for i in range(behind(part) if kind == _HLL_4 else 0):
        pair = number(part, _REGISTERS_AT + (1 << lg_k) // 2 + 4 * i, 4)
        to = at + (pair & _SLOT) % REGISTERS
        out[to] = max(out[to], pair >> _VALUE)
    if not part[5] & _UNITED:
        for i in range(ESTIMATE_BYTES):
            out[at + REGISTERS + i] = part[_ESTIMATE_AT + i]
    out[at + REGISTERS + ESTIMATE_BYTES] = max(_LG_K - lg_k, 0)


@kernel("int64(uint8[::1], int64[::1], int32[::1], int64[::1], Given, Given, uint64[::1])")
def read_sketches(
    data: Mask, bounds: Rows, groups: Numbers, plans: Rows, few: Given, many: Given, dense: Words
) -> int:
    """Write the items of sketches, which are counted, and the dense sets, which are empty yet."""
    some, large = 0, 0
    for row in range(len(plans)):
        start = bounds[row]
        if plans[row] == DENSE:
            many.groups[large] = groups[row]
            part = data[start : bounds[row + 1]]
            put_registers(part, dense.view(np.uint8), large * SKETCH_BYTES)
            large += 1
        at = start + (_HEAD if data[start + 7] & 3 == _LIST else _SET_AT) if plans[row] > 0 else 0
        for i in range(plans[row]):
            item: Any = number(data, at + 4 * i, 4)
            if item:
                few.groups[some], few.items[some] = groups[row], np.uint32(item)
                some += 1
    return some
