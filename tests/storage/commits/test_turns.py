"""Turns: threads commit in the order in which they came; races with other processes are lost until
the time is over.
"""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import keyfold
from keyfold.errors import ConflictError
from keyfold.storage.commits import answers, commit
from keyfold.storage.commits.turns import TURNS, Turns
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from tests.bridge.client import PATIENCE, eventually
from tests.storage import tables

FORK = multiprocessing.get_context("fork")


def append(found: Table) -> int | None:
    return commit.append(found, tables.spec(found), [tables.message(found)])


def test_threads_go_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    found, turns, order = tables.table(tmp_path), Turns(), []

    def work(number: int) -> None:
        with turns.taken(found):
            order.append(number)
            if number == 3:
                raise ValueError("a turn ends however it ends")

    with ThreadPoolExecutor(8) as pool:
        with turns.taken(found):
            done = []
            (queue,) = turns._queues.values()
            for number in range(8):
                done.append(pool.submit(work, number))
                assert eventually(lambda most=number + 2: len(queue) == most)
            assert order == []
        errors = [one.exception() for one in done]
    assert order == list(range(8))
    assert [number for number, error in enumerate(errors) if error is not None] == [3]
    assert turns._queues == {}


def test_other_tables_do_not_wait(tmp_path: Path) -> None:
    one, other = tables.table(tmp_path, name="t"), tables.table(tmp_path, name="u")
    with TURNS.taken(one), ThreadPoolExecutor(1) as pool:
        assert pool.submit(append, other).result() == 1


def taken_once(found: Table) -> None:
    with TURNS.taken(found):
        pass


def test_a_child_has_no_turns_of_its_parent(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    with TURNS.taken(found):
        child = FORK.Process(target=taken_once, args=(found,))
        child.start()
        child.join(PATIENCE)
    assert child.exitcode == 0


def test_a_changelog_that_is_made_again_holds_nobody_up(tmp_path: Path) -> None:
    """An overwrite compares rows of each state that it might replace, without its turn."""
    found = tables.table(tmp_path)
    append(found)
    job = found, tables.spec(found), [tables.message(found)], "all"
    asked = commit.overwrite(*job, commit.Changelog())
    assert isinstance(asked, answers.NeedsChangelog)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(append, found).result(60) == 2
    again = commit.overwrite(*job, commit.Changelog(asked.of))
    assert isinstance(again, answers.NeedsChangelog)
    assert [len(one.before) for one in (asked, again)] == [1, 2]
    assert asked.of < again.of
    assert commit.overwrite(*job, commit.Changelog(again.of)) == 3


def test_threads_of_a_program_lose_no_upserts(tmp_path: Path) -> None:
    """With the options of a table that names none."""
    threads, each = 8, 10
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    columns = {"k": "INT", "n": "BIGINT"}
    table = keyfold.connect(tmp_path).create_table("t", columns, ["k"], options=options)
    begin = threading.Barrier(threads)

    def work(_: int) -> None:
        begin.wait()
        for number in range(each):
            table.upsert([{"k": number % 5, "n": 1}])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert sum(row["n"] for row in table.scan().to_pylist()) == threads * each


def losing(monkeypatch: pytest.MonkeyPatch, races: int) -> None:
    """Other jobs publish first so many times."""
    original, lost = LocalFiles.publish, []

    def publish(self: LocalFiles, path: str, data: bytes) -> bool:
        if "/snapshot-" in path and len(lost) < races:
            lost.append(path)
            return False
        return original(self, path, data)

    monkeypatch.setattr(LocalFiles, "publish", publish)


def test_a_commit_tries_again_while_there_is_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tables.table(tmp_path, tables.new_table(commit__max_retry_wait="1 ms"))
    losing(monkeypatch, 40)
    assert append(found) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"commit__max_retries": "2"},
            r"first 3 times .* \(120 s\) or commit.max-retries \(2\)$",
        ),
        ({"commit__max_retries": "0"}, r"first 1 times in .* or commit.max-retries \(0\)$"),
        ({"commit__timeout": "0 ms"}, r"first 1 times in .*, or raise commit.timeout \(0 s\)$"),
    ],
)
def test_tries_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], said: str
) -> None:
    found = tables.table(tmp_path, tables.new_table(**options))
    losing(monkeypatch, 40)
    with pytest.raises(ConflictError, match=said):
        append(found)
    assert list((Path(found.layout.location) / "manifest").iterdir()) == []
