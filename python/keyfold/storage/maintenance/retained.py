"""Tags, branches, changelogs and consumers, which keep files from expiring as the table's own
snapshots do.

A branch has snapshots and tags of its own, whose data files and manifests are with the table's. A
consumer is a stream that has a name. Its file is Paimon's: `consumer/consumer-<name>` has the next
snapshot to read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.documents import document
from keyfold.storage.metadata.entries import Record
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.records import INDEXED, LISTED, Check
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots
from keyfold.storage.table import Table
from keyfold.stores.files import Files
from keyfold.wire.layout import home

_CHANGELOG = re.compile(r"changelog-\d+")
_TAG = re.compile(r"tag-.+", re.DOTALL)
BRANCH = "branch-"
_PREFIX = "consumer-"


@dataclass(frozen=True)
class Pins:
    """Snapshots that must stay readable: the table's `tags` by ascending id, those of branches
    and their tags, and changelogs, which may lack their base.
    """

    tags: Sequence[Any]
    branched: Sequence[Any]
    changelogs: Sequence[Any]

    def nearest_tag(self, snapshot_id: int) -> Any | None:
        """The newest tag of a snapshot older than that one, None if there is not one."""
        older = [tag for tag in self.tags if tag.id < snapshot_id]
        return older[-1] if older else None


def pins(files: Files, location: str, branch: str = "", *, tells: bool = False) -> Pins:
    """All tags, branches and changelogs of the table. To a branch the table itself is one more.
    A table that `tells` its changes in files has no changelogs that need another's files.
    """
    snapshots = Snapshots(files, home(location, branch))
    changelogs = [] if tells else list(_kept(snapshots, "changelog", _CHANGELOG))
    branched: list[Any] = []
    for other in {location, *branches(files, location)} - {snapshots.location}:
        own = Snapshots(files, other)
        branched += [found for n in own.ids() if (found := own.find(n)) is not None]
        branched += _kept(own, "tag", _TAG)
        changelogs += [] if tells else _kept(own, "changelog", _CHANGELOG)
    tags = sorted(_kept(snapshots, "tag", _TAG), key=lambda tag: int(tag.id))
    return Pins(tags, branched, changelogs)


def branches(files: Files, location: str) -> list[str]:
    """The folders of the table's branches."""
    folder = f"{location}/branch"
    return [f"{folder}/{n}" for n in files.folders(folder) if n.startswith(BRANCH)]


def _kept(snapshots: Snapshots, folder: str, name: re.Pattern[str]) -> Iterator[Any]:
    """Snapshots in the files of a folder; those removed meanwhile are passed over."""
    where = f"{snapshots.location}/{folder}"
    named = (found for found in snapshots.files.names(where) if name.fullmatch(found))
    parsed = (snapshots.parse(f"{where}/{found}") for found in named)
    yield from (snapshot for snapshot in parsed if snapshot is not None)


# ---- what a snapshot refers to ----


def metadata(manifests: Manifests, snapshot: Snapshot, *, may_lack_lists: bool = False) -> set[str]:
    """Paths, from the table's folder, of the files a snapshot refers to, other than data files.

    Raises CorruptDataError, its cause a FileNotFoundError, if one that must be read is missing.
    """
    found = set()
    for name in manifest_lists(snapshot):
        found.add(f"manifest/{name}")
        for record in _records(manifests, LISTED, name, may_lack_lists):
            found.add(f"manifest/{record['_FILE_NAME']}")
    if snapshot.index_manifest is not None:
        found.add(f"manifest/{snapshot.index_manifest}")
        for record in _records(manifests, INDEXED, snapshot.index_manifest, may_lack_lists):
            found.add(f"index/{record['_FILE_NAME']}")
    if snapshot.statistics is not None:
        found.add(f"statistics/{snapshot.statistics}")
    return found


def data_names(
    manifests: Manifests, snapshot: Snapshot, *, may_lack_lists: bool = False
) -> set[str]:
    """Names of data and changelog files that any manifest of the snapshot adds: those it needs,
    and some it does not.
    """
    found: set[str] = set()
    for name in manifest_lists(snapshot):
        for record in _records(manifests, LISTED, name, may_lack_lists):
            for file in manifests.decoded(record).added.values():
                found |= {file.name, *file.extra_files}
    return found


def manifest_lists(snapshot: Snapshot) -> list[str]:
    """Names of a snapshot's manifest lists."""
    lists = (
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.changelog_manifest_list,
    )
    return [name for name in lists if name]


def _records(manifests: Manifests, check: Check, name: str, may_be_missing: bool) -> list[Record]:
    try:
        return manifests.records(check, name)
    except CorruptDataError as error:
        if may_be_missing and isinstance(error.__cause__, FileNotFoundError):
            return []
        raise


def next_of(table: Table, consumer: str) -> int | None:
    """The next snapshot that a consumer is to read, None if it has not begun."""
    return _next_snapshot(table.files, _path(table, consumer))


def advance(table: Table, consumer: str, following: int) -> None:
    """Note the next snapshot of a consumer."""
    table.check_unchanged()
    text = json.dumps({"nextSnapshot": following})
    table.files.replace(_path(table, consumer), text.encode())


def least_consumed(files: Files, location: str) -> int | None:
    """The oldest snapshot that a consumer needs: the one before the next that it is to read, which
    shows what has changed. None without consumers.
    """
    folder = f"{location}/consumer"
    names = [name for name in files.names(folder) if name.startswith(_PREFIX)]
    positions = (_next_snapshot(files, f"{folder}/{name}") for name in names)
    return min((position - 1 for position in positions if position is not None), default=None)


def _path(table: Table, consumer: str) -> str:
    return f"{table.layout.home}/consumer/{_PREFIX}{consumer}"


def _next_snapshot(files: Files, path: str) -> int | None:
    try:
        return int(document(files.read(path))["nextSnapshot"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptDataError(f"consumer file {path} can't be read: {error}") from error
