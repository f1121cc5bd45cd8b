"""Texts of dates, times and times of day. Years that Python's `datetime` lacks are dates too."""

from __future__ import annotations

import datetime
import re

import numpy as np

_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST = _EPOCH.toordinal()
_DATE = r"([+-]?[0-9]{4,7})-([0-9]{1,2})-([0-9]{1,2})"
_ZONE = r" ?(Z|UTC|GMT|(?:UTC|GMT)?[+-][0-9]{2}(?::?[0-9]{2})?)"
_SECOND = rf"([0-9]{{1,2}})(?:\.([0-9]*))?(?:{_ZONE})?"
_DAY = re.compile(_DATE)
_MOMENT = re.compile(rf"{_DATE}(?:[ T]([0-9]{{1,2}}):([0-9]{{1,2}})(?::{_SECOND})?)?")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?")
_ERA = 400, 146_097  # years, and their days
_MICROS = 86_400_000_000
_LONGEST = 18 * 60  # minutes of an offset


def days_of(text: str) -> int | None:
    """Days since 1970 of `2026-01-31`; None if it is not a date of 32 bits."""
    found = _DAY.fullmatch(text)
    days = None if found is None else _days(*map(int, found.groups()))
    return days if days is not None and -(1 << 31) <= days < 1 << 31 else None


def micros_of(text: str, *, is_local: bool) -> int | None:
    """Microseconds since 1970 of `2026-01-31 23:59:59.123456+01:00`, in UTC if it has no offset;
    None if it is not a time of 64 bits. A local time has no offset but that of UTC.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    days = _days(int(year), int(month), int(day))
    numbers = [int(part or 0) for part in (hour, minute, second)]
    fraction, offset = (fraction or "").rstrip("0"), _minutes(zone or "")
    is_wrong = any(n > most for n, most in zip(numbers, (23, 59, 59), strict=True))
    if days is None or is_wrong or len(fraction) > 6 or abs(offset) > _LONGEST:
        return None
    if is_local and offset:
        return None
    seconds = numbers[0] * 3600 + (numbers[1] - offset) * 60 + numbers[2]
    micros = days * _MICROS + seconds * 1_000_000 + int(fraction.ljust(6, "0"))
    return micros if -(1 << 63) < micros < 1 << 63 else None


def millis_of(text: str, digits: int) -> int | None:
    """Milliseconds of the day of `23:59:59.123`; None if it is not a time of day, or has more
    digits behind the second.
    """
    found = _CLOCK.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    fraction = (found[4] or "").rstrip("0")
    if hour > 23 or minute > 59 or second > 59 or len(fraction) > digits:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1000 + int(fraction.ljust(3, "0"))


def _days(year: int, month: int, day: int) -> int | None:
    years, days = _ERA
    near = 2000 + year % years
    try:
        return datetime.date(near, month, day).toordinal() - _FIRST + (year - near) // years * days
    except ValueError:
        return None


def _minutes(zone: str) -> int:
    digits = re.sub("[^0-9]", "", zone).ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:]) if int(digits[2:]) < 60 else _LONGEST + 1
    return -minutes if "-" in zone else minutes


def clock_of(millis: int) -> datetime.time:
    """The time of day in Python's class."""
    return (_EPOCH + datetime.timedelta(milliseconds=millis)).time()


def date_of(days: int) -> datetime.date | np.datetime64:
    """The date in Python's class, or in numpy's if Python has none."""
    if 1 <= days + _FIRST <= datetime.date.max.toordinal():
        return datetime.date.fromordinal(days + _FIRST)
    return np.datetime64(days, "D")


def moment_of(micros: int, *, is_local: bool) -> datetime.datetime | np.datetime64:
    """The point in time in Python's class, or in numpy's if Python has none."""
    try:
        moment = _EPOCH + datetime.timedelta(microseconds=micros)
    except OverflowError:
        return np.datetime64(micros, "us")
    return moment if is_local else moment.replace(tzinfo=datetime.timezone.utc)
