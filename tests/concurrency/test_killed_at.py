"""Jobs killed before each of the steps in which they change something on disk: afterwards the table
is as before the job or as after it, the job can be run again, and what was left behind goes with
the orphans.
"""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import keyfold
from keyfold.storage.maintenance.retained import metadata
from tests.concurrency import jobs
from tests.concurrency.jobs import Compact, Write
from tests.concurrency.processes import killed_at, left_at_steps
from tests.storage import tables
from tests.storage.snapshots import data_files, manifest_files

State = tuple[tuple[str, ...], dict[int, Any]] | None
ADDED = {"change": "add_column", "name": ["w"], "type": "long"}
MOST_STEPS = 60


def new() -> tables.NewTable:
    """A table that sums: a commit that counts twice is seen."""
    return tables.new_table(
        bucket="1", merge_engine="aggregation", fields__v__aggregate_function="sum"
    )


def make(folder: Path) -> str:
    """A warehouse with a table of two runs."""
    tables.table(folder, new())
    for _ in range(2):
        jobs.written(str(folder), [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    return str(folder)


def copied(origin: str, folder: Path) -> str:
    """A copy of a warehouse, which takes a tenth of the time that its jobs take."""
    return str(shutil.copytree(origin, folder))


def state(folder: str) -> State:
    """Columns and rows; None where there is no table."""
    names = tables.catalog(Path(folder)).list_tables(["default"])
    if names == []:
        return None
    assert names == ["t"]
    table = jobs.table_of(folder)
    return tuple(table.layout.arrow_schema.names), jobs.rows_of(table)


def insert(folder: str) -> None:
    jobs.written(folder, [{"k": 2, "v": 20}, {"k": 3, "v": 30}])


def overwrite(folder: str) -> None:
    jobs.written(folder, [{"k": 7, "v": 70}], "overwrite")


def delete(folder: str) -> None:
    jobs.deleted(folder, 1)


def opened(folder: str) -> keyfold.Table:
    return keyfold.connect(folder, catalog="test", threads=1).table("t")


def transaction(folder: str) -> None:
    with opened(folder).transaction(token=("killed", 1)) as t:
        t.upsert([{"k": 2, "v": 20}])
        t.update("k = 1", {"v": 7})


def update(folder: str) -> None:
    opened(folder).update("k = 1", {"v": pc.field("v") + 5}, token=("killed", 1))


def merge(folder: str) -> None:
    """Adds to a row and inserts another."""
    made = opened(folder).merge([{"k": 1, "v": 5}, {"k": 3, "v": 30}], token=("killed", 1))
    made.when_matched_update({"v": pc.field("target", "v") + pc.field("source", "v")})
    made.when_not_matched_insert_all().execute()


def compaction(folder: str) -> None:
    assert set(jobs.compacted(folder)) <= {"committed"}


def expiry(folder: str) -> None:
    jobs.expired(folder, 1)


def alter(folder: str) -> None:
    if "w" not in jobs.table_of(folder).layout.arrow_schema.names:
        jobs.altered(folder, [ADDED])


def drop(folder: str) -> None:
    if tables.catalog(Path(folder)).list_tables(["default"]):
        jobs.dropped(folder)


def create(folder: str) -> None:
    if not tables.catalog(Path(folder)).list_tables(["default"]):
        tables.table(Path(folder), new())


def clean(folder: str) -> None:
    jobs.orphans_removed(folder, time.time() - 0.001)


ROWS = {1: 2, 2: 4}
AFTER: dict[Callable[[str], None], State] = {
    insert: (("k", "v"), {1: 2, 2: 24, 3: 30}),
    overwrite: (("k", "v"), {7: 70}),
    delete: (("k", "v"), {2: 4}),
    update: (("k", "v"), {1: 7, 2: 4}),
    merge: (("k", "v"), {1: 7, 2: 4, 3: 30}),
    transaction: (("k", "v"), {1: 7, 2: 24}),
    compaction: (("k", "v"), ROWS),
    expiry: (("k", "v"), ROWS),
    alter: (("k", "v", "w"), ROWS),
    drop: None,
    create: (("k", "v"), {}),
}
LONG = (update, merge, transaction)  # of their steps every third is tried


@pytest.mark.parametrize("job", AFTER, ids=lambda job: job.__name__)
def test_a_job_killed_at_any_step(tmp_path: Path, job: Callable[[str], None]) -> None:
    before: State = None if job is create else (("k", "v"), ROWS)
    folder = tmp_path / "warehouse"
    if job is create:
        folder.mkdir()
    else:
        make(folder)
    *killed, _ = left_at_steps(str(folder), tmp_path / "steps", job, str(folder))
    seen = []
    for step in range(0, len(killed), 3 if job in LONG else 1):
        left = killed[step]
        seen.append(state(left))
        assert seen[-1] in (before, AFTER[job]), f"step {step}"
        if job is not insert or seen[-1] == before:
            job(left)
        assert state(left) == AFTER[job], f"again after step {step}"
        if AFTER[job] is not None:
            check_clean(left)
    assert before in seen, "no step before the job took place"
    if job not in (create, drop):  # their last step is the one that counts
        assert AFTER[job] in seen, "no step after it"


def check_clean(folder: str) -> None:
    """Orphan removal leaves what the snapshots need, and the rows as they are."""
    before, table = state(folder), jobs.table_of(folder)
    time.sleep(0.005)
    clean(folder)
    assert state(folder) == before
    kept = [table.snapshots.read(number) for number in table.snapshots.ids()]
    held = {file.name for snapshot in kept for file in table.manifests.live(snapshot)}
    assert data_files(table) == held
    if kept:
        needed = {name for snapshot in kept for name in metadata(table.manifests, snapshot)}
        assert manifest_files(table) == needed
    places = Path(table.layout.location).rglob("*")
    assert [path for path in places if path.name.startswith(".")] == []


@pytest.mark.parametrize("late", [False, True], ids=["", "numbered-anew"])
def test_who_goes_on_after_a_commit_that_was_killed(tmp_path: Path, late: bool) -> None:
    """The next process aborts, or commits again, what the dead one may have published."""
    results, origin = set(), make(tmp_path / "origin")
    for step in range(MOST_STEPS):
        both = [Write.abort, Write.commit_again]
        for goes_on in both[step % 2 :][:1] if late else both:
            folder = copied(origin, tmp_path / f"{step}-{goes_on.__name__}")
            job = Write(folder, [{"k": 2, "v": 20}, {"k": 3, "v": 30}]).run()
            if late:  # a compaction of later rows: the job's come after them, in new files
                jobs.written(folder, [{"k": 2, "v": 100}])
                jobs.compacted(folder)
            before = state(folder)[1]
            after = before | {2: before[2] + 20, 3: 30}
            was_killed = killed_at(step, folder, job.commit)
            published = state(folder)[1] == after
            assert published or state(folder)[1] == before
            done = goes_on(job)
            expected = after if published or done else before
            assert state(folder)[1] == expected, f"step {step}"
            results.add((was_killed, published, bool(done)))
            check_clean(folder)
        if not was_killed:
            break
    assert results >= {(True, False, True), (True, True, True), (True, False, False)}


def test_who_goes_on_after_a_compaction_that_was_killed(tmp_path: Path) -> None:
    published, origin = set(), make(tmp_path / "origin")
    for step in range(MOST_STEPS):
        folder = copied(origin, tmp_path / str(step))
        job = Compact(folder).run()
        was_killed = killed_at(step, folder, job.commit)
        job.abandon()
        assert state(folder)[1] == ROWS, f"step {step}"
        published.add(jobs.table_of(folder).snapshot_id)
        check_clean(folder)
        if not was_killed:
            break
    assert published == {2, 3}
