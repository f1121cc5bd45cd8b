"""Snapshots expire: data files that no retained snapshot, tag or branch needs go, then manifests
that none needs, then the snapshots themselves, the oldest first.

Files that were removed are named by files that are still there. So the next expiry finishes one
that was killed. Two at once do no harm: a file that is gone was removed by the other. Work is
proportional to what expires: the files that expiring snapshots dropped, never the whole table.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from keyfold.errors import NotSupportedError, SnapshotExpiredError
from keyfold.options.changelogs import ChangelogRetention
from keyfold.storage.maintenance.changelogs import (
    Changelogs,
    expire_changes,
    logged_files,
    writes_changelogs,
)
from keyfold.storage.maintenance.consumers import least_needed
from keyfold.storage.maintenance.restarts import restarts
from keyfold.storage.maintenance.retained import (
    Pins,
    Retention,
    data_names,
    manifest_lists,
    metadata,
    pins,
)
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.live_files import Asked
from keyfold.storage.metadata.manifests import Manifests, unless_missing
from keyfold.storage.metadata.snapshot_files import live_of_snapshot, live_where
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots
from keyfold.storage.table import Table

Place = tuple[tuple[Any, ...], int, str]  # a partition, a bucket, and the name of a file


def check_expirable(table: Table) -> None:
    """Raises NotSupportedError if files would be removed that only another engine keeps count
    of.
    """
    table.check_writable()
    if not writes_changelogs(table) and ChangelogRetention.of(table.options).is_longer:
        raise NotSupportedError(
            f"snapshots of table {table.layout.name} can't expire here: it keeps changes longer "
            "than snapshots (changelog.num-retained.min, .max or changelog.time-retained), and "
            "without a changelog-producer only Paimon itself does"
        )


def expire(table: Table, retention: Retention) -> int:
    """Remove what `retention` does not keep. Returns the number of snapshots that went.

    The newest snapshot always stays, as do those a consumer has yet to read. Changes that the
    table's options keep longer stay, and go by these. Raises ConflictError if the table was
    replaced.
    """
    with table.held() as location:
        expire_changes(table)
        begin, end = _window(table, retention)
        if begin >= end:
            return 0
        snapshots = [s for n in range(begin, end + 1) if (s := table.snapshots.find(n)) is not None]
        last = snapshots[-1] if snapshots else None
        with contextlib.suppress(SnapshotExpiredError), table.reading(last):
            if last is None or last.id != end or len(snapshots) == 1:
                return 0  # another expiry is ahead of this one
            at = replace(table.snapshots, location=location)
            if not _is_announced(table, at, begin, last):
                return 0
            if ChangelogRetention.of(table.options).is_longer:
                Changelogs(at).keep(snapshots[:-1])
                others = [replace(s, changelog_manifest_list=None) for s in snapshots[:-1]]
                snapshots = [*others, snapshots[-1]]  # as if their changelogs were another's
            keeping = pins(table, writes_changelogs=writes_changelogs(table))
            again = restarts(table, begin, keeping)
            table.files.remove_all(_data_files(table, snapshots, keeping, again))
            for paths in _metadata(table.manifests, snapshots, keeping, again):
                table.files.remove_all([f"{table.layout.location}/{path}" for path in paths])
            at.remove_expired(begin, end)
            return len(snapshots) - 1
    return 0


def _is_announced(table: Table, snapshots: Snapshots, begin: int, last: Snapshot) -> bool:
    """Whether the expiry may begin, up to the snapshot `last`. It looks for tags and branches after
    it has said what it will remove, and gives way to a consumer that begins meanwhile and to a
    rollback, which removes the newest snapshot, or has put another in the place of `last`: both
    look afterwards whether they came too late.
    """
    newest, end = snapshots.latest_id(), last.id
    snapshots.announce_earliest(end)
    needed = least_needed(table)
    is_free = needed is None or needed >= end
    is_there = newest is not None and (newest <= end or snapshots.exists(newest))
    if is_free and is_there and snapshots.find(end) == last:
        return True
    if snapshots.first_kept() == end:
        snapshots.begin_at(begin)
    return False


def _window(table: Table, retention: Retention) -> tuple[int, int]:
    """The first snapshot there is and the first to keep."""
    snapshots = table.snapshots
    latest, earliest = snapshots.latest_id(), snapshots.earliest_id()
    if latest is None or earliest is None:
        return 0, 0
    return earliest, retention.end(table, earliest, latest, lambda n: snapshots.find(n + 1))


def _data_files(
    table: Table, snapshots: Sequence[Snapshot], keeping: Pins, again: Sequence[Snapshot]
) -> list[str]:
    """Paths of the files that a snapshot after the first took out of the table and that nothing
    else needs, `again` among them. The first took out files of the one before, which has expired.
    """
    manifests = table.manifests
    dropped: dict[Place, tuple[LiveFile, int]] = {}
    for snapshot in snapshots[1:]:
        _note_dropped(manifests, snapshot, dropped)
    tags = {tag.id for tag in keeping.tags}
    for snapshot in snapshots[:-1]:
        for file in logged_files(manifests, snapshot) if snapshot.id not in tags else ():
            dropped |= dict.fromkeys(_places(file), (file, snapshot.id))
    if dropped and again:
        later = [snapshot for snapshot in again if snapshot.id > snapshots[-1].id]
        _leave_those_in_use_again(manifests, [snapshots[-1], *later], dropped)
    if not dropped:
        return []
    elsewhere = _needed_elsewhere(manifests, keeping)
    for tag in keeping.tags if again else ():
        elsewhere |= _names_in(manifests, tag)
    tagged: dict[int, frozenset[str]] = {}
    paths: list[str] = []
    for (_, _, name), (file, number) in dropped.items():
        tag = keeping.nearest_tag(number)
        if tag is not None and tag.id not in tagged:
            tagged[tag.id] = frozenset(_names_in(manifests, tag))
        is_tagged = tag is not None and name in tagged[tag.id]
        if not is_tagged and name not in elsewhere and file.external_path is None:
            paths.append(f"{file.folder(table.layout)}/{name}")
    return paths


def _note_dropped(
    manifests: Manifests, snapshot: Snapshot, dropped: dict[Place, tuple[LiveFile, int]]
) -> None:
    """Add the files that a snapshot took out, less those it put back: on another level, or with
    another index, a file is the same.

    Its manifests are missing only if an expiry removed them, after the files they name.
    """
    delta = []
    with unless_missing():
        delta = list(manifests.changes(snapshot))
    for _, removed in delta:
        for file in removed:
            dropped |= dict.fromkeys(_places(file), (file, snapshot.id))
    for added, _ in delta:
        _leave(added, dropped)


def _leave_those_in_use_again(
    manifests: Manifests, again: Sequence[Snapshot], dropped: dict[Place, tuple[LiveFile, int]]
) -> None:
    """Take files out of `dropped` that a snapshot holds which stays. Those that expire are not
    looked at: an expiry that was killed may have removed their manifests.
    """
    for snapshot in again:
        around = Asked.around((file.partition, file.bucket) for file, _ in dropped.values())
        _leave(live_where(manifests, snapshot, around)[0], dropped)


def _leave(files: Iterable[LiveFile], dropped: dict[Place, tuple[LiveFile, int]]) -> None:
    """Take files that are there out of `dropped`."""
    for file in files:
        for place in _places(file):
            dropped.pop(place, None)


def _places(file: LiveFile) -> list[Place]:
    """A data file and those beside it, which others replace where its index is written anew."""
    return [(file.partition, file.bucket, name) for name in (file.name, *file.extra_files)]


def _names_in(manifests: Manifests, snapshot: Snapshot) -> set[str]:
    """The names of the files of a snapshot, and of those beside them."""
    found = live_of_snapshot(manifests, snapshot)
    return {name for file in found for name in (file.name, *file.extra_files)}


def _needed_elsewhere(manifests: Manifests, keeping: Pins) -> set[str]:
    found: set[str] = set()
    for snapshot in keeping.branched:
        found |= data_names(manifests, snapshot)
    for changelog in keeping.changelogs:
        found |= data_names(manifests, changelog, may_lack_lists=True)
    return found


def _metadata(
    manifests: Manifests, snapshots: Sequence[Snapshot], keeping: Pins, again: Sequence[Snapshot]
) -> tuple[list[str], list[str]]:
    """Paths, from the table's folder, of the files that the snapshots but the last refer to and
    nothing retained does. A manifest is part of consecutive snapshots, so of the table's own the
    last one, the tags among them and the nearest before decide, and those after it that do not
    follow (`again`). Lists come apart and go last: they name the rest.
    """
    *expiring, last = snapshots
    before = keeping.nearest_tag(expiring[0].id)
    tags = [tag for tag in keeping.tags if expiring[0].id <= tag.id < last.id]
    kept = metadata(manifests, last)
    if again:
        tags = [*keeping.tags, *(snapshot for snapshot in again if snapshot.id > last.id)]
    for snapshot in [*tags, *([] if before is None else [before]), *keeping.branched]:
        kept |= metadata(manifests, snapshot)
    for changelog in keeping.changelogs:
        kept |= metadata(manifests, changelog, may_lack_lists=True)
    others, listing = dict[str, None](), dict[str, None]()
    for snapshot in expiring:
        lists = {f"manifest/{name}" for name in manifest_lists(snapshot)}
        found = metadata(manifests, snapshot, may_lack_lists=True) - kept
        others |= dict.fromkeys(sorted(found - lists))
        listing |= dict.fromkeys(sorted(found & lists))
    return list(others), list(listing)
