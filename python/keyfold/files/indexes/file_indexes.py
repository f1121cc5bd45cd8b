"""File indexes, which are beside a data file or in its manifest entry, as Paimon has them: Bloom
filters and bitmaps of columns, which tell values that no row of the file has.

An index of another kind or form decides nothing, nor does one that can't be read: the data file
itself is right.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from keyfold.files.indexes.bitmap_values import HeldValues, held_values
from keyfold.types.logical import Atomic, DataType

SUFFIX = ".index"  # behind the name of the data file
MAGIC, VERSION = 1493475289347502, 1
BLOOM_KIND, BITMAP_KIND = "bloom-filter", "bitmap"
_MOST_BITMAP = 1 << 20  # bytes: of more, reading the file is as quick
_EMBEDDED = "="  # before the text of an index that is no file
_MOST_COLUMNS = 1 << 12
_KEPT_HASHES = 1 << 10
HEAD = 1 << 16  # bytes that are read at first: the whole of a small index
Spans = Sequence[tuple[int, int]]
Parts = Mapping[str, Mapping[str, bytes]]  # the bytes of indexes, by column and kind
_MASK = (1 << 64) - 1
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def as_text(name: str | None, embedded: bytes | None) -> str | None:
    """The place of a file's index, or the index: the name of a file beside it, or the bytes that
    its manifest entry has, as text behind a sign; None if it has none.
    """
    if name is not None or embedded is None:
        return name
    return _EMBEDDED + base64.b64encode(embedded).decode("ascii")


def name_and_bytes(text: str | None) -> tuple[str | None, bytes | None]:
    """The inverse of `as_text`."""
    if text is None or not text.startswith(_EMBEDDED):
        return text, None
    return None, base64.b64decode(text.removeprefix(_EMBEDDED))


def is_file(text: str) -> bool:
    """Whether an index that is text (`as_text`) is a file."""
    return not text.startswith(_EMBEDDED)


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


@dataclass(frozen=True)
class ColumnIndex:
    """The indexes of one column of a file: a filter, and the bytes of a bitmap."""

    bloom: BloomFilter | None = None
    bitmap: bytes | None = None
    _held: dict[DataType, HeldValues | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def size(self) -> int:
        """The bytes that it takes, about: values of a bitmap are objects."""
        return len(self.bloom.bits if self.bloom else b"") + 16 * len(self.bitmap or b"")

    def held(self, kind: DataType) -> HeldValues | None:
        """The values of the column, of this type; None if nothing tells them. They are kept."""
        if self.bitmap is None:
            return None
        if kind not in self._held:
            self._held[kind] = None
            with suppress(struct.error, ValueError, IndexError):
                self._held[kind] = held_values(self.bitmap, kind)
        return self._held[kind]

    def tells(self, kind: DataType) -> Callable[[Any], bool] | None:
        """Whether a value of this type, in the form of manifests, may be in the file; None if that
        is not known of any.
        """
        held, hashed = self.held(kind), hash_of(kind)
        if held is not None:
            return held.may_hold
        bloom = self.bloom
        if bloom is None or hashed is None:
            return None
        return lambda value: bloom.may_hold(_hashed(hashed, value))


@lru_cache(maxsize=_KEPT_HASHES)
def _hashed(by: Callable[[Any], int], value: Any) -> int:
    """The hash of a value: a scan asks the filters of all files for one."""
    return by(value)


def indexes_of(
    read: Callable[[Spans], Sequence[bytes]], columns: Collection[str]
) -> dict[str, ColumnIndex]:
    """The indexes of some columns, by column; none if the bytes are not those of an index. `read`
    gives the bytes of spans of it, fewer at its end: those of other columns are not asked for,
    unless the index is small.
    """
    try:
        (head,) = read([(0, HEAD)])
        (length,) = struct.unpack_from(">i", head, 12)
        if len(head) == HEAD < length:
            (head,) = read([(0, length)])
        found = [one for one in _listed(head) if one[0] in columns and _is_read(one)]
        spans = [(start, start + size) for _, _, start, size in found]
        far = [span for span in spans if len(head) >= HEAD and span[1] > len(head)]
        held = dict(zip(far, read(far) if far else (), strict=True))
        parts = [held.get(span, head[slice(*span)]) for span in spans]
        return _by_column(found, parts)
    except (struct.error, ValueError, IndexError):
        return {}


def _by_column(
    found: Sequence[tuple[str, str, int, int]], parts: Sequence[bytes]
) -> dict[str, ColumnIndex]:
    made: dict[str, ColumnIndex] = {}
    for (column, kind, _, size), part in zip(found, parts, strict=True):
        if len(part) != size:
            raise ValueError("an index ends behind the file")
        one = made.get(column, ColumnIndex())
        is_bloom = kind == BLOOM_KIND
        made[column] = replace(one, bloom=_filter(part)) if is_bloom else replace(one, bitmap=part)
    return made


def _listed(data: bytes) -> list[tuple[str, str, int, int]]:
    """The column, the kind and the place of each index."""
    magic, version, _, columns = struct.unpack_from(">qiii", data)
    if magic != MAGIC or version != VERSION or not 0 <= columns <= _MOST_COLUMNS:
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
            if start >= 0:
                found.append((column, kind, start, size))
    return found


def _is_read(listed: tuple[str, str, int, int]) -> bool:
    _, kind, _, size = listed
    return kind == BLOOM_KIND or (kind == BITMAP_KIND and size <= _MOST_BITMAP)


def parts_of(data: bytes) -> dict[str, dict[str, bytes]]:
    """The indexes of all kinds in the bytes of an index, as `index_bytes` takes them; none if the
    bytes are damaged.
    """
    made: dict[str, dict[str, bytes]] = {}
    try:
        for column, kind, start, size in _listed(data):
            if not 0 <= start <= start + size <= len(data):
                return {}
            made.setdefault(column, {})[kind] = data[start : start + size]
    except (struct.error, ValueError, IndexError):
        return {}
    return made


def _text(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">H", data, at)
    end = at + 2 + size
    units = data[at + 2 : end].replace(b"\xc0\x80", b"\0").decode(errors="surrogatepass")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be"), end


def java_bytes(text: str) -> bytes:
    """A name as Java's DataOutput has it: characters above U+FFFF are two of three bytes each, and
    U+0000 is two bytes.
    """
    units = text.encode("utf-16-be", "surrogatepass")
    plain = "".join(chr(one) for (one,) in struct.iter_unpack(">H", units))
    found = plain.encode(errors="surrogatepass").replace(b"\0", b"\xc0\x80")
    return struct.pack(">H", len(found)) + found


def _filter(data: bytes) -> BloomFilter:
    (probes,) = struct.unpack_from(">i", data)
    bits = data[4:]
    if probes < 1 or not bits:
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
        return _of_millis if digits <= _MILLIS else number_hash
    return _HASHES.get(kind.name)


_MILLIS, _MICROS = 3, 6


def number_hash(value: Any) -> int:
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
    return number_hash(int(value) // 1000)


def _of_text(value: Any) -> int:
    return xxhash64(value.encode())


_HASHES: Mapping[str, Callable[[Any], int]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE"), number_hash),
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
