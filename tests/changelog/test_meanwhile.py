"""Jobs that meet, and jobs that are killed: changes are written once, whichever job writes them."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from keyfold.kernels.ops import INSERT, UPDATE_AFTER
from keyfold.storage.metadata.entries import LiveFile
from tests.changelog.changelog_files import Rows, changes_since, files_of, folded
from tests.concurrency import jobs
from tests.concurrency.jobs import Compact, Write
from tests.concurrency.processes import left_at_steps
from tests.storage import tables


def new_table(producer: str) -> tables.NewTable:
    return tables.new_table(
        bucket="1", changelog_producer=producer, keyfold__data_file__sync="false"
    )


def make(folder: Path, producer: str) -> str:
    tables.table(folder, new_table(producer))
    for value in (1, 2):
        jobs.written(str(folder), [{"k": 1, "v": value}, {"k": 2, "v": value}])
        jobs.compacted(str(folder), "auto")
    return str(folder)


def rows_told(folder: str) -> dict[int, int]:
    """Column `v` by key, of the changes of all snapshots."""
    table = jobs.table_of(folder)
    found = changes_since(table, 0)
    if table.options.changelog_producer == "input":
        rows: dict[int, int] = {}
        for kind, row in found:
            rows.pop(row["k"], None)
            if kind in (INSERT, UPDATE_AFTER):
                rows[row["k"]] = row["v"]
        return rows
    told: Rows = folded(table, {}, found)
    return {row["k"]: row["v"] for row in told.values()}


def settle(folder: str) -> dict[int, int]:
    """The rows a reader sees once the changes of all jobs are told."""
    while jobs.compacted(folder, "auto"):
        pass
    rows: dict[int, int] = jobs.rows_of(jobs.table_of(folder))
    return rows


def on_disk(folder: str, prefix: str) -> set[str]:
    location = Path(jobs.table_of(folder).layout.location)
    return {path.name for path in location.rglob(f"{prefix}*.parquet")}


def held(folder: str) -> set[str]:
    """Names of the changelog files of all snapshots."""
    table = jobs.table_of(folder)
    snapshots = [table.snapshots.read(number) for number in table.snapshots.ids()]
    found: list[LiveFile] = [file for one in snapshots for file in files_of(table, one)]
    assert len({file.name for file in found}) == len(found)
    return {file.name for file in found}


def insert(folder: str) -> None:
    jobs.written(folder, [{"k": 2, "v": 3}, {"k": 3, "v": 3}])


def overwrite(folder: str) -> None:
    jobs.written(folder, [{"k": 2, "v": 3}, {"k": 3, "v": 3}], "overwrite")


def compaction(folder: str) -> None:
    jobs.compacted(folder, "auto")


@pytest.mark.parametrize(
    ("producer", "job"),
    [
        ("input", insert),
        ("lookup", compaction),
        ("full-compaction", compaction),
        ("input", overwrite),
        ("lookup", overwrite),
    ],
)
def test_a_job_killed_at_any_step(
    tmp_path: Path, producer: str, job: Callable[[str], None]
) -> None:
    """Its changes are written once: with it, or when it is run again."""
    before, after = {1: 2, 2: 2}, {1: 2, 2: 3, 3: 3}
    if job is overwrite:
        del after[1]
    folder = make(tmp_path / "warehouse", producer)
    if job is compaction:
        insert(folder)
    steps = left_at_steps(folder, tmp_path / "steps", job, folder)
    assert len(steps) > 3
    for step, left in enumerate(steps):
        rows = settle(left)
        assert rows_told(left) == rows, f"step {step}"
        if rows == before:
            job(left)
        assert settle(left) == after
        assert rows_told(left) == after
        time.sleep(0.005)
        jobs.orphans_removed(left, time.time() - 0.001)
        assert on_disk(left, "changelog-") == held(left)
        assert rows_told(left) == after


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_compaction_that_a_write_overtakes(tmp_path: Path, producer: str) -> None:
    """It tells the changes of the files it took; those of the write come with the next one."""
    folder = make(tmp_path, producer)
    jobs.written(folder, [{"k": 2, "v": 3}])
    planned = Compact(folder, "auto").run()
    jobs.written(folder, [{"k": 2, "v": 4}, {"k": 3, "v": 4}])
    assert set(planned.commit()) <= {"committed"}
    assert rows_told(folder) == {1: 2, 2: 3}
    assert settle(folder) == {1: 2, 2: 4, 3: 4}
    assert rows_told(folder) == {1: 2, 2: 4, 3: 4}


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_of_two_compactions_one_tells(tmp_path: Path, producer: str) -> None:
    folder = make(tmp_path, producer)
    jobs.written(folder, [{"k": 2, "v": 3}])
    one, other = Compact(folder, "auto").run(), Compact(folder, "full").run()
    assert set(one.commit()) == {"committed"}
    assert set(other.commit()) == {"conflict"}
    assert rows_told(folder) == settle(folder) == {1: 2, 2: 3}
    assert on_disk(folder, "changelog-") == held(folder)


@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_job_that_began_before_what_is_told(tmp_path: Path, producer: str) -> None:
    """What it changes of what was told is told too, whichever record is kept."""
    folder = make(tmp_path, producer)
    late = Write(folder, [{"k": 2, "v": 0}, {"k": 9, "v": 9}]).run()
    jobs.written(folder, [{"k": 2, "v": 3}])
    settle(folder)
    late.commit()
    rows = settle(folder)
    assert rows_told(folder) == rows
    assert rows.keys() == {1, 2, 9}
