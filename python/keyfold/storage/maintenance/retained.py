"""Tags, branches and changelogs, which keep files from expiring as the table's own snapshots do;
and which snapshots are kept.

A branch has snapshots and tags of its own, whose data files and manifests are with the table's.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from keyfold.errors import CorruptDataError, TableError
from keyfold.storage.maintenance.consumers import least_needed
from keyfold.storage.metadata.avro_records import INDEXED, LISTED, Check
from keyfold.storage.metadata.entries import LiveFile, Record
from keyfold.storage.metadata.manifests import Manifests, unless_missing
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots
from keyfold.storage.table import Table

_CHANGELOG = re.compile(r"changelog-\d+")
_TAG = re.compile(r"tag-.+", re.DOTALL)
BRANCH = "branch-"
PAST = "past"  # beside those of branches: a table has had one, where folders go with their files


@dataclass(frozen=True)
class Retention:
    """The snapshots to keep: from `at_least` to `at_most`. Those in between stay while the next one
    is not older than `seconds`. At most `limit` expire at once.
    """

    at_least: int
    at_most: int
    seconds: float
    limit: int

    @staticmethod
    def of(table: Table, **asked: Any) -> Retention:
        """The retention of the table's options, with the values asked for that are not None. An
        `at_most` below the table's least lowers that too.
        """
        options = table.options
        kept = Retention(
            options.snapshots_at_least,
            options.snapshots_at_most,
            options.snapshot_seconds,
            options.snapshot_expire_limit,
        )
        given = {name: value for name, value in asked.items() if value is not None}
        if "at_most" in given and "at_least" not in given:
            given["at_least"] = min(kept.at_least, given["at_most"])
        found = replace(kept, **given)
        if found.limit < 1:
            raise TableError(
                f"expiry of table {table.layout.name}: max_deletes is {found.limit}; expected 1 or "
                "more"
            )
        if not 1 <= found.at_least <= found.at_most:
            raise TableError(
                f"expiry of table {table.layout.name}: of snapshots, at least {found.at_least} "
                f"and at most {found.at_most} are to be kept; expected 1 <= least <= most "
                "(snapshot.num-retained.min and .max, or retain_min and retain_max)"
            )
        return found

    def end(
        self, table: Table, begin: int, latest: int, dated: Callable[[int], Snapshot | None]
    ) -> int:
        """The first to keep of the snapshots or changelogs from `begin` to `latest`, after Paimon's
        rules. `dated` finds the snapshot whose age decides about one of them.
        """
        newest = table.snapshots.latest_id() or 0
        consumed = least_needed(table)
        end = min(
            newest - self.at_least + 1,
            begin + self.limit,
            latest,
            latest if consumed is None else consumed,
        )
        oldest = int((time.time() - self.seconds) * 1000)
        for number in range(max(newest - self.at_most + 1, begin), end):
            found = dated(number)
            if found is not None and found.time_millis >= oldest:
                return number
        return end


@dataclass(frozen=True)
class Pins:
    """Snapshots that must stay readable: the table's `tags` by ascending id, those of branches
    and their tags, and changelogs, which may lack their base. A table that `had_branches` may have
    been moved on to one (`restarts`).
    """

    tags: Sequence[Any]
    branched: Sequence[Any]
    changelogs: Sequence[Any]
    had_branches: bool

    def nearest_tag(self, snapshot_id: int) -> Any | None:
        """The newest tag of a snapshot older than that one, None if there is not one."""
        older = [tag for tag in self.tags if tag.id < snapshot_id]
        return older[-1] if older else None


def pins(table: Table, *, writes_changelogs: bool = False) -> Pins:
    """All tags, branches and changelogs of the table. To a branch the table itself is one more.
    A table that `writes_changelogs` has none that need another's files.
    """
    files, snapshots = table.files, Snapshots(table.files, table.layout.home)
    changelogs = [] if writes_changelogs else list(_kept(snapshots, "changelog", _CHANGELOG))
    branched: list[Any] = []
    folder, names = f"{table.layout.location}/branch", _below_branch(table)
    folders = {f"{folder}/{one}" for one in names if one.startswith(BRANCH)}
    for other in {table.layout.location, *folders} - {snapshots.location}:
        own = Snapshots(files, other)
        own.latest_id()  # raises if it has lost its snapshots, which alone name its files
        branched += readable(table.manifests, own)
        branched += _kept(own, "tag", _TAG)
        changelogs += [] if writes_changelogs else _kept(own, "changelog", _CHANGELOG)
    tags = sorted(_kept(snapshots, "tag", _TAG), key=lambda tag: int(tag.id))
    had_branches = bool(names) or (files.keeps_folders and files.is_folder(folder))
    return Pins(tags, branched, changelogs, had_branches)


def readable(manifests: Manifests, line: Snapshots) -> list[Any]:
    """The snapshots of a line, without those that an expiry, killed since, has begun to remove. A
    tag or a branch may keep older ones whole.
    """
    found = [one for n in sorted(line.ids()) if (one := line.find(n)) is not None]
    first, newest = line.first_kept(), found[-1:]
    left = (one for one in found[:-1] if one.id >= first or is_whole(manifests, one))
    return [*left, *newest]


def is_whole(manifests: Manifests, snapshot: Snapshot) -> bool:
    """Whether all manifests that a snapshot needs are there."""
    is_there = False
    with unless_missing():
        metadata(manifests, snapshot)
        manifests.live_in(manifests.listed(snapshot))
        is_there = True
    return is_there


def branches(table: Table) -> list[str]:
    """The folders of the table's branches."""
    names = (name for name in _below_branch(table) if name.startswith(BRANCH))
    return [f"{table.layout.location}/branch/{name}" for name in names]


def _below_branch(table: Table) -> list[str]:
    return table.files.folders(f"{table.layout.location}/branch")


def _kept(snapshots: Snapshots, folder: str, name: re.Pattern[str]) -> Iterator[Any]:
    """Snapshots in the files of a folder; those removed meanwhile are passed over."""
    where = f"{snapshots.location}/{folder}"
    named = (found for found in snapshots.files.names(where) if name.fullmatch(found))
    parsed = (snapshots.parse(f"{where}/{found}") for found in named)
    yield from (snapshot for snapshot in parsed if snapshot is not None)


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
            columns = manifests.decoded(record)
            found.update(columns.names_of(columns.added))
    return found


def files_in(manifests: Manifests, lists: Iterable[str]) -> Iterator[LiveFile]:
    """The files that manifest lists add. Lists and manifests that can't be read are passed over:
    an expiry removes the files before those that name them.
    """
    for name in lists:
        with suppress(CorruptDataError):
            for listed in manifests.records(LISTED, name):
                with suppress(CorruptDataError):
                    yield from manifests.added(listed)


def manifest_lists(snapshot: Snapshot) -> list[str]:
    """Names of a snapshot's manifest lists."""
    lists = (
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.changelog_manifest_list,
    )
    return [name for name in lists if name]


def _records(manifests: Manifests, check: Check, name: str, may_be_missing: bool) -> list[Record]:
    if not may_be_missing:
        return manifests.records(check, name)
    found: list[Record] = []
    with unless_missing():
        found = manifests.records(check, name)
    return found
