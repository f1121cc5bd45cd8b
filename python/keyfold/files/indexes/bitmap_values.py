"""Bitmap indexes of Paimon's writers: the values that a column of a file has, and whether it has
NULLs. The positions of their rows are not read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keyfold.types.logical import Atomic, DataType
from keyfold.types.type_table import TEXTS, TIMES

_WHOLE = {"BOOLEAN": ">?", "TINYINT": ">b", "SMALLINT": ">h", "INT": ">i", "BIGINT": ">q"}
_WHOLE |= {"DATE": ">i", "TIME": ">i"}
_MILLIS, _MICROS = 3, 6
_OFFSET, _PLACE = 4, 8  # bytes behind a value, in each version


@dataclass(frozen=True)
class HeldValues:
    """The values of a column, as the index has them; `stored` makes such a one of a manifest's."""

    values: frozenset[Any]
    has_null: bool
    stored: Callable[[Any], Any]

    def may_hold(self, value: Any) -> bool:
        """Whether a row of the file has the value, in the form of manifests."""
        return self.stored(value) in self.values


def held_values(data: bytes, kind: DataType) -> HeldValues | None:
    """The values of an index of a column of this type; None if the type is not one of those that
    are read. Raises struct.error, ValueError or IndexError if the bytes are not such an index.
    """
    if not isinstance(kind, Atomic):
        return None
    name, digits = kind.name, kind.length or 0
    if name in TEXTS and name != "CHAR":  # padded in some files
        return _held(data, _text_at, str.encode)
    form = ">q" if name in TIMES and digits <= _MICROS else _WHOLE.get(name)
    if form is None:
        return None
    is_millis = name in TIMES and digits <= _MILLIS
    size = struct.calcsize(form)

    def number_at(data: bytes, at: int) -> tuple[Any, int]:
        return struct.unpack_from(form, data, at)[0], at + size

    return _held(data, number_at, _in_millis if is_millis else _as_it_is)


def _held(
    data: bytes, value_at: Callable[[bytes, int], tuple[Any, int]], stored: Callable[[Any], Any]
) -> HeldValues:
    version, _, count, has_null = struct.unpack_from(">bii?", data)
    if version not in (1, 2) or count < 0:
        raise ValueError("not a bitmap index of a form that is known")
    at, is_first = 10 + has_null * (4 * version), version == 1
    found: set[Any] = set()
    if not is_first:
        (blocks,) = struct.unpack_from(">i", data, at)
        at += 4
        for _ in range(blocks):
            _, at = value_at(data, at)
            at += _OFFSET
        at += _OFFSET
    while len(found) < count:
        size = count
        if not is_first:
            (size,) = struct.unpack_from(">i", data, at)
            at += 4
        if size < 1:
            raise ValueError("a block without a value")
        for _ in range(size):
            value, at = value_at(data, at)
            at += _OFFSET if is_first else _PLACE
            found.add(value)
        if is_first:
            break
    if len(found) != count or at > len(data):
        raise ValueError("the values are not as many as it says")
    return HeldValues(frozenset(found), has_null, stored)


def _text_at(data: bytes, at: int) -> tuple[bytes, int]:
    (size,) = struct.unpack_from(">i", data, at)
    end = at + 4 + size
    if size < 0 or end > len(data):
        raise ValueError("a value ends behind the index")
    return data[at + 4 : end], end


def _as_it_is(value: Any) -> Any:
    return value


def _in_millis(value: Any) -> Any:
    """A time that has finer digits is none of those that the index can have."""
    millis, rest = divmod(value, 1000)
    return None if rest else millis
