"""Whether all that snapshots name is there and can be read: manifests, data and changelog files.

Each file is compared with what its manifest says of it, by size, footer and number of rows. If
pages are asked for, all of them are decoded, and compared with the checksums that they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial

import pyarrow.parquet as pq

from keyfold.errors import CorruptDataError, NotSupportedError, SnapshotExpiredError
from keyfold.files import damage, other_formats
from keyfold.files import vectors as deletion_vectors
from keyfold.files.footers import footer_of, forget, has_footer
from keyfold.resources.threads import done
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.manifests import CACHE
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.metadata.vectors import vectors_of
from keyfold.storage.table import Table
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import Vector

_BATCH_ROWS = 1 << 14
_TOLD = 1000  # files after which the caller hears of them


@dataclass
class Intact:
    """The files that were looked at, their bytes, and what is wrong."""

    snapshots: int = 0
    files: int = 0
    bytes: int = 0
    problems: tuple[str, ...] = ()


def look(
    table: Table, *, history: bool, pages: bool, threads: int, told: Callable[[str], None]
) -> Intact:
    """Look at the newest snapshot, or with `history` at all that are kept. A file is looked at
    once, with each deletion vector it had. `told` hears how far it is.
    """
    found, problems = Intact(), []
    named: dict[tuple[str, Vector | None], tuple[LiveFile, int]] = {}
    known: set[str] = set()  # manifests whose bytes are what this call has read, not older ones
    for snapshot in _snapshots(table, history=history):
        found.snapshots += 1
        try:
            files = _files(table, snapshot, known, history=history)
            named |= {(path, file.vector): (file, snapshot.id) for path, file in files}
        except (CorruptDataError, NotSupportedError) as error:
            problems += _unless_gone(table, snapshot.id, str(error))
    jobs = [partial(_problem, table, path, file, pages) for (path, _), (file, _) in named.items()]
    every = list(named.values())
    failed = None
    for place, wrong in done(jobs, min(threads, len(jobs)) or 1, nullcontext):
        file, snapshot_id = every[place]
        found.files, found.bytes = found.files + 1, found.bytes + file.size
        if isinstance(wrong, Exception):  # of the store, not of the file
            failed = wrong
        elif wrong is not None:
            problems += _unless_gone(table, snapshot_id, wrong)
        if found.files % _TOLD == 0:
            told(f"{found.files} of {len(every)} files, {len(problems)} problems")
    if failed is not None:
        raise failed
    found.problems = tuple(sorted(problems))
    return found


def _snapshots(table: Table, *, history: bool) -> Iterator[Snapshot]:
    """From the newest on. Those that expire meanwhile are left out."""
    if table.snapshot is None:
        return
    if not history:
        yield table.snapshot
        return
    for number in sorted(table.snapshots.ids()):
        with suppress(SnapshotExpiredError):
            if (snapshot := table.snapshots.find(number)) is not None:
                yield snapshot


def _files(
    table: Table, snapshot: Snapshot, known: set[str], *, history: bool
) -> Iterator[tuple[str, LiveFile]]:
    """The data files of a snapshot by path, with `history` those of its changelog too."""
    manifests = table.manifests
    listed = manifests.listed(snapshot)
    new = {manifests.path(record["_FILE_NAME"]) for record in listed} - known
    for path in new:
        CACHE.drop(path)
    known |= new
    vectors = vectors_of(manifests, snapshot, anew=True)
    files = replace(manifests.live_in(listed), vectors=vectors).files()
    if history and snapshot.changelog_manifest_list:
        files = [*files, *manifests.logged(snapshot)]
    table.stored_schemas(files)  # raises if a schema is lost
    for file in files:
        place = Partition.of(table.layout, file.partition)
        folder = place.bucket_folder(table.layout, file.bucket)
        yield file.external_path or f"{folder}/{file.name}", file


def _unless_gone(table: Table, snapshot_id: int, problem: str) -> list[str]:
    """The problem, unless the last snapshot that named the file has expired meanwhile."""
    return [] if table.snapshots.find(snapshot_id) is None else [problem]


def _problem(table: Table, path: str, file: LiveFile, pages: bool) -> str | None:
    """The sentence about a file that is not as it should be."""
    forget([path])
    try:
        rows = _rows(table, path, file)
        if rows != file.rows:
            return str(damage.data_file(path, f"expected {file.rows} rows, found {rows}"))
        if pages:
            _decode(table, path, file)
        deletion_vectors.check(table.files, table.layout, path, file)
    except CorruptDataError as error:
        return str(error)
    finally:
        forget([path])
    return None


def _rows(table: Table, path: str, file: LiveFile) -> int:
    """The number of rows that a file says it has."""
    if has_footer(path):
        return int(footer_of(table.files, path, file.size).metadata.num_rows)
    found = other_formats.rows_of(table.files, path, file.size)
    return file.rows if found is None else found


def _decode(table: Table, path: str, file: LiveFile) -> None:
    """Raises CorruptDataError if a page is not what was written."""
    if not has_footer(path):
        other_formats.decode(table.files, path, file.size, file.rows)
        return
    with damage.decoding(path, is_remote=not table.files.is_local):
        with damage.present(path):
            source = table.files.open(path)
        with source, pq.ParquetFile(source, page_checksum_verification=True) as parquet:
            for _ in parquet.iter_batches(_BATCH_ROWS, use_threads=False):
                pass
