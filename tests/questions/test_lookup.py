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
from keyfold.lookup import matches
from keyfold.questions import executor
from keyfold.questions.scan import plan_lookup
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
    asked = {"columns": ["v"], "code": {}, "inserted": False} | more
    found = sent(plan_lookup(question(table, **asked)))
    assert found["snapshot"] == 1
    return found["lookup"]


def ask(worker: Channel, frame: Any) -> Any:
    worker.send(frame)
    return worker.receive()


def looked_up(worker: Channel, name: str, *keys: int | None) -> list[tuple[int, ...]]:
    """The answer to keys of one column, sent in two batches."""
    worker.send({"keys": True})
    batch = pa.record_batch({name: pa.array(keys, pa.int64())})
    worker.send_batches(batch.schema, iter([batch.slice(0, 1), batch.slice(1)]))
    assert worker.receive() == {"ok": {}}
    rows = [tuple(r.values()) for found in worker.receive_batches() for r in found.to_pylist()]
    assert worker.receive() == {"ok": {}}
    return rows


def begin(worker: Channel, plan: Any, by: str = "k") -> None:
    assert ask(worker, {"question": "lookup", "lookup": plan, "by": [by]}) == {"ok": {}}


def test_keys_are_asked_for_until_the_end(worker: Channel, table: Table) -> None:
    plan = planned(table)
    for _ in range(2):
        begin(worker, plan)
        assert looked_up(worker, "k", 5, None, 5, 77) == [(0, -5), (2, -5)]
        assert looked_up(worker, "k", 9, 0) == [(0, -9), (1, 0)]
        figures = ask(worker, {"end": True})["ok"]["metrics"]
        assert figures["rows"] == 6
        assert figures["bytes_read"] > 0


def test_conditions_on_the_key_count(worker: Channel, table: Table) -> None:
    filters = [where(">", "k", 4).to_json(), where("=", "v", 3).to_json()]
    begin(worker, planned(table, filters=filters))
    assert looked_up(worker, "k", 3, 4, 5) == [(2, -5)]


def test_keys_that_a_join_inserted_are_found(worker: Channel, table: Table) -> None:
    """Or it ends, unless a condition on the key leaves some out."""
    filters = [where(">", "k", 4).to_json()]
    begin(worker, planned(table, inserted=True, filters=filters))
    assert looked_up(worker, "k", 3, 5) == [(1, -5)]
    assert "ok" in ask(worker, {"end": True})
    begin(worker, planned(table, inserted=True, filters=[where("IS_NOT_NULL", "k").to_json()]))
    assert looked_up(worker, "k", 3, 5) == [(0, -3), (1, -5)]
    worker.send({"keys": True})
    batch = pa.record_batch({"k": pa.array([3, 77], pa.int64())})
    worker.send_batches(batch.schema, iter([batch]))
    answer = worker.receive()
    assert answer is not None
    assert "1 keys that this join inserted have no row now" in answer["error"]["message"]


def test_all_rows_of_a_prefix_are_found(
    worker: Channel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = [tables.column(name) for name in ("a", "b", "v")]
    new = tables.new_table(*columns, key="a,b", bucket_key="a")
    made = tables.table(tmp_path, new)
    rows = [{"a": a, "b": b, "v": a * b} for a in range(100) for b in range(a)]
    harness.upsert(made, rows)
    begin(worker, planned(made), "a")
    keys = [*range(90, 120), 0, *range(90)]
    expected = [(i, a * b) for i, a in enumerate(keys) if a < 100 for b in range(a)]
    assert looked_up(worker, "a", *keys) == expected
    monkeypatch.setattr(matches, "MOST_BYTES", 1000)  # the next ones come a few keys at a time
    assert looked_up(worker, "a", *keys) == expected


def test_a_failure_is_said(worker: Channel, table: Table) -> None:
    plan = planned(table)
    for file in (Path(table.layout.location) / "bucket-0").iterdir():
        file.unlink()
    KEPT.clear()
    begin(worker, plan)
    worker.send({"keys": True})
    batch = pa.record_batch({"k": pa.array([1], pa.int64())})
    worker.send_batches(batch.schema, iter([batch]))
    answer = worker.receive()
    assert answer is not None
    assert "data-" in answer["error"]["message"]
