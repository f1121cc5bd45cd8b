"""Texts of a group joined into one, their bytes copied once, with or without repeated parts.

A group of one row stays as it is, also a blank text. `out` has room for every text with a
delimiter, and all positions are 64 bits wide. Texts are blank if Java's Character.isWhitespace
holds for every letter, or empty.
"""

from typing import NamedTuple

import numpy as np

from keyfold.kernels.array_tuples import Groups, Texts
from keyfold.kernels.buffers import Mask, Rows
from keyfold.kernels.jit import kernel, structure
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP


@structure("uint8[::1]", "uint8[::1]", "boolean", "boolean")
class Joint(NamedTuple):
    """The bytes between two texts, and the bytes that split them into parts; whether a joined text
    may split into other parts than were put in, so that it is split again before each row; whether
    blank texts are left out.
    """

    delimiter: Mask
    separator: Mask
    splits_again: bool
    skips_blank: bool


@structure("int64[::1]", "int64[::1]")
class Parts(NamedTuple):
    """A hash table of parts of the text that is made. If stamps[i] is the present stamp, place i is
    taken, by the bytes bounds[2 * i] to bounds[2 * i + 1].
    """

    stamps: Rows
    bounds: Rows


@kernel
def _space(data: Mask, at: int, stop: int) -> int:
    """The number of UTF-8 bytes of the whitespace at data[at]; 0 if another letter is there."""
    first = data[at]
    if first < 0x80:
        return 1 if 0x09 <= first <= 0x0D or 0x1C <= first <= 0x20 else 0
    if at + 2 >= stop or first < 0xE1 or first > 0xE3:
        return 0
    letter = (first & 15) << 12 | (data[at + 1] & 63) << 6 | (data[at + 2] & 63)
    is_quad = 0x2000 <= letter <= 0x200A and letter != 0x2007
    is_other = letter in (0x1680, 0x2028, 0x2029, 0x205F, 0x3000)
    return 3 if is_quad or is_other else 0


@kernel
def is_blank(data: Mask, start: int, stop: int) -> bool:
    """Whether data[start:stop] holds only whitespace."""
    at = start
    while at < stop:
        length = _space(data, at, stop)
        if length == 0:
            return False
        at += length
    return True


@kernel
def _copy(source: Mask, start: int, stop: int, out: Mask, at: int) -> int:
    """Copy source[start:stop] to out[at:]; returns the end of the copy."""
    for i in range(stop - start):
        out[at + i] = source[start + i]
    return at + stop - start


@kernel("void(Texts, Groups, Joint, Texts)")
def join_texts(texts: Texts, groups: Groups, joint: Joint, out: Texts) -> None:
    """Write text g: the texts of group g, with the delimiter between two."""
    (offsets, data, valid), (ops, order, starts) = texts, groups
    (out_offsets, joined, out_valid), (delimiter, _, _, skips_blank) = out, joint
    end, out_offsets[0] = 0, 0
    for g in range(len(out_valid)):
        begin, is_found, is_open = end, False, True
        is_lone = starts[g + 1] - starts[g] == 1
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            if op == RESET or (is_lone and op != SKIP):
                end, is_found = begin, valid[row] == 1
                if is_found:
                    end = _copy(data, offsets[row], offsets[row + 1], joined, begin)
                is_open = not is_found or (skips_blank and is_blank(joined, begin, end))
                if is_open and not is_lone:
                    end, is_found = begin, False
                continue
            if op != ADD or not valid[row]:
                continue
            if skips_blank and is_blank(data, offsets[row], offsets[row + 1]):
                continue
            end = begin if is_open else _copy(delimiter, 0, len(delimiter), joined, end)
            end = _copy(data, offsets[row], offsets[row + 1], joined, end)
            is_found, is_open = True, False
        out_offsets[g + 1], out_valid[g] = end, is_found


@kernel
def _part(data: Mask, start: int, stop: int, separator: Mask) -> int:
    """The end of the part of data[start:stop] that begins at `start`: a separator or `stop`."""
    size = len(separator)
    for at in range(start, stop - size + 1):
        same = 0
        while same < size and data[at + same] == separator[same]:
            same += 1
        if same == size:
            return at
    return stop


@kernel
def _slot(source: Mask, start: int, stop: int, out: Mask, stamp: int, parts: Parts) -> int:
    """The place of the part source[start:stop] in the table, or else the free place for it."""
    stamps, bounds = parts
    hashed = np.uint64(0xCBF29CE484222325)
    for i in range(start, stop):
        hashed = (hashed ^ np.uint64(source[i])) * np.uint64(0x100000001B3)
    mask = len(stamps) - 1
    place = int(hashed ^ (hashed >> np.uint64(32))) & mask
    while stamps[place] == stamp:
        own, length = bounds[2 * place], bounds[2 * place + 1] - bounds[2 * place]
        same = 0 if length == stop - start else -1
        while 0 <= same < length and out[own + same] == source[start + same]:
            same += 1
        if same == length:
            return place
        place = (place + 1) & mask
    return place


@kernel
def _remember(out: Mask, start: int, stop: int, separator: Mask, stamp: int, parts: Parts) -> None:
    """Put all parts of out[start:stop] into the table."""
    stamps, bounds = parts
    at = start
    while at <= stop:
        end = _part(out, at, stop, separator)
        place = _slot(out, at, end, out, stamp, parts)
        stamps[place], bounds[2 * place], bounds[2 * place + 1] = stamp, at, end
        at = end + len(separator) if end < stop else stop + 1


@kernel
def _add_new(
    data: Mask, start: int, stop: int, joint: Joint, stamp: int, parts: Parts, out: Mask, end: int
) -> int:
    """Add the parts of data[start:stop] that are not blank or in the table; returns the new end."""
    (delimiter, separator, _, _), (stamps, bounds) = joint, parts
    while start <= stop:
        part = _part(data, start, stop, separator)
        place = _slot(data, start, part, out, stamp, parts)
        if stamps[place] != stamp and not is_blank(data, start, part):
            own = _copy(delimiter, 0, len(delimiter), out, end)
            end = _copy(data, start, part, out, own)
            stamps[place], bounds[2 * place], bounds[2 * place + 1] = stamp, own, end
        start = part + len(separator) if part < stop else stop + 1
    return end


@kernel("void(Texts, Groups, Joint, Parts, Texts)")
def join_distinct(texts: Texts, groups: Groups, joint: Joint, parts: Parts, out: Texts) -> None:
    """`join_texts` without parts that are blank or already there. The first text stays as it is.
    The table has room for twice the parts of a group. Its size is a power of two.
    """
    (offsets, data, valid), (ops, order, starts), stamp = texts, groups, 0
    (out_offsets, joined, out_valid), (_, separator, splits_again, skips_blank) = out, joint
    end, out_offsets[0] = 0, 0
    for g in range(len(out_valid)):
        begin, is_found, is_open, is_split = end, False, True, False
        is_lone = starts[g + 1] - starts[g] == 1
        for at in range(starts[g], starts[g + 1]):
            row, op = order[at], ops[at]
            start, stop, is_new = offsets[row], offsets[row + 1], op == RESET or is_lone
            if op in (SKIP, RETRACT) or (op == ADD and not valid[row]):
                continue
            if is_new:
                is_found, is_split = valid[row] == 1, False
                end = _copy(data, start, stop if is_found else start, joined, begin)
                is_open = not is_found or (skips_blank and is_blank(joined, begin, end))
                if is_open and not is_lone:
                    end, is_found = begin, False
            elif is_open and not (skips_blank and is_blank(data, start, stop)):
                end, is_found, is_open = _copy(data, start, stop, joined, begin), True, False
            elif not (skips_blank and is_blank(data, start, stop)):
                if splits_again or not is_split:
                    stamp, is_split = stamp + 1, True
                    _remember(joined, begin, end, separator, stamp, parts)
                end = _add_new(data, start, stop, joint, stamp, parts, joined, end)
        out_offsets[g + 1], out_valid[g] = end, is_found
