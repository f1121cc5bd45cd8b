"""File indexes, which Paimon's writers put beside a data file or into its manifest entry: the Bloom
filters of columns, which tell values that no row of the file has.

An index of another kind or form decides nothing, nor does one that can't be read: the data file
itself is right.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.types.logical import Atomic, DataType

SUFFIX = ".index"  # behind the name of the data file
_MAGIC, _VERSION = 1493475289347502, 1
_BLOOM = "bloom-filter"
_MOST_COLUMNS = 1 << 12
_HEAD = 1 << 16  # bytes that are read at first: the whole of a small index
Spans = Sequence[tuple[int, int]]
_MASK = (1 << 64) - 1
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


@dataclass(frozen=True)
class BloomFilter:
    """The bits of a filter, of which each value sets a few."""

    bits: bytes
    probes: int

    def may_hold(self, number: int) -> bool:
        """Whether a value of this hash, of 64 bits, may be in the file."""
        size = len(self.bits) * 8
        low, high = _signed(number), _signed(number >> 32)
        for turn in range(1, self.probes + 1):
            found = _signed(low + turn * high)
            place = (found if found >= 0 else ~found) % size
            if not self.bits[place >> 3] >> (place & 7) & 1:
                return False
        return True


def filters_of(
    read: Callable[[Spans], Sequence[bytes]], columns: Collection[str]
) -> dict[str, BloomFilter]:
    """The Bloom filters of some columns of an index, by column; none if its bytes are not those of
    an index. `read` gives the bytes of spans of it, fewer at its end: those of other columns are
    not asked for, unless the index is small.
    """
    try:
        (head,) = read([(0, _HEAD)])
        (length,) = struct.unpack_from(">i", head, 12)
        if len(head) == _HEAD < length:
            (head,) = read([(0, length)])
        found = [one for one in _listed(head) if one[0] in columns]
        spans = [(start, start + size) for _, start, size in found]
        far = [span for span in spans if len(head) >= _HEAD and span[1] > len(head)]
        held = dict(zip(far, read(far) if far else (), strict=True))
        parts = [held.get(span, head[slice(*span)]) for span in spans]
        return {one[0]: _filter(part, one[2]) for one, part in zip(found, parts, strict=True)}
    except (struct.error, ValueError, IndexError):
        return {}


def _listed(data: bytes) -> list[tuple[str, int, int]]:
    """The column and the place of each Bloom filter."""
    magic, version, _, columns = struct.unpack_from(">qiii", data)
    if magic != _MAGIC or version != _VERSION or not 0 <= columns <= _MOST_COLUMNS:
        raise ValueError("not an index of a form that is known")
    at, found = 20, []
    for _ in range(columns):
        column, at = _text(data, at)
        (kinds,) = struct.unpack_from(">i", data, at)
        at += 4
        for _ in range(kinds):
            kind, at = _text(data, at)
            start, size = struct.unpack_from(">ii", data, at)
            at += 8
            if kind == _BLOOM and start >= 0:
                found.append((column, start, size))
    return found


def _text(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">H", data, at)
    end = at + 2 + size
    return data[at + 2 : end].decode(), end


def _filter(data: bytes, size: int) -> BloomFilter:
    (probes,) = struct.unpack_from(">i", data)
    bits = data[4:]
    if probes < 1 or size < 5 or len(bits) != size - 4:
        raise ValueError("not a filter")
    return BloomFilter(bits, probes)


def _signed(number: int) -> int:
    """The number of 32 bits, as Java has it."""
    return ((number & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def hash_of(kind: DataType) -> Callable[[Any], int] | None:
    """The function that hashes values of a column, in the form of manifests, as its filter does;
    None if columns of the type have no filter.
    """
    if not isinstance(kind, Atomic):
        return None
    if kind.name.startswith("TIMESTAMP"):
        digits = kind.length or 0
        if digits > _MICROS:
            return None
        return _of_millis if digits <= _MILLIS else _of_number
    return _HASHES.get(kind.name)


_MILLIS, _MICROS = 3, 6


def _of_number(value: Any) -> int:
    """Thomas Wang's hash of a whole number."""
    key = int(value) & _MASK
    key = (~key + (key << 21)) & _MASK
    key ^= _right(key, 24)
    key = (key + (key << 3) + (key << 8)) & _MASK
    key ^= _right(key, 14)
    key = (key + (key << 2) + (key << 4)) & _MASK
    key ^= _right(key, 28)
    return (key + (key << 31)) & _MASK


def _right(key: int, bits: int) -> int:
    """The number shifted, with its sign."""
    return (key - (key >> 63 << 64) >> bits) & _MASK


def _of_millis(value: Any) -> int:
    return _of_number(int(value) // 1000)


def _of_text(value: Any) -> int:
    return xxhash64(value.encode())


_HASHES: Mapping[str, Callable[[Any], int]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE"), _of_number),
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR"), _of_text),
    **dict.fromkeys(("BYTES", "BINARY", "VARBINARY"), lambda value: xxhash64(bytes(value))),
}


def xxhash64(data: bytes) -> int:
    """The xxHash of bytes in 64 bits, by seed 0."""
    one, two, _, four, five = _PRIMES
    at, size = 0, len(data)
    if size < 32:
        found = five
    else:
        lanes = [(one + two) & _MASK, two, 0, -one & _MASK]
        while at <= size - 32:
            words = struct.unpack_from("<4Q", data, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            at += 32
        found = sum(_left(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            found = ((found ^ _round(0, lane)) * one + four) & _MASK
    found = (found + size) & _MASK
    while at <= size - 8:
        (word,) = struct.unpack_from("<Q", data, at)
        found = (_left(found ^ _round(0, word), 27) * one + four) & _MASK
        at += 8
    return _mixed(found, data[at:])


def _round(lane: int, word: int) -> int:
    return _left((lane + word * _PRIMES[1]) & _MASK, 31) * _PRIMES[0] & _MASK


def _left(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (64 - bits))) & _MASK


def _mixed(found: int, rest: bytes) -> int:
    """The hash with the last bytes, fewer than eight."""
    one, two, three, _, five = _PRIMES
    if len(rest) >= 4:
        word = int.from_bytes(rest[:4], "little") * one & _MASK
        found = (_left(found ^ word, 23) * two + three) & _MASK
        rest = rest[4:]
    for byte in rest:
        found = _left(found ^ byte * five & _MASK, 11) * one & _MASK
    found = (found ^ found >> 33) * two & _MASK
    found = (found ^ found >> 29) * three & _MASK
    return found ^ found >> 32
