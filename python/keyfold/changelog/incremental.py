"""Paimon's options that name a range of snapshots: `incremental-between` and its kin."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Mapping

from keyfold.changelog import ranges
from keyfold.changelog.ranges import Range
from keyfold.changelog.specs import Asked
from keyfold.changelog.views import ROWS
from keyfold.errors import NotSupportedError, TableError
from keyfold.options.calls import INCREMENTAL
from keyfold.storage.history import tags
from keyfold.storage.maintenance import automatic
from keyfold.storage.table import Table

BETWEEN, BETWEEN_TIMES, TO_AUTO_TAG, SCAN_MODE = INCREMENTAL
AUTO, DIFF, CHANGELOG = "auto", "diff", "changelog"
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


def asked(table: Table, view: str, options: Mapping[str, str], zone: str) -> Asked:
    """What a reader's options ask for: the changes between two snapshots or times, the first one
    left out; without a range every row of the newest snapshot. `zone` is that of times as text.

    A table of `t` itself shows the rows as they are at the end of the range, each once, unless a
    producer's changelog is read.
    """
    named = [name for name in (BETWEEN, BETWEEN_TIMES, TO_AUTO_TAG) if name in options]
    where = f"reading changes of table {table.layout.name}"
    if len(named) > 1:
        raise TableError(f"{where}: options {' and '.join(named)} each name a range: give one")
    mode = options.get(SCAN_MODE, AUTO).strip().lower()
    if mode not in (AUTO, DIFF, CHANGELOG):
        raise NotSupportedError(
            f"{where}: option {SCAN_MODE} = '{mode}' is not supported: expected {AUTO}, {DIFF} or "
            f"{CHANGELOG}"
        )
    if not named:
        if SCAN_MODE in options:
            raise TableError(f"{where}: option {SCAN_MODE} needs a range: give {BETWEEN} too")
        return Asked(view, 0, table.snapshot_id or 0, full=True)
    found = _range(table, named[0], options[named[0]], zone)
    has_files = table.layout.options.get("changelog-producer", "none").lower() != "none"
    is_net = mode == DIFF or (mode == AUTO and view == ROWS.name and not has_files)
    return Asked(view, found.after, found.until, net=is_net)


def _range(table: Table, name: str, text: str, zone: str) -> Range:
    where = f"reading changes of table {table.layout.name}: option {name} = '{text}'"
    if name == TO_AUTO_TAG:
        before = automatic.previous(table, text)
        end = tags.require(table, text).snapshot.id
        return Range(end if before is None else before.snapshot.id, end)
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise TableError(f"{where}: expected two values, as in '5,10'")
    if name == BETWEEN:
        return ranges.between(table, *parts)
    start, end = (_micros(where, part, zone) for part in parts)
    return ranges.by_timestamp(table, start, False, end, True)


def _micros(where: str, text: str, zone: str) -> int:
    if re.fullmatch(r"-?\d+", text):
        return int(text) * ranges.MICROS
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise TableError(
            f"{where}: expected milliseconds since 1970, or a time as '2026-01-31 12:00:00'"
        ) from None
    aware = found if found.tzinfo else found.replace(tzinfo=_zone(zone))
    since = aware - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(microseconds=1)


def _zone(name: str) -> datetime.tzinfo:
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return datetime.timezone.utc if name == "Z" else zoneinfo.ZoneInfo(name)
    shift = datetime.timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    return datetime.timezone(-shift if offset[1] == "-" else shift)
