"""Orphans: what killed jobs leave is found and removed, and nothing that is used or foreign."""

import os
import shutil
import time
import uuid
from pathlib import Path

import pytest

from keyfold.errors import TableError
from keyfold.storage.branching import branches
from keyfold.storage.maintenance.orphans import remove_orphans
from keyfold.storage.maintenance.retained import metadata
from keyfold.storage.table import Table
from tests.storage import tables
from tests.storage.snapshots import (
    append,
    branch,
    data_files,
    die,
    expired,
    live,
    manifest_files,
    overwrite,
    tag,
)

DAY = 24 * 3600.0


def lay(found: Table, name: str, age: float = 2 * DAY) -> str:
    """A file below the table's folder, last changed that many seconds ago."""
    path = Path(found.layout.location) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"12345")
    os.utime(path, (time.time() - age,) * 2)
    return str(path)


def age_all(found: Table) -> None:
    """Whatever the table holds is two days old."""
    for path in Path(found.layout.location).glob("[!s]*/*"):
        os.utime(path, (time.time() - 2 * DAY,) * 2)


def orphans(found: Table, older_than: float | None = None, dry_run: bool = False) -> list[str]:
    return [orphan.path for orphan in remove_orphans(found, older_than, dry_run=dry_run)]


def names() -> list[str]:
    """One of each kind of file that a job may leave behind."""
    one = uuid.uuid4()
    return [
        f"bucket-0/data-{one}-0.parquet",
        f"bucket-1/data-{one}-12.keyfold.parquet",
        f"bucket-1/changelog-{one}-0.parquet",
        f"bucket-1/data-{one}-0.parquet.index",
        f"manifest/manifest-{one}-0",
        f"manifest/manifest-list-{one}-1",
        f"manifest/index-manifest-{one}-0",
        f"index/index-{one}-0",
        f"statistics/stat-{one}-0",
        *(f"{n}/.tmp-{one}" for n in ("snapshot", "schema", "tag", "consumer", "changelog")),
        f"snapshot/.snapshot-7.{one}.tmp",
    ]


def foreign() -> list[str]:
    one = uuid.uuid4()
    return [
        "bucket-0/notes.txt",
        "bucket-0/data-mine.parquet",
        f"bucket-x/data-{one}-0.parquet",
        "manifest/manifest-of-the-ship",
        "snapshot/snapshot-backup",
        f"elsewhere/data-{one}-0.parquet",
        f"data-{one}-0.parquet",
        "_SUCCESS",
    ]


def test_what_jobs_left_goes_and_the_rest_stays(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    for _ in range(3):
        append(found, tables.message(found))
    age_all(found)
    left = sorted(lay(found, name) for name in names())
    others = [lay(found, name) for name in foreign()]
    young = lay(found, f"bucket-0/data-{uuid.uuid4()}-0.parquet", age=DAY / 2)
    listed = remove_orphans(found, None, dry_run=True)
    assert [orphan.path for orphan in listed] == left
    assert {orphan.bytes for orphan in listed} == {5}
    assert all(Path(path).exists() for path in left)
    assert orphans(found) == left
    assert not any(Path(path).exists() for path in left)
    assert all(Path(path).exists() for path in [*others, young])
    assert live(found, 1, 2, 3) <= data_files(found)
    assert metadata(found.manifests, found.snapshots.read(3)) <= manifest_files(found)
    assert orphans(found) == []
    assert orphans(found, older_than=time.time() - DAY / 4) == [young]


def test_tags_and_branches_use_files(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    for _ in range(4):
        overwrite(found, tables.message(found))
    tag(found, 1)
    branch(found, 2)
    held = live(found, 1, 2, 4)
    expired(found)
    age_all(found)
    assert orphans(found) == []
    assert data_files(found) == held
    shutil.rmtree(Path(found.layout.location, "tag"))
    shutil.rmtree(Path(found.layout.location, "branch"))
    assert len(orphans(found)) > 1
    assert data_files(found) == live(found, 4)
    assert manifest_files(found) == metadata(found.manifests, found.snapshots.read(4))


def test_a_table_that_paimon_moved_on_to_a_branch(tmp_path: Path) -> None:
    """The branch has lost the snapshot that it began with, so Paimon's fast_forward puts its newest
    one above those of the table, which have other files.
    """
    found = tables.table(tmp_path)
    append(found, tables.message(found))
    branch(found, 1)
    beside = branches.open_branch(found, "b")
    for _ in range(3):
        append(beside, tables.message(beside))
    for _ in range(2):
        append(found, tables.message(found))
    expired(beside)
    location = Path(found.layout.location)
    shutil.copytree(f"{beside.layout.home}/snapshot", location / "snapshot", dirs_exist_ok=True)
    held = live(found, 1, 2, 3, 4)
    assert len(held) == 6
    branches.delete(found, "b")
    assert data_files(found) == held
    age_all(found)
    assert orphans(found) == []


@pytest.mark.parametrize(("removals", "tagged"), [(0, 0), (4, 0), (4, 1), (8, 0), (8, 1), (12, 1)])
def test_a_dead_expiry_is_no_obstacle(tmp_path: Path, removals: int, tagged: int) -> None:
    found = tables.table(tmp_path, tables.new_table(manifest__merge_min_count="2"))
    for _ in range(5):
        overwrite(found, tables.message(found))
    if tagged:
        tag(found, tagged)
    kept = [found.snapshots.read(number) for number in {5, tagged or 5}]
    held = {file.name for one in kept for file in found.manifests.live(one)}
    named = set().union(*(metadata(found.manifests, one) for one in kept))
    die(found, removals)
    age_all(found)
    orphans(found)
    assert held <= data_files(found)
    assert named <= manifest_files(found)
    expired(found)
    assert data_files(found) == held
    assert manifest_files(found) == named


def test_partitions_are_looked_through(tmp_path: Path) -> None:
    new = tables.new_table(tables.column("p"), tables.column("k"), key="p,k", by="p")
    found = tables.table(tmp_path, new)
    left = lay(found, f"p=7/bucket-0/data-{uuid.uuid4()}-0.parquet")
    lay(found, f"p=7/data-{uuid.uuid4()}-0.parquet")
    assert orphans(found) == [left]


def test_folders_of_tables_that_were_being_made(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    beside = Path(found.layout.location).parent
    old, young = (beside / f".staging-{uuid.uuid4()}" for _ in range(2))
    for folder in (old, young):
        (folder / "schema").mkdir(parents=True)
        (folder / "schema" / "schema-0").write_bytes(b"1234567")
    for path in (old / "schema", old):
        os.utime(path, (time.time() - 2 * DAY,) * 2)
    (listed,) = remove_orphans(found, None, dry_run=False)
    assert (listed.path, listed.bytes, listed.is_folder) == (str(old), 7, True)
    assert not old.exists()
    assert young.exists()


def test_a_time_ahead_is_refused(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    with pytest.raises(TableError, match=r"older_than is 2.*T.* in UTC, which is in the future"):
        orphans(found, older_than=time.time() + 100)
