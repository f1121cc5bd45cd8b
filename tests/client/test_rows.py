"""The questions of a client over a real connection, as the JVM asks them: one transaction of
several streams, look-ups, and what is left if the JVM leaves or a process is asked nonsense.
"""

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold.tables.table import Table
from tests.bridge.client import Server, Worker, eventually, server

COLUMNS = ["id", "n"]
FOUND = "_is_found"


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture
def client(running: Server) -> Iterator[Worker]:
    yield running.connect("client")
    running.leave()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return made(tmp_path)


def made(folder: Path, **options: str) -> Table:
    types = {"id": "BIGINT", "n": "BIGINT"}
    return keyfold.connect(folder, threads=1).create_table("t", types, ["id"], options=options)


def about(table: Table, **fields: Any) -> dict[str, Any]:
    """A question's fields: the table, and what `fields` says."""
    catalog = {"name": "keyfold", "options": {"warehouse": str(Path(table.location).parents[1])}}
    handle = {"catalog": "keyfold", "namespace": "default", "table": "t"}
    return {"catalog": catalog, "table": handle, "code": {"modules": None}, **fields}


def begin(client: Worker, table: Table, token: tuple[str, int] | None = None) -> None:
    asked = about(table, columns=COLUMNS, merge_mode=None, token=token)
    assert client.ask("write_rows", **asked) == {"ok": {}}


def send(client: Worker, kind: str, rows: list[dict[str, Any]]) -> None:
    client.send({"rows": kind})
    batch = pa.RecordBatch.from_pylist(rows)
    client.send_batches(batch.schema, iter((batch,)))


def commit(client: Worker) -> dict[str, Any]:
    client.send({"commit": True})
    answer = client.receive()
    assert answer is not None
    return answer


def rows_of(table: Table) -> dict[int, int]:
    return {row["id"]: row["n"] for row in table.scan().to_pylist()}


def test_streams_are_one_snapshot_in_their_order(client: Worker, table: Table) -> None:
    begin(client, table)
    send(client, "upsert", [{"id": 1, "n": 1}, {"id": 2, "n": 2}])
    send(client, "delete", [{"id": 1}, {"id": 2}])
    send(client, "upsert", [{"id": 2, "n": 3}])
    assert commit(client) == {"ok": {"snapshot": 1}}
    assert rows_of(table) == {2: 3}
    begin(client, table)  # the connection goes on
    assert commit(client) == {"ok": {"snapshot": None}}


def test_a_token_counts_once(client: Worker, table: Table) -> None:
    for n, snapshot in ((1, 1), (2, None)):
        begin(client, table, ("orders", 7))
        send(client, "upsert", [{"id": 1, "n": n}])
        assert commit(client) == {"ok": {"snapshot": snapshot}}
    assert rows_of(table) == {1: 1}


def has_data(visited: tuple[str, list[str], list[str]]) -> bool:
    """Whether a visited folder has data files."""
    return any(name.endswith(".parquet") for name in visited[2])


def test_nothing_is_left_of_a_program_that_leaves(client: Worker, table: Table) -> None:
    begin(client, table)
    send(client, "upsert", [{"id": 1, "n": 1}])
    send(client, "delete", [{"id": 1}])
    client.connection.close()
    folder = Path(table.location)
    # Unlike rglob it goes on where a folder goes meanwhile.
    assert eventually(lambda: not any(map(has_data, os.walk(folder))))
    assert table.snapshot is None


def test_an_error_is_told_while_rows_come(client: Worker, table: Table) -> None:
    begin(client, table)
    send(client, "upsert", [{"id": 1, "n": 1}])
    send(client, "upsert", [{"id": None, "n": 1}])
    answer = client.receive()
    assert answer is not None
    assert "column id of the primary key does not take NULL" in answer["error"]["message"]
    assert table.snapshot is None
    assert not list(Path(table.location).rglob("*.parquet"))


def test_rows_ordered_by_snapshots_are_one_call(client: Worker, tmp_path: Path) -> None:
    table = made(tmp_path, **{"sequence.snapshot-ordering": "true", "write-only": "true"})
    begin(client, table)
    send(client, "upsert", [{"id": 1, "n": 1}, {"id": 2, "n": 1}])
    assert commit(client) == {"ok": {"snapshot": 1}}
    begin(client, table)
    send(client, "delete", [{"id": 1}])
    assert commit(client) == {"ok": {"snapshot": 2}}
    begin(client, table)
    send(client, "upsert", [{"id": 1, "n": 5}])
    send(client, "delete", [{"id": 2}])
    answer = client.receive()
    assert answer is not None
    assert "flush in between" in answer["error"]["message"]
    assert rows_of(table) == {2: 1}


def ask_for(client: Worker, question: str, table: Table, keys: list[dict[str, Any]]) -> pa.Table:
    client.send({"question": question, **about(table, columns=COLUMNS, refresh_ms=0)})
    batch = pa.RecordBatch.from_pylist(keys)
    client.send_batches(batch.schema, iter((batch,)))
    assert client.receive() == {"ok": {}}
    found = client.rows()
    assert client.receive() == {"ok": {}}
    return found


def test_look_ups_see_each_commit(client: Worker, table: Table) -> None:
    keys = [{"id": 2}, {"id": 3}]
    for n in (1, 2):
        table.upsert([{"id": 2, "n": n}])
        found = ask_for(client, "look_up", table, keys).to_pylist()
        wanted = [{"id": 2, "n": n, FOUND: True}, {"id": None, "n": None, FOUND: False}]
        assert found == wanted
    found = ask_for(client, "look_up_prefix", table, keys[:1]).to_pylist()
    assert found == [{"id": 2, "n": 2, FOUND: True}]


def test_a_connection_goes_on_after_a_look_up_that_is_refused(client: Worker, table: Table) -> None:
    table.upsert([{"id": 2, "n": 1}])
    client.send({"question": "look_up", **about(table, columns=["x"], refresh_ms=0)})
    batch = pa.RecordBatch.from_pylist([{"id": 2}])
    client.send_batches(batch.schema, iter((batch,)))
    answer = client.receive()
    assert answer is not None
    assert "x" in answer["error"]["message"]
    assert ask_for(client, "look_up", table, [{"id": 2}]).num_rows == 1


def test_a_process_has_no_cap_and_ends_once_it_is_full(client: Worker, tmp_path: Path) -> None:
    types = {"id": "BIGINT", "n": "STRING"}
    table = keyfold.connect(tmp_path, threads=1).create_table("t", types, ["id"])
    table.upsert([{"id": 2, "n": "short"}])
    assert resource.prlimit(client.pid, resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY
    assert ask_for(client, "look_up", table, [{"id": 2}]).num_rows == 1
    table.upsert([{"id": 2, "n": "long" * (16 << 20)}])
    status = Path(f"/proc/{client.pid}/status").read_text()
    found = re.search(r"VmSize:\s*(\d+)", status)
    assert found is not None
    most = (int(found[1]) << 10) + (4 << 20)
    resource.prlimit(client.pid, resource.RLIMIT_AS, (most, most))
    client.send({"question": "look_up", **about(table, columns=COLUMNS, refresh_ms=0)})
    batch = pa.RecordBatch.from_pylist([{"id": 2}])
    client.send_batches(batch.schema, iter((batch,)))
    answer = client.receive()
    assert answer is not None
    message = answer["error"]["message"]
    assert "could not get more memory" in message
    assert "keyfold sets it no cap" in message
    assert "worker.memory" not in message
    assert client.receive() is None
