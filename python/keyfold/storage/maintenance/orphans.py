"""Files of a table that nothing needs: orphans, and those that only removed tags, branches or
rolled back snapshots held.

Orphans are files of jobs that were killed, to which no snapshot, tag, branch or changelog refers,
and hidden folders of tables that were being made or dropped. A job's files look like orphans until
it commits, so only old files count. Only names that keyfold or Paimon gives are looked at: files
that somebody else put there stay. Files that were held (`free`) go with what held them: it is gone
by then, so nobody new can come to need them. A file that is missed becomes an orphan.
"""

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from keyfold.errors import CorruptDataError, TableError
from keyfold.storage.maintenance.retained import (
    branches,
    data_names,
    files_in,
    is_whole,
    manifest_lists,
    metadata,
    pins,
    readable,
)
from keyfold.storage.metadata.avro_records import LISTED
from keyfold.storage.metadata.entries import Record
from keyfold.storage.metadata.manifests import Manifests, unless_missing
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.stores import folders
from keyfold.stores.files import Entry
from keyfold.stores.local import remove_tree
from keyfold.stores.snapshot_folder import SnapshotFolder

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_TEMPORARY = rf"\.tmp-{_UUID}|\.[^/]+\.{_UUID}\.tmp"
_TEMPORARY_FOLDER = re.compile(rf"\.tmp-{_UUID}")  # on HDFS, with a file that was not renamed
_NAMES = {
    "data": re.compile(rf"(?:data|changelog)-{_UUID}-\d+(?:[-.].*)?|{_TEMPORARY}"),
    "manifest": re.compile(rf"(?:index-)?manifest-(?:list-)?{_UUID}-\d+|{_TEMPORARY}"),
    "index": re.compile(rf"index-{_UUID}-\d+|{_TEMPORARY}"),
    "statistics": re.compile(rf"stat(?:istics)?-{_UUID}-\d+|{_TEMPORARY}"),
    "other": re.compile(_TEMPORARY),
}
_BUCKET = re.compile(r"bucket-(?:\d+|postpone)")
_LOOKS = 5
_AT_ONCE, _LISTED = 16, 10_000  # folders that are listed at a time, and that wait for it
_OTHER_FOLDERS = ("schema", "snapshot", "tag", "consumer", "changelog")


@dataclass(frozen=True)
class Orphan:
    """A file, or a hidden folder with what is in it."""

    path: str
    bytes: int
    is_folder: bool = False


def remove_orphans(table: Table, older_than: float | None, *, dry_run: bool) -> list[Orphan]:
    """Remove the table's orphans last changed before `older_than` (seconds since the epoch; a day
    ago if None), or only list them (`dry_run`). Returns them in order of their paths.

    A job that has not committed yet loses its files from before `older_than`, so an age below a day
    must be asked for. Hidden folders beside the table stay for a day in any case.
    """
    now = time.time()
    before = now - folders.STALE_SECONDS if older_than is None else older_than
    if before > now:
        raise TableError(
            f"orphan files of table {table.layout.name}: older_than is "
            f"{np.datetime64(int(before), 's')} in UTC, which is in the future; files that a job "
            "is writing now would be removed: name a time in the past"
        )
    for root in (table.layout.location, *branches(table)):
        _check_newest(SnapshotFolder(table.files, root))
    # Listed before the snapshots are read: a file that is committed meanwhile is then seen in use.
    candidates = list(_candidates(table, int(before * 1e9)))
    used = in_use(table)
    orphans = [
        Orphan(f"{folder}/{name}", size, is_folder)
        for folder, prefix, name, size, is_folder in candidates
        if prefix + name not in used
    ]
    orphans += _hidden(table)
    if not dry_run:
        table.files.remove_all([orphan.path for orphan in orphans if not orphan.is_folder])
        for orphan in filter(attrgetter("is_folder"), orphans):
            if table.files.is_local:
                remove_tree(orphan.path)
            else:
                table.files.remove_folder(orphan.path)
    return sorted(orphans, key=lambda orphan: orphan.path)


def _check_newest(folder: SnapshotFolder) -> None:
    """Raises CorruptDataError if the newest snapshot is lost: its files would pass for orphans, and
    a backup of the snapshot alone would not bring them back.
    """
    newest, hinted = folder.latest_id(), folder.hint("LATEST")
    if newest is None or hinted is None or hinted <= newest or folder.exists(hinted):
        return
    raise CorruptDataError(
        f"orphan files of the table at {folder.location}: {folder.location}/snapshot/LATEST names "
        f"snapshot {hinted}, and the newest that is there is {newest}; its files would be removed "
        f"as orphans: restore {folder.path(hinted)} from a backup; without one, the next write "
        f"goes on from {newest}, and orphans can be removed then"
    )


class _Place(NamedTuple):
    """A folder, the kind of its files, and what `in_use` has before their names."""

    folder: str
    kind: str
    prefix: str


def _candidates(table: Table, before: int) -> Iterator[tuple[str, str, str, int, bool]]:
    """Old files with names of ours: the folder, prefix, name and size of each, and whether it is a
    folder.
    """
    for place, entry in _entries(table):
        names = _TEMPORARY_FOLDER if entry.is_folder else _NAMES[place.kind]
        if entry.modified < before and names.fullmatch(entry.name):
            yield place.folder, place.prefix, entry.name, entry.size, entry.is_folder


def _entries(table: Table) -> Iterator[tuple[_Place, Entry]]:
    """The files in the folders of the table that we write into, with their folder."""
    files, location = table.files, table.layout.location
    others = [_Place(f"{location}/{n}", n, f"{n}/") for n in ("manifest", "index", "statistics")]
    roots = [location, *branches(table)]
    others += [_Place(f"{root}/{name}", "other", "-") for root in roots for name in _OTHER_FOLDERS]
    every = files.all_below(location)
    if every is not None:
        known = {place.folder: place for place in others}
        place_of = cache(lambda folder: known.get(folder) or _bucket(table, folder))
        yield from ((place, entry) for folder, entry in every if (place := place_of(folder)))
        return
    places = [_Place(folder, "data", "") for folder in _buckets(table)] + others
    with ThreadPoolExecutor(1 if files.is_local else _AT_ONCE) as threads:
        for first in range(0, len(places), _LISTED):
            some = places[first : first + _LISTED]
            found = threads.map(files.entries, [place.folder for place in some])
            for place, entries in zip(some, found, strict=True):
                yield from ((place, entry) for entry in entries)


def _bucket(table: Table, folder: str) -> _Place | None:
    """The place of a bucket's files; None if the folder is not one of a bucket."""
    *partitions, last = folder.removeprefix(f"{table.layout.location}/").split("/")
    is_partition = len(partitions) == len(table.layout.partition_keys) and all(
        "=" in name and not name.startswith(".") for name in partitions
    )
    return _Place(folder, "data", "") if is_partition and _BUCKET.fullmatch(last) else None


def _buckets(table: Table) -> list[str]:
    """Folders of all buckets, also in partitions that are gone."""
    found = [table.layout.location]
    for _ in table.layout.partition_keys:
        found = [f"{top}/{n}" for top in found for n in table.files.folders(top) if "=" in n]
    folders = table.files.folders
    return [f"{top}/{n}" for top in found for n in folders(top) if _BUCKET.fullmatch(n)]


def _hidden(table: Table) -> list[Orphan]:
    """Folders of staged and dropped tables beside this one that nothing has touched for a day."""
    if not table.files.is_local:
        return []
    found = folders.stale(table.layout.location.rsplit("/", 1)[0])
    return [Orphan(path, folders.size(path), True) for path in found]


def in_use(table: Table) -> set[str]:
    """Names of data files, and paths of other files from the table's folder, that anything uses.

    If something expires while it is read, all is read again.
    """
    for _ in range(_LOOKS - 1):
        with unless_missing():
            return _read_in_use(table)
    return _read_in_use(table)


def _read_in_use(table: Table) -> set[str]:
    manifests = table.manifests
    keeping = pins(table)
    own = readable(manifests, table.snapshots)
    needed: set[str] = set()
    _leave_out_expiring(manifests, own)
    for snapshot in [*keeping.tags, *keeping.branched]:
        needed |= metadata(manifests, snapshot) | _live(manifests, manifests.listed(snapshot))
    last: list[Record] = []
    for snapshot in own:
        listed = manifests.listed(snapshot)
        needed |= metadata(manifests, snapshot)
        if last and _names(listed[: len(last)]) == _names(last):
            needed |= _added(manifests, listed[len(last) :])  # the one before has all else
        else:  # merged manifests, or those of a branch that the table was moved on to
            needed |= _live(manifests, listed)
        last = listed
    for changelog in keeping.changelogs:
        needed |= metadata(manifests, changelog, may_lack_lists=True)
        needed |= data_names(manifests, changelog, may_lack_lists=True)
    for snapshot in [*own, *keeping.tags, *keeping.branched]:
        if snapshot.changelog_manifest_list is not None:
            changes = manifests.records(LISTED, snapshot.changelog_manifest_list)
            needed |= _added(manifests, changes)
    return needed


def _names(listed: Sequence[Record]) -> list[str]:
    return [one["_FILE_NAME"] for one in listed]


def _leave_out_expiring(manifests: Manifests, own: list[Any]) -> None:
    """Take the first snapshots out that an expiry, killed since, has begun to remove."""
    while len(own) > 1 and not is_whole(manifests, own[0]):
        del own[0]


def _live(manifests: Manifests, listed: Sequence[Record]) -> set[str]:
    """Names of the files that a snapshot of these manifests holds."""
    parts = manifests.live_in(listed).parts()
    return {name for one, rows in parts for name in one.names_of(rows.tolist())}


def _added(manifests: Manifests, listed: Sequence[Record]) -> set[str]:
    """Names of the files that the manifests of a list add."""
    found = manifests.all_decoded(listed)
    return {name for one in found for name in one.names_of(one.added)}


def free(table: Table, gone: Sequence[Snapshot]) -> int:
    """Remove the files of snapshots that nothing else needs; returns how many."""
    if not gone:
        return 0
    kept = in_use(table)
    paths = {path: None for name, path in _files(table, gone) if name not in kept}
    lists: dict[str, None] = {}
    for snapshot in gone:
        own = {f"manifest/{name}" for name in manifest_lists(snapshot)}
        with contextlib.suppress(CorruptDataError):  # then nobody knows what it names
            found = metadata(table.manifests, snapshot, may_lack_lists=True) - kept
            lists |= dict.fromkeys(f"{table.layout.location}/{path}" for path in found & own)
            paths |= dict.fromkeys(f"{table.layout.location}/{path}" for path in found - own)
    for some in (paths, lists):  # the lists, which name the rest, go last
        table.files.remove_all(list(some))
    return len(paths) + len(lists)


def _files(table: Table, gone: Sequence[Snapshot]) -> Iterator[tuple[str, str]]:
    """Names and paths of the data and changelog files that manifests of the snapshots add."""
    seen: set[str] = set()
    for snapshot in gone:
        for file in files_in(table.manifests, manifest_lists(snapshot)):
            if file.external_path is not None:
                continue
            names = [one for one in (file.name, *file.extra_files) if one not in seen]
            seen.update(names)  # each by itself: an index is written anew while its file stays
            folder = file.folder(table.layout)
            yield from ((name, f"{folder}/{name}") for name in names)
