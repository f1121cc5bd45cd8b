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
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from keyfold.errors import CorruptDataError, TableError
from keyfold.storage.maintenance.retained import (
    branches,
    data_names,
    files_in,
    manifest_lists,
    metadata,
    pins,
)
from keyfold.storage.metadata.avro_records import LISTED
from keyfold.storage.metadata.entries import Record
from keyfold.storage.metadata.manifest_columns import Identifier
from keyfold.storage.metadata.manifests import Manifests, unless_missing
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.stores import folders
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
_LOOKS = 5
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
    orphans = [orphan for name, orphan in candidates if name not in used] + _hidden(table)
    if not dry_run:
        for orphan in orphans:
            if not orphan.is_folder:
                table.files.remove(orphan.path)
            elif table.files.is_local:
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


def _candidates(table: Table, before: int) -> Iterator[tuple[str, Orphan]]:
    """Old files with names of ours, each after the name by which `in_use` knows it."""
    location = table.layout.location
    places = [(bucket, "data", "") for bucket in _buckets(table)]
    places += [(f"{location}/{n}", n, f"{n}/") for n in ("manifest", "index", "statistics")]
    roots = [location, *branches(table)]
    places += [(f"{root}/{name}", "other", "-") for root in roots for name in _OTHER_FOLDERS]
    for folder, kind, prefix in places:
        for entry in table.files.entries(folder):
            path = f"{folder}/{entry.name}"
            names = _TEMPORARY_FOLDER if entry.is_folder else _NAMES[kind]
            if entry.modified < before and names.fullmatch(entry.name):
                yield prefix + entry.name, Orphan(path, entry.size, entry.is_folder)


def _buckets(table: Table) -> list[str]:
    """Folders of all buckets, also in partitions that are gone."""
    found = [table.layout.location]
    for _ in table.layout.partition_keys:
        found = [f"{top}/{n}" for top in found for n in table.files.folders(top) if "=" in n]
    named = re.compile(r"bucket-(?:\d+|postpone)")
    return [f"{top}/{n}" for top in found for n in table.files.folders(top) if named.fullmatch(n)]


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
    numbers = sorted(table.snapshots.ids())
    own = [found for n in numbers if (found := table.snapshots.find(n)) is not None]
    entries = _Entries(manifests)
    needed: set[str] = set()
    begins = _oldest_whole(entries, own)
    begins += [after for before, after in pairwise(own) if after.id != before.id + 1]
    for snapshot in [*keeping.tags, *keeping.branched, *begins]:
        needed |= metadata(manifests, snapshot) | entries.live(snapshot)
    for snapshot in own[1:]:  # all else that they hold, they or those between have added
        needed |= metadata(manifests, snapshot) | entries.added(manifests.changed(snapshot))
    for changelog in keeping.changelogs:
        needed |= metadata(manifests, changelog, may_lack_lists=True)
        needed |= data_names(manifests, changelog, may_lack_lists=True)
    for snapshot in [*own, *keeping.tags, *keeping.branched]:
        if snapshot.changelog_manifest_list is not None:
            changes = manifests.records(LISTED, snapshot.changelog_manifest_list)
            needed |= entries.added(changes)
    return needed


def _oldest_whole(entries: "_Entries", own: list[Any]) -> list[Any]:
    """The first of the snapshots. Those that an expiry, killed since, has begun to remove are taken
    out of `own` before.
    """
    while len(own) > 1 and not _is_whole(entries, own[0]):
        del own[0]
    return own[:1]


def _is_whole(entries: "_Entries", snapshot: Snapshot) -> bool:
    is_whole = False
    with unless_missing():
        metadata(entries.manifests, snapshot)
        entries.live(snapshot)
        is_whole = True
    return is_whole


@dataclass(frozen=True)
class _Entries:
    """Names of the files that manifests add and delete, each manifest read once."""

    manifests: Manifests
    read: dict[str, tuple[dict[Identifier, set[str]], set[Identifier]]] = field(
        default_factory=dict
    )

    def live(self, snapshot: Snapshot) -> set[str]:
        """Names of the files that a snapshot holds."""
        listed = [self._of(record) for record in self.manifests.listed(snapshot)]
        gone = {found for _, deleted in listed for found in deleted}
        held = (names for added, _ in listed for key, names in added.items() if key not in gone)
        return {name for names in held for name in names}

    def added(self, listed: Sequence[Record]) -> set[str]:
        """Names of the files that the manifests of a list add."""
        found = [self._of(record) for record in listed]
        return {name for added, _ in found for names in added.values() for name in names}

    def _of(self, listed: Record) -> tuple[dict[Identifier, set[str]], set[Identifier]]:
        manifest = listed["_FILE_NAME"]
        if manifest not in self.read:
            found = self.manifests.decoded(listed)
            added = {found.identifier(row): {*found.names_of([row])} for row in found.added}
            self.read[manifest] = added, {found.identifier(row) for row in found.deleted}
        return self.read[manifest]


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
    for path in (*paths, *lists):  # the lists, which name the rest, go last
        table.files.remove(path)
    return len(paths) + len(lists)


def _files(table: Table, gone: Sequence[Snapshot]) -> Iterator[tuple[str, str]]:
    """Names and paths of the data and changelog files that manifests of the snapshots add."""
    seen: set[str] = set()
    for snapshot in gone:
        for file in files_in(table.manifests, manifest_lists(snapshot)):
            if file.name in seen or file.external_path is not None:
                continue
            seen.add(file.name)
            folder = file.folder(table.layout)
            yield from ((name, f"{folder}/{name}") for name in (file.name, *file.extra_files))
