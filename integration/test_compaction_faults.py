"""Compaction that is killed, cancelled, beside writers, and inside the query that it follows."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration import processes, scenarios
from integration.test_compaction import ENGINES, TOP, TRIGGER, compact, create, levels, rows


@pytest.mark.parametrize("master", ["local[1]", "local-cluster[2,1,1024]"])
def test_nothing_waits_for_itself(tmp_path: Path, master: str) -> None:
    answer = scenarios.run("self_inserts", tmp_path, master)
    assert answer["rows"] == [[k, 256] for k in range(20)]
    assert answer["statuses"] == ["skipped"]  # the ninth INSERT left one run


def test_a_killed_worker_fails_the_compaction_and_not_the_write(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), "'write-only' = 'true'", "'merge-engine' = 'aggregation'")
    insert = (
        f"INSERT INTO {name} SELECT CAST(id AS INT), id, md5(CAST(id AS STRING)) FROM range(40000)"
    )
    for _ in range(TRIGGER):
        spark.sql(insert)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write-only' = 'false')")
    snapshots = warehouse / "it.db" / name.rpartition(".")[2] / "snapshot"
    permanent = scenarios.only_permanent(spark, name)
    job = threading.Thread(target=spark.sql, args=(insert,), daemon=True)
    job.start()
    assert processes.wait_until((snapshots / f"snapshot-{TRIGGER + 1}").exists)
    killed = set()
    while job.is_alive():
        victims = scenarios.children_of(spark) - permanent
        killed |= victims
        for pid in victims:
            processes.kill(pid)
        job.join(0.005)
    assert killed
    assert levels(warehouse, name) == {0: TRIGGER + 1}
    assert spark.sql(f"SELECT count(*), sum(v) FROM {name}").first() == (40_000, 20_000 * 39_999)
    spark.sql(insert)
    assert set(levels(warehouse, name)) == {TOP}
    assert spark.sql(f"SELECT count(*), sum(v) FROM {name}").first() == (40_000, 20_000 * 39_999)


def test_a_cancelled_call_says_so_and_leaves_the_table(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), "'write-only' = 'true'")
    for _ in range(4):
        spark.sql(
            f"INSERT INTO {name} SELECT CAST(id AS INT), id, md5(CAST(id AS STRING)) "
            "FROM range(400000)"
        )
    permanent = scenarios.only_permanent(spark, name)
    told: list[str] = []

    def call() -> None:
        spark.sparkContext.setJobGroup("stopped", "a compaction to stop")
        try:
            compact(spark, name)
        except Exception as error:  # the test reads it
            told.append(str(error))

    def held() -> set[int]:
        """Workers of the call, which do no more: it can't end before it is cancelled."""
        found = scenarios.children_of(spark) - permanent
        for pid in found:
            processes.kill(pid, signal.SIGSTOP)
        return found

    job = threading.Thread(target=call, daemon=True)
    job.start()
    assert processes.wait_until(held)
    spark.sparkContext.cancelJobGroup("stopped")
    job.join(processes.DEADLINE)
    assert not job.is_alive()
    assert "cancel" in told[0].lower()
    assert processes.wait_until(lambda: not scenarios.children_of(spark) - permanent)
    assert levels(warehouse, name) == {0: 4}
    assert spark.sql(f"SELECT count(*) FROM {name}").first()[0] == 400_000


def test_beside_running_writers(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), ENGINES["aggregation"], buckets=2)
    writers, jobs = 3, 6
    left = threading.Semaphore(0)

    def write(writer: int) -> None:
        for job in range(jobs):
            spark.sql(
                f"INSERT INTO {name} SELECT CAST(id % 10 AS INT), {writer * 100 + job}, NULL "
                "FROM range(20)"
            )
        left.release()

    def compacting() -> list[str]:
        found = []
        while left._value < writers:
            found += [step.status for step in compact(spark, name)]
        return found

    with ThreadPoolExecutor(writers + 1) as pool:
        statuses = pool.submit(compacting)
        list(pool.map(write, range(writers)))
        assert "committed" in statuses.result()
        assert set(statuses.result()) <= {"committed", "skipped", "conflict", "nothing"}
    once = sum(writer * 100 + job for writer in range(writers) for job in range(jobs))
    assert [(row.k, row.v) for row in rows(spark, name)] == [(k, 2 * once) for k in range(10)]
