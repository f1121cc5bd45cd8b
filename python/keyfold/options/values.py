"""Parsers of option values: text to a typed value. Their ValueError says what was expected.

Sizes have units of 1024, durations are in seconds; Paimon spells both so.
"""

import contextlib
import datetime
import re
import zoneinfo
from collections.abc import Callable
from typing import TypeVar

from keyfold.errors import KeyfoldError, TableError

Number = TypeVar("Number", int, float)
Text = TypeVar("Text", str, str | None)
T = TypeVar("T")
_SHOWN = 200  # characters of a text in a message
_KINDS = ("+I", "-U", "+U", "-D")


def given(
    where: str, text: Text, parse: Callable[[Text], T], error: type[KeyfoldError] = TableError
) -> T:
    """The value of a text. Raises the error, which begins with `where`, if it does not parse."""
    try:
        return parse(text)
    except ValueError as wrong:
        raise error(f"{where}: expected {wrong}, found '{shown(text)}'") from None


def shown(text: str | None) -> str:
    """A text as a message has it: its beginning, if it is long."""
    told = str(text)
    return told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…"


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


def _by_unit(table: dict[str, Number]) -> dict[str, Number]:
    """The counts by unit; a key holds several units with blanks between them."""
    return {unit: count for units, count in table.items() for unit in units.split(" ")}


_DIGITS = 19  # of a number of 64 bits

# A number without a unit is one of bytes.
_BYTES = _by_unit(
    {
        " b bytes": 0,
        "k kb kibibytes": 10,
        "m mb mebibytes": 20,
        "g gb gibibytes": 30,
        "t tb tebibytes": 40,
    }
)


def byte_size(text: str) -> int:
    """The bytes of '128 mb', '64KB', '1048576': units of 1024."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _BYTES or len(match[1]) > _DIGITS or int(match[1]) == 0:
        raise ValueError("a size such as 128 mb, 64kb or 1048576")
    size = int(match[1]) << _BYTES[match[2]]
    if size >= 1 << 63:
        raise ValueError("a size below 8 exbibytes")
    return size


def nothing_or(parse: Callable[[str], int]) -> Callable[[str], int]:
    """A parser that takes 0, of any unit, too."""
    return lambda text: 0 if re.fullmatch(r"\s*0\s*[A-Za-z]*\s*", text) else parse(text)


# A number without a unit is one of milliseconds.
_SECONDS = _by_unit(
    {
        " ms milli millis": 0.001,
        "s sec second seconds": 1.0,
        "min m minute minutes": 60.0,
        "h hour hours": 3600.0,
        "d day days": 86400.0,
    }
)


def duration(text: str) -> float:
    """The seconds of '10 ms', '30 s', '5 min', '1 h'; a bare number is milliseconds."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _SECONDS or len(match[1]) > _DIGITS:
        raise ValueError("a duration such as 10 ms, 30 s or 5 min")
    return int(match[1]) * _SECONDS[match[2]]


def names(text: str) -> tuple[str, ...]:
    """Column names, separated by commas."""
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise ValueError("column names separated by commas")
    return parts


def kinds_of_texts(text: str) -> dict[str, str]:
    """The row kinds of other texts: 'c=+I, d=-D'."""
    pairs = [[part.strip() for part in pair.rpartition("=")[::2]] for pair in text.split(",")]
    found = {other: kind.upper() for other, kind in pairs if other}
    known = all(kind in _KINDS for kind in found.values())
    if len(found) < len(pairs) or not known or not found.keys().isdisjoint(_KINDS):
        raise ValueError(
            "texts of their own, each with its kind, +I, -U, +U or -D, such as c=+I, u=+U, d=-D"
        )
    return found


def one_of(*values: str) -> Callable[[str], str]:
    """A parser of a word from a fixed list, in any case."""

    def parse_word(text: str) -> str:
        if text.strip().lower() not in values:
            raise ValueError(" or ".join(values))
        return text.strip().lower()

    return parse_word


def file_prefix(text: str) -> str:
    """The beginning of file names, which no system escapes."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text.strip()):
        raise ValueError("letters, digits, '.', '_' and '-'")
    return text.strip()


def word(text: str) -> str:
    return text.strip()


def lower(text: str) -> str:
    return text.strip().lower()


def moment(text: str, zone: str) -> int:
    """The microseconds since 1970 of a time in a time zone, or of a number of milliseconds."""
    if re.fullmatch(r"-?\d+", text):
        return int(text) * 1000
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("a time such as 2026-01-31 12:00:00, or milliseconds since 1970") from None
    aware = time if time.tzinfo else time.replace(tzinfo=time_zone(zone))
    since = aware - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(microseconds=1)


def time_zone(name: str) -> datetime.tzinfo | None:
    """A zone by its name or as an offset."""
    if name[0] in "+-":
        return datetime.datetime.fromisoformat(f"2000-01-01T00:00{name}").tzinfo
    return datetime.timezone.utc if name == "Z" else zoneinfo.ZoneInfo(name)


def zone_name(text: str) -> str:
    """The name of a zone, or an offset such as +08:00."""
    with contextlib.suppress(ValueError, zoneinfo.ZoneInfoNotFoundError, IndexError, OSError):
        time_zone(text.strip())
        return text.strip()
    raise ValueError("a time zone such as UTC, Europe/Berlin or +08:00")


_PERIODS = re.compile(r"yyyy[^A-Za-z0-9]*(Q|MM([^A-Za-z0-9]*dd([^A-Za-z0-9]*HH)?)?)?[^A-Za-z0-9]*")


def period_form(text: str) -> str:
    """A form of periods whose texts are in the order of time."""
    if _PERIODS.fullmatch(text) is None:
        raise ValueError("a form such as yyyyMMdd or yyyy-MM-dd, the longest period first")
    return text
