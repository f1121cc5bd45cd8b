"""Automatic tags: a commit tags the first snapshot after each day, hour or two hours, with the name
of that period; and tags whose time is over are deleted.

The rules are those of Paimon's TagAutoCreation in the mode `process-time`: the time of a snapshot
is that of its commit, by the clock of this process's zone. Jobs may do this at the same time.
"""

import contextlib
import datetime
import time
from operator import itemgetter

from keyfold.errors import SnapshotExpiredError, TableError
from keyfold.options.declared import TAG_PERIODS, TableOptions
from keyfold.options.parsing import parse
from keyfold.resources.cache import Cache
from keyfold.storage.history import tags
from keyfold.storage.maintenance.tagging import create, delete, expire
from keyfold.storage.table import Table

PROCESS_TIME = "process-time"
_NEVER = 1 << 62
_DASHES = "with_dashes"
_FORMATS = {
    ("daily", False): "%Y%m%d",
    ("daily", True): "%Y-%m-%d",
    ("hourly", False): "%Y%m%d %H",
    ("hourly", True): "%Y-%m-%d %H",
}
_DUE: Cache[tuple[object, int]] = Cache(256)  # when the next of these files is to be deleted


def tag_due(table: Table) -> list[str]:
    """Make the tags that are due, and return their names. Tags above `tag.num-retained-max` are
    deleted, the oldest first.
    """
    options = table.options
    if options.tag_creation != PROCESS_TIME:
        return []
    period, delay, made = _period(options), datetime.timedelta(seconds=options.tag_delay), []
    form = _format(options)
    named = [at for name in tags.names(table) if (at := _time_of(form, name)) is not None]
    following, first = _continued(table, max(named, default=None))
    for number in range(first, (table.snapshots.latest_id() or 0) + 1):
        snapshot = table.snapshots.find(number)
        if snapshot is None:
            continue
        at = datetime.datetime.fromtimestamp(snapshot.time_millis / 1000)
        if following is not None and at - delay < following + period:
            continue
        this = _begin(at, period) - period
        if options.tag_completion and following is not None:
            this = following
        with contextlib.suppress(SnapshotExpiredError):  # then the next one is tagged
            create(table, this.strftime(form), number, if_not_exists=True)
            made.append(this.strftime(form))
            following = this + period
    if made:
        _remove_oldest(table)
    return made


def expire_due(table: Table) -> list[str]:
    """Delete the tags whose time is over, and return their names. They are read anew only if there
    are others than the last time, or one is due.
    """
    found, now = _files(table), int(time.time() * 1000)
    known, due = _DUE.get(table.layout.home) or ([], _NEVER)
    if not table.options.tag_time_expiry or (found == known and now <= due):
        return []
    gone = expire(table)
    found, left = _files(table), tags.all_of(table)
    ends = [
        tag.created + int(tag.retained * 1000)
        for tag in left
        if tag.created is not None and tag.retained is not None
    ]
    _DUE.put(table.layout.home, (found, min(ends, default=_NEVER)))
    return gone


def previous(table: Table, name: str) -> tags.Tag | None:
    """The automatic tag before one of that name; None if that is the first. Raises TableError if no
    automatic tag of this table has such a name.
    """
    automatic = _automatic(table)
    named = next((tag for tag in automatic if tag.name == name), None)
    is_named = named is not None or _time_of(_format(table.options), name) is not None
    if not is_named or table.options.tag_creation == "none":
        raise TableError(
            f"table {table.layout.name}: '{name}' is no automatic tag of it; its options "
            "tag.automatic-creation and tag.creation-period say how such tags are named"
        )
    before = [tag for tag in automatic if named and tag.snapshot.id < named.snapshot.id]
    return before[-1] if before else None


def _files(table: Table) -> list[tuple[str, int]]:
    return sorted((e.name, e.modified) for e in table.files.entries(f"{table.layout.home}/tag"))


def _continued(
    table: Table, newest: datetime.datetime | None
) -> tuple[datetime.datetime | None, int]:
    """The period after that of the newest automatic tag, and the snapshot after the tag's."""
    earliest = table.snapshots.earliest_id() or 1
    tag = None if newest is None else tags.find(table, newest.strftime(_format(table.options)))
    if newest is None or tag is None:
        return None, earliest
    return newest + _period(table.options), max(tag.snapshot.id + 1, earliest)


def _remove_oldest(table: Table) -> None:
    most = table.options.tags_at_most
    if most is not None:
        for tag in _automatic(table)[:-most]:
            delete(table, tag.name)


def _automatic(table: Table) -> list[tags.Tag]:
    """The automatic tags, the oldest first. Names count in each form that they have had: options
    change, and what was tagged before is kept as long as what is tagged now.
    """
    layouts = [table.schema(number) for number in table.schemas.ids()]
    asked = [table.options, *map(parse, layouts)]
    forms = {_format(options) for options in asked if options.tag_creation == PROCESS_TIME}
    found = []
    for tag in tags.all_of(table):
        times = [at for form in forms if (at := _time_of(form, tag.name)) is not None]
        if times:
            found.append((tag.snapshot.id, min(times), tag.name, tag))
    return [tag for *_, tag in sorted(found, key=itemgetter(0, 1, 2))]


def _begin(at: datetime.datetime, period: datetime.timedelta) -> datetime.datetime:
    return at - (at - datetime.datetime(1970, 1, 1)) % period


def _period(options: TableOptions) -> datetime.timedelta:
    return datetime.timedelta(seconds=TAG_PERIODS[options.tag_period])


def _format(options: TableOptions) -> str:
    """The form of names, for `strftime`. Those of two hours always have dashes, as in Paimon."""
    if options.tag_period == "two-hours":
        return _FORMATS["hourly", True]
    found = _FORMATS[options.tag_period, options.tag_format == _DASHES]
    return found.replace(" ", "") if options.tag_format.endswith("spaces") else found


def _time_of(form: str, name: str) -> datetime.datetime | None:
    """The begin of the period that an automatic tag of this form names, None for other tags."""
    with contextlib.suppress(ValueError):
        found = datetime.datetime.strptime(name, form)
        return found if found.strftime(form) == name else None
    return None
