"""The questions of a write job, asked in this process."""

import gc
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from keyfold.errors import TableError
from keyfold.questions.commit import (
    abort_write,
    commit_write,
    delete_where,
    plan_write,
    truncate_table,
)
from keyfold.questions.procedures import call_procedure
from keyfold.storage.commits import commit
from keyfold.storage.metadata import manifests
from keyfold.storage.table import Table
from keyfold.wire import message_texts
from keyfold.wire.codec import batch_from_text
from keyfold.wire.message_texts import texts_of
from keyfold.wire.specs import Epoch, FileMeta, WriteSpec
from keyfold.write.writer import write
from tests.concurrency import history_jobs, jobs
from tests.read import harness
from tests.storage import tables

HOW: dict[str, Any] = {
    "columns": ["k", "v"],
    "ordinal": False,
    "mode": "append",
    "filters": [],
}


def written(folder: Path, planned: dict[str, Any]) -> dict[str, Any]:
    """The question that ends a job whose one task wrote a row."""
    spec = WriteSpec.from_json(planned)
    messages = write(spec, harness.batches(spec.layout, [{"k": 1, "v": 2}]))
    catalog = {"name": "test", "options": {"warehouse": str(folder)}}
    return {"catalog": catalog, "write": planned, "messages": [*texts_of(messages)]}


def test_a_large_job_is_never_held_as_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files would take more than the memory of a driver."""
    monkeypatch.setattr(manifests, "MOST_ENTRIES", 100)
    monkeypatch.setattr(message_texts, "PART_BYTES", 20_000)
    found = tables.table(tmp_path, tables.new_table(bucket="1000"))
    files = 1000
    each = (tables.message(found, bucket=bucket, total=files) for bucket in range(files))
    texts = [*texts_of(each)]
    alive, written = list[int](), manifests.Manifests._write_one

    def held() -> int:
        gc.collect()
        return sum(type(one) is FileMeta for one in gc.get_objects())  # not by proxies

    def counted(self: manifests.Manifests, *given: Any, **how: Any) -> Any:
        alive.append(held())
        return written(self, *given, **how)

    monkeypatch.setattr(manifests.Manifests, "_write_one", counted)
    folder = str(tmp_path)
    planned = plan_write(jobs.question(found, folder, **HOW))["write"]
    before = held()  # by what ran in this process before
    answer = commit_write(jobs.question(found, folder, write=planned, messages=texts))
    assert answer["touched"] == [[None, [*range(files)]]]
    assert len(alive) == files // 100
    assert max(alive) - before < 300
    assert len(tables.reload(found).live_files()) == files


def test_a_job_may_leave_compaction_and_expiry_to_others(tmp_path: Path) -> None:
    """Paimon's `INSERT INTO t /*+ OPTIONS('write-only' = 'true') */`."""
    kept = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    kept["snapshot.expire.execution-mode"] = "sync"
    found, folder = tables.table(tmp_path, tables.new_table(**kept)), str(tmp_path)
    for options, snapshots in (
        ({"write-only": "TRUE"}, [1]),
        ({"Write-Only": "true"}, [1, 2]),
        ({"write-only": "false"}, [3]),
    ):
        planned = plan_write(jobs.question(found, folder, options=options, **HOW))["write"]
        answer = commit_write(written(tmp_path, planned))
        assert sorted(found.snapshots.ids()) == snapshots
        assert bool(answer["touched"]) == (options.get("write-only") == "false")
    assert "write-only" not in tables.reload(found).layout.options


def test_a_failed_commit_leaves_no_renumbered_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tables.table(tmp_path)
    question = {
        "catalog": {"name": "test", "options": {"warehouse": str(tmp_path)}},
        "table": found.handle,
        "columns": ["k", "v"],
        "ordinal": False,
        "mode": "append",
        "filters": [],
    }
    first, second = (plan_write(question)["write"] for _ in range(2))
    second["sequence"] = first["sequence"]
    commit_write(written(tmp_path, first))
    tied = written(tmp_path, second)
    before = {path.name for path in tmp_path.rglob("*.parquet")}
    seen: list[set[str]] = []

    def fail(*_: Any) -> NoReturn:
        seen.append({path.name for path in tmp_path.rglob("*.parquet")} - before)
        raise OSError("no space left")

    monkeypatch.setattr(commit, "attempt", fail)
    with pytest.raises(OSError, match="no space left"):
        commit_write(tied)
    abort_write(tied)
    assert len(seen[0]) == 1, "the tied file was renumbered"
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_a_job_is_planned_again_where_its_snapshot_expires_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(tmp_path)
    found = tables.table(tmp_path)
    jobs.written(folder, [{"k": 1, "v": 1}])
    original, passed = Table.check_writable, list[int]()

    def overtaken(self: Table, *, rows: bool = False) -> None:
        # The expiry that follows a commit asks too, in a thread of its own.
        if not passed and threading.current_thread() is threading.main_thread():
            passed.append(1)
            jobs.written(folder, [{"k": 2, "v": 2}], "overwrite")
            jobs.expired(folder, 1)
        original(self, rows=rows)

    monkeypatch.setattr(Table, "check_writable", overtaken)
    planned = jobs.Write(folder, [{"k": 3, "v": 3}])
    assert planned.planned["snapshot"] == 2
    assert planned.run().commit() == 3
    assert jobs.rows_of(tables.reload(found)) == {2: 2, 3: 3}


def test_a_session_gives_its_statements_a_token(tmp_path: Path) -> None:
    """Each form of a write that the table has already changes nothing, and says so."""
    folder = str(tmp_path)
    tables.table(tmp_path)

    def asked(version: int, **more: Any) -> dict[str, Any]:
        token = {"txnAppId": "app", "txnVersion": str(version)}
        found = jobs.question(jobs.table_of(folder), folder, **more)
        return found | {"code": {"writes": token}}

    def insert(version: int, **more: Any) -> dict[str, Any]:
        planned = plan_write(asked(version, **HOW, **more))["write"]
        spec = WriteSpec.from_json(planned)
        written = write(spec, harness.batches(spec.layout, [{"k": version, "v": 1}]))
        return commit_write(asked(version, write=planned, messages=[*texts_of(written)]))

    statements: list[Callable[[int], dict[str, Any]]] = [
        insert,
        lambda version: delete_where(asked(version, filters=[])),
        insert,
        lambda version: truncate_table(asked(version)),
    ]
    for version, statement in enumerate(statements):
        made, again = statement(version), statement(version)
        assert made["snapshot"] == version + 1
        assert "note" not in made
        assert (again["snapshot"], again["passed_over"]) == (None, 1)
        assert f"{version} of 'app' already: this statement has changed nothing" in again["note"]
        if version:
            lower = rf"{version - 1} of 'app' is lower than {version}"
            with pytest.raises(TableError, match=lower):
                statement(version - 1)
    own = {"txnAppId": "other", "TXNVERSION": "0"}
    assert insert(0, options=own)["snapshot"] == 5  # the statement's own comes first
    planned = plan_write(asked(0, **HOW, query="q"))["write"]
    known_by_its_id = Epoch("q", 0, is_of_query=True)
    assert WriteSpec.from_json(planned).epoch == known_by_its_id


GOING_BACK: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("rollback", {"snapshot": 1}, [3, 2]),
    ("rollback", {"tag": "t"}, [3, 2]),
    ("rollback_to_timestamp", {"timestamp": 1 << 42}, [3, 4]),
    ("rollback_to_watermark", {"watermark": 7}, [5, 6]),
    ("fast_forward", {"branch": "b"}, [True]),
]


def answered(asked: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """The values of the row of a CALL, and the lines that it writes into the session's log."""
    lines = list[str]()

    def ask(what: str, *, line: str, is_bad: bool) -> None:
        lines.append(f"{what}: {line}")

    found = batch_from_text(call_procedure(asked, cast(Any, SimpleNamespace(ask=ask))))
    return [*found.to_pylist()[0].values()], lines


def test_a_session_gives_what_goes_back_a_token(tmp_path: Path) -> None:
    """The second call changes nothing and says so, though other rows have come between, and its
    target may have gone.
    """
    folder = str(tmp_path)
    tables.table(tmp_path)
    jobs.written(folder, [{"k": 1, "v": 1}])
    snapshots = jobs.table_of(folder).snapshots
    marked = replace(snapshots.find(1), watermark=7)  # which those after it carry on
    Path(snapshots.path(1)).write_text(json.dumps(marked.to_json()))
    for key in (2, 3):
        jobs.written(folder, [{"k": key, "v": 1}])
    history_jobs.tagged(folder, "t", 1)
    history_jobs.branched(folder, "b", "t")
    for version, (name, arguments, row) in enumerate(GOING_BACK):
        asked = jobs.question(jobs.table_of(folder), folder, procedure=name, arguments=arguments)
        asked["code"] = {"writes": {"txnAppId": "app", "txnVersion": str(version)}}
        assert answered(asked) == (row, [])
        before = jobs.rows_of(jobs.table_of(folder))
        newest = jobs.written(folder, [{"k": 9, "v": 1}])
        if "tag" in arguments:
            history_jobs.untagged(folder, "t")
        found, lines = answered(asked)
        assert found == ([newest, None] if len(row) == 2 else [False])
        assert [f"has version {version} of 'app' already" in line for line in lines] == [True]
        assert jobs.rows_of(jobs.table_of(folder)) == before | {9: 1}
    tagging = asked | {"procedure": "create_tag", "arguments": {"tag": "n"}}
    assert answered(tagging)[1] == []  # it may be repeated as it is
    assert "n" in history_jobs.tags_of(folder)
