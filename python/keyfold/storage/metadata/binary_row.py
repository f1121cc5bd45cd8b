"""Paimon's BinaryRow, as manifests hold it: partition values, first and last keys, statistics.

A row is four bytes of arity (big endian), then null bits, eight bytes a field (little endian) and a
variable part. In Python a DATE is days and a TIMESTAMP microseconds since 1970, both int. A DECIMAL
is a Decimal, text is str, binary is bytes. So every value of a type can be held and compared.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.files import damage
from keyfold.types.literals import decimal_of
from keyfold.types.logical import Atomic, DataType
from keyfold.types.type_table import BINARIES, TEXTS, TIMES

_INLINE = 7
_COMPACT_DIGITS = 18
_WIDE_DECIMAL = 16  # bytes
_COMPACT_TIME = 3
EMPTY = bytes(12)


@dataclass(frozen=True)
class RowCodec:
    """Encodes and decodes rows of fixed atomic types."""

    types: tuple[Atomic, ...]

    @staticmethod
    def of(types: Sequence[DataType]) -> "RowCodec":
        """A codec for these types. Raises NotSupportedError if a type has parts."""
        atomic = tuple(t for t in types if isinstance(t, Atomic))
        if len(atomic) != len(types):
            raise NotSupportedError("only columns of atomic types are in keys and statistics")
        return RowCodec(atomic)

    def encode(self, values: Sequence[Any]) -> bytes:
        """The row of these values, None for NULL."""
        arity = len(self.types)
        nulls = bytearray(_null_width(arity))
        fixed: list[bytes] = []
        tail = bytearray()
        start = len(nulls) + 8 * arity
        for position, (data_type, value) in enumerate(zip(self.types, values, strict=True)):
            if value is None:
                nulls[(position + 8) >> 3] |= 1 << (position & 7)
                fixed.append(bytes(8))
            else:
                fixed.append(_encode(data_type, value, start, tail))
        return b"".join([struct.pack(">i", arity), bytes(nulls), *fixed, bytes(tail)])

    def decode(self, data: bytes) -> tuple[Any, ...]:
        """The values of a row; a row shorter than the types (an older writer) reads NULL beyond."""
        if len(data) < 4:
            return (None,) * len(self.types)
        try:
            return self._decoded(data)
        except MemoryError:
            raise
        except Exception as error:  # lengths and places are taken from the bytes
            raise damage.entry(error) from error

    def _decoded(self, data: bytes) -> tuple[Any, ...]:
        arity = struct.unpack_from(">i", data)[0]
        width = _null_width(arity)
        return tuple(
            None
            if position >= arity or data[4 + ((position + 8) >> 3)] & (1 << (position & 7))
            else _decode(data_type, data, 4 + width + 8 * position)
            for position, data_type in enumerate(self.types)
        )


def _null_width(arity: int) -> int:
    return (arity + 63 + 8) // 64 * 8


def _encode(data_type: Atomic, value: Any, start: int, tail: bytearray) -> bytes:
    number = data_type.facts.word
    if number:
        return struct.pack(number, value).ljust(8, b"\0")
    if data_type.name in TEXTS:
        return _encode_bytes(value.encode(), start, tail)
    if data_type.name in BINARIES:
        return _encode_bytes(value, start, tail)
    if data_type.name in TIMES:
        return _encode_time(data_type, value, start, tail)
    return _encode_decimal(data_type, value, start, tail)


def _encode_bytes(value: bytes, start: int, tail: bytearray) -> bytes:
    if len(value) <= _INLINE:
        return value.ljust(_INLINE, b"\0") + bytes([0x80 | len(value)])
    offset = start + len(tail)
    tail += value + bytes(-len(value) % 8)
    return struct.pack("<q", offset << 32 | len(value))


def _encode_time(data_type: Atomic, micros: int, start: int, tail: bytearray) -> bytes:
    millis, rest = divmod(micros, 1000)
    if (data_type.length or 0) <= _COMPACT_TIME:
        return struct.pack("<q", millis)
    offset = start + len(tail)
    tail += struct.pack("<q", millis)
    return struct.pack("<q", offset << 32 | rest * 1000)


def _encode_decimal(data_type: Atomic, value: Decimal, start: int, tail: bytearray) -> bytes:
    sign, digits, exponent = value.as_tuple()
    shift = (data_type.scale or 0) + int(exponent)
    unscaled = int("".join(map(str, digits))) * 10 ** max(shift, 0) // 10 ** max(-shift, 0)
    unscaled = -unscaled if sign else unscaled
    if (data_type.length or 0) <= _COMPACT_DIGITS:
        return struct.pack("<q", unscaled)
    negative = unscaled + 1 if unscaled < 0 else unscaled
    raw = unscaled.to_bytes(negative.bit_length() // 8 + 1, "big", signed=True)
    offset = start + len(tail)
    tail += raw.ljust(16, b"\0")
    return struct.pack("<q", offset << 32 | len(raw))


def _decode(data_type: Atomic, data: bytes, at: int) -> Any:
    number = data_type.facts.word
    if number:
        return struct.unpack_from(number, data, at)[0]
    if data_type.name in TEXTS:
        return _decode_bytes(data, at).decode()
    if data_type.name in BINARIES:
        return _decode_bytes(data, at)
    word: int = struct.unpack_from("<q", data, at)[0]
    if data_type.name in TIMES:
        if (data_type.length or 0) <= _COMPACT_TIME:
            return word * 1000
        (millis,) = struct.unpack("<q", _part(data, word >> 32, 8))
        return int(millis) * 1000 + (word & 0xFFFFFFFF) // 1000
    if (data_type.length or 0) > _COMPACT_DIGITS:
        size = word & 0xFFFFFFFF
        if size > _WIDE_DECIMAL:
            raise ValueError(f"a decimal of {size} bytes, expected at most {_WIDE_DECIMAL}")
        word = int.from_bytes(_part(data, word >> 32, size), "big", signed=True)
    return decimal_of(word, data_type.scale or 0)


def _decode_bytes(data: bytes, at: int) -> bytes:
    length = data[at + 7]
    if length & 0x80:
        length &= 0x7F
        if length > _INLINE:
            raise ValueError(f"{length} bytes in a word, expected at most {_INLINE}")
        return data[at : at + length]
    word = struct.unpack_from("<q", data, at)[0]
    return _part(data, word >> 32, word & 0xFFFFFFFF)


def _part(data: bytes, offset: int, size: int) -> bytes:
    """Bytes of the variable part of a row. Raises ValueError if the row does not have them."""
    begin = 4 + offset
    if offset < 0 or begin + size > len(data):
        raise ValueError(f"{size} bytes from byte {begin} on, in a row of {len(data)}")
    return data[begin : begin + size]
