"""A table made of one snapshot of another: its schemas, files and manifests are copied.

The new table has files of its own. It is built aside and appears in one step, whole, or not at all.
It has one snapshot, of the number that it had, and no history, tags, branches or changelog.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from keyfold.errors import NotSupportedError
from keyfold.files import damage
from keyfold.files.vectors import is_beside_data
from keyfold.resources.threads import done
from keyfold.storage.catalogs.interface import Catalog, Staged
from keyfold.storage.catalogs.warehouse import WarehouseCatalog
from keyfold.storage.maintenance.retained import metadata
from keyfold.storage.metadata.documents import text_of
from keyfold.storage.metadata.index_manifests import WRITTEN, read_entries
from keyfold.storage.metadata.snapshot_files import live_of_snapshot
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.wire.layout import sql_name
from keyfold.wire.partitions import Partition

_COPIED = 8 << 20  # bytes at once
_IDS = "auto-increment"  # the folder of numbers that were handed out


@dataclass(frozen=True)
class _File:
    """A file of the table, by its path from there; `size` if it is known."""

    path: str
    to: str
    size: int | None = None


@dataclass(frozen=True)
class Cloned:
    """The new table's snapshot, None if it has no rows; its data files and their bytes."""

    snapshot: int | None
    files: int
    bytes: int


def clone(table: Table, catalog: Catalog, namespace: str, name: str, threads: int) -> Cloned:
    """Make a table of that name out of the one that is given, as it is at its snapshot. Raises
    TableExistsError if the name is taken, SnapshotExpiredError if the snapshot expires meanwhile,
    NotSupportedError if the catalog can't rename folders.
    """
    where = f"cloning table {table.layout.name} to {sql_name(namespace, name)}"
    if not isinstance(catalog, WarehouseCatalog) or not catalog.files.is_local:
        raise NotSupportedError(
            f"{where}: catalog {catalog.name} is on a server or an object store, where a table "
            "can't appear in one step; INSERT INTO a new table SELECT * FROM this one"
        )
    table.check_readable()
    snapshot = table.snapshot
    if snapshot is not None:  # the changelog is not copied
        snapshot = replace(
            snapshot,
            changelog_manifest_list=None,
            changelog_manifest_list_size=None,
            changelog_record_count=None,
        )
    staged = catalog.stage_folder([namespace], name)
    try:
        with table.reading(snapshot):
            data = [] if snapshot is None else list(_data(table, snapshot))
            files = [*_schemas(table), *data, *_ids(table)]
            files += [] if snapshot is None else _metadata(table, snapshot)
            _copy_all(table, staged, files, threads)
        table.check_unchanged()
        if snapshot is not None:
            _publish(staged, snapshot)
        catalog.commit_staged(staged)
    except BaseException:
        shutil.rmtree(staged.location, ignore_errors=True)
        raise
    size = sum(file.size or 0 for file in data)
    return Cloned(None if snapshot is None else snapshot.id, len(data), size)


def _schemas(table: Table) -> Iterator[_File]:
    """The versions of the schema up to the table's."""
    for number in sorted(table.schemas.ids()):
        if number <= table.layout.schema_id:
            yield _File(table.schemas.path(number), f"schema/schema-{number}")


def _metadata(table: Table, snapshot: Snapshot) -> Iterator[_File]:
    """All that the snapshot names but data files. Paimon's writers may have put index files beside
    these.
    """
    layout, beside = table.layout, {}
    if is_beside_data(layout):
        entries = read_entries(table.manifests, snapshot.index_manifest)
        for one in (entry for entry in entries if entry.kind in WRITTEN):
            folder = Partition.of(layout, one.partition).bucket_folder(layout, one.bucket)
            beside[f"index/{one.file}"] = f"{folder}/{one.file}"
    for path in sorted(metadata(table.manifests, snapshot)):
        place = beside.get(path, f"{layout.location}/{path}")
        yield _File(place, place.removeprefix(layout.location).lstrip("/"))


def _ids(table: Table) -> Iterator[_File]:
    """The numbers that were handed out, so that none comes again."""
    folder = f"{table.layout.location}/{_IDS}"
    pending = [folder]
    while pending:
        here = pending.pop()
        for entry in table.files.entries(here):
            path = f"{here}/{entry.name}"
            if entry.is_folder:
                pending.append(path)
            else:
                yield _File(path, f"{_IDS}{path.removeprefix(folder)}")


def _data(table: Table, snapshot: Snapshot) -> Iterator[_File]:
    layout = table.layout
    for file in live_of_snapshot(table.manifests, snapshot):
        folder = Partition.of(layout, file.partition).bucket_folder(layout, file.bucket)
        to = folder.removeprefix(layout.location).lstrip("/")
        for name in (file.name, *file.extra_files):
            path = f"{folder}/{name}" if file.external_path is None else file.external_path
            yield _File(path, f"{to}/{name}", file.size if name == file.name else None)


def _copy_all(table: Table, staged: Staged, files: list[_File], threads: int) -> None:
    jobs: list[Callable[[], None]] = [partial(_copy, table, staged.location, one) for one in files]
    # All threads end before an error is raised, after which what they made is removed.
    results = list(done(jobs, max(1, min(threads, len(jobs))), nullcontext))
    for error in (found for _, found in results if found is not None):
        raise error


def _copy(table: Table, location: str, file: _File) -> None:
    target = Path(location) / file.to
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        damage.present(file.path),
        table.files.open(file.path) as source,
        target.open("xb") as sink,
    ):
        shutil.copyfileobj(source, sink, _COPIED)
        sink.flush()
        os.fsync(sink.fileno())
    found = target.stat().st_size
    if file.size is not None and found != file.size:
        raise damage.data_file(file.path, damage.of_size(found, file.size))


def _publish(staged: Staged, snapshot: Snapshot) -> None:
    folder = Path(staged.location) / "snapshot"
    folder.mkdir()
    number = str(snapshot.id).encode()
    contents = {f"snapshot-{snapshot.id}": text_of(snapshot.to_json())}
    for name, data in (contents | {"EARLIEST": number, "LATEST": number}).items():
        with (folder / name).open("xb") as sink:
            sink.write(data)
            sink.flush()
            os.fsync(sink.fileno())
