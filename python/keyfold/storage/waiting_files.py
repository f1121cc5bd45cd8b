"""The files of rows that wait for their buckets (`bucket` = -2). No read sees them, though somebody
has written them, but for scans and look-ups of tables that say so (`postpone.merge-on-read`).
"""

from __future__ import annotations

from collections.abc import Callable

from keyfold.errors import NotSupportedError
from keyfold.options.clusters import reads_waiting
from keyfold.options.unparsed import READS_WAITING
from keyfold.storage.metadata.entries import LiveFile, created_millis
from keyfold.storage.metadata.partition_bounds import Partition
from keyfold.storage.metadata.snapshot_files import postponed_of
from keyfold.storage.table import Table
from keyfold.wire.partitions import POSTPONED

_TO_BUCKETS = "sys.compact (in Python table.compact()) gives them their buckets"


def waiting(table: Table, takes: Callable[[Partition], bool] | None = None) -> list[LiveFile]:
    """The files of rows that wait in the handle's snapshot, in partitions that are taken."""
    snapshot = table.snapshot if table.options.bucket == POSTPONED else None
    if snapshot is None:
        return []
    with table.reading(snapshot):
        return postponed_of(table.manifests, snapshot, takes)


def came(file: LiveFile) -> tuple[int, int, str]:
    """The place of a file in the order in which its rows came."""
    return created_millis(file), file.max_sequence, file.name


def check_none_read(table: Table, doing: str) -> None:
    """Raises NotSupportedError if rows wait that scans read: the rows of a statement that goes by
    stored ones would come before them.
    """
    if reads_waiting(table.options) and waiting(table):
        raise NotSupportedError(
            f"{doing} table {table.layout.name}: rows wait for their buckets, which scans read, as "
            f"its option {READS_WAITING.name} is 'true': what is written would come before them; "
            f"{_TO_BUCKETS}"
        )


def check_by_buckets(table: Table, doing: str) -> None:
    """Raises NotSupportedError if scans read rows before they have buckets: changes show these once
    they have them, and would not be what two scans show.
    """
    if reads_waiting(table.options):
        raise NotSupportedError(
            f"{doing} table {table.layout.name}: its option {READS_WAITING.name} is 'true', which "
            "is for scans alone: changes and streams have rows once these have buckets; expected "
            "'false': ALTER TABLE sets it"
        )
