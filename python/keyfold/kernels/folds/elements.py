"""Elements of a group's lists in one list: all, or each value once, without those retracted.

Elements have codes below a count: equal elements of a group (or elements of one key) have one
code. A group of one row stays as it is. The folding of any other group begins at its last RESET.
Each kernel writes the elements that stay, those of a group behind one another.
"""

import secrets
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import types

from keyfold.kernels.array_tuples import Gathered, Groups, Lists, count_elements, room_for
from keyfold.kernels.buffers import Mask, Rows, Words, ones
from keyfold.kernels.groups.codes import codes
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.keys.comparable import Keys, encode_nullable
from keyfold.kernels.keys.order import compare_bytes
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP

NO_LIMIT = int(np.iinfo(np.int64).max)
_SEED = np.uint64(secrets.randbits(64))


@structure("uint64[::1]", "uint8[::1]", "int64[::1]", "uint8[::1]", "boolean")
class Values(NamedTuple):
    """Elements as they are compared: equal ones have equal words, and if `is_wide` equal bytes."""

    words: Words
    valid: Mask
    offsets: Rows
    data: Mask
    is_wide: bool


@structure("int64[::1]", "int64[::1]", "uint64")
class Table(NamedTuple):
    """A hash table: if stamps[i] is the group, place i is taken, by element firsts[i]. Nobody who
    writes values knows the seed: those that share places would take quadratic time.
    """

    stamps: Rows
    firsts: Rows
    seed: Any


@kernel("void(int64[::1], uint8[::1], uint64[::1])")
def hash_bytes(offsets: Rows, data: Mask, out: Words) -> None:
    """A hash of each byte string."""
    for row in range(len(out)):
        hashed = np.uint64(0xCBF29CE484222325)
        for at in range(offsets[row], offsets[row + 1]):
            hashed = (hashed ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        out[row] = hashed


@kernel
def _place(values: Values, table: Table, element: int, g: int) -> int:
    """The place of an equal element in the table, or else the free place for this one."""
    words, valid, offsets, data, is_wide = values
    stamps, firsts, seed = table
    word, mask = words[element], np.uint64(len(stamps) - 1)
    place = (word ^ seed) * np.uint64(0x9E3779B97F4A7C15)
    place = (place ^ (place >> np.uint64(32)) ^ seed) * np.uint64(0xC4CEB9FE1A85EC53)
    place = (place ^ (place >> np.uint64(32))) & mask
    while stamps[place] == g:
        first = firsts[place]
        is_like = words[first] == word and valid[first] == valid[element]
        if is_like and not (is_wide and compare_bytes(offsets, data, first, element, 0)):
            break
        place = (place + np.uint64(1)) & mask
    return int(place)


@kernel("void(Groups, Lists, Values, Table, int64[::1])")
def code_in_groups(groups: Groups, lists: Lists, values: Values, table: Table, codes: Rows) -> None:
    """codes[element] counts up from 0 in each group; equal elements of a group have one code.

    The table has room for twice the elements of a group. Its size is a power of two.
    """
    _, order, starts = groups
    offsets, valid = lists
    stamps, firsts, _ = table
    for g in range(len(starts) - 1):
        count = 0
        for at in range(starts[g], starts[g + 1]):
            row = order[at]
            if not valid[row]:
                continue
            for element in range(offsets[row], offsets[row + 1]):
                place = _place(values, table, element, g)
                if stamps[place] == g:
                    codes[element] = codes[firsts[place]]
                else:
                    stamps[place], firsts[place], codes[element] = g, element, count
                    count += 1


def code_elements(groups: Groups, lists: Lists, values: pa.Array, most: int) -> Rows:
    """A code for each element, below the number `most` of elements of the largest group. Equal
    values of a group have the same code.
    """
    if types.is_nested(values.type):
        keys, valid = Keys(codes([values])[0].view(np.uint64)), ones(len(values))
    else:
        keys, valid = encode_nullable(values)
    words = keys.words
    if keys.is_wide:
        words = np.empty(len(valid), dtype=np.uint64)
        hash_bytes(keys.offsets, keys.data, words)
    size = 1 << (2 * most).bit_length()
    table = Table(np.full(size, -1, np.int64), np.empty(size, np.int64), _SEED)
    found = np.empty(len(valid), dtype=np.int64)
    compared = Values(words, valid, keys.offsets, keys.data, keys.is_wide)
    code_in_groups(groups, lists, compared, table, found)
    return found


@kernel
def append(lists: Lists, row: int, out: Rows, end: int) -> int:
    """Append all elements of a row's list to out[:end]; returns the new end."""
    offsets, valid = lists
    if valid[row]:
        for element in range(offsets[row], offsets[row + 1]):
            out[end] = element
            end += 1
    return end


@kernel("void(Groups, Lists, Gathered)")
def concatenate(groups: Groups, lists: Lists, out: Gathered) -> None:
    """Gather all elements in order. There must be no retractions."""
    ops, order, starts = groups
    valid = lists.valid
    elements, bounds, found = out
    end, bounds[0] = 0, 0
    for g in range(len(found)):
        begin, is_found = end, False
        for at in range(starts[g], starts[g + 1]):
            if ops[at] == RESET:
                end, is_found = begin, False
            if ops[at] != SKIP and valid[order[at]]:
                end, is_found = append(lists, order[at], elements, end), True
        bounds[g + 1], found[g] = end, is_found


@kernel
def span(groups: Groups, g: int) -> tuple[int, int]:
    """The start of a group's folding, its last RESET if it has one, and its end."""
    ops, _, starts = groups
    start, stop = starts[g], starts[g + 1]
    for at in range(stop - 1, start - 1, -1):
        if ops[at] == RESET:
            return at, stop
    return start, stop


@structure("int64[::1]", "uint8[::1]")
class Coded(NamedTuple):
    """The code of each element, and whether the element counts at all."""

    codes: Rows
    used: Mask


@structure("boolean", "boolean", "boolean", "int64")
class Rules(NamedTuple):
    """Whether each value comes once; if so, whether the next added list also drops the duplicates
    that a reset left; whether a retraction removes all equal elements or one; the most elements.
    """

    is_distinct: bool
    collapses: bool
    removes_all: bool
    limit: int


@structure("int64[::1]", "int64[::1]")
class Tally(NamedTuple):
    """How often a code is in the result, and how often it is to be removed. Both are zero before
    and after each group.
    """

    counts: Rows
    taken: Rows


@kernel
def _forget(codes: Rows, counts: Rows, elements: Rows, begin: int, end: int) -> None:
    """Set the counts of elements[begin:end] back to zero."""
    for at in range(begin, end):
        counts[codes[elements[at]]] = 0


@kernel
def _keep_first(codes: Rows, counts: Rows, elements: Rows, begin: int, end: int) -> int:
    """Drop elements whose code came before; returns the new end."""
    _forget(codes, counts, elements, begin, end)
    kept = begin
    for at in range(begin, end):
        code = codes[elements[at]]
        if counts[code] == 0:
            counts[code], elements[kept] = 1, elements[at]
            kept += 1
    return kept


@kernel
def _remove(
    lists: Lists,
    row: int,
    coded: Coded,
    tally: Tally,
    every: bool,
    out: Rows,
    start: int,
    end: int,
) -> int:
    """For each element of the row, drop the first equal one of out[start:end], or if `every` all
    equal ones; returns the new end.
    """
    offsets, (codes, used), (counts, taken), kept = lists.offsets, coded, tally, start
    for element in range(offsets[row], offsets[row + 1]):
        taken[codes[element]] += used[element]
    for at in range(start, end):
        code = codes[out[at]]
        if taken[code] > 0:
            taken[code] -= not every
            counts[code] -= 1
        else:
            out[kept] = out[at]
            kept += 1
    for element in range(offsets[row], offsets[row + 1]):
        taken[codes[element]] = 0
    return kept


@kernel
def _add(
    lists: Lists,
    row: int,
    coded: Coded,
    counts: Rows,
    is_distinct: bool,
    out: Rows,
    end: int,
    most: int,
) -> int:
    """Add a row's elements to out[:end], none beyond `most`; returns the new end."""
    offsets, (codes, used) = lists.offsets, coded
    for element in range(offsets[row], offsets[row + 1]):
        code = codes[element]
        if used[element] and end < most and not (is_distinct and counts[code]):
            counts[code] += 1
            out[end] = element
            end += 1
    return end


@kernel("void(Groups, Lists, Coded, Rules, Tally, Gathered)")
def collect_values(
    groups: Groups, lists: Lists, coded: Coded, rules: Rules, tally: Tally, out: Gathered
) -> None:
    """Gather the elements in order, by the rules. One retraction may remove several."""
    (ops, order, starts), valid, codes = groups, lists.valid, coded.codes
    (kept, bounds, is_there), counts, end = out, tally.counts, 0
    (is_distinct, collapses, removes_all, limit), bounds[0] = rules, 0
    for g in range(len(is_there)):
        begin, is_raw, is_there[g] = end, False, 0
        most = begin + min(limit, len(kept))
        start, stop = span(groups, g)
        if starts[g + 1] - starts[g] == 1 and ops[start] != SKIP:
            is_there[g] = valid[order[start]]
            end, start = append(lists, order[start], kept, end), stop
        for at in range(start, stop):
            row, op = order[at], ops[at]
            if op == SKIP or not valid[row] or (op == RETRACT and not is_there[g]):
                continue
            if op == RETRACT:
                end = _remove(lists, row, coded, tally, removes_all, kept, begin, end)
                continue
            is_once = is_distinct and op == ADD
            if is_once and collapses and is_raw:
                end = _keep_first(codes, counts, kept, begin, end)
            is_raw, is_there[g] = op == RESET, 1
            end = _add(lists, row, coded, counts, is_once, kept, end, most)
        _forget(codes, counts, kept, begin, end)
        bounds[g + 1] = end


def collected(
    groups: Groups, lists: Lists, values: pa.Array, rules: Rules, used: Mask | None = None
) -> Gathered:
    """The result of `collect_values` over the elements that are `used`, by default all."""
    total, most = count_elements(groups, lists)
    out, count = room_for(total, groups), len(values)
    is_plain = not rules.is_distinct and not (groups.ops == RETRACT).any()
    if is_plain and rules.limit == NO_LIMIT and (used is None or used.all()):
        concatenate(groups, lists, out)
        return out
    if is_plain:
        found, most = np.zeros(count, np.int64), 1
    else:
        found = code_elements(groups, lists, values, most)
    tally = Tally(np.zeros(most, np.int64), np.zeros(most, np.int64))
    coded = Coded(found, ones(count) if used is None else used)
    collect_values(groups, lists, coded, rules, tally, out)
    return out
