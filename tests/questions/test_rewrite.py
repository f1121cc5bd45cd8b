"""A compaction's task: what it writes is named, or deleted where nobody is left to hear of it."""

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
    (task,) = step["tasks"]
    return {"question": "compact", "compaction": planned["compaction"], "task": task}


def test_files_are_named(table: Table, ends: Ends) -> None:
    here, there = ends
    before = files(table)
    rewrite.answer(Channel(there), question(table))
    answer = Channel(here).receive()
    assert answer is not None
    message = CommitMessage.from_json(answer["ok"]["files"])
    assert {path.name for path in files(table) - before} == {file.name for file in message.files}
    assert (answer["ok"]["metrics"]["rows_in"], answer["ok"]["metrics"]["rows_out"]) == (15, 5)


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
