"""Compactions that a changelog waits for: a write runs them whatever they read.

Under `lookup` a job waits (`lookup-wait`) until no bucket has a file on level 0. Under
`full-compaction` all buckets are merged to their highest level after as many commits as
`full-compaction.delta-commits` says: 1 if it is not named, as in Paimon's stream jobs.
"""

from __future__ import annotations

from collections.abc import Iterable

from keyfold.changelog.told import FULL_COMPACTION, LOOKUP, told_from
from keyfold.options import TableOptions
from keyfold.storage.commits.conflicts import COMPACT
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table


def takes_level_0(options: TableOptions) -> bool:
    """Whether a write leaves no file on level 0."""
    is_awaited = options.changelog_producer == LOOKUP and options.lookup_wait
    return options.engine.hides_level_0 or is_awaited


def is_awaited(options: TableOptions) -> bool:
    """Whether a write waits for the compaction that follows it, and repeats it after a conflict."""
    waits = options.changelog_producer == LOOKUP and options.lookup_wait
    return waits or options.changelog_producer == FULL_COMPACTION


def is_full_due(table: Table, files: Iterable[LiveFile]) -> bool:
    """Whether the write that made the table's snapshot, which holds `files`, merges all buckets to
    the highest level.
    """
    options, count, least = table.options, 0, told_from(table.options)
    if options.changelog_producer != FULL_COMPACTION or all(f.level >= least for f in files):
        return False
    if options.delta_commits == 1:
        return True
    for number in range(table.snapshot_id or 0, 0, -1):
        snapshot = table.snapshots.find(number)
        if snapshot is None:  # expired: more commits than are kept
            return True
        if snapshot.commit_kind == COMPACT and snapshot.changelog_manifest_list is not None:
            return False
        count += snapshot.commit_kind != COMPACT
        if count >= options.delta_commits:
            return True
    return False
