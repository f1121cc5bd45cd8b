"""A compaction and what others commit meanwhile: who gives way, and that nothing is lost."""

import itertools
import multiprocessing
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import ConflictError, FoldOverflowError, UnknownOutcomeError
from keyfold.storage.commits import answers, attempts, commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from keyfold.testing.tables import layout, parse, render
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import CommitMessage, CompactionStep
from keyfold.write.renumber import renumber
from tests.bridge.client import eventually
from tests.compact import harness as compaction
from tests.compact.histories import append, committed, rows, stored, written
from tests.storage import tables

SPAWN = multiprocessing.get_context("spawn")
COLUMNS = {"k": "INT", "v": "INT"}
KV = layout(COLUMNS, ["k"])
FIRST = layout(
    COLUMNS,
    ["k"],
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "first_value"},
)
SUM = layout(
    COLUMNS,
    ["k"],
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
)


def made(folder: Path, kind: TableLayout, *texts: str) -> Table:
    """A table to which jobs 101, 102 … have appended."""
    found = stored(folder, kind)
    for number, text in enumerate(texts, 101):
        append(found, parse(kind, text), number)
    return found


def told(found: Table) -> str:
    return render(rows(found))


def numbers(found: Table) -> list[tuple[int, int]]:
    return sorted((f.min_sequence, f.max_sequence) for f in tables.reload(found).live_files())


def data_files(found: Table) -> set[str]:
    return {path.name for path in Path(found.layout.location).rglob("data-*")}


def live(found: Table) -> set[str]:
    return {file.name for file in tables.reload(found).live_files()}


def late(folder: Path, kind: TableLayout, first: str, *texts: str) -> Table:
    """Job 50 writes `first`, others come and are compacted, then job 50 commits."""
    found = made(folder, kind, *texts[:1])
    job = written(found, parse(kind, first), 50)
    for number, text in enumerate(texts[1:], 201):
        append(found, parse(kind, text), number)
    compaction.compact(found)
    committed(found, *job)
    return found


def test_a_late_writer_of_an_engine_that_folds_comes_after_what_is_merged(tmp_path: Path) -> None:
    found = late(tmp_path, FIRST, "+I 1 1 | +I 2 2", "+I 1 7", "+I 1 8")
    assert told(found) == "+I 1 7 | +I 2 2"
    (compacted, renumbered) = numbers(found)
    assert compacted == (201, 201)
    assert renumbered[0] > 201
    assert compaction.compact(found)[0]["outcome"] == "committed"
    assert told(found) == "+I 1 7 | +I 2 2"


def test_a_late_writer_of_whole_records_keeps_its_number(tmp_path: Path) -> None:
    found = late(tmp_path, KV, "+I 1 1 | +I 2 2", "+I 1 7", "+I 1 8")
    assert told(found) == "+I 1 8 | +I 2 2"
    assert (50, 50) in numbers(found)
    compaction.compact(found, "minor", options={"num-sorted-run.compaction-trigger": "2"})
    assert (compaction.levels(found), told(found)) == ({5: 1}, "+I 1 8 | +I 2 2")


def test_a_late_writer_comes_after_a_delete_that_is_gone(tmp_path: Path) -> None:
    found = late(tmp_path, KV, "+I 1 1", "+I 1 7", "-D 1 8")
    assert told(found) == "+I 1 1"
    assert (50, 50) not in numbers(found)


def test_an_overwrite_is_late_where_it_replaces_nothing(tmp_path: Path) -> None:
    """REPLACE WHERE puts rows beside those of partitions that its condition does not take."""
    found = made(tmp_path, FIRST, "+I 1 7")
    spec, messages = written(found, parse(FIRST, "+I 1 1 | +I 2 2"), 50)
    append(found, parse(FIRST, "+I 1 8"), 201)
    compaction.compact(found)
    answer = commit.overwrite(tables.reload(found), spec, messages, lambda _: False)
    assert isinstance(answer, answers.Late)
    messages, spec = renumber(spec, messages, answer.sequence), replace(spec, snapshot=answer.seen)
    commit.overwrite(tables.reload(found), spec, messages, lambda _: False)
    assert told(found) == "+I 1 7 | +I 2 2"
    spec, messages = written(found, parse(FIRST, "+I 1 3"), 60)
    append(found, parse(FIRST, "+I 1 8"), 1 << 40)
    compaction.compact(found)
    commit.overwrite(tables.reload(found), spec, messages, "all")  # needs no later number
    assert told(found) == "+I 1 3"


def test_a_late_writer_is_renumbered_where_the_snapshots_are_expired(tmp_path: Path) -> None:
    found = made(tmp_path, KV, "+I 1 7")
    job = written(found, parse(KV, "+I 1 1"), 50)
    append(found, parse(KV, "+I 1 8"), 201)
    compaction.compact(found)
    Path(found.snapshots.path(2)).unlink()
    committed(found, *job)
    assert told(found) == "+I 1 1"


def test_an_attempt_that_lost_a_race_looks_at_what_won_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made(tmp_path, FIRST, "+I 1 7")
    job = written(found, parse(FIRST, "+I 1 1 | +I 2 2"), 50)
    publish, raced = attempts.publish, []

    def lose_once(*args: Any) -> bool:
        if not raced:
            raced.append(True)
            append(found, parse(FIRST, "+I 1 8"), 201)
            assert compaction.compact(found)[0]["outcome"] == "committed"
        return publish(*args)

    monkeypatch.setattr(attempts, "publish", lose_once)
    committed(found, *job)
    assert (told(found), len(numbers(found))) == ("+I 1 7 | +I 2 2", 2)
    assert data_files(found) >= live(found)


def test_an_upgraded_file_was_merged_with_nothing(tmp_path: Path) -> None:
    found = made(tmp_path, FIRST, "+I 1 7")
    job = written(found, parse(FIRST, "+I 1 1"), 50)
    (step,) = compaction.compact(found)
    assert (step["outcome"], step["files"], compaction.levels(found)) == ("committed", 0, {5: 1})
    committed(found, *job)
    assert told(found) == "+I 1 1"


def during(
    folder: Path, kind: TableLayout, meanwhile: Callable[[Table], object], *texts: str
) -> tuple[Table, dict[str, Any]]:
    """A full compaction during which something else happens."""
    found = made(folder, kind, *texts)
    planned = compaction.plan(found)
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    meanwhile(found)
    before = told(found)
    answer = compaction.commit(found, planned, step, done)
    assert told(found) == before
    return found, answer


TEXTS = ("+I 1 7 | +I 2 7", "+I 1 8", "-D 2 0")


def test_later_writers_do_not_matter(tmp_path: Path) -> None:
    found, answer = during(
        tmp_path, FIRST, lambda t: append(t, parse(FIRST, "+I 1 9"), 900), *TEXTS[:2]
    )
    assert (answer["outcome"], told(found)) == ("committed", "+I 1 7 | +I 2 7")


@pytest.mark.parametrize(("kind", "texts"), [(FIRST, TEXTS[:2]), (KV, TEXTS)])
def test_an_older_record_committed_meanwhile_stops_it(
    tmp_path: Path, kind: TableLayout, texts: tuple[str, ...]
) -> None:
    found, answer = during(tmp_path, kind, lambda t: append(t, parse(kind, "+I 2 1"), 50), *texts)
    assert answer["outcome"] == "conflict"
    assert "committed meanwhile by a job that began earlier" in answer["message"]
    assert data_files(found) == live(found)


def test_older_records_of_other_keys_do_not_matter(tmp_path: Path) -> None:
    _, answer = during(tmp_path, FIRST, lambda t: append(t, parse(FIRST, "+I 9 1"), 50), *TEXTS[:2])
    assert answer["outcome"] == "committed"


def test_older_whole_records_do_not_matter_without_deletes(tmp_path: Path) -> None:
    found, answer = during(tmp_path, KV, lambda t: append(t, parse(KV, "+I 1 1"), 50), *TEXTS[:2])
    assert (answer["outcome"], told(found)) == ("committed", "+I 1 8 | +I 2 7")


def overwritten(found: Table) -> None:
    spec, messages = written(found, parse(KV, "+I 5 5"), 900)
    commit.overwrite(found, spec, messages, "all")


@pytest.mark.parametrize("meanwhile", [compaction.compact, commit.truncate, overwritten])
def test_files_that_others_take_stop_it(
    tmp_path: Path, meanwhile: Callable[[Table], object]
) -> None:
    found, answer = during(tmp_path, KV, meanwhile, *TEXTS)
    assert answer["outcome"] == "conflict"
    assert "has replaced data file" in answer["message"]
    assert data_files(found) & live(found) == live(found)
    assert len(data_files(found)) == len(TEXTS) + len(live(found))


def test_a_dropped_table_stops_it(tmp_path: Path) -> None:
    found = made(tmp_path, KV, *TEXTS)
    planned = compaction.plan(found)
    (step,) = planned["steps"]
    asked = compaction.question(found)
    tables.catalog(tmp_path).drop_table(["default"], "t")
    with pytest.raises(ConflictError, match="dropped, renamed or replaced"):
        compaction.driver.commit_compaction(
            asked | {"compaction": planned["compaction"], "steps": [step["step"]], "results": [[]]}
        )


def at_level(messages: list[CommitMessage], level: int) -> list[CommitMessage]:
    return [replace(m, files=tuple(replace(f, level=level) for f in m.files)) for m in messages]


@pytest.mark.parametrize("more", ["+I 3 1 | +I 4 1", "+I 5 1 | +I 9 1", "+I 0 1 | +I 1 1"])
def test_no_two_files_of_a_level_hold_one_key(tmp_path: Path, more: str) -> None:
    found = made(tmp_path, KV, "+I 1 7 | +I 5 7")
    compaction.compact(found)
    spec, messages = written(found, parse(KV, more), 300)
    step = CompactionStep(spec.job, UNPARTITIONED, 0, 1, 5, ())
    snapshot, lost = commit.compact(found, [Compaction(step, at_level(messages, 5))])
    assert snapshot is None
    assert re.search("both hold keys .* on level 5 of bucket 0", str(lost[spec.job]))
    with pytest.raises(ConflictError, match="both hold keys"):
        commit.rewrite(found, spec.job, (), at_level(messages, 5))
    with pytest.raises(ConflictError, match="both hold keys"):
        commit.overwrite(found, spec, at_level(messages, 5), lambda partition: False)
    assert commit.compact(found, [Compaction(step, at_level(messages, 4))])[0] is not None


def test_an_overflow_leaves_the_runs_as_they_are(tmp_path: Path) -> None:
    found = made(tmp_path, SUM, "+I 1 2147483647 | +I 2 1", "+I 2 1", "+I 1 1")
    planned = compaction.plan(found)
    with pytest.raises(FoldOverflowError, match="BIGINT"):
        compaction.run(planned, planned["steps"][0])
    assert data_files(found) == live(found)


def test_abandoned_files_are_removed_unless_they_are_live(tmp_path: Path) -> None:
    found = made(tmp_path, KV, *TEXTS)
    planned = compaction.plan(found)
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    assert len(data_files(found)) == 4
    abandon(found, planned, step, done)
    assert data_files(found) == live(found)
    assert compaction.commit(found, planned, step, done)["outcome"] == "conflict"
    planned = compaction.plan(found)
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    assert compaction.commit(found, planned, step, done)["outcome"] == "committed"
    abandon(found, planned, step, done)
    assert live(found) <= data_files(found)


def abandon(found: Table, planned: Any, step: Any, done: Any) -> None:
    question = compaction.question(
        found,
        compaction=planned["compaction"],
        step=step["step"],
        results=[one["files"] for one in done],
    )
    compaction.driver.abandon_compaction(question)


def test_a_commit_of_unknown_outcome_keeps_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made(tmp_path, KV, *TEXTS)
    planned = compaction.plan(found)
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    before = data_files(found)
    results, spec = [one["files"] for one in done], planned["compaction"]
    question = compaction.question(found, results=[results], compaction=spec, steps=[step["step"]])

    def fails(*args: Any) -> bool:
        raise OSError("reply lost")

    def unreadable(self: LocalFiles, path: str) -> bytes:
        if "snapshot-4" in path:
            raise OSError("unreachable")
        return Path(path).read_bytes()

    monkeypatch.setattr(LocalFiles, "publish", fails)
    monkeypatch.setattr(LocalFiles, "read", unreadable)
    with pytest.raises(UnknownOutcomeError):
        compaction.driver.commit_compaction(question)
    abandon(found, planned, step, done)
    assert data_files(found) == before


def write_jobs(folder: str, seed: int) -> int:
    found = tables.catalog(Path(folder)).load_table(["default"], "t")
    for _ in range(JOBS):
        number = (time.time_ns() << 20) // 10**6 + seed
        committed(found, *written(found, parse(SUM, f"+I 1 1 | +I {seed} 1"), number))
    return JOBS


def compact_jobs(folder: str) -> list[str]:
    found = tables.catalog(Path(folder)).load_table(["default"], "t")
    Path(folder, f"begun-{os.getpid()}").touch()
    outcomes = []
    for number in itertools.count():
        is_last = Path(folder, "done").exists()
        strategy = "minor" if number % 3 else "full"
        options = {"num-sorted-run.compaction-trigger": "2"}
        outcomes += [o["outcome"] for o in compaction.compact(found, strategy, options=options)]
        if is_last:
            return outcomes
    raise AssertionError


JOBS = 12


def test_writers_and_compactions_at_once_lose_nothing(tmp_path: Path) -> None:
    found = stored(tmp_path, SUM)
    with ProcessPoolExecutor(4, SPAWN) as pool:
        compactors = [pool.submit(compact_jobs, str(tmp_path)) for _ in range(2)]
        try:
            assert eventually(lambda: len(list(tmp_path.glob("begun-*"))) == len(compactors))
            writers = [pool.submit(write_jobs, str(tmp_path), seed) for seed in (11, 12)]
            jobs = sum(writer.result() for writer in writers)
        finally:
            (tmp_path / "done").touch()
        outcomes = [outcome for one in compactors for outcome in one.result()]
    assert jobs == 2 * JOBS
    assert told(found) == f"+I 1 {2 * JOBS} | +I 11 {JOBS} | +I 12 {JOBS}"
    assert "committed" in outcomes
    compaction.compact(found)
    assert told(found) == f"+I 1 {2 * JOBS} | +I 11 {JOBS} | +I 12 {JOBS}"
