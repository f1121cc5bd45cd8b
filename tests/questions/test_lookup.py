"""The question `lookup` over a real connection, by a plan of `plan_lookup`."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyfold.bridge.channel import Channel, Disconnected
from keyfold.files.footers import KEPT
from keyfold.questions import executor
from keyfold.questions.lookups import plan_lookup
from keyfold.questions.serve import serve
from keyfold.storage.table import Table
from tests.compact.harness import question, sent
from tests.read import harness
from tests.read.harness import where
from tests.storage import tables


@pytest.fixture
def worker() -> Iterator[Channel]:
    """A connection to a worker that lives in a thread."""
    here, there = socket.socketpair()

    def live() -> None:
        with there, contextlib.suppress(Disconnected):
            serve(Channel(there), executor.ANSWERS)

    thread = threading.Thread(target=live)
    thread.start()
    with here:
        yield Channel(here)
    thread.join(20)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = tables.table(tmp_path, tables.new_table(bucket="1"))
    harness.upsert(made, [{"k": k, "v": -k} for k in range(10)])
    return made


def planned(table: Table, **more: Any) -> Any:
    found = sent(plan_lookup(question(table, columns=["v"], code={}, **more)))
    assert found["snapshot"] == 1
    return found["lookup"]


def ask(worker: Channel, frame: Any) -> Any:
    worker.send(frame)
    return worker.receive()


def looked_up(worker: Channel, *keys: int | None) -> list[dict[str, Any]]:
    """The answer to keys, in two batches."""
    worker.send({"keys": True})
    batch = pa.record_batch({"k": pa.array(keys, pa.int64())})
    worker.send_batches(batch.schema, iter([batch.slice(0, 1), batch.slice(1)]))
    answer = worker.receive()
    rows = [row for found in worker.receive_batches() for row in found.to_pylist()]
    assert answer == {"ok": {"found": sum(row["_FOUND"] for row in rows)}}
    return rows


def test_keys_are_asked_for_until_the_end(worker: Channel, table: Table) -> None:
    begun = {"question": "lookup", "lookup": planned(table)}
    for _ in range(2):
        assert ask(worker, begun) == {"ok": {}}
        assert looked_up(worker, 5, None, 5, 77) == [
            {"_FOUND": True, "v": -5},
            {"_FOUND": False, "v": None},
            {"_FOUND": True, "v": -5},
            {"_FOUND": False, "v": None},
        ]
        assert looked_up(worker, 9, 0) == [{"_FOUND": True, "v": -9}, {"_FOUND": True, "v": 0}]
        assert ask(worker, {"end": True})["ok"]["metrics"]["rows"] == 6


def test_conditions_on_the_key_count(worker: Channel, table: Table) -> None:
    filters = [where(">", "k", 4).to_json(), where("=", "v", 3).to_json()]
    plan = planned(table, filters=filters)
    assert ask(worker, {"question": "lookup", "lookup": plan}) == {"ok": {}}
    assert [row["v"] for row in looked_up(worker, 3, 4, 5)] == [None, None, -5]


def test_a_failure_is_said(worker: Channel, table: Table) -> None:
    plan = planned(table)
    for file in (Path(table.layout.location) / "bucket-0").iterdir():
        file.unlink()
    KEPT.clear()
    assert ask(worker, {"question": "lookup", "lookup": plan}) == {"ok": {}}
    worker.send({"keys": True})
    batch = pa.record_batch({"k": pa.array([1], pa.int64())})
    worker.send_batches(batch.schema, iter([batch]))
    answer = worker.receive()
    assert answer is not None
    assert "data-" in answer["error"]["message"]
