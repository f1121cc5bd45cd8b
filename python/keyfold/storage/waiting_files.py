"""The files of rows that wait for their buckets (`bucket` = -2): no read sees them, though somebody
has written them.
"""

from __future__ import annotations

from collections.abc import Callable

from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.storage.metadata.snapshot_files import postponed_of
from keyfold.storage.table import Table
from keyfold.wire.partitions import POSTPONED


def waiting(table: Table, takes: Callable[[Partition], bool] | None = None) -> list[LiveFile]:
    """The files of rows that wait in the handle's snapshot, in partitions that are taken."""
    if table.options.bucket != POSTPONED or table.snapshot_id is None:
        return []
    snapshot = table.snapshots.read(table.snapshot_id)
    with table.reading(snapshot):
        return postponed_of(table.manifests, snapshot, takes)
