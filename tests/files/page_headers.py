"""The definition of page headers: Thrift's compact protocol, read field by field in Python."""

from collections.abc import Iterator
from typing import NamedTuple

_CRC, _COMPRESSED_SIZE = 4, 3  # fields of a PageHeader
_TRUE, _FALSE, _BYTE, _INTS, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, 12
_LONGEST = 63  # bits of a number


class Page(NamedTuple):
    """The place of a page's bytes after its header; `crc` is None if there is no checksum."""

    start: int
    stop: int
    crc: int | None


def pages(chunk: bytes) -> Iterator[Page]:
    """The pages of a column chunk, up to the first bytes that are not a page header. The decoder
    then reports those bytes.
    """
    start = 0
    while start < len(chunk):
        try:
            page = _page(chunk, start)
        except (IndexError, ValueError):
            return
        if not page.start <= page.stop <= len(chunk):
            return
        yield page
        start = page.stop


def _page(data: bytes, at: int) -> Page:
    """The page whose header begins at `at`; raises IndexError or ValueError if it is no header."""
    number = size = 0
    crc: int | None = None
    while head := data[at]:
        number, at = _field(data, at, head, number)
        kind = head & 15
        if number in (_COMPRESSED_SIZE, _CRC) and kind in _INTS:
            value, at = _varint(data, at)
            value = value >> 1 ^ -(value & 1)
            if number == _CRC:
                crc = value & 0xFFFFFFFF
            else:
                size = value
        else:
            at = _after(data, at, kind)
    return Page(at + 1, at + 1 + size, crc)


def _field(data: bytes, at: int, head: int, before: int) -> tuple[int, int]:
    """The number of a field, and the place where its value begins."""
    if head >> 4:
        return before + (head >> 4), at + 1
    number, at = _varint(data, at + 1)
    return number >> 1 ^ -(number & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if shift > _LONGEST:
            raise ValueError("a number without an end")
    return value | byte << shift, at + 1


def _after(data: bytes, at: int, kind: int) -> int:
    """The place where a value of a type ends; no page header has lists or maps."""
    if kind in _INTS:
        return _varint(data, at)[1]
    if kind in (_TRUE, _FALSE):
        return at
    if kind == _BINARY:
        size, at = _varint(data, at)
        return at + size
    if kind == _STRUCT:
        while head := data[at]:
            _, at = _field(data, at, head, 0)
            at = _after(data, at, head & 15)
        return at + 1
    if kind in (_BYTE, _DOUBLE):
        return at + (1 if kind == _BYTE else 8)
    raise ValueError(f"a field of type {kind}")
