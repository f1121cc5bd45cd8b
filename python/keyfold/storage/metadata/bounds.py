"""Bounds of text in statistics, cut as Paimon cuts them: still bounds, of limited length."""

from typing import Any

VALUE_LENGTH = 16
KEY_LENGTH = 128
_SURROGATES = range(0xD800, 0xE000)


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
