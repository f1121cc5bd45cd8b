"""Rows that go for their age in a compaction, and what others commit meanwhile."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from keyfold import ConflictError, Table
from keyfold.compact import jobs
from keyfold.storage.commits import commit
from keyfold.storage.metadata.snapshots import EXPIRED
from keyfold.testing.tables import layout, parse
from tests.compact import harness as compaction
from tests.compact.histories import append, committed, stored, written
from tests.compact.test_conflicts import told
from tests.lifetime.test_old_rows import DAY, ENGINES, NOW, Row, is_old, made, put, rows, shown

OLD = NOW - 2 * DAY
Change = Callable[[Table], object]
Patch = pytest.MonkeyPatch


def during(table: Table, patch: Patch, change: Change) -> list[str]:
    """Compact; the change commits once the rows are merged. The statuses of the steps' attempts."""
    statuses: list[str] = []
    commit_steps, changes = jobs.commit_steps, [change]

    def later(*given: object) -> object:
        while changes:
            changes.pop()(table)
        found = commit_steps(*given)  # type: ignore[arg-type]
        statuses.extend(one["outcome"] for one in found)
        return found

    patch.setattr(jobs, "commit_steps", later)
    table.compact()
    patch.undo()
    return statuses


def of_engine(engine: str) -> dict[str, str]:
    """The options of a table of an engine."""
    name = "table__merge_engine" if engine == "versioned" else "merge_engine"
    return {name: engine, **ENGINES[engine]}


def touched(table: Table) -> None:
    table.update("k = 1", {"at": NOW})


def named(table: Table) -> None:
    table.upsert([{"k": 1, "at": NOW}])


def added(table: Table) -> None:
    put(table, (1, NOW, 1))


def beside(table: Table) -> None:
    """Keys between those that go, and of a row that stays."""
    put(table, (2, NOW, 1), (4, NOW, 4))


@pytest.mark.parametrize(
    ("engine", "change", "row"),
    [
        ("partial-update", touched, (1, NOW, 100)),
        ("aggregation", added, (1, NOW, 101)),
        ("deduplicate", named, (1, NOW, 100)),
    ],
)
def test_rows_that_are_young_meanwhile_stay_whole(
    tmp_path: Path, monkeypatch: Patch, engine: str, change: Change, row: Row
) -> None:
    options = {"merge_engine": engine, "keyfold__partial_insert": "true", **ENGINES[engine]}
    table = made(tmp_path, write_only="true", **options)
    put(table, (1, OLD, 100), (3, OLD, 3), (5, NOW, 5))
    assert during(table, monkeypatch, change) == ["conflict", "committed"]
    assert rows(table) == {row, (5, NOW, 5)}


@pytest.mark.parametrize("options", [{"merge_engine": "first-row"}, {"sequence__field": "v"}])
def test_a_compaction_does_not_let_another_row_be_seen(
    tmp_path: Path, monkeypatch: Patch, options: dict[str, str]
) -> None:
    """No reader of changes would learn of it."""
    table = made(tmp_path, write_only="true", **options)
    put(table, (1, OLD, 9), (2, NOW, 1))
    assert during(table, monkeypatch, added) == ["conflict", "committed"]
    assert rows(table) == {(2, NOW, 1)}


@pytest.mark.parametrize("engine", ENGINES)
def test_other_keys_are_not_in_the_way(tmp_path: Path, monkeypatch: Patch, engine: str) -> None:
    table = made(tmp_path, write_only="true", **of_engine(engine))
    put(table, (1, OLD, 1), (2, NOW, 1), (5, OLD, 5))
    assert during(table, monkeypatch, beside) == ["committed"]
    assert {k for k, *_ in rows(table)} == {2, 4}


def test_whole_rows_replace_those_that_go(tmp_path: Path, monkeypatch: Patch) -> None:
    table = made(tmp_path, write_only="true")
    put(table, (1, OLD, 100))
    told = table.snapshot or 0
    assert during(table, monkeypatch, added) == ["committed"]
    assert rows(table) == {(1, NOW, 1)}
    updated = [("update_preimage", 1, OLD, 100), ("update_postimage", 1, NOW, 1)]
    assert shown(table, told) == updated


def test_an_older_row_is_not_seen_when_the_newer_one_goes(tmp_path: Path) -> None:
    """Its job began earlier and commits meanwhile."""
    options = {"record-level.expire-time": "1 d", "record-level.time-field": "at"}
    kind = layout({"k": "INT", "at": "INT"}, ["k"], options)
    table = stored(tmp_path, kind)
    job = written(table, parse(kind, f"+I 1 {NOW}"), 50)
    append(table, parse(kind, f"+I 1 {OLD} | +I 2 {NOW}"), 201)
    planned = compaction.plan(table)
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    committed(table, *job)
    assert compaction.commit(table, planned, step, done)["outcome"] == "conflict"
    compaction.compact(table)
    assert told(table) == f"+I 2 {NOW}"


@pytest.mark.parametrize("engine", ENGINES)
def test_changes_meanwhile(tmp_path: Path, monkeypatch: Patch, engine: str, seed: int) -> None:
    """By random histories: a compaction takes all rows that are old when it commits, no others."""
    random = Random(f"{seed} {engine}")
    table = made(tmp_path, write_only="true", **of_engine(engine))
    took = 0

    def some(table: Table) -> None:
        keys = random.sample(range(12), 4)
        put(table, *((k, random.choice([NOW, OLD, None]), random.randrange(9)) for k in keys))

    def changed(table: Table) -> None:
        nonlocal before
        change = random.choice(["rows", "time", "deletes"])
        if change == "rows":
            some(table)
        elif change == "time" and engine != "first-row":
            table.update(f"k < {random.randrange(12)}", {"at": NOW})
        elif change == "deletes" and engine == "deduplicate":
            table.delete([{"k": random.randrange(12)}])
        before = rows(table)

    for _ in range(8):
        some(table)
        before = set[Row]()
        statuses = during(table, monkeypatch, changed)
        after = rows(table)
        assert after <= before
        assert all(map(is_old, before - after))
        if statuses[0] == "conflict":  # merged once more, with what came
            assert not any(map(is_old, after))
        took += len(before - after)
    assert took


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation"])
def test_a_statement_about_rows_that_stay_commits(
    tmp_path: Path, engine: str, isolation: str
) -> None:
    options = {"merge_engine": engine, "keyfold__row_changes__isolation": isolation}
    table = made(tmp_path, write_only="true", **options, **ENGINES[engine])
    put(table, (1, OLD, 1), (2, NOW, 1), (3, OLD, 1))
    with table.transaction() as job:
        job.update("k = 2", {"v": 7})
        table.compact()
    assert rows(table) == {(2, NOW, 7)}

    put(table, (1, OLD, 1))

    def change() -> None:
        with table.transaction() as job:
            job.update("k = 1", {"v": 7})
            table.compact()

    if engine == "deduplicate":  # a statement writes whole rows
        change()
        assert rows(table) == {(1, OLD, 7), (2, NOW, 7)}
        return
    with pytest.raises(ConflictError, match="went for their age in snapshot"):
        change()
    assert rows(table) == {(2, NOW, 7)}


def test_a_compaction_that_was_left_out_took_no_row(tmp_path: Path, monkeypatch: Patch) -> None:
    """Its commit, with the other bucket's alone, does not say that rows went."""
    table = made(tmp_path, write_only="true", merge_engine="partial-update", bucket="2")
    put(table, (0, NOW, 1), (1, OLD, 1))
    put(table, (0, NOW, 2))
    assert {file["bucket"] for file in table.files().to_pylist()} == {0, 1}
    snapshots: list[dict[str, str]] = []
    compact = commit.compact

    def once(*given: object) -> object:
        monkeypatch.undo()
        table.update("k = 1", {"at": NOW})
        found = compact(*given)  # type: ignore[arg-type]
        assert found[0] is not None
        assert len(found[1]) == 1
        snapshot = given[0].snapshots.read(found[0])  # type: ignore[attr-defined]
        snapshots.append(snapshot.properties or {})
        return found

    monkeypatch.setattr(commit, "compact", once)
    table.compact()
    assert len(snapshots) == 1
    assert EXPIRED not in snapshots[0]
