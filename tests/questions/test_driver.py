"""The driver's process: catalog, plan and commit questions, through real processes."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyfold.wire.codec import batch_from_text
from tests.bridge.client import Server, Worker, eventually, is_running, server

LONG, TEXT = "long", "string"
IDENT = {"namespace": ["db"], "table": "t"}


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    """A server that all tests of this file share."""
    with server() as started:
        yield started


class Driver:
    """A connection to the driver's process and the catalog it is asked about."""

    def __init__(self, running: Server, warehouse: Path) -> None:
        self.running = running
        self.worker: Worker = running.connect("driver")
        self.catalog = {"name": "keyfold", "options": {"warehouse": str(warehouse)}}

    def ask(self, question: str, **arguments: Any) -> Any:
        """What stands under "ok"."""
        answer = self.worker.ask(question, catalog=self.catalog, **arguments)
        assert "ok" in answer, answer["error"]["traceback"]
        return answer["ok"]

    def refuse(self, question: str, **arguments: Any) -> dict[str, Any]:
        """What stands under "error"."""
        answer: dict[str, Any] = self.worker.ask(question, catalog=self.catalog, **arguments)
        return answer["error"]  # type: ignore[no-any-return]

    def create(self, *partitioning: str, **properties: str) -> dict[str, Any]:
        """db.t with columns p, id and value."""
        self.ask("create_namespace", namespace=["db"], properties={"owner": "me"})
        return self.ask("create_table", ident=IDENT, **new_table(partitioning, properties))  # type: ignore[no-any-return]

    def insert(
        self, handle: Any, rows: pa.RecordBatch, mode: str = "append", filters: Any = ()
    ) -> Any:
        """Plan, write and commit one task; the new snapshot."""
        plan = self.plan_write(handle, mode, filters)
        return self.ask("commit_write", write=plan, messages=self.write(plan, rows))["snapshot"]

    def plan_write(self, handle: Any, mode: str = "append", filters: Any = ()) -> Any:
        """The opaque write of a new job."""
        columns = ["p", "id", "value"]
        asked = {"columns": columns, "ordinal": False, "mode": mode, "filters": list(filters)}
        return self.ask("plan_write", table=handle, options={}, **asked)["write"]

    def write(self, plan: Any, rows: pa.RecordBatch) -> Any:
        """One task of a write: its messages."""
        worker = self.running.connect()
        assert worker.ask("write", write=plan, task={}) == {"ok": {}}
        worker.send_batches(rows.schema, iter([rows]))
        worker.send({"commit": True})
        assert "ok" in (worker.receive() or {})
        return worker.texts

    def scan(self, handle: Any, filters: Any = (), limit: int | None = None) -> Any:
        """The answer of plan_scan."""
        columns = ["p", "id", "value"]
        asked = {"columns": columns, "filters": list(filters), "limit": limit, "options": {}}
        return self.ask("plan_scan", table=handle, **asked)

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows of db.t, sorted."""
        scan = self.scan(self.ask("load_table", ident=IDENT)["handle"])
        worker = self.running.connect()
        found: list[tuple[Any, ...]] = []
        for splits in scan["tasks"]:
            assert worker.ask("read", scan=scan["scan"], splits=splits) == {"ok": {}}
            found += [tuple(row.values()) for row in worker.rows().to_pylist()]
            worker.receive()
        return sorted(found)


@pytest.fixture
def driver(shared: Server, tmp_path: Path) -> Iterator[Driver]:
    """A driver connection and an empty warehouse."""
    yield Driver(shared, tmp_path)
    shared.leave()


def new_table(partitioning: tuple[str, ...], properties: dict[str, str]) -> dict[str, Any]:
    """The fields of create_table and stage_table."""
    types = {"p": TEXT, "id": LONG, "value": LONG}
    columns = [{"name": n, "type": t, "nullable": n == "value"} for n, t in types.items()]
    return {
        "columns": columns,
        "partitioning": [
            {"transform": "identity", "columns": [[name]], "text": name} for name in partitioning
        ],
        "constraints": [{"primary_key": [["p"], ["id"]]}],
        "properties": {"bucket": "1"} | properties,
    }


def batch(*rows: tuple[str | None, int, int | None]) -> pa.RecordBatch:
    """Rows of db.t."""
    types = {"p": pa.string(), "id": pa.int64(), "value": pa.int64()}
    schema = pa.schema([pa.field(n, t, n == "value") for n, t in types.items()])
    arrays = [pa.array([r[i] for r in rows], f.type) for i, f in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def equals(column: str, value: str) -> dict[str, Any]:
    """A predicate as Spark pushes it."""
    return {"op": "<=>", "args": [{"column": [column]}, {"literal": value, "type": "string"}]}


def test_namespaces(driver: Driver) -> None:
    assert driver.ask("warm") is None
    driver.ask("create_namespace", namespace=["db"], properties={"a": "1", "b": "2"})
    driver.ask("alter_namespace", namespace=["db"], set={"c": "3"}, unset=["a"])
    assert ["db"] in driver.ask("list_namespaces")
    properties = driver.ask("load_namespace", namespace=["db"])
    assert {k: properties.get(k) for k in "abc"} == {"a": None, "b": "2", "c": "3"}
    assert driver.refuse("create_namespace", namespace=["db"], properties={})["kind"] == (
        "NamespaceExistsError"
    )
    assert driver.ask("drop_namespace", namespace=["db"], cascade=False) is True
    assert driver.refuse("load_namespace", namespace=["db"])["kind"] == "NoSuchNamespaceError"


def test_a_table_from_create_to_drop(driver: Driver) -> None:
    made = driver.create("p")
    assert made["primary_key"] == ["p", "id"]
    assert made["partitioning"] == ["p"]
    assert driver.ask("list_tables", namespace=["db"]) == ["t"]
    changes = [{"change": "set_property", "key": "keyfold.tag.team", "value": "blue"}]
    altered = driver.ask("alter_table", ident=IDENT, changes=changes)
    assert altered["properties"]["keyfold.tag.team"] == "blue"
    to = {"namespace": ["db"], "table": "u"}
    driver.ask("rename_table", ident=IDENT, to=to)
    assert driver.refuse("load_table", ident=IDENT)["kind"] == "NoSuchTableError"
    assert driver.ask("drop_table", ident=to, purge=False) is True
    assert driver.ask("drop_table", ident=to, purge=False) is False


def test_an_unknown_engine_is_refused_at_create(driver: Driver) -> None:
    driver.ask("create_namespace", namespace=["db"], properties={})
    fields = new_table((), {"merge-engine": "shredder"})
    error = driver.refuse("create_table", ident=IDENT, **fields)
    assert error["kind"] in ("TableError", "NotSupportedError")
    assert "shredder" in error["message"]


def test_rows_written_are_rows_read(driver: Driver) -> None:
    handle = driver.create()["handle"]
    assert driver.insert(handle, batch(("a", 1, 10), ("a", 2, 20))) == 1
    assert driver.insert(handle, batch(("a", 2, 21), ("b", 1, None))) == 2
    assert driver.rows() == [("a", 1, 10), ("a", 2, 21), ("b", 1, None)]


def test_a_scan_keeps_the_snapshot_of_its_handle(driver: Driver) -> None:
    driver.insert(driver.create()["handle"], batch(("a", 1, 10)))
    handle = driver.ask("load_table", ident=IDENT)["handle"]
    driver.insert(handle, batch(("a", 2, 20)))
    scan = driver.scan(handle, limit=5)
    assert scan["rows"] == 1
    assert "snapshot 1" in scan["description"]
    assert "limit 5" in scan["description"]


def test_filters_leave_out_files_and_are_shown(driver: Driver) -> None:
    handle = driver.create("p")["handle"]
    driver.insert(handle, batch(("a", 1, 10), ("b", 1, 10)))
    handle = driver.ask("load_table", ident=IDENT)["handle"]
    scan = driver.scan(handle, [equals("p", "a")])
    assert "1 of 2 files" in scan["description"]
    assert "pushed: " in scan["description"]
    assert scan["rows"] == 1


@pytest.mark.parametrize(
    ("mode", "filters", "left"),
    [
        ("overwrite", [], [("a", 7, 7)]),
        ("overwrite", [{"op": "ALWAYS_TRUE", "args": []}], [("a", 7, 7)]),
        ("overwrite", [equals("p", "a")], [("a", 7, 7), ("b", 1, 1)]),
        ("overwrite", [equals("p", "b")], [("a", 1, 1), ("a", 7, 7)]),
        ("overwrite_dynamic", [], [("a", 7, 7), ("b", 1, 1)]),
    ],
)
def test_an_overwrite_replaces(
    driver: Driver, mode: str, filters: list[Any], left: list[tuple[str, int, int]]
) -> None:
    handle = driver.create("p")["handle"]
    driver.insert(handle, batch(("a", 1, 1), ("b", 1, 1)))
    driver.insert(handle, batch(("a", 7, 7)), mode, filters)
    assert driver.rows() == left


@pytest.mark.parametrize(
    "predicate",
    [
        {"op": "=", "args": [{"column": ["value"]}, {"literal": 1, "type": "long"}]},
        {"op": "SOUNDS_LIKE", "args": [{"column": ["p"]}, {"literal": "a", "type": "string"}]},
    ],
)
def test_an_overwrite_of_half_a_partition_is_refused(driver: Driver, predicate: Any) -> None:
    handle = driver.create("p")["handle"]
    driver.insert(handle, batch(("a", 1, 1)))
    asked = {"columns": ["p", "id", "value"], "ordinal": False, "mode": "overwrite"}
    error = driver.refuse("plan_write", table=handle, filters=[predicate], options={}, **asked)
    assert error["kind"] == "NotSupportedError"
    assert "partition" in error["message"]


def test_a_condition_that_may_be_null_takes_no_partition(driver: Driver) -> None:
    """It is NULL or true of the partition NULL, as `=` is NULL and the other not known."""
    created = driver.create("p", **{"primary-key.nullable": "true"})
    driver.insert(created["handle"], batch(("a", 1, 1), (None, 1, 1)))
    arguments = [{"column": ["p"]}, {"literal": "a", "type": "string"}]
    either = {"op": "OR", "args": [{"op": op, "args": arguments} for op in ("=", "SOUNDS_LIKE")]}
    handle = driver.ask("load_table", ident=IDENT)["handle"]
    error = driver.refuse("drop_partitions", table=handle, partitions=[[either]])
    assert error["kind"] == "NotSupportedError"
    assert driver.insert(handle, batch(("a", 1, 2))) == 2


@pytest.mark.parametrize("option", ["merge_mode", "target-columns"])
def test_partial_rows_beside_what_an_overwrite_leaves_are_refused(
    driver: Driver, option: str
) -> None:
    """Rows of partition b, which the condition does not take, would lose columns, or be summed."""
    summing = {"merge-engine": "aggregation", "fields.value.aggregate-function": "sum"}
    handle = driver.create("p", **summing)["handle"]
    driver.insert(handle, batch(("a", 1, 1), ("b", 1, 10)))
    options = {option: {"merge_mode": "overwrite", "target-columns": "p, id"}[option]}
    asked = {"columns": ["p", "id", "value"], "ordinal": False, "options": options}
    mode = {"mode": "overwrite", "filters": [equals("p", "a")]}
    plan = driver.ask("plan_write", table=handle, **asked, **mode)["write"]
    beside = driver.write(plan, batch(("a", 2, 2), ("b", 1, 5)))
    error = driver.refuse("commit_write", write=plan, messages=beside)
    assert error["kind"] == "NotSupportedError"
    assert "partition p=b" in error["message"]
    assert option in error["message"]
    plan = driver.ask("plan_write", table=handle, **asked, **mode)["write"]
    driver.ask("commit_write", write=plan, messages=driver.write(plan, batch(("a", 2, 2))))
    assert {row[:2] for row in driver.rows()} == {("a", 2), ("b", 1)}
    assert ("b", 1, 10) in driver.rows()


def test_truncate_empties(driver: Driver) -> None:
    handle = driver.create()["handle"]
    driver.insert(handle, batch(("a", 1, 1)))
    driver.ask("truncate_table", table=handle)
    assert driver.rows() == []


def test_an_aborted_write_leaves_no_file(driver: Driver, tmp_path: Path) -> None:
    plan = driver.plan_write(driver.create()["handle"])
    messages = driver.write(plan, batch(("a", 1, 1)))
    assert list(tmp_path.rglob("*.parquet"))
    driver.ask("abort_write", write=plan, messages=messages)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_committed_write_can_not_be_aborted(driver: Driver) -> None:
    plan = driver.plan_write(driver.create()["handle"])
    messages = driver.write(plan, batch(("a", 1, 1)))
    driver.ask("commit_write", write=plan, messages=messages)
    driver.ask("abort_write", write=plan, messages=messages)
    assert driver.rows() == [("a", 1, 1)]


def test_jobs_never_share_a_sequence_number(driver: Driver) -> None:
    handle = driver.create()["handle"]
    numbers = [driver.plan_write(handle)["sequence"] for _ in range(20)]
    assert len(set(numbers)) == 20
    assert all(0 < number < 2**63 for number in numbers)


@pytest.mark.parametrize("mode", ["create", "create_or_replace"])
def test_a_staged_table_takes_its_place_at_commit(driver: Driver, mode: str) -> None:
    if mode == "create":
        driver.ask("create_namespace", namespace=["db"], properties={})
    else:
        driver.insert(driver.create()["handle"], batch(("old", 1, 1)))
    staged = driver.ask("stage_table", ident=IDENT, mode=mode, **new_table((), {}))
    driver.insert(staged["handle"], batch(("new", 1, 1)))
    if mode == "create_or_replace":
        assert driver.rows() == [("old", 1, 1)]
    driver.ask("commit_staged", staged=staged["staged"])
    assert driver.rows() == [("new", 1, 1)]


def test_an_aborted_staged_table_was_never_there(driver: Driver) -> None:
    driver.insert(driver.create()["handle"], batch(("old", 1, 1)))
    fields = new_table((), {})
    staged = driver.ask("stage_table", ident=IDENT, mode="replace", **fields)
    driver.insert(staged["handle"], batch(("new", 1, 1)))
    driver.ask("abort_staged", staged=staged["staged"])
    assert driver.rows() == [("old", 1, 1)]
    assert driver.ask("list_tables", namespace=["db"]) == ["t"]


def test_connections_share_one_process_and_run_side_by_side(driver: Driver) -> None:
    handle = driver.create()["handle"]
    others = [Driver(driver.running, Path(driver.catalog["options"]["warehouse"])) for _ in "1234"]
    assert len({other.worker.pid for other in (driver, *others)}) == 1
    with ThreadPoolExecutor() as pool:
        inserts = [
            pool.submit(other.insert, handle, batch(("a", number, number)))
            for number, other in enumerate(others)
        ]
    assert sorted(insert.result() for insert in inserts) == [1, 2, 3, 4]
    assert driver.rows() == [("a", number, number) for number in range(4)]


def test_a_driver_that_died_says_so_and_is_started_again(driver: Driver) -> None:
    first = driver.worker
    os.kill(first.pid, signal.SIGKILL)
    assert first.receive() is None
    assert "SIGKILL" in first.log.read_text()
    assert eventually(lambda: not is_running(first.pid))
    assert driver.running.connect("driver").ask("warm") == {"ok": None}


def metadata_rows(driver: Driver, name: str, *columns: str) -> tuple[Any, list[dict[str, Any]]]:
    """The description of db.t$name, and its rows."""
    ident = IDENT | {"table": f"t${name}"}
    described = driver.ask("load_table", ident=ident)
    asked = {"metadata": described["metadata"], "columns": list(columns), "zone": "+01:00"}
    assert driver.ask("read_metadata", table=described["handle"], **asked) == {}
    rows = driver.worker.rows().to_pylist()
    assert driver.worker.receive() == {"ok": {}}
    return described, rows


def test_metadata_tables_come_as_arrow(driver: Driver) -> None:
    handle = driver.create("p")["handle"]
    for value in (1, 2):
        driver.insert(handle, batch(("a", 1, value), ("b", value, None)))
    described, rows = metadata_rows(driver, "buckets", "partition", "record_count")
    assert [column["name"] for column in described["columns"]][:2] == ["partition", "bucket"]
    assert (described["view"], described["name"]) == ("metadata", "keyfold.db.`t$buckets`")
    assert rows == [{"partition": f"p={p}", "record_count": 2} for p in "ab"]
    asked = {"metadata": "buckets", "columns": ["nope"], "zone": "UTC"}
    refused = driver.refuse("read_metadata", table=described["handle"], **asked)
    assert "$buckets has no column nope; it has partition" in refused["message"]
    refused = driver.refuse("load_table", ident=IDENT | {"table": "t$nope"})
    assert "there are $snapshots" in refused["message"]
    assert driver.ask("load_table", ident=IDENT | {"table": "t$ro"})["view"] == "read-optimized"


def test_metadata_keeps_the_snapshot_of_its_handle(driver: Driver) -> None:
    handle = driver.create()["handle"]
    driver.insert(handle, batch(("a", 1, 1)))
    loaded = driver.ask("load_table", ident=IDENT)["handle"]
    driver.insert(handle, batch(("a", 1, 2)))
    for name, column in (("files", "bucket"), ("snapshots", "snapshot_id")):
        asked = {"metadata": name, "columns": [column], "zone": "UTC"}
        assert driver.ask("read_metadata", table=loaded, **asked) == {}
        assert driver.worker.rows().num_rows == 1
        driver.worker.receive()


def test_health_by_question(driver: Driver) -> None:
    handle = driver.create("p", **{"write-only": "true"})["handle"]
    for value in range(6):
        driver.insert(handle, batch(("a", 1, value)))
    table = driver.ask("load_table", ident=IDENT)["handle"]
    rows = driver.ask("call_procedure", procedure="table_health", arguments={}, table=table)["end"]
    (found,) = batch_from_text(rows).to_pylist()
    figures = {"partition": "p=a", "bucket": 0, "runs": 6, "level0_files": 6, "files": 6, "rows": 6}
    assert figures.items() <= found.items()
    assert found["read_amplification"] == 6.0
    assert "CALL keyfold.sys.compact(table => 'db.t'" in found["advice"]


def test_figures_of_a_read(driver: Driver) -> None:
    handle = driver.create(**{"write-only": "true"})["handle"]
    for value in range(3):
        driver.insert(handle, batch(("a", 1, value), ("b", value, None)))
    scan = driver.scan(driver.ask("load_table", ident=IDENT)["handle"])
    assert {"files": 3, "files_skipped": 0}.items() <= scan["metrics"].items()
    worker = driver.running.connect()
    (splits,) = scan["tasks"]
    worker.ask("read", scan=scan["scan"], splits=splits)
    assert worker.rows().num_rows == 4
    told = (worker.receive() or {})["ok"]["metrics"]
    assert {"rows_in": 6, "rows_out": 4, "runs": 3, "files": 3}.items() <= told.items()
    assert told["peak_bytes"] > 20 << 20
    assert min(told[name] for name in ("decode_nanos", "merge_nanos", "arrow_bytes")) > 0
