"""Compaction that is killed, cancelled, beside writers, and inside the query that it follows."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark import StatusTracker
from pyspark.sql import SparkSession

from integration.faults import harness, processes
from integration.upkeep.test_compaction import ENGINES, TOP, TRIGGER, compact, create, levels, rows

ROWS_TO_STOP_AT = 200_000


def assert_nothing_waited_for_itself(inserts: dict[str, Any]) -> None:
    assert inserts["rows"] == [[k, 256] for k in range(20)]
    assert inserts["statuses"] == ["skipped"]  # the ninth INSERT left one run


def test_nothing_waits_for_itself_on_one_core(tmp_path: Path) -> None:
    assert_nothing_waited_for_itself(harness.run("cluster", tmp_path, "local[1]")["inserts"])


def test_two_executors(tmp_path: Path) -> None:
    """Nothing waits for itself, and rows of one INSERT that share a key fold in input order."""
    answer = harness.run("cluster", tmp_path, "local-cluster[2,1,1024]")
    assert_nothing_waited_for_itself(answer["inserts"])
    assert answer["order"]["executors"] == 2
    assert answer["order"]["rows"] == [[k, k, 19950 + k, 400] for k in range(50)]


def test_a_killed_worker_fails_the_compaction_and_not_the_write(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    insert = "INSERT INTO {} SELECT CAST(id AS INT), id, md5(CAST(id AS STRING)) FROM range(40000)"

    def kill_workers(name: str) -> set[int]:
        """Those of the compaction that follows an INSERT; none if it was over before."""
        create(spark, name, "'write-only' = 'true'", "'merge-engine' = 'aggregation'")
        for _ in range(TRIGGER):
            spark.sql(insert.format(name))
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write-only' = 'false')")
        snapshots = warehouse / "it.db" / name.rpartition(".")[2] / "snapshot"
        permanent = harness.only_permanent(spark, name)
        job = threading.Thread(target=spark.sql, args=(insert.format(name),), daemon=True)
        job.start()
        assert processes.wait_until((snapshots / f"snapshot-{TRIGGER + 1}").exists)
        killed = set()
        while job.is_alive():
            victims = harness.children_of(spark) - permanent
            killed |= victims
            for pid in victims:
                processes.kill(pid)
            job.join(0.005)
        return killed

    names = (fresh_name() for _ in range(harness.ATTEMPTS))
    name = next(name for name in names if kill_workers(name))
    whole = f"SELECT count(*), sum(v) FROM {name}"
    assert levels(warehouse, name) == {0: TRIGGER + 1}
    assert spark.sql(whole).first() == (40_000, 20_000 * 39_999)
    spark.sql(insert.format(name))
    assert set(levels(warehouse, name)) == {TOP}
    assert spark.sql(whole).first() == (40_000, 20_000 * 39_999)


def test_a_cancelled_call_says_so_and_leaves_the_table(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    told: list[str] = []

    def call(name: str) -> None:
        spark.sparkContext.setJobGroup("stopped", "a compaction to stop")
        try:
            compact(spark, name)
        except Exception as error:  # the test reads it
            told.append(str(error))

    def cancel(name: str) -> bool:
        """Whether a call said something when it was cancelled, and was not over before."""
        create(spark, name, "'write-only' = 'true'")
        values = "CAST(id AS INT), id, md5(CAST(id AS STRING))"
        for _ in range(4):
            spark.sql(f"INSERT INTO {name} SELECT {values} FROM range({ROWS_TO_STOP_AT})")
        permanent = harness.only_permanent(spark, name)

        def held() -> set[int]:
            """Workers of the call, which do no more: it can't end before it is cancelled."""
            found = harness.children_of(spark) - permanent
            for pid in found:
                processes.kill(pid, signal.SIGSTOP)
            return found

        job = threading.Thread(target=call, args=(name,), daemon=True)
        job.start()
        assert processes.wait_until(lambda: held() or not job.is_alive())
        spark.sparkContext.cancelJobGroup("stopped")
        job.join(processes.DEADLINE)
        assert not job.is_alive()
        assert processes.wait_until(lambda: not harness.children_of(spark) - permanent)
        return bool(told)

    names = (fresh_name() for _ in range(harness.ATTEMPTS))
    name = next(name for name in names if cancel(name))
    assert "cancel" in told[0].lower()
    assert levels(warehouse, name) == {0: 4}
    assert spark.sql(f"SELECT count(*) FROM {name}").first()[0] == ROWS_TO_STOP_AT


def test_a_cancelled_task_waits_for_no_worker(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """The fork server hangs: tasks that wait for their workers end once they are cancelled."""
    apart = "'source.split.open-file-cost' = '128 mb'"
    name = create(spark, fresh_name(), "'write-only' = 'true'", apart, buckets=2)
    spark.sql(f"INSERT INTO {name} SELECT CAST(id AS INT), id, 'x' FROM range(10)")
    whole = f"SELECT sum(v) FROM {name} WHERE w = 'x'"
    assert spark.table(name).rdd.getNumPartitions() == 2, "as many as there are cores"
    harness.only_permanent(spark, name)
    (server,) = processes.children(harness.jvm_of(spark)) & harness.children_of(spark)
    errors: list[str] = []

    def query() -> None:
        spark.sparkContext.setJobGroup("waiting", "a query whose workers don't come")
        try:
            spark.sql(whole).collect()
        except Exception as error:  # the test reads it
            errors.append(str(error))

    asked = threading.Thread(target=query, daemon=True)
    other = harness.Job(spark, "SELECT count(*) FROM range(0, 100, 1, 8)")
    processes.kill(server, signal.SIGSTOP)
    try:
        asked.start()
        tracker = spark.sparkContext.statusTracker()
        assert processes.wait_until(lambda: tasks_of(tracker) == 2)
        spark.sparkContext.cancelJobGroup("waiting")
        asked.join(processes.PATIENCE)
        assert "cancel" in errors[0].lower()
        other.start()
        other.join(processes.PATIENCE)
        assert other.answer == 100, "the cancelled tasks still hold the cores"
    finally:
        processes.kill(server, signal.SIGCONT)
    assert spark.sql(whole).first()[0] == 45


def tasks_of(tracker: StatusTracker) -> int:
    """How many tasks run."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return sum(stage.numActiveTasks for stage in stages if stage)


def test_beside_running_writers(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), ENGINES["aggregation"], buckets=2)
    writers, jobs = 3, 6
    statuses: set[str] = set()

    def write(writer: int) -> int:
        """At least so many jobs, and on until one compaction was committed beside them."""
        written, job, end = 0, 0, time.monotonic() + processes.PATIENCE
        while job < jobs or ("committed" not in statuses and time.monotonic() < end):
            value, job = writer * 100 + job, job + 1
            spark.sql(
                f"INSERT INTO {name} SELECT CAST(id % 10 AS INT), {value}, NULL FROM range(20)"
            )
            written += value
        return written

    with ThreadPoolExecutor(writers) as pool:
        running = [pool.submit(write, writer) for writer in range(writers)]
        while not all(job.done() for job in running):
            statuses |= {step.status for step in compact(spark, name)}
    assert "committed" in statuses
    assert statuses <= {"committed", "skipped", "conflict", "nothing"}
    once = sum(job.result() for job in running)
    assert [(row.k, row.v) for row in rows(spark, name)] == [(k, 2 * once) for k in range(10)]
