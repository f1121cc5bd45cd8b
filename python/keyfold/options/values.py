"""Parsers of option values: text to a typed value, ValueError saying what was expected.

Sizes are counted in units of 1024 and durations in seconds, as Paimon spells them.
"""

import re
from collections.abc import Callable


def boolean(text: str) -> bool:
    """true or false, in any case."""
    if text.lower() not in ("true", "false"):
        raise ValueError("true or false")
    return text.lower() == "true"


def whole(least: int, greatest: int = 2**31 - 1) -> Callable[[str], int]:
    """A parser of whole numbers in a range."""

    def parse_whole(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d+", text) or not least <= int(text) <= greatest:
            raise ValueError(f"a whole number from {least} to {greatest}")
        return int(text)

    return parse_whole


def ratio(text: str) -> float:
    """A number from 0 to 1."""
    if not re.fullmatch(r"\d*\.?\d+|\d+\.", text.strip()) or not 0 <= float(text) <= 1:
        raise ValueError("a number from 0 to 1")
    return float(text)


_BYTES = {
    "": 0,
    "b": 0,
    "bytes": 0,
    "k": 10,
    "kb": 10,
    "kibibytes": 10,
    "m": 20,
    "mb": 20,
    "mebibytes": 20,
}
_BYTES |= {"g": 30, "gb": 30, "gibibytes": 30, "t": 40, "tb": 40, "tebibytes": 40}


def byte_size(text: str) -> int:
    """'128 mb', '64KB', '1048576': units of 1024."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _BYTES or int(match[1]) == 0:
        raise ValueError("a size such as 128 mb, 64kb or 1048576")
    return int(match[1]) << _BYTES[match[2]]


_SECONDS = {
    "ms": 0.001,
    "milli": 0.001,
    "millis": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
}
_SECONDS |= {
    "min": 60.0,
    "m": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
}
_SECONDS |= {"": 0.001, "d": 86400.0, "day": 86400.0, "days": 86400.0}


def duration(text: str) -> float:
    """'10 ms', '30 s', '5 min', '1 h' to seconds; a bare number is milliseconds."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _SECONDS:
        raise ValueError("a duration such as 10 ms, 30 s or 5 min")
    return int(match[1]) * _SECONDS[match[2]]


def names(text: str) -> tuple[str, ...]:
    """Column names, separated by commas."""
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise ValueError("column names separated by commas")
    return parts


def one_of(*values: str) -> Callable[[str], str]:
    """A parser of a word from a fixed list, in any case."""

    def parse_word(text: str) -> str:
        if text.strip().lower() not in values:
            raise ValueError(" or ".join(values))
        return text.strip().lower()

    return parse_word


def word(text: str) -> str:
    return text.strip()


def lower(text: str) -> str:
    return text.strip().lower()
