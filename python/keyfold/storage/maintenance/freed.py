"""Files that only removed tags, branches or rolled back snapshots held are removed with them.

The removed ones are gone by then, so nobody new can come to need their files. What is left in use
is looked up as for the removal of orphans. A file that is missed becomes one.
"""

import contextlib
from collections.abc import Iterator, Sequence

from keyfold.errors import CorruptDataError
from keyfold.files.paths import bucket_path
from keyfold.storage.maintenance.orphans import in_use
from keyfold.storage.maintenance.retained import manifest_lists, metadata
from keyfold.storage.metadata.entries import LiveFile, partition_batch
from keyfold.storage.metadata.manifests import Manifests
from keyfold.storage.metadata.records import LISTED
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table


def free(table: Table, gone: Sequence[Snapshot]) -> int:
    """Remove the files of snapshots that nothing else needs; returns how many."""
    if not gone:
        return 0
    kept = in_use(table)
    paths = {path: None for name, path in _files(table, gone) if name not in kept}
    lists: dict[str, None] = {}
    for snapshot in gone:
        own = {f"manifest/{name}" for name in manifest_lists(snapshot)}
        with contextlib.suppress(CorruptDataError):  # then nobody knows what it names
            found = metadata(table.manifests, snapshot, may_lack_lists=True) - kept
            lists |= dict.fromkeys(f"{table.layout.location}/{path}" for path in found & own)
            paths |= dict.fromkeys(f"{table.layout.location}/{path}" for path in found - own)
    for path in (*paths, *lists):  # the lists, which name the rest, go last
        table.files.remove(path)
    return len(paths) + len(lists)


def _files(table: Table, gone: Sequence[Snapshot]) -> Iterator[tuple[str, str]]:
    """Names and paths of the data and changelog files that manifests of the snapshots add."""
    seen: set[str] = set()
    for snapshot in gone:
        for file in _added(table.manifests, snapshot):
            if file.name in seen or file.external_path is not None:
                continue
            seen.add(file.name)
            partition = partition_batch(table.layout, file.partition)
            folder = bucket_path(table.layout, partition, file.bucket)
            yield from ((name, f"{folder}/{name}") for name in (file.name, *file.extra_files))


def _added(manifests: Manifests, snapshot: Snapshot) -> Iterator[LiveFile]:
    for name in manifest_lists(snapshot):
        with contextlib.suppress(CorruptDataError):
            for listed in manifests.records(LISTED, name):
                with contextlib.suppress(CorruptDataError):
                    yield from manifests.decoded(listed).added.values()
