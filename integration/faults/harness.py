"""Scenarios in processes of their own: how they start and answer, and what they do to a Spark.

`scenarios.py` and `doomed.py` have the scenarios.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration import TOP, sessions
from integration.faults import processes
from integration.keyed import create_keyed

ANSWER = "answer: "
WIDE = "repeat(md5(CAST(id AS STRING)), 300)"  # 9.6 KB
ROWS, MANY, SPILLED = 10_000, 15_000, 40_000
CHANGED, MERGED = 5, "merged"  # rows that a MERGE changes, and to what
HUGE = "repeat(CAST(id AS STRING), 48000000)"
# A query says by one property of the JVM that it has met a row, and by another one is told how many
# milliseconds to sleep at each row.
MET, PAUSE = "keyfold.test.met", "keyfold.test.pause"
SLOWLY = (
    f"coalesce(java_method('java.lang.System', 'setProperty', '{MET}', 'yes'), '') <> 'no' "
    "AND java_method('java.lang.Thread', 'sleep', "
    f"CAST(java_method('java.lang.Long', 'getLong', '{PAUSE}', 0L) AS BIGINT)) = 'null'"
)
ATTEMPTS = 20
WORKING = 0.05  # seconds of computing by which a process is no longer about to begin


def command(name: str, folder: Path, argument: str = "") -> list[str]:
    """What starts a scenario."""
    return [sys.executable, "-m", "integration.faults.scenarios", name, str(folder), argument]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """That of this process, with room for `extra`."""
    return {**os.environ, "SPARK_WORKER_DIR": os.devnull, **(extra or {})}


def run(name: str, folder: Path, argument: str = "", extra: Mapping[str, str] | None = None) -> Any:
    """A scenario in a process of its own; its answer."""
    done = subprocess.run(
        command(name, folder, argument),
        cwd=TOP,
        env=environment(extra),
        capture_output=True,
        text=True,
        timeout=processes.DEADLINE,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(ANSWER)]
    assert lines, f"{name} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return json.loads(lines[-1].removeprefix(ANSWER))


@contextlib.contextmanager
def running(name: str, folder: Path, argument: str = "") -> Iterator[tuple[Any, Any]]:
    """A scenario that goes on after its answer: its process and the answer. Killed at the end."""
    log = folder / f"{name}{argument}.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command(name, folder, argument),
            cwd=TOP,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        answer = None
        try:
            assert process.stdout is not None
            lines = (line for line in process.stdout if line.startswith(ANSWER))
            line = next(lines, None)
            assert line is not None, log.read_text()
            answer = json.loads(line.removeprefix(ANSWER))
            yield process, answer
        finally:
            if answer is not None:
                processes.kill(answer["jvm"])
            process.kill()


def start(folder: Path, master: str = "local[2]", **extra: str) -> SparkSession:
    """A session of a few queries, none of which it compiles."""
    return sessions.start(folder, master, **(sessions.INTERPRETED | extra))


def jvm_of(spark: SparkSession) -> int:
    """The process id of the driver's JVM."""
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())


def children_of(spark: SparkSession) -> set[int]:
    """keyfold's processes of this session."""
    return processes.workers(jvm_of(spark))


def directory_of(spark: SparkSession) -> str:
    """The private directory of this session's fork server."""
    (server,) = processes.children(jvm_of(spark)) & children_of(spark)
    return str(Path(f"/proc/{server}/fd/2").readlink().parent)


def wide_table(spark: SparkSession, rows: int) -> str:
    """A table of rows too wide for a socket's buffer to hold many; two buckets."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.s")
    create_keyed(spark, "keyfold.s.wide", "id BIGINT, pad STRING", key="id", bucket=2)
    spark.sql(f"INSERT INTO keyfold.s.wide SELECT id, {WIDE} FROM range({rows})")
    return "keyfold.s.wide"


class Job(threading.Thread):
    """A statement in the background: what it answered, or the error's text."""

    def __init__(self, spark: SparkSession, statement: str) -> None:
        super().__init__(daemon=True)
        self.spark, self.statement = spark, statement
        self.answer: int | None = None
        self.error = ""

    def run(self) -> None:
        """Run it."""
        try:
            self.spark.sparkContext.setJobGroup("job", "job", interruptOnCancel=True)
            found = self.spark.sql(self.statement).first()
            self.answer = found[0] if found else None
        except Exception as error:  # whatever it is, the test reads it
            self.error = str(error)


@contextlib.contextmanager
def slow_query(spark: SparkSession, table: str) -> Iterator[Job]:
    """A query that needs every byte of a table and has met rows; it stays at them until the block
    ends, and is over then.
    """
    jvm: Any = spark._jvm
    jvm.java.lang.System.clearProperty(MET)
    jvm.java.lang.System.setProperty(PAUSE, "100")
    job = Job(spark, f"SELECT sum(length(pad)) FROM {table} WHERE {SLOWLY}")
    job.start()
    try:
        told = jvm.java.lang.System.getProperty
        assert processes.wait_until(lambda: told(MET) or not job.is_alive())
        assert job.is_alive(), job.error
        yield job
    finally:
        jvm.java.lang.System.clearProperty(PAUSE)
        job.join(processes.DEADLINE)


def merge(table: str, rows: int, condition: str = "") -> str:
    """A MERGE of new rows into a table of so many, of which it changes the last."""
    source = f"SELECT id, if(id < {rows}, '{MERGED}', {WIDE}) AS pad"
    return (
        f"MERGE INTO {table} t USING ({source} FROM range({rows - CHANGED}, {rows + MANY})) s "
        f"ON t.id = s.id WHEN MATCHED {condition} THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def halted_merge(spark: SparkSession, table: str) -> tuple[Job, set[int], int]:
    """A MERGE, its writers, which have begun to compute and are stopped, and the rows before it: it
    can't end until they go on or die. One that was over before that is followed by another.
    """
    for _ in range(ATTEMPTS):
        before = rows_of(spark, table)
        permanent = only_permanent(spark, table)
        job = Job(spark, merge(table, before))
        job.start()
        writers: set[int] = set()
        while job.is_alive() and not writers:
            born = children_of(spark) - permanent
            writers = {pid for pid in born if processes.cpu_seconds(pid) >= WORKING}
            time.sleep(0.005)
        for pid in writers:
            processes.kill(pid, signal.SIGSTOP)
        if job.is_alive():
            return job, writers, before
    raise AssertionError(f"{ATTEMPTS} MERGEs were over before they could be stopped")


def rows_of(spark: SparkSession, table: str) -> int:
    """How many rows a table has."""
    return int(spark.sql(f"SELECT count(*) FROM {table}").first()[0])


def merged(spark: SparkSession, table: str) -> int:
    """How many rows a MERGE has changed."""
    return int(spark.sql(f"SELECT count(*) FROM {table} WHERE pad = '{MERGED}'").first()[0])


def only_permanent(spark: SparkSession, table: str) -> set[int]:
    """End all but the fork server, so that a job's workers are new; it and the new driver."""
    server = processes.children(jvm_of(spark)) & children_of(spark)
    for pid in children_of(spark) - server:
        processes.kill(pid)
    assert processes.wait_until(lambda: children_of(spark) == server)
    spark.sql("SHOW NAMESPACES IN keyfold").collect()
    return children_of(spark)


def tell(answer: object) -> None:
    """Print an answer."""
    print(ANSWER + json.dumps(answer), flush=True)
