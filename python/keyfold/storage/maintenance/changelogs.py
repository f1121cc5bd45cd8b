"""Changelogs that outlive their snapshots, as Paimon keeps them: `changelog/changelog-<id>` has the
text of the snapshot's file, whose changelog manifests and files stay when the snapshot expires.

The ids follow one another up to the earliest snapshot. They expire from the oldest up: changelog
files, then manifests, then the changelog itself. So the next expiry finishes one that was killed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from keyfold.errors import CorruptDataError
from keyfold.options.changelogs import ChangelogRetention
from keyfold.storage.maintenance.retained import Retention, files_in, pins
from keyfold.storage.metadata.avro_records import LISTED
from keyfold.storage.metadata.documents import text_of
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.snapshots import Snapshot, Snapshots
from keyfold.storage.table import Table


@dataclass(frozen=True)
class Changelogs:
    """The changelog folder in `location`, the home of a table."""

    snapshots: Snapshots

    @property
    def folder(self) -> str:
        return f"{self.snapshots.location}/changelog"

    def path(self, number: int) -> str:
        """The path of the changelog of an expired snapshot."""
        return f"{self.folder}/changelog-{number}"

    def exists(self, number: int) -> bool:
        """Whether there is a changelog of that snapshot."""
        return self.snapshots.files.exists(self.path(number))

    def find(self, number: int) -> Snapshot | None:
        """The snapshot of a changelog, None if there is no such changelog."""
        return self.snapshots.parse(self.path(number))

    def earliest(self, newest: int) -> int | None:
        """The id of the oldest changelog, if `newest` is that of the newest; None without any."""
        if not self.exists(newest):
            return None
        with contextlib.suppress(OSError, ValueError):
            hinted = int(self.snapshots.files.read(f"{self.folder}/EARLIEST"))
            if self.exists(hinted) and not self.exists(hinted - 1):
                return hinted
        found = newest
        while self.exists(found - 1):
            found -= 1
        return found

    def keep(self, expiring: Sequence[Snapshot]) -> None:
        """Write the changelogs of snapshots that expire."""
        files = self.snapshots.files
        for snapshot in expiring:
            files.replace(self.path(snapshot.id), text_of(snapshot.to_json()))
        files.replace(f"{self.folder}/LATEST", str(expiring[-1].id).encode())
        if not self.exists(expiring[0].id - 1):
            self._hint(expiring[0].id)

    def remove(self, begin: int, end: int) -> None:
        """Remove the changelogs from `begin` up to `end`, which becomes the earliest."""
        for number in range(begin, end):
            self.snapshots.files.remove(self.path(number))
        self._hint(end)

    def _hint(self, number: int) -> None:
        self.snapshots.files.replace(f"{self.folder}/EARLIEST", str(number).encode())


def writes_changelogs(table: Table) -> bool:
    """Whether the table's changes are in changelog files."""
    return table.options.changelog_producer != "none"


def expire_changes(table: Table) -> int:
    """Remove the changelogs that the table's options do not keep; how many went."""
    changelogs = Changelogs(table.snapshots)
    begin, end = _window(table, changelogs) if writes_changelogs(table) else (0, 0)
    if begin >= end:
        return 0
    keeping = pins(table, writes_changelogs=True)
    kept_names, kept_metadata = _of(table.manifests, [*keeping.tags, *keeping.branched])
    for number in range(begin, end):
        changelog = changelogs.find(number)
        if changelog is None or changelog.changelog_manifest_list is None:
            continue
        for file in logged_files(table.manifests, changelog):
            if file.name not in kept_names:
                table.files.remove(f"{file.folder(table.layout)}/{file.name}")
        _, found = _of(table.manifests, [changelog])
        for name in sorted(found - kept_metadata, key=lambda n: n.startswith("manifest-list")):
            table.files.remove(table.manifests.path(name))
    changelogs.remove(begin, end)
    return end - begin


def _window(table: Table, changelogs: Changelogs) -> tuple[int, int]:
    """The first changelog there is and the first to keep: the age of a changelog is its own."""
    first = table.snapshots.earliest_id()
    if first is None:
        return 0, 0
    begin = changelogs.earliest(first - 1)
    if begin is None:
        return 0, 0
    kept = ChangelogRetention.of(table.options)
    limit = table.options.snapshot_expire_limit
    retention = Retention(kept.at_least, kept.at_most, kept.seconds, limit)
    return begin, retention.end(table, begin, first, changelogs.find)


def logged_files(manifests: Manifests, snapshot: Snapshot) -> Iterator[LiveFile]:
    """The changelog files of a snapshot, or of an expired one that is kept."""
    return files_in(manifests, filter(None, [snapshot.changelog_manifest_list]))


def _of(manifests: Manifests, snapshots: Iterable[Snapshot]) -> tuple[set[str], set[str]]:
    """Names of the changelog files of snapshots, and of the manifests and lists that name these."""
    names: set[str] = set()
    found: set[str] = set()
    for snapshot in snapshots:
        if snapshot.changelog_manifest_list is not None:
            names |= {file.name for file in logged_files(manifests, snapshot)}
            found.add(snapshot.changelog_manifest_list)
            with contextlib.suppress(CorruptDataError):
                listed = manifests.records(LISTED, snapshot.changelog_manifest_list)
                found |= {record["_FILE_NAME"] for record in listed}
    return names, found
