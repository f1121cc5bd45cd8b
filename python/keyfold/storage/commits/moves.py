"""Compactions that give rows their buckets (`bucket` = -2), so that these are seen."""

from keyfold.storage.metadata.manifests import unless_missing
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.partitions import POSTPONED


def has_moved(table: Table, snapshot: Snapshot) -> bool:
    """Whether a snapshot gave rows their buckets, or may have, if that is no longer known."""
    if table.options.bucket != POSTPONED:
        return False
    found = True
    with unless_missing():
        changes = table.manifests.changes(snapshot)
        found = any(file.bucket == POSTPONED for _, removed in changes for file in removed)
    return found
