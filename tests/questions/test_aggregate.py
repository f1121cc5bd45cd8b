"""The question `aggregate` over a real connection: rounds, several calls, merges, failures."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold.bridge.channel import Channel, Disconnected
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.questions import executor
from keyfold.questions.serve import serve
from keyfold.user_functions import shipping

SUM = {"name": "sum", "type": "integer", "options": {}}
TEXTS = {"name": "listagg", "type": "string", "options": {"list-agg-delimiter": "|"}}


class Jvm:
    """The other end: sends frames and streams as the JVM does."""

    def __init__(self, connection: socket.socket) -> None:
        self.channel = Channel(connection)

    def ask(self, frame: dict[str, Any]) -> Any:
        """The answer to a frame."""
        self.channel.send(frame)
        return self.channel.receive()

    def begin(self, *folds: Any) -> None:
        assert self.ask({"question": "aggregate", "folds": folds}) == {"ok": {}}

    def send(self, frame: dict[str, Any], **columns: pa.Array) -> None:
        """A frame and its stream of one batch."""
        batch = pa.record_batch(columns)
        self.channel.send(frame)
        self.channel.send_batches(batch.schema, iter([batch]))

    def rows(self, place: int, groups: list[int], items: list[Any], kind: pa.DataType) -> None:
        numbers = pa.array(groups, pa.int32())
        self.send({"rows": place}, group=numbers, a0=pa.array(items, kind))

    def take(self, place: int, what: str, start: int, stop: int) -> pa.ChunkedArray:
        answer = self.ask({"take": place, "as": what, "from": start, "to": stop})
        assert set(answer["ok"]) == {"held", "full"}
        batches = list(self.channel.receive_batches())
        return pa.chunked_array([b.column(what) for b in batches])

    def held(self) -> tuple[int, bool]:
        answer = self.ask({"take": 0, "as": "state", "from": 0, "to": 0})
        assert list(self.channel.receive_batches()) == []
        return answer["ok"]["held"], answer["ok"]["full"]

    def end(self) -> dict[str, int]:
        metrics: dict[str, int] = self.ask({"end": True})["ok"]["metrics"]
        return metrics


def _serve(connection: socket.socket) -> None:
    with connection, contextlib.suppress(Disconnected):
        serve(Channel(connection), executor.ANSWERS)


@pytest.fixture
def jvm() -> Iterator[Jvm]:
    """A connection to a worker that lives in a thread."""
    here, there = socket.socketpair()
    worker = threading.Thread(target=_serve, args=(there,))
    worker.start()
    with here:
        yield Jvm(here)
    worker.join(20)
    assert not worker.is_alive()


def test_rows_of_several_calls_fold_side_by_side(jvm: Jvm, seed: int) -> None:
    random, sums, texts = Random(seed), Counter[int](), dict[int, list[str]]()
    jvm.begin(SUM, TEXTS, SUM)
    for _ in range(30):
        rows = [(random.randrange(50), random.randrange(-9, 9)) for _ in range(100)]
        groups, items = [group for group, _ in rows], [item for _, item in rows]
        jvm.rows(0, groups, items, pa.int32())
        for group, item in rows:
            sums[group] += item
            texts.setdefault(group, []).append(str(item))
        jvm.rows(1, groups, [str(item) for item in items], pa.large_string())
    expected = [sums.get(group) for group in range(60)]
    assert jvm.held()[0] > 0
    assert jvm.take(0, "value", 0, 60).to_pylist() == expected
    assert jvm.take(1, "value", 3, 5).to_pylist() == ["|".join(texts[g]) for g in (3, 4)]
    assert jvm.take(2, "value", 0, 2).to_pylist() == [None, None]
    metrics = jvm.end()
    assert metrics["rows_in"] == 6000
    assert metrics["peak_bytes"] > 0


def test_states_of_other_tasks_fold_into_groups(jvm: Jvm) -> None:
    jvm.begin(SUM)
    jvm.rows(0, [0, 2, 2], [1, 2, 3], pa.int32())
    states = jvm.take(0, "state", 0, 3).combine_chunks()
    one, five = encode([pa.array([1, 5], pa.int32())]).to_pylist()
    assert states.to_pylist() == [one, None, five]
    jvm.channel.send({"clear": True})
    jvm.send({"states": 0}, group=pa.array([1, 1, 0], pa.int32()), state=states)
    jvm.rows(0, [1], [10], pa.int32())
    assert jvm.take(0, "value", 0, 2).to_pylist() == [5, 11]
    jvm.end()
    jvm.begin(TEXTS)  # the worker is free for the next question
    jvm.rows(0, [0], ["x"], pa.string())
    assert jvm.take(0, "value", 0, 1).to_pylist() == ["x"]


@keyfold.aggregate("BIGINT", name="widest")
def widest(best: int, value: int) -> int:
    return value if abs(value) > abs(best) else best


def test_a_function_of_the_user_comes_with_its_call(jvm: Jvm) -> None:
    code = {"modules": "", "registered": {"widest": shipping.dumps(widest)}}
    jvm.begin({"name": "widest", "type": "long", "options": {}, "code": code})
    jvm.rows(0, [0, 1, 0], [3, 5, -7], pa.int64())
    assert jvm.take(0, "value", 0, 2).to_pylist() == [-7, 5]


def test_a_call_that_can_not_be_bound_is_refused(jvm: Jvm) -> None:
    folds = [SUM, {**SUM, "type": "string"}]
    answer = jvm.ask({"question": "aggregate", "folds": folds})
    assert answer["error"]["kind"] == "TableError"
    jvm.begin(SUM)


def test_an_error_is_sent_at_once_and_the_rest_is_not_read(jvm: Jvm) -> None:
    jvm.begin(TEXTS, SUM)
    jvm.rows(1, [0, 4, 4], [1, 2**31 - 1, 1], pa.int32())
    jvm.channel.send({"take": 1, "as": "value", "from": 0, "to": 5})
    for _ in range(40):
        jvm.rows(0, [0] * 1000, ["text" * 100] * 1000, pa.string())
    answer = jvm.channel.receive()
    assert answer is not None
    error = answer["error"]
    assert (error["kind"], error["group"]) == ("FoldOverflowError", 4)
    assert "function keyfold.sum, group 4: the sum (2147483648) does not" in error["message"]


def test_frames_that_nobody_knows_are_refused(jvm: Jvm) -> None:
    jvm.begin(SUM)
    assert "unknown message" in jvm.ask({"drop": 0})["error"]["message"]


def test_a_worker_says_that_it_is_full(jvm: Jvm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyfold.resources.budget.bytes", lambda: 10_000)
    jvm.begin(TEXTS)
    jvm.rows(0, [0], ["x"], pa.string())
    assert not jvm.held()[1]
    jvm.rows(0, [0], ["x" * 5000], pa.string())
    assert jvm.held()[1]
    jvm.channel.send({"clear": True})
    assert jvm.held() == (0, False)


def test_a_peer_that_leaves_ends_the_question(jvm: Jvm) -> None:
    jvm.begin(SUM)
    jvm.channel.send({"rows": 0})
