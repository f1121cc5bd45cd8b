"""Patterns of Java's DateTimeFormatter, as far as they name dates and times by numbers.

A time without a zone is a `datetime` without one. Years beyond 9999 are no time here.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from functools import cache

_FIELDS = {"y": "year", "u": "year", "M": "month", "d": "day"}
_FIELDS |= {"H": "hour", "m": "minute", "s": "second", "S": "fraction"}
_PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_LONG = re.compile(
    r"(?P<year>\d{1,10})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?: (?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,9}))?)?",
    re.ASCII,
)
_LONGEST = 9999
_CENTURY = 2000  # of years in two digits


@dataclass(frozen=True)
class TimePattern:
    """A pattern as a regular expression, which names fields; `has_century` is false if a year has
    two digits.
    """

    expression: re.Pattern[str]
    has_century: bool

    def read(self, text: str) -> datetime.datetime | None:
        """The time that a text has, midnight if it has a date only; None if it has no date."""
        found = self.expression.fullmatch(text)
        if found is None:
            return None
        fields = {name: digits for name, digits in found.groupdict().items() if digits is not None}
        if not {"year", "month", "day"} <= fields.keys():
            return None
        year = int(fields["year"]) + (0 if self.has_century else _CENTURY)
        month, day = int(fields["month"]), int(fields["day"])
        if not (1 <= year <= _LONGEST and 1 <= month <= 12 and 1 <= day <= 31):
            return None
        date = datetime.datetime(year, month, min(day, _days(year, month)))
        return _with_time(date, fields)


@cache
def pattern(text: str) -> TimePattern:
    """The pattern of a text, such as yyyyMMdd or yyyy-MM-dd HH:mm:ss. Raises ValueError if it has
    letters that name no number of a date or time.
    """
    made, named, has_century = [], set[str](), True
    for part in _PART.finditer(text):
        quoted, letter, other = part.groups()
        if other is not None and other in "[]{}#'":
            if other not in "[]":
                raise ValueError(f"no {other} in a pattern of dates")
            made.append("(?:" if other == "[" else ")?")
        elif letter is None:
            literal = other if other is not None else (quoted.replace("''", "'") or "'")
            made.append(re.escape(literal))
        else:
            field, count = _FIELDS.get(letter), len(part[0])
            if field is None or count > (9 if letter in "yuS" else 2) or field in named:
                raise ValueError(
                    "years (y, u), months (M), days (d), hours (H), minutes (m), seconds (s) and "
                    f"fractions of them (S) as numbers, each once, and not {part[0]}"
                )
            named.add(field)
            has_century = has_century and not (field == "year" and count == 2)
            made.append(f"(?P<{field}>{_digits(letter, count)})")
    try:
        return TimePattern(re.compile("".join(made), re.ASCII), has_century)
    except re.error:
        raise ValueError("each [ with a ]") from None


def _digits(letter: str, count: int) -> str:
    if letter in "yu" and count not in (2, 4):
        return rf"\d{{{count},}}"
    return r"\d+" if count == 1 and letter != "S" else rf"\d{{{count}}}"


def _days(year: int, month: int) -> int:
    after = datetime.date(year + month // 12, month % 12 + 1, 1) if year < _LONGEST else None
    return 31 if after is None else (after - datetime.timedelta(days=1)).day


def _with_time(date: datetime.datetime, fields: dict[str, str]) -> datetime.datetime | None:
    """The date with the time of its fields; it is midnight if they lack a larger one."""
    order = ("hour", "minute", "second", "fraction")
    given = [name in fields for name in order]
    if given != sorted(given, reverse=True):
        return date
    hour, minute, second = (int(fields.get(name, 0)) for name in order[:3])
    micros = int(fields.get("fraction", "0").ljust(6, "0")[:6])
    if (hour, minute, second, micros) == (24, 0, 0, 0):
        return _later(date, datetime.timedelta(days=1))
    if hour > 23 or minute > 59 or second > 59:
        return None
    return date.replace(hour=hour, minute=minute, second=second, microsecond=micros)


def read_leniently(text: str) -> datetime.datetime | None:
    """The time of a text such as 2024-1-31 or 2024-01-31 08:00:00.5, where a month above 12, a day
    above 31 or an hour above 23 counts on; None if it is something else.
    """
    found = _LONG.fullmatch(text)
    if found is None:
        return None
    fields = {name: int(digits or 0) for name, digits in found.groupdict().items()}
    months = fields["year"] * 12 + fields["month"] - 1
    if not 12 <= months < 12 * (_LONGEST + 1):
        return None
    fraction = int((found["fraction"] or "0").ljust(6, "0")[:6])
    more = datetime.timedelta(
        days=fields["day"] - 1,
        hours=fields["hour"],
        minutes=fields["minute"],
        seconds=fields["second"],
        microseconds=fraction,
    )
    return _later(datetime.datetime(months // 12, months % 12 + 1, 1), more)


def _later(time: datetime.datetime, more: datetime.timedelta) -> datetime.datetime | None:
    try:
        return time + more
    except OverflowError:
        return None
