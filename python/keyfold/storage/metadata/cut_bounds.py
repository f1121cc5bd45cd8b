"""Statistics of a data file in the bytes that its manifest entry has, made by the task that writes
the file. Long texts and bytes are cut, so that manifests stay small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from keyfold.storage.metadata.binary_row import EMPTY, RowCodec
from keyfold.types.literals import manifest_values
from keyfold.wire.row_stats import RowStats

VALUE_LENGTH = 16
KEY_LENGTH = 128
_SURROGATES = range(0xD800, 0xE000)


def row_stats(
    codec: RowCodec, bounds: pa.RecordBatch, nulls: Sequence[int], length: int
) -> RowStats:
    """The statistics of columns whose minima and maxima are the two rows of `bounds`, with texts of
    at most `length` characters and bytes of that number.
    """
    if not codec.types:
        return RowStats(EMPTY, EMPTY, ())
    pairs = [manifest_values(column) for column in bounds.columns]
    least = codec.encode([cut_low(low, length) for low, _ in pairs])
    greatest = codec.encode([cut_high(high, length) for _, high in pairs])
    return RowStats(least, greatest, tuple(nulls))


def first_and_last(codec: RowCodec, keys: pa.RecordBatch) -> tuple[bytes, bytes]:
    """Two keys, the rows of a batch, in bytes."""
    values = [manifest_values(column) for column in keys.columns]
    return codec.encode([low for low, _ in values]), codec.encode([high for _, high in values])


def cut_low(value: Any, length: int) -> Any:
    """A lower bound of at most `length` characters or bytes."""
    return value[:length] if isinstance(value, str | bytes) else value


def cut_high(value: Any, length: int) -> Any:
    """An upper bound of at most `length` characters or bytes, None if no short one exists."""
    if not isinstance(value, str | bytes) or len(value) <= length:
        return value
    if isinstance(value, bytes):
        head = value[:length].rstrip(b"\xff")
        return head[:-1] + bytes([head[-1] + 1]) if head else None
    text = value[:length].rstrip(chr(0x10FFFF))
    return text[:-1] + _next_character(text[-1]) if text else None


def _next_character(character: str) -> str:
    code = ord(character) + 1
    return chr(_SURROGATES.stop if code in _SURROGATES else code)
