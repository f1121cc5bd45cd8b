"""Look-ups of a table of many files, which each task plans for the keys that it has."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from keyfold.bridge.channel import Channel, Disconnected
from keyfold.lookup import of_keys
from keyfold.lookup.of_tasks import PlannedLookups
from keyfold.questions import executor
from keyfold.questions.scan import plan_lookup
from keyfold.questions.serve import serve
from keyfold.read import plan_ranges
from keyfold.resources.cache import Cache
from keyfold.storage.table import Table
from tests.compact.harness import question, sent
from tests.procedures.called import called
from tests.read import harness
from tests.read.harness import where
from tests.storage import damaged, tables

PARTITIONS, KEYS = 4, 30
COLUMNS = [tables.column("p"), tables.column("k"), tables.column("v")]


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any table has many files, and this process keeps what it keeps."""
    monkeypatch.setattr(of_keys, "MANY_FILES", 0)
    monkeypatch.setattr(plan_ranges, "CACHE", Cache(1))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A commit for each partition, of some buckets."""
    new = tables.new_table(*COLUMNS, key="p,k", by="p", bucket="3")
    found = tables.table(tmp_path, new)
    for p in range(PARTITIONS):
        rows = [{"p": p, "k": k, "v": 100 * p + k} for k in range(0, KEYS, 2)]
        harness.upsert(tables.reload(found), rows)
    damaged.forget()
    return tables.reload(found)


@pytest.fixture
def worker() -> Iterator[Channel]:
    here, there = socket.socketpair()

    def live() -> None:
        with there, contextlib.suppress(Disconnected):
            serve(Channel(there), executor.ANSWERS)

    thread = threading.Thread(target=live)
    thread.start()
    with here:
        yield Channel(here)
    thread.join(20)


def planned(table: Table, **more: Any) -> Any:
    asked = {"columns": ["v"], "code": {}, "inserted": False} | more
    return sent(plan_lookup(question(table, **asked)))["lookup"]


def begin(worker: Channel, plan: Any) -> None:
    worker.send({"question": "lookup", "lookup": plan, "by": ["k", "p"]})
    assert worker.receive() == {"ok": {}}


def looked_up(worker: Channel, *keys: tuple[int | None, int | None]) -> Any:
    """The place and the value of each key that is found; the error if there is one."""
    worker.send({"keys": True})
    p, k = (pa.array(values, pa.int64()) for values in zip(*keys, strict=True))
    batch = pa.record_batch({"k": k, "p": p})
    worker.send_batches(batch.schema, iter([batch]))
    if "error" in (first := worker.receive() or {}):
        return first["error"]["message"]
    rows = [tuple(r.values()) for found in worker.receive_batches() for r in found.to_pylist()]
    assert worker.receive() == {"ok": {}}
    return rows


def test_keys_of_any_partition(worker: Channel, table: Table) -> None:
    plan = planned(table)
    assert {*plan} & {"plan", "request"} == {"request"}
    begin(worker, plan)
    draw = Random(3)
    for count in (1, 1, 2, 5, 200):
        keys = [(draw.randrange(PARTITIONS + 1), draw.randrange(KEYS)) for _ in range(count)]
        expected = [
            (place, 100 * p + k)
            for place, (p, k) in enumerate(keys)
            if p < PARTITIONS and k % 2 == 0
        ]
        assert looked_up(worker, *keys) == expected
    assert looked_up(worker, (None, 2), (2, None), (2, 2), (None, None)) == [(2, 202)]
    assert looked_up(worker, (None, 2)) == []


def test_conditions_count(worker: Channel, table: Table) -> None:
    begin(worker, planned(table, filters=[where(">", "k", 8).to_json()]))
    assert looked_up(worker, (1, 8), (1, 10)) == [(1, 110)]


def test_a_manifest_of_other_partitions_may_be_gone(worker: Channel, table: Table) -> None:
    """Neither the driver nor a task reads it."""
    assert table.snapshot_id is not None
    listed = table.manifests.listed(table.snapshots.read(table.snapshot_id))
    assert len(listed) == PARTITIONS
    Path(table.manifests.path(listed[0]["_FILE_NAME"])).write_bytes(b"")
    damaged.forget()
    plan = planned(table)
    begin(worker, plan)
    assert looked_up(worker, (1, 8), (3, 10)) == [(0, 108), (1, 310)]
    assert listed[0]["_FILE_NAME"] in looked_up(worker, (1, 8), (0, 8))


def test_a_snapshot_that_expires_before_a_task_begins(worker: Channel, table: Table) -> None:
    plan = planned(table)
    harness.upsert(table, [{"p": 1, "k": 8, "v": 9}])
    called(tables.reload(table), "expire_snapshots", retain_max=1, retain_min=1)
    damaged.forget()
    begin(worker, plan)
    told = looked_up(worker, (1, 8))
    assert f"snapshot {table.snapshot_id}" in told
    assert "snapshot.time-retained" in told


def test_only_buckets_of_the_keys(worker: Channel, table: Table) -> None:
    """The plan of one key has the files of one bucket."""
    plans = PlannedLookups.from_json(planned(table))
    one = pa.record_batch({"k": pa.array([4]), "p": pa.array([2])})
    (place,) = plans.of(one).places
    assert (place.split.partition.values, place.split.bucket) in {((2,), n) for n in range(3)}
    every = pa.record_batch({"k": pa.array(range(KEYS)), "p": pa.array([2] * KEYS)})
    assert len(plans.of(every).places) == 3


@pytest.mark.parametrize("how", ["few files", "condition", "no partitions"])
def test_the_driver_plans(
    tmp_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    filters = []
    if how == "few files":
        monkeypatch.setattr(of_keys, "MANY_FILES", 3 * PARTITIONS)
    elif how == "condition":
        filters = [where("=", "p", 2).to_json()]
    else:
        table = tables.table(tmp_path / "whole", tables.new_table(*COLUMNS, key="p,k"))
        harness.upsert(table, [{"p": 1, "k": 1, "v": 1}])
        table = tables.reload(table)
    assert "places" in planned(table, filters=filters)["plan"]
