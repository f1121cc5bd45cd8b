"""The time that the values of a partition say, after Paimon's rules for `values-time`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

from keyfold.types import java_text, java_times
from keyfold.types.logical import Atomic
from keyfold.types.value_text import plain
from keyfold.wire.layout import TableLayout

PartitionTime = Callable[[Sequence[Any]], "datetime.datetime | None"]


def texts(layout: TableLayout, values: Sequence[Any]) -> list[str | None]:
    """The texts of a partition's values, of which times are read. A TIMESTAMP has a blank between
    date and time.
    """
    found: list[str | None] = []
    for name, value in zip(layout.partition_keys, values, strict=True):
        kind = layout.column(name).type
        if value is None:
            found.append(None)
        elif isinstance(kind, Atomic) and kind.name.startswith("TIMESTAMP"):
            found.append(java_text.iso_time(value).replace("T", " "))
        else:
            found.append(plain(value, kind, ""))
    return found


def time_of(layout: TableLayout, formatter: str | None, pattern: str | None) -> PartitionTime:
    """Reads the time of partitions: `pattern` puts the values together, as '$day $hour:00:00', the
    first value is the time without one; `formatter` is a pattern of Java, by default
    yyyy-MM-dd[ HH:mm:ss], which counts on where a number is too large. None if a partition says no
    time. Raises ValueError if the formatter can't be understood.
    """
    read = java_times.read_leniently if formatter is None else java_times.pattern(formatter).read
    keys = layout.partition_keys
    # The longest first: $dt is no part of $dt1.
    longest = sorted(keys, key=len, reverse=True)
    wanted = re.compile("|".join(re.escape(f"${name}") for name in longest))

    def of(values: Sequence[Any]) -> datetime.datetime | None:
        found = texts(layout, values)
        if pattern is None:
            return None if found[0] is None else read(found[0])
        by_name = dict(zip(keys, found, strict=True))
        named = {part[1:]: by_name[part[1:]] for part in wanted.findall(pattern)}
        if None in named.values():
            return None
        return read(wanted.sub(lambda part: str(named[part[0][1:]]), pattern))

    return of
