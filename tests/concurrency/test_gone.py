"""Files of a table that are gone: each operation works, or tells expired files from lost ones.
Nothing passes for an empty table, and nothing is removed because of it.
"""

import time
from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError, SnapshotExpiredError
from tests.concurrency import jobs
from tests.storage import damaged, tables

NEW = [{"k": 9, "v": 9}]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A warehouse with a table of three runs."""
    tables.table(tmp_path, tables.new_table(bucket="1"))
    for job in range(3):
        jobs.written(str(tmp_path), [{"k": k, "v": job} for k in range(20)])
    return str(tmp_path)


def home(folder: str) -> Path:
    return Path(jobs.table_of(folder).layout.location)


def files(folder: str) -> set[str]:
    return {str(path) for path in Path(folder).rglob("*") if path.is_file()}


@pytest.mark.parametrize("kept", [["LATEST", "EARLIEST"], ["LATEST"], ["EARLIEST"]])
def test_a_table_without_its_snapshots_is_not_empty(folder: str, kept: list[str]) -> None:
    place = home(folder) / "snapshot"
    for path in place.iterdir():
        if path.name not in kept:
            path.unlink()
    damaged.forget()
    before = files(folder)
    for ask in (
        lambda: jobs.rows_of(jobs.table_of(folder)),
        lambda: jobs.written(folder, NEW),
        lambda: jobs.written(folder, NEW, "overwrite"),
        lambda: jobs.compacted(folder),
        lambda: jobs.expired(folder, 1),
        lambda: jobs.orphans_removed(folder, time.time()),
        lambda: jobs.altered(folder, [{"change": "add_column", "name": ["w"], "type": "long"}]),
    ):
        with pytest.raises(CorruptDataError, match=r"has lost its snapshots.*restore"):
            ask()
    assert files(folder) == before
    assert jobs.dropped(folder)


def test_a_new_table_is_empty(tmp_path: Path) -> None:
    tables.table(tmp_path, tables.new_table(bucket="1"))
    assert jobs.rows_of(jobs.table_of(str(tmp_path))) == {}


def test_orphan_removal_where_a_snapshot_in_between_is_lost(folder: str) -> None:
    """The newest one holds the files that the lost one added."""
    path = home(folder) / "snapshot" / "snapshot-2"
    content = path.read_bytes()
    before = jobs.rows_of(jobs.table_of(folder))
    path.unlink()
    damaged.forget()
    jobs.orphans_removed(folder, time.time())
    assert jobs.rows_of(jobs.table_of(folder)) == before
    with pytest.raises(CorruptDataError, match=r"snapshot 2 .* is missing .*though 1 is there"):
        jobs.table_of(folder).snapshots.read(2)
    path.write_bytes(content)
    assert jobs.table_of(folder).snapshots.read(2).id == 2


def test_orphan_removal_where_a_branch_has_lost_its_snapshots(folder: str) -> None:
    found = jobs.table_of(folder)
    branch = Path(found.layout.location) / "branch" / "branch-b"
    (branch / "snapshot").mkdir(parents=True)
    (branch / "snapshot" / "LATEST").write_text("7")
    for ask in (
        lambda: jobs.orphans_removed(folder, time.time()),
        lambda: jobs.expired(folder, 1),
    ):
        with pytest.raises(CorruptDataError, match="branch-b has lost its snapshots"):
            ask()


def test_a_manifest_of_an_older_snapshot_that_is_lost_has_not_expired(folder: str) -> None:
    found = jobs.table_of(folder)
    name = found.snapshots.read(2).delta_manifest_list
    (home(folder) / "manifest" / name).unlink()
    damaged.forget()
    with pytest.raises(CorruptDataError, match=f"{name} .*it is missing.*snapshot 2 "):
        found.live_files(2)
    assert jobs.rows_of(jobs.table_of(folder)) == dict.fromkeys(range(20), 2)


def test_a_data_file_lost_under_a_compaction(folder: str) -> None:
    job = jobs.Compact(folder)
    path = damaged.path_of(jobs.table_of(folder), "data file")
    path.unlink()
    damaged.forget()
    with pytest.raises(CorruptDataError, match=f"{path.name} .*it is missing; restore"):
        job.run()


def test_a_data_file_that_expired_under_a_compaction(folder: str) -> None:
    """Another one was first, and its inputs went."""
    job = jobs.Compact(folder)
    jobs.compacted(folder)
    jobs.expired(folder, 1)
    damaged.forget()
    with pytest.raises(SnapshotExpiredError, match=r"is gone: snapshot 3 .* has expired"):
        job.run()


def test_the_newest_schema_is_lost(folder: str) -> None:
    """The one before would read its files, and give its id away."""
    jobs.altered(folder, [{"change": "add_column", "name": ["w"], "type": "long"}])
    jobs.written(folder, [{"k": 1, "v": 1, "w": 1}])
    path = home(folder) / "schema" / "schema-1"
    content = path.read_bytes()
    path.unlink()
    damaged.forget()
    for ask in (
        lambda: jobs.rows_of(jobs.table_of(folder)),
        lambda: jobs.written(folder, NEW),
        lambda: jobs.compacted(folder),
        lambda: jobs.altered(folder, [{"change": "add_column", "name": ["x"], "type": "string"}]),
    ):
        with pytest.raises(CorruptDataError, match=r"schema-1 .*it is missing"):
            ask()
    path.write_bytes(content)
    damaged.forget()
    assert jobs.rows_of(jobs.table_of(folder))[1] == 1
