"""A compaction's task: what it writes is named, or deleted where nobody is left to hear of it."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.bridge.channel import Channel, Disconnected
from keyfold.questions.serve import ErrorSent
from keyfold.questions.tasks import rewrite
from keyfold.storage.table import Table
from keyfold.wire.specs import CommitMessage
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables

Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """Both ends of a connection: the JVM's, the worker's."""
    here, there = socket.socketpair()
    with here, there:
        yield here, there


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Three runs in one bucket."""
    made = tables.table(tmp_path, tables.new_table(bucket="1"))
    for value in range(3):
        harness.upsert(made, [{"k": k, "v": value} for k in range(5)])
    return made


def files(table: Table) -> set[Path]:
    return set(Path(table.layout.location).rglob("*.parquet"))


def question(table: Table) -> dict[str, Any]:
    planned = compaction.plan(table)
    (step,) = planned["steps"]
    return {"question": "compact", "compaction": planned["compaction"], "task": step["tasks"]}


def sent_twice(asked: dict[str, Any]) -> str:
    """Asks for the task twice, at first with a file that is missing, whose name is returned."""
    (task,) = asked["task"]
    broken = json.loads(json.dumps(task).replace(".parquet", ".gone.parquet"))
    asked["task"] = [broken, task]
    return ".gone.parquet"


def test_files_are_named(table: Table, ends: Ends) -> None:
    here, there = ends
    before = files(table)
    rewrite.answer(Channel(there), question(table))
    answer = Channel(here).receive()
    assert answer is not None
    (done,) = answer["ok"]["done"]
    message = CommitMessage.from_json(done["files"])
    assert {path.name for path in files(table) - before} == {file.name for file in message.files}
    assert (done["metrics"]["rows_in"], done["metrics"]["rows_out"]) == (15, 5)


def test_a_task_that_fails_says_why(table: Table, ends: Ends) -> None:
    here, there = ends
    asked = question(table)
    before = files(table)
    next(iter(before)).unlink()
    with pytest.raises(ErrorSent):
        rewrite.answer(Channel(there), asked)
    answer = Channel(here).receive()
    assert answer is not None
    assert answer["error"]["message"]
    assert files(table) < before


def test_a_task_that_fails_beside_others_ends_alone(table: Table) -> None:
    asked, before = question(table), files(table)
    missing = sent_twice(asked)
    first, second = rewrite.compact(asked)["done"]
    assert missing in first["failure"]
    made = CommitMessage.from_json(second["files"]).files
    assert {path.name for path in files(table) - before} == {file.name for file in made}


def test_nothing_stays_of_tasks_if_the_peer_leaves_at_a_later_one(table: Table) -> None:
    asked, before = question(table), files(table)
    asked["task"] *= 2
    calls = iter([False, True])

    def leaves() -> None:
        if next(calls):
            raise Disconnected("the JVM has left")

    with pytest.raises(Disconnected):
        rewrite.compact(asked, leaves)
    assert next(calls, None) is None
    assert files(table) == before


def test_nothing_stays_of_a_task_whose_peer_leaves(table: Table, ends: Ends) -> None:
    here, there = ends
    before = files(table)
    here.close()
    with pytest.raises(Disconnected):
        rewrite.answer(Channel(there), question(table))
    assert files(table) == before


def test_nothing_stays_of_an_answer_nobody_takes(table: Table) -> None:
    before, asked = files(table), question(table)
    done = compaction.sent(rewrite.compact(asked))
    assert files(table) > before
    rewrite.abandon(asked, done)
    assert files(table) == before


def test_a_peer_that_is_there_is_no_reason_to_stop(ends: Ends) -> None:
    here, there = ends
    channel = Channel(there)
    channel.check_peer()
    Channel(here).send({"question": "next"})
    channel.check_peer()
    assert channel.receive() == {"question": "next"}
    here.close()
    with pytest.raises(Disconnected):
        channel.check_peer()
