"""The index files by which the tasks of a job know the buckets of keys (driver side)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keyfold.predicates.prune import on_partitions
from keyfold.storage.metadata.index_manifests import HASH, no_index, read_entries
from keyfold.storage.table import Table
from keyfold.wire.partitions import Partition
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import HashFile

Values = tuple[Any, ...]


def hash_files(table: Table, mode: str, filters: Sequence[Predicate]) -> tuple[HashFile, ...]:
    """The index files by which a job finds the buckets of keys: those of its snapshot, without
    partitions that the job replaces. Raises NotSupportedError if there are files and no index; of
    single buckets the commit says it, which looks at those partitions only that are written.
    """
    takes, name = None, table.layout.name
    if not table.options.is_dynamic or mode == "overwrite_dynamic":
        return ()
    if mode == "overwrite":
        takes = on_partitions(table.layout, filters, f"overwrite of partitions of table {name}")
    return files_beside(table, takes)


def files_beside(table: Table, takes: Callable[[Values], bool] | None) -> tuple[HashFile, ...]:
    """As `hash_files`, without the partitions that a job `takes` away."""
    layout = table.layout
    if not table.options.is_dynamic or layout.spans_partitions:
        return ()
    snapshot = table.snapshot
    if snapshot is None:
        return ()
    with table.reading(snapshot):
        entries = read_entries(table.manifests, snapshot.index_manifest, (HASH,))
    found = [one for one in entries if one.kind == HASH]
    if not found:
        for file in table.live_files():
            if not (takes and takes(file.partition)):
                raise no_index(layout.name, file.bucket, file.name)
    return tuple(
        HashFile(Partition.of(layout, one.partition), one.bucket, one.file, one.rows)
        for one in found
        if not (takes and takes(one.partition))
    )
