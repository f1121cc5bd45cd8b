"""Keys numbered in the order in which they first come: hash tables with open addresses.

A table is the arrays that a kernel fills; who calls makes room in them before. `places` has a size
that is a power of two and at least twice the number of keys: the number of a key plus one, 0 where
no key is. A place is looked at for some rows before the keys that are there: loads that wait for
nothing run at once, those of one search wait for each other.
"""

from typing import NamedTuple

import numpy as np

from keyfold.kernels.buffers import Mask, Rows, Words
from keyfold.kernels.folds.running import Numbers
from keyfold.kernels.jit import kernel, structure

_AHEAD = 256  # rows whose places are looked at before


@structure("int32[::1]", "uint64[::1]")
class WordTable(NamedTuple):
    """Keys of one word: the places, and the key of each number."""

    places: Numbers
    keys: Words


@structure("int32[::1]", "uint64[::1]", "uint64[::1]", "int64[::1]")
class RowTable(NamedTuple):
    """Keys of some words: the places; the hash code of each number, the words of all keys, and
    where those of each number end.
    """

    places: Numbers
    codes: Words
    words: Words
    ends: Rows


@kernel
def place_of(code: np.uint64, last: int) -> np.int64:
    """The place where a search for a hash code, or for a key of one word, begins."""
    mixed = code * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed ^ (mixed >> np.uint64(32))) & last


@kernel("int64(uint64[::1], uint8[::1], WordTable, int64, int32[::1])")
def number_words(words: Words, valid: Mask, table: WordTable, count: int, numbers: Numbers) -> int:
    """Write the number of each valid row's key; returns how many keys there are, `count` before."""
    places, keys = table
    last = len(places) - 1
    for start in range(0, len(words), _AHEAD):
        stop = min(start + _AHEAD, len(words))
        for row in range(start, stop):
            numbers[row] = places[place_of(words[row], last)] - 1
        for row in range(start, stop):
            word, number = words[row], numbers[row]
            if valid[row] and (number < 0 or keys[number] != word):
                at = place_of(word, last)
                while places[at] and keys[places[at] - 1] != word:
                    at = (at + 1) & last
                if not places[at]:
                    keys[count] = word
                    count += 1
                    places[at] = count
                numbers[row] = places[at] - 1
    return count


@kernel("void(uint64[::1], int64[::1], uint64[::1])")
def codes_of(words: Words, ends: Rows, codes: Words) -> None:
    """Write a hash code for each row of words, which end at ends[row]."""
    start = 0
    for row in range(len(codes)):
        code = np.uint64(ends[row] - start)
        for i in range(start, ends[row]):
            code = (code ^ words[i]) * np.uint64(0x9E3779B97F4A7C15)
            code ^= code >> np.uint64(32)
        codes[row], start = code, ends[row]


@kernel
def is_key(words: Words, start: int, stop: int, table: RowTable, number: int) -> bool:
    """Whether words[start:stop] are the key of this number."""
    first = table.ends[number - 1] if number else np.int64(0)
    is_same = table.ends[number] - first == stop - start
    for i in range(stop - start if is_same else 0):
        is_same = is_same and table.words[first + i] == words[start + i]
    return bool(is_same)


@kernel("int64(uint64[::1], int64[::1], uint64[::1], RowTable, int64, int32[::1])")
def number_rows(
    words: Words, ends: Rows, codes: Words, table: RowTable, count: int, numbers: Numbers
) -> int:
    """`number_words` of rows of words, which end at ends[row], and their codes."""
    places, kept, start = table.places, table.codes, 0
    last = len(places) - 1
    for row in range(len(codes)):
        stop, code = ends[row], codes[row]
        at = place_of(code, last)
        while places[at]:
            number = places[at] - 1
            if kept[number] == code and is_key(words, start, stop, table, number):
                break
            at = (at + 1) & last
        if not places[at]:
            first = table.ends[count - 1] if count else np.int64(0)
            for i in range(stop - start):
                table.words[first + i] = words[start + i]
            table.ends[count], kept[count] = first + stop - start, code
            count += 1
            places[at] = count
        numbers[row], start = places[at] - 1, stop
    return count


@kernel("void(uint64[::1], int64, int32[::1])")
def place_again(codes: Words, without: int, places: Numbers) -> None:
    """Fill empty places with the keys of these codes, which are the keys themselves if they have
    one word, but for one.
    """
    last = len(places) - 1
    for number in range(len(codes)):
        at = place_of(codes[number], last)
        while places[at]:
            at = (at + 1) & last
        if number != without:
            places[at] = number + 1
