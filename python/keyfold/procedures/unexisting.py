"""remove_unexisting_files: a table forgets lost data files, so that others can be read."""

from __future__ import annotations

import uuid

from keyfold.procedures.declare import Procedure, ProcedureCall, ProcedureParameter, Rows
from keyfold.storage.commits import commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.metadata.entries import LiveFile, Place, by_place
from keyfold.storage.metadata.snapshot_files import live_of_snapshot
from keyfold.storage.table import Table
from keyfold.wire.partitions import Partition
from keyfold.wire.specs import CompactionStep, Merged
from keyfold.write.keys.shared_keys import SharedKeys


def _remove(call: ProcedureCall, dry_run: bool) -> Rows:
    table = call.newest()
    table.check_writable()
    places = _places(table)
    lost = [file for files in places.values() for file in _lost(table, files)]
    if lost and not dry_run:
        found = by_place(lost)
        forgets = [Compaction(_step(table, found[at], places[at])) for at in found]
        _, conflicts = commit.compact(table, forgets, SharedKeys(table))
        for error in conflicts.values():
            raise error
    return [
        {
            "partition": Partition.of(table.layout, file.partition).text,
            "bucket": file.bucket,
            "file_path": f"{file.folder(table.layout)}/{file.name}",
            "rows": file.rows,
        }
        for file in lost
    ]


def _places(table: Table) -> dict[Place, list[LiveFile]]:
    """The files of the newest snapshot by their buckets."""
    snapshot = table.snapshot
    if snapshot is None:
        return {}
    with table.reading(snapshot):
        return by_place(live_of_snapshot(table.manifests, snapshot).files())


def _lost(table: Table, files: list[LiveFile]) -> list[LiveFile]:
    """The files of a bucket that are not in its folder."""
    there = {entry.name for entry in table.files.entries(files[0].folder(table.layout))}
    return [file for file in files if file.external_path is None and file.name not in there]


def _step(table: Table, lost: list[LiveFile], every: list[LiveFile]) -> CompactionStep:
    """The compaction of a bucket that makes nothing of lost files. Whatever their order was among
    the files that stay, it is in nobody's way.
    """
    first, names = lost[0], {file.name for file in lost}
    return CompactionStep(
        str(uuid.uuid4()),
        Partition.of(table.layout, first.partition),
        first.bucket,
        first.total_buckets,
        first.level,
        tuple(Merged(((file.name, file.level),), oldest=False) for file in lost),
        vectors={file.name: file.vector for file in lost if file.vector is not None},
        below=tuple(file.name for file in every if file.name not in names),
    )


REMOVE_UNEXISTING_FILES = Procedure(
    "remove_unexisting_files",
    "forgets data files that are lost, so that the other rows can be read",
    (ProcedureParameter("dry_run", "BOOLEAN", "only say which files are lost", False),),
    {"partition": "STRING", "bucket": "INT", "file_path": "STRING", "rows": "BIGINT"},
    _remove,
    "Takes the data files that are not where the newest snapshot says out of the table, in one "
    "commit, and names them. Their rows are lost; older versions of these that other files hold "
    "come back. Older snapshots still name the files.",
)
