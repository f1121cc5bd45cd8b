"""Fluss' auto-partitions: the partitions of the last periods are kept.

Partitions are made by what is written into them, so none is made ahead.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

from keyfold.options.declared import TableOptions
from keyfold.options.values import time_zone
from keyfold.types.logical import Atomic
from keyfold.wire.layout import TableLayout

FORMATS: Mapping[str, str] = {
    "hour": "yyyyMMddHH",
    "day": "yyyyMMdd",
    "month": "yyyyMM",
    "quarter": "yyyyQ",
    "year": "yyyy",
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_LETTERS = re.compile(r"yyyy|MM|dd|HH|Q")


def earliest_kept(options: TableOptions, now: datetime.datetime, form: str) -> str | None:
    """The text of the earliest period that is kept at a time, which has a zone; None if all are."""
    if options.auto_partition_retention < 0:
        return None
    zone = options.auto_partition_zone
    at = now.astimezone(None if zone is None else time_zone(zone))
    return shown(_back(at, options.auto_partition_unit, options.auto_partition_retention), form)


def form_of(layout: TableLayout, options: TableOptions) -> str:
    """The form of the texts of periods."""
    kind = layout.column(options.auto_partition_key or layout.partition_keys[0]).type
    if isinstance(kind, Atomic) and kind.name == "DATE":
        return "yyyy-MM-dd"
    return options.auto_partition_format or FORMATS[options.auto_partition_unit]


def is_older(text: str | None, earliest: str, form: str) -> bool:
    """Whether a text is that of an earlier period. One that names no period is not."""
    return text is not None and _expression(form).fullmatch(text) is not None and text < earliest


def _back(at: datetime.datetime, unit: str, count: int) -> datetime.datetime:
    """The time `count` units before; the first there is if that is too long ago."""
    try:
        if unit in _MONTHS:
            months = at.year * 12 + at.month - 1 - count * _MONTHS[unit]
            return datetime.datetime(months // 12, months % 12 + 1, 1)
        clock = at.replace(tzinfo=None)
        return clock - datetime.timedelta(**{f"{unit}s": count})
    except (OverflowError, ValueError):
        return datetime.datetime.min


def shown(at: datetime.datetime, form: str) -> str:
    """The period of a time in a form of years, months, days, hours and quarters."""
    values = {"yyyy": f"{at.year:04}", "MM": f"{at.month:02}", "dd": f"{at.day:02}"}
    values |= {"HH": f"{at.hour:02}", "Q": str((at.month + 2) // 3)}
    return _LETTERS.sub(lambda part: values[part[0]], form)


def _expression(form: str) -> re.Pattern[str]:
    parts = re.split(r"(yyyy|MM|dd|HH|Q)", form)
    widths = (rf"\d{{{len(part)}}}" if n % 2 else re.escape(part) for n, part in enumerate(parts))
    return re.compile("".join(widths), re.ASCII)
