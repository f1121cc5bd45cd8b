"""The index files by which the tasks of a job know the buckets of keys (driver side)."""

from __future__ import annotations

from collections.abc import Sequence

from keyfold.errors import NotSupportedError
from keyfold.predicates.prune import on_partitions
from keyfold.storage.metadata.index_manifests import HASH, read_entries
from keyfold.storage.table import Table
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import HashFile


def hash_files(table: Table, mode: str, filters: Sequence[Predicate]) -> tuple[HashFile, ...]:
    """The index files by which a job finds the buckets of keys: those of its snapshot, without
    partitions that the job replaces. Raises NotSupportedError if a bucket has files and no index.
    """
    if not table.options.is_dynamic or table.snapshot_id is None or mode == "overwrite_dynamic":
        return ()
    layout, takes = table.layout, None
    if mode == "overwrite":
        takes = on_partitions(layout, filters, f"overwrite of partitions of table {layout.name}")
    snapshot = table.snapshots.read(table.snapshot_id)
    with table.reading(snapshot):
        entries = read_entries(table.manifests, snapshot.index_manifest, (HASH,))
    found = {(one.partition, one.bucket): one for one in entries if one.kind == HASH}
    for file in table.live_files():
        if (file.partition, file.bucket) not in found and not (takes and takes(file.partition)):
            raise NotSupportedError(
                f"table {layout.name} can't be written here: bucket {file.bucket} has data file "
                f"{file.name} and no index of its keys, as Paimon's writers leave one: INSERT "
                "OVERWRITE (table.overwrite) it from a read of it"
            )
    return tuple(
        HashFile(Partition.of(layout, one.partition), one.bucket, one.file, one.rows)
        for one in found.values()
        if not (takes and takes(one.partition))
    )
