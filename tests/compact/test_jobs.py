"""Compactions and rescales as jobs: what becomes of their steps and files if tasks fail, if other
jobs commit meanwhile, and if they are ended; and whose turn it is after a write.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keyfold.compact import after_write, compaction_plan
from keyfold.compact.after_write import CompactionTurns, compact_after_write
from keyfold.compact.rescaling import rescaled
from keyfold.compact.running_job import ROUNDS, compacted
from keyfold.compact.task_runner import Made
from keyfold.errors import ConflictError, TableError
from keyfold.storage.table import Table, open_newest
from keyfold.wire.specs import CommitMessage, CompactionSpec, Task
from tests.bridge.client import eventually
from tests.concurrency import jobs
from tests.procedures.called import Caller

KEYS = 40
Hook = Callable[[int, CommitMessage | Exception], CommitMessage | Exception]


class Here(Caller):
    """Does tasks one after the other; `then` sees what each made, and may put another in its place,
    or end them all.
    """

    def __init__(self, then: Hook | None = None) -> None:
        super().__init__()
        self.then, self.titles = then, list[str]()
        self.went_apart = threading.Event()
        self.may_go_on = threading.Event()

    def made(self, title: str, spec: CompactionSpec, tasks: Sequence[Task]) -> Iterator[Made]:
        self.titles.append(title)
        for place, done in super().made(title, spec, tasks):
            yield place, done if self.then is None else self.then(place, done)

    def apart(self) -> None:
        self.went_apart.set()
        assert self.may_go_on.wait(60)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A table of two buckets with three runs in each, which nothing compacts."""
    jobs.made(str(tmp_path), bucket="2", **{"write-only": "true"})
    for value in range(3):
        jobs.written(str(tmp_path), rows(value))
    return str(tmp_path)


def rows(value: int) -> list[dict[str, int]]:
    return [{"k": key, "v": value} for key in range(KEYS)]


def load(folder: str) -> Callable[[], Table]:
    return partial(open_newest, jobs.table_of(folder).handle, {})


def files(folder: str) -> set[str]:
    return {path.name for path in Path(folder).rglob("data-*")}


def live(folder: str, *snapshots: int) -> set[str]:
    table = jobs.table_of(folder)
    return {file.name for number in snapshots for file in table.live_files(number)}


def statuses(found: Sequence[dict[str, Any]]) -> list[str]:
    return [row["status"] for row in found]


def test_a_failed_task_fails_its_step_alone(folder: str) -> None:
    work = Here(lambda place, made: TableError("broken") if place == 0 else made)
    found = compacted(work, load(folder), "full")
    assert [(row["status"], row["message"]) for row in found] == [
        ("failed", "broken"),
        ("committed", None),
    ]
    assert any("of 2 steps" in line and line.endswith("failed: broken") for line in work.lines)
    assert jobs.rows_of(jobs.table_of(folder)) == dict.fromkeys(range(KEYS), 2)
    assert len(live(folder, 3)) == 6
    lost = files(folder) - live(folder, 3, 4)
    assert len(lost) == 1, "the file that the test hid from the job"


def test_steps_in_conflict_are_planned_again(folder: str) -> None:
    def meanwhile(place: int, made: CommitMessage | Exception) -> CommitMessage | Exception:
        if place == 1 and len(work.titles) == 1:
            assert jobs.compacted(folder) == ["committed"] * 2
            jobs.written(folder, rows(7))
        return made

    work = Here(meanwhile)
    assert statuses(compacted(work, load(folder), "full")) == ["committed"] * 2
    assert [title.split(":")[1].split()[0:3] for title in work.titles][1][0] == "compact,"
    assert jobs.rows_of(jobs.table_of(folder)) == dict.fromkeys(range(KEYS), 7)
    newest = jobs.table_of(folder).snapshot_id
    assert newest is not None
    assert files(folder) == live(folder, *range(1, newest + 1))


def test_it_gives_up_after_some_rounds(folder: str) -> None:
    def meanwhile(place: int, made: CommitMessage | Exception) -> CommitMessage | Exception:
        if place == 0:
            assert jobs.compacted(folder) == ["committed"] * 2
            jobs.written(folder, rows(7))
        return made

    work = Here(meanwhile)
    assert statuses(compacted(work, load(folder), "full")) == ["conflict"] * 2
    assert len(work.titles) == ROUNDS


class Ended(BaseException):
    """Ends all tasks, as a cancelled Spark job does, or a program that is interrupted."""


@pytest.mark.parametrize("together", [True, False])
def test_finished_steps_are_kept_if_it_ends_early(
    folder: str, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """Those whose commit waits for others, too; files of the others are removed."""
    if not together:
        monkeypatch.setattr(compaction_plan, "STEP_BYTES", 1)

    def ended(place: int, made: CommitMessage | Exception) -> CommitMessage | Exception:
        if place == 1:
            raise Ended
        return made

    with pytest.raises(Ended):
        compacted(Here(ended), load(folder), "full")
    table = jobs.table_of(folder)
    assert table.snapshot_id == 4
    assert len(table.live_files()) == 1 + 3
    assert jobs.rows_of(table) == dict.fromkeys(range(KEYS), 2)


def test_a_rescale_that_fails_leaves_nothing(folder: str) -> None:
    before = files(folder)
    with pytest.raises(TableError, match="was not rescaled, nothing has changed: broken"):
        rescaled(
            Here(lambda place, made: TableError("broken") if place == 0 else made),
            load(folder),
            4,
        )
    assert len(files(folder) - before) == 1, "the file that the test hid from the job"

    def meanwhile(place: int, made: CommitMessage | Exception) -> CommitMessage | Exception:
        if place == 0:
            jobs.written(folder, rows(7))
        return made

    with pytest.raises(ConflictError):
        rescaled(Here(meanwhile), load(folder), 4)
    assert len(files(folder) - before - live(folder, 4)) == 1
    told = rescaled(Here(), load(folder), 4)
    assert (told["buckets_before"], told["buckets_after"], told["rows_after"]) == (2, 4, KEYS)


def test_a_dry_run_and_nothing_to_do(folder: str) -> None:
    before = files(folder)
    assert statuses(compacted(Here(), load(folder), "full", dry_run=True)) == ["planned"] * 2
    assert files(folder) == before
    assert statuses(compacted(Here(), load(folder), "full")) == ["committed"] * 2
    (row,) = compacted(Here(), load(folder), "full")
    assert row == {"status": "skipped", "message": "no bucket needs merging"}


ONE, OTHER = frozenset([((), 0)]), frozenset([((), 1)])


def test_turns() -> None:
    """One works, others leave their buckets to the next; who is awaited waits for its turn."""
    turns = CompactionTurns()
    assert turns.begin("t", ONE, awaited=False) == ONE
    assert turns.begin("t", OTHER, awaited=False) is None
    assert turns.begin("u", OTHER, awaited=False) == OTHER
    given: list[object] = []
    waiting = threading.Thread(target=lambda: given.append(turns.begin("t", ONE, awaited=True)))
    waiting.start()
    waiting.join(0.1)
    assert not given
    turns.end("t")
    waiting.join(60)
    assert given == [ONE | OTHER]


def test_many_that_come_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after_write, "_MOST_BEHIND", 2)
    turns = CompactionTurns()
    turns.begin("t", ONE, awaited=False)
    turns.begin("t", ONE, awaited=False)
    turns.keep_up("t")  # one does not wait
    turns.begin("t", ONE, awaited=False)
    waiting = threading.Thread(target=turns.keep_up, args=("t",))
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    turns.end("t")
    waiting.join(60)
    assert not waiting.is_alive()


def test_one_that_goes_apart_takes_what_others_left(folder: str) -> None:
    jobs.altered(folder, [{"change": "set_property", "key": "write-only", "value": "false"}])
    for value in range(3, 8):
        jobs.written(folder, rows(value))
    work, table = Here(), jobs.table_of(folder)

    def after(work: Here, touched: Any) -> None:
        compact_after_write(
            work, load(folder), table.layout.location, touched, awaited=False, apart=True
        )

    thread = threading.Thread(target=after, args=(work, ONE))
    thread.start()
    assert work.went_apart.wait(60)
    after(Here(), OTHER)  # leaves its bucket
    assert {file.level for file in jobs.table_of(folder).live_files()} == {0}
    work.may_go_on.set()
    thread.join(60)
    assert eventually(lambda: len(work.titles) == 2)
    assert {file.bucket for file in jobs.table_of(folder).live_files() if file.level} == {0, 1}
