"""Scenarios of sessions that are killed or interrupted: what they do until then, and tell of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration.faults import harness, processes
from tests.concurrency import roles

CATALOG = "raced"
TABLE = f"{CATALOG}.default.t"
THREADS = 4


def writing(folder: Path, argument: str) -> dict[str, Any]:
    """MERGE until one is caught in mid-write; tell of it and wait to be killed."""
    spark = harness.start(folder)
    table = harness.wide_table(spark, 10)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('target-file-size' = '64 kb')")
    for _ in range(harness.ATTEMPTS):
        caught = halted(spark, table, folder / "warehouse" / "s.db" / "wide")
        if caught is not None:
            harness.tell(caught)
            time.sleep(processes.DEADLINE)
            return caught
    raise AssertionError(f"{harness.ATTEMPTS} MERGEs were over before they could be stopped")


def halted(spark: SparkSession, table: str, place: Path) -> dict[str, Any] | None:
    """A MERGE that is stopped once files of both buckets were written: the JVM halts, the process
    of the driver and one that wrote are killed, as they would tidy up. None if it had committed by
    then: it is let go on.
    """
    rows, merged = harness.rows_of(spark, table), harness.merged(spark, table)
    jvm = harness.jvm_of(spark)
    permanent, directory = harness.only_permanent(spark, table), harness.directory_of(spark)
    driver = permanent - processes.children(jvm)
    before = {name: count(place, name) for name in ("bucket-0/*", "bucket-1/*", "snapshot/s*")}
    statement = harness.merge(table, rows, "AND t.pad IS NOT NULL")
    job = threading.Thread(target=lambda: spark.sql(statement), daemon=True)
    job.start()
    while job.is_alive() and any(
        count(place, name) == before[name] for name in ("bucket-0/*", "bucket-1/*")
    ):
        time.sleep(0.002)
    os.kill(jvm, signal.SIGSTOP)
    workers = processes.workers(jvm)
    writers = workers - permanent
    victims = driver | set(sorted(writers)[:1])
    for pid in victims:
        processes.kill(pid)
    assert processes.wait_until(lambda: not processes.alive(victims))
    if writers and count(place, "snapshot/s*") == before["snapshot/s*"]:
        return {
            "jvm": jvm,
            "workers": sorted(workers - victims),
            "directory": directory,
            "rows": rows,
            "merged": merged,
        }
    os.kill(jvm, signal.SIGCONT)
    job.join(processes.DEADLINE)
    return None


def count(folder: Path, pattern: str) -> int:
    """How many files there are of that pattern."""
    return len(list(folder.glob(pattern)))


def writers(folder: Path, first: str) -> dict[str, Any]:
    """Threads that commit to the table of `tests.concurrency`, in a JVM of their own."""
    spark = harness.start(folder / first)
    begin(spark, str(folder), int(first))
    answer = {"jvm": harness.jvm_of(spark)}
    harness.tell(answer)
    time.sleep(2 * processes.DEADLINE)
    return answer


def begin(
    spark: SparkSession, folder: str, first: int, done: threading.Event | None = None
) -> list[threading.Thread]:
    """Start writers of the numbers from `first` on; they end when `done` is set, or never."""
    spark.conf.set(f"spark.sql.catalog.{CATALOG}", "keyfold.spark.KeyfoldCatalog")
    spark.conf.set(f"spark.sql.catalog.{CATALOG}.warehouse", folder)
    threads = [
        threading.Thread(target=write, args=(spark, folder, first + at, done), daemon=True)
        for at in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    return threads


def write(spark: SparkSession, folder: str, number: int, done: threading.Event | None) -> None:
    """Commit after commit, as `roles.writer`; each attempt is a life of its own, as what fails may
    have been committed.
    """
    attempt = 0
    while done is None or not done.is_set():
        key = (number << 40) | (attempt << 20)
        attempt += 1
        try:
            spark.sql(f"INSERT INTO {TABLE} VALUES ({key}, 1), ({roles.COUNTER}, 1)")
        except Exception as error:  # its worker was killed, or others were always faster
            said = " ".join(str(error).split()[:20])
            roles.note(folder, f"writer-{number}", "failed", said)
        else:
            roles.note(folder, f"writer-{number}", "acknowledged", key)


def interrupted(spark: SparkSession) -> str:
    """The error of a statement whose thread is interrupted until it ends."""
    told: dict[str, Any] = {}

    def ask() -> None:
        told["thread"] = spark._jvm.java.lang.Thread.currentThread()
        try:
            spark.sql("SHOW NAMESPACES IN keyfold").collect()
        except Exception as error:  # the test reads it
            told["error"] = str(error)

    asked = threading.Thread(target=ask, daemon=True)
    asked.start()
    assert processes.wait_until(lambda: "thread" in told)

    def ended() -> bool:
        told["thread"].interrupt()
        return not asked.is_alive()

    assert processes.wait_until(ended)
    return str(told["error"])


def unready(folder: Path, python: str) -> dict[str, str]:
    """The errors of a statement by the limit of the start, while `python` never gets ready. The
    last wrong limit is tried twice: the first statement may have met a start that began before it.
    Below a limit of hours the statement is interrupted.
    """
    limit = "spark.keyfold.start.timeout"
    spark = harness.start(folder, spark__keyfold__python=python, **{limit.replace(".", "__"): "1s"})
    told: dict[str, str] = {}
    for value in ("1s", "soon", "soon"):
        spark.conf.set(limit, value)
        try:
            spark.sql("SHOW NAMESPACES IN keyfold").collect()
        except Exception as error:  # the test reads it
            told[value] = str(error)
    spark.conf.set(limit, "9h")
    return {**told, "interrupted": interrupted(spark)}


SCENARIOS: dict[str, Callable[[Path, str], object]] = {
    "writing": writing,
    "writers": writers,
    "unready": unready,
}
