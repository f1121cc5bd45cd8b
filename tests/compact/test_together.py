"""Buckets that are compacted in one commit: a conflict in some of them leaves the others be."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keyfold.compact import compaction_plan
from keyfold.compact.compaction_plan import STEP_BYTES, PlannedStep
from keyfold.storage.metadata.snapshots import Snapshots
from keyfold.storage.table import Table
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables

BUCKETS = 3
ROWS = [{"k": k, "v": 2} for k in range(30)]


@pytest.fixture
def found(tmp_path: Path) -> Table:
    """Two runs in each bucket."""
    made = tables.table(tmp_path, tables.new_table(bucket=str(BUCKETS), write_only="true"))
    for value in (1, 2):
        harness.upsert(made, [row | {"v": value} for row in ROWS])
    return made


def done(found: Table) -> tuple[Any, Any, Any]:
    """A compaction whose tasks are over: its plan, steps and answers."""
    planned = compaction.plan(found)
    steps = planned["steps"]
    return planned, steps, [compaction.run(planned, step) for step in steps]


def only(found: Table, *buckets: int) -> list[str]:
    """Compact these buckets and no other; what became of them."""
    outcomes = compaction.compact(found, touched=[((), bucket) for bucket in buckets])
    return [outcome["outcome"] for outcome in outcomes]


def outcomes(answers: Sequence[Any]) -> list[str]:
    return [answer["outcome"] for answer in answers]


def data_files(found: Table) -> set[str]:
    return {path.name for path in Path(found.layout.location).glob("bucket-*/*")}


def rows(found: Table) -> list[dict[str, Any]]:
    return sorted(harness.rows(found), key=lambda row: row["k"])


def live(found: Table) -> list[str]:
    return [file.name for file in tables.reload(found).live_files()]


def test_all_buckets_are_one_snapshot(found: Table) -> None:
    answers = compaction.together(found, *done(found))
    assert outcomes(answers) == ["committed"] * BUCKETS
    assert {answer["snapshot"] for answer in answers} == {3}
    assert tables.reload(found).snapshot_id == 3
    assert compaction.levels(found) == {5: BUCKETS}
    assert rows(found) == ROWS


def test_a_bucket_that_another_job_took_is_left_out(found: Table) -> None:
    planned, steps, results = done(found)
    assert only(found, 1) == ["committed"]
    mine = data_files(found)
    answers = compaction.together(found, planned, steps, results)
    by_bucket = {step["bucket"]: answer for step, answer in zip(steps, answers, strict=True)}
    assert outcomes(by_bucket[n] for n in range(BUCKETS)) == ["committed", "conflict", "committed"]
    assert "has replaced data file" in by_bucket[1]["message"]
    assert len(mine - data_files(found)) == 1, "its file is removed"
    assert set(live(found)) <= data_files(found)
    assert tables.reload(found).snapshot_id == 4
    assert rows(found) == ROWS


def test_a_commit_that_loses_the_race_goes_on_with_what_still_fits(
    found: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, steps, results = done(found)
    publish, passed = Snapshots.publish, list[list[str]]()

    def overtaken(self: Snapshots, snapshot: Any, base: Any) -> bool:
        if not passed:
            passed.append([])
            passed.append(only(found, 0))
        return publish(self, snapshot, base)

    monkeypatch.setattr(Snapshots, "publish", overtaken)
    answers = compaction.together(found, planned, steps, results)
    assert passed[1] == ["committed"]
    assert sorted(outcomes(answers)) == ["committed", "committed", "conflict"]
    assert tables.reload(found).snapshot_id == 4
    assert rows(found) == ROWS


def test_nothing_is_published_where_all_were_taken(found: Table) -> None:
    planned, steps, results = done(found)
    assert only(found, 0, 1, 2) == ["committed"] * BUCKETS
    answers = compaction.together(found, planned, steps, results)
    assert outcomes(answers) == ["conflict"] * BUCKETS
    assert tables.reload(found).snapshot_id == 2 + BUCKETS
    assert sorted(set(live(found))) == sorted(live(found))
    assert rows(found) == ROWS


def test_a_commit_takes_about_as_much_as_a_step_may_have() -> None:
    def commits(*sizes: int) -> list[int]:
        steps: list[PlannedStep] = [SimpleNamespace(bytes=size) for size in sizes]  # type: ignore[misc]
        return list(compaction_plan.commits(steps))

    half = STEP_BYTES // 2
    assert commits() == []
    assert commits(1, 2, 3) == [0, 0, 0]
    assert commits(half, half, half, 1, STEP_BYTES) == [0, 0, 1, 1, 1]
    assert commits(STEP_BYTES, STEP_BYTES, 5) == [0, 1, 2]
