"""Questions about which Python asks back, as a JVM hears them: it runs the tasks of a compaction,
hands ranges of a plan to workers, says that its Spark job ended early, or leaves.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from keyfold.questions.tasks import rewrite
from keyfold.storage.table import Table
from keyfold.wire.codec import batch_from_text
from tests.bridge.client import Server, Worker, eventually, server
from tests.concurrency import jobs
from tests.read.test_plan_ranges import ALWAYS, days

Json = dict[str, Any]
PARTITIONS = 6
TOUCHED = [[None, [0, 1]]]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server() as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A table of two buckets, each with more runs than a write leaves."""
    folder = str(tmp_path)
    jobs.made(folder, bucket="2", **{"write-only": "true"})
    for value in range(6):
        jobs.written(folder, [{"k": key, "v": value} for key in range(40)])
    jobs.altered(folder, [{"change": "set_property", "key": "write-only", "value": "false"}])
    return folder


def asked(folder: str, **fields: Any) -> Json:
    return jobs.question(jobs.table_of(folder), folder, parallelism=2, **fields)


def compact(folder: str) -> Json:
    return asked(folder, procedure="compact", arguments={"compact_strategy": "full"})


def after_write(folder: str, **how: bool) -> Json:
    return asked(folder, touched=TOUCHED, **({"awaited": False, "apart": False} | how))


class Jvm:
    """Answers what Python asks, until it has its answer or a task is to be the last."""

    def __init__(self, worker: Worker) -> None:
        self.worker, self.requests = worker, list[str]()
        self.asked: Json = {}
        self.tasks: list[Json] = []

    def heard(self, frame: Json, most: int = 100) -> Json:
        """The last answer, or the request for a task after `most`."""
        while "request" in frame.get("ok", {}):
            said = frame["ok"]
            self.requests.append(said["request"])
            reply: Json = {}
            if said["request"] == "tasks":
                self.asked, self.tasks = said["asked"], list(enumerate(said["tasks"]))
            elif said["request"] == "next":
                if not most:
                    return frame
                most -= 1
                place, task = self.tasks.pop(0)
                ok = rewrite.compact({**self.asked, "task": task})
                reply = {"place": place, "ok": ok, "failure": None}
            frame = self.reply(reply)
        return frame

    def reply(self, reply: Json) -> Json:
        self.worker.send(reply)
        return self.worker.receive() or {}


def files(folder: str) -> set[str]:
    return {path.name for path in Path(folder).rglob("data-*")}


def test_it_runs_the_tasks_of_a_call(running: Server, folder: str) -> None:
    jvm = Jvm(running.connect("driver"))
    end = jvm.heard(jvm.worker.ask("call_procedure", **compact(folder)))["ok"]["end"]
    assert batch_from_text(end).column("status").to_pylist() == ["committed"] * 2
    assert jvm.requests == ["note", "tasks", "next", "next", "note", "note"]
    assert len(jobs.table_of(folder).live_files()) == 2


def test_small_tasks_share_one_of_spark(running: Server, tmp_path: Path) -> None:
    """All are done, though Spark begins a fifth as many; one that fails keeps no other."""
    folder = str(tmp_path)
    jobs.made(folder, bucket="40", **{"write-only": "true"})
    for value in range(2):
        jobs.written(folder, [{"k": key, "v": value} for key in range(1000)])
    broken, _ = (path for path in Path(folder).rglob("data-*") if path.parent.name == "bucket-7")
    broken.unlink()
    jvm = Jvm(running.connect("driver"))
    end = jvm.heard(jvm.worker.ask("call_procedure", **compact(folder)))["ok"]["end"]
    found = batch_from_text(end)
    failed = found.filter(pc.equal(found.column("status"), "failed"))
    assert failed.column("bucket").to_pylist() == [7]
    assert broken.name in failed.column("message")[0].as_py()
    assert found.column("status").to_pylist().count("committed") == 39
    assert jvm.requests.count("next") <= 40 // 8


def test_its_spark_job_ends_early(running: Server, folder: str) -> None:
    """A finished step is kept, and the connection goes on."""
    jvm = Jvm(running.connect("driver"))
    jvm.heard(jvm.worker.ask("call_procedure", **compact(folder)), most=1)
    error = jvm.heard(jvm.reply({"ended": "cancelled by a user"}))["error"]
    assert "the Spark job ended: cancelled by a user" in error["message"]
    assert len(jobs.table_of(folder).live_files()) == 1 + 6
    jvm.heard(jvm.worker.ask("call_procedure", **compact(folder)))
    assert len(jobs.table_of(folder).live_files()) == 2


def test_it_leaves_in_its_turn(running: Server, folder: str) -> None:
    """What is finished is committed, and another has its turn."""
    before = files(folder)
    gone = Jvm(running.connect("driver"))
    gone.heard(gone.worker.ask("compact_after_write", **after_write(folder)), most=1)
    other = Jvm(running.connect("driver"))
    told = other.heard(other.worker.ask("compact_after_write", **after_write(folder)))
    assert (told, other.requests) == ({"ok": {"end": None}}, [])
    gone.worker.close()
    assert eventually(lambda: len(jobs.table_of(folder).live_files()) == 1 + 6)
    assert len(files(folder) - before) == 1
    other.heard(other.worker.ask("compact_after_write", **after_write(folder, awaited=True)))
    assert other.requests.count("tasks") == 1
    assert len(jobs.table_of(folder).live_files()) == 2


def test_it_is_asked_to_go_on_apart(running: Server, folder: str) -> None:
    jvm = Jvm(running.connect("driver"))
    jvm.heard(jvm.worker.ask("compact_after_write", **after_write(folder, apart=True)))
    assert jvm.requests[0] == "apart"
    assert len(jobs.table_of(folder).live_files()) == 2


def planned(running: Server, folder: Path, table: Table, **asked: Any) -> tuple[Json, int]:
    """The answer to plan_scan, and how many tasks workers have planned for it."""
    driver, fields = running.connect("driver"), {"columns": ["k"], "filters": [], "cores": 8}
    asking = jobs.question(table, str(folder), parallelism=2, **(fields | asked))
    frame, waiting, asked_of_tasks, count = driver.ask("plan_scan", **asking), [], Json(), 0
    while "request" in frame.get("ok", {}):
        reply: Json = {}
        if frame["ok"]["request"] == "tasks":
            waiting = list(enumerate(frame["ok"]["tasks"]))
            asked_of_tasks, count = dict(frame["ok"]["asked"]), len(waiting)
        else:
            place, task = waiting.pop()  # the last one ends first
            found = running.connect().ask(**asked_of_tasks, task=task)
            failure = found.get("error", {}).get("message")
            reply = {"place": place, "ok": found.get("ok"), "failure": failure}
        driver.send(reply)
        frame = driver.receive() or {}
    return frame, count


def test_workers_plan_what_the_driver_would(running: Server, tmp_path: Path) -> None:
    table = days(tmp_path, PARTITIONS)
    alone, none = planned(running, tmp_path, table)
    together, count = planned(running, tmp_path, table, options=ALWAYS)
    assert (none, count) == (0, PARTITIONS)
    one, other = alone["ok"], together["ok"]
    assert f"planned by {PARTITIONS} tasks" in other.pop("description")
    assert "planned by" not in one.pop("description")

    def held(answer: Json) -> list[str]:
        return sorted(str(split) for task in answer.pop("tasks") for split in task)

    assert held(one) == held(other)
    assert one == other
    assert one["metrics"]["files"] == PARTITIONS


def test_what_is_wrong_in_a_range_is_named(running: Server, tmp_path: Path) -> None:
    table = days(tmp_path, PARTITIONS)
    assert table.snapshot_id is not None
    listed = table.manifests.listed(table.snapshots.read(table.snapshot_id))
    Path(table.manifests.path(listed[-1]["_FILE_NAME"])).write_bytes(b"Obj\x01")
    found, count = planned(running, tmp_path, table, options=ALWAYS)
    assert count == PARTITIONS
    assert listed[-1]["_FILE_NAME"] in found["error"]["message"]
    again, _ = planned(running, tmp_path, days(tmp_path / "other", 5), options=ALWAYS)
    assert "ok" in again
