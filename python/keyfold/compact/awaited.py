"""Compactions that a changelog waits for: a write runs them whatever they read.

Under `lookup` a job waits (`lookup-wait`) until no bucket has a file on level 0. Under
`full-compaction` all buckets are merged to their highest level after as many commits as
`full-compaction.delta-commits` says: 1 if it is not named, as in Paimon's stream jobs; or after the
time of `changelog-producer.compaction-interval`, if that is named alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from keyfold.options.changelogs import FULL_COMPACTION, changelog_level
from keyfold.storage.commits.conflicts import COMPACT
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table


def is_full_due(table: Table, files: Iterable[LiveFile]) -> bool:
    """Whether the write that made the table's snapshot, which holds `files`, merges all buckets to
    the highest level.
    """
    options, count, least = table.options, 0, changelog_level(table.options)
    if options.changelog_producer != FULL_COMPACTION or all(f.level >= least for f in files):
        return False
    if options.changelog_interval is not None and options.delta_commits is None:
        return time.time() * 1000 - _last_changelog(table) >= options.changelog_interval * 1000
    most = options.delta_commits or 1
    if most == 1:
        return True
    for number in range(table.snapshot_id or 0, 0, -1):
        snapshot = table.snapshots.find(number)
        if snapshot is None:  # expired: more commits than are kept
            return True
        if _has_changelog(snapshot):
            return False
        count += snapshot.commit_kind != COMPACT
        if count >= most:
            return True
    return False


def _last_changelog(table: Table) -> int:
    """The time in ms of the last compaction that wrote changes; of the oldest snapshot that is kept
    if it is older than that, or there was none.
    """
    millis = 0
    for number in range(table.snapshot_id or 0, 0, -1):
        snapshot = table.snapshots.find(number)
        if snapshot is None:
            break
        millis = snapshot.time_millis
        if _has_changelog(snapshot):
            break
    return millis


def _has_changelog(snapshot: Snapshot) -> bool:
    return snapshot.commit_kind == COMPACT and snapshot.changelog_manifest_list is not None
