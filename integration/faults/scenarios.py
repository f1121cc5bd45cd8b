"""What needs a Spark of its own: each scenario is a function; `harness.run` gives it a process.

    python -m integration.faults.scenarios NAME FOLDER [ARGUMENT]

prints one line of JSON, the scenario's answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration import sessions
from integration.faults import doomed, processes
from integration.faults.harness import (
    HUGE,
    ROWS,
    SPILLED,
    WIDE,
    children_of,
    directory_of,
    halted_merge,
    jvm_of,
    merged,
    only_permanent,
    rows_of,
    slow_query,
    start,
    tell,
    wide_table,
)
from integration.keyed import create_keyed
from integration.streams.delta_copy import copied
from integration.streams.doomed import streaming


def killed(spark: SparkSession, table: str) -> dict[str, Any]:
    """A reader's process is killed in the middle of a job, then another query runs."""
    permanent = only_permanent(spark, table)
    with slow_query(spark, table) as job:
        victims = sorted(children_of(spark) - permanent)
        processes.kill(victims[0])
    count = rows_of(spark, table)
    return {"victims": victims, "error": job.error, "answer": job.answer, "count": count}


def write_without(spark: SparkSession, table: str, victim: str) -> dict[str, Any]:
    """A MERGE whose writer, or the fork server, is killed in the middle; then a query."""
    changed = merged(spark, table)
    job, writers, before = halted_merge(spark, table)
    server = processes.children(jvm_of(spark)) & children_of(spark)
    processes.kill(min(writers if victim == "writer" else server))
    for pid in writers:
        processes.kill(pid, signal.SIGCONT)
    job.join(processes.DEADLINE)
    more = rows_of(spark, table) - before
    changed = merged(spark, table) - changed
    return {"writers": len(writers), "error": job.error, "more": more, "changed": changed}


def capped(spark: SparkSession, table: str) -> dict[str, Any]:
    """A row that is larger than what a worker may take, and a cap that is no number; then many rows
    in a worker of 150 MiB, which spills.
    """
    errors, before = {}, rows_of(spark, table)
    spark.sql(f"INSERT INTO {table} SELECT id, '' FROM range(1, 1)")
    for cap in ("96m", "much"):  # workers of no cap are idle: they are not the next job's
        with sessions.conf(spark, spark__keyfold__worker__memory=cap):
            try:
                spark.sql(f"INSERT INTO {table} SELECT id, {HUGE} FROM range(1, 2)")
            except Exception as error:  # the test reads it
                errors[cap] = str(error)
    more = rows_of(spark, table) - before
    only_permanent(spark, table)
    with sessions.conf(spark, spark__keyfold__worker__memory="150m"):
        spark.sql(f"INSERT INTO {table} SELECT -id - 1, {WIDE} FROM range({SPILLED})")
        spilled = spark.sql(f"SELECT count(pad) FROM {table} WHERE id < 0").first()[0]
    return {"errors": errors, "more": more, "spilled": spilled}


def cancelled(spark: SparkSession, table: str) -> dict[str, Any]:
    """A job is cancelled; its readers' processes must go."""
    before = rows_of(spark, table)
    permanent = only_permanent(spark, table)
    with slow_query(spark, table) as job:
        readers = children_of(spark) - permanent
        spark.sparkContext.cancelJobGroup("job")
        job.join(processes.DEADLINE)
        freed = processes.wait_until(lambda: not processes.alive(readers))
    more = rows_of(spark, table) - before
    return {"readers": len(readers), "error": job.error, "freed": freed, "more": more}


def faults(folder: Path, master: str) -> dict[str, Any]:
    """Killed processes, a cancelled job, too little memory, and what a stopped session leaves."""
    spark = start(folder, master)
    table = wide_table(spark, ROWS)
    answer = {"killed": killed(spark, table)}
    answer["writer"] = write_without(spark, table, "writer")
    if "," not in master:  # the rest is the same where Spark tries again
        answer["cancelled"] = cancelled(spark, table)
        answer["server"] = write_without(spark, table, "server")
        answer["capped"] = capped(spark, table)
    left = sorted(children_of(spark))
    spark.stop()
    return {**answer, "workers": left}


def linger(folder: Path, _: str) -> dict[str, Any]:
    """Use readers, writers and the driver's worker; then exit at once."""
    spark = start(folder)
    table = wide_table(spark, 100)
    spark.sql(f"SELECT count(pad) FROM {table}").collect()
    workers = sorted(children_of(spark))
    return {"workers": workers, "directory": directory_of(spark)}


def cluster(folder: Path, master: str) -> dict[str, Any]:
    """What several executors may change: the order of an INSERT's rows, and a compaction's tasks
    while INSERTs read the table they write.
    """
    spark = start(folder, master, **sessions.BOTH_EXECUTORS)
    spark.sql("CREATE NAMESPACE keyfold.s")
    answer = {"inserts": self_inserts(spark)}
    if "," in master:  # a session of one process has the shared session's tests of order
        answer["order"] = ordered(spark)
    return answer


def ordered(spark: SparkSession) -> dict[str, Any]:
    """The order of an INSERT's rows, and how many executors there are."""
    create_keyed(
        spark,
        "keyfold.s.o",
        "k INT, first BIGINT, last BIGINT, n BIGINT",
        merge_engine="aggregation",
        folds={"first": "first_value", "last": "last_value", "n": "sum"},
    )
    spark.sql(
        "INSERT INTO keyfold.s.o SELECT CAST(id % 50 AS INT), id, id, 1 FROM range(0, 20000, 1, 8)"
    )
    rows = spark.sql("SELECT * FROM keyfold.s.o ORDER BY k").collect()
    hosts = spark._jsc.sc().getExecutorMemoryStatus().size() - 1
    return {"executors": hosts, "rows": [list(row) for row in rows]}


def self_inserts(spark: SparkSession) -> dict[str, Any]:
    """INSERTs that read the table they write, each compacting it; then what a CALL finds to do."""
    create_keyed(
        spark,
        "keyfold.s.t",
        "k INT, n BIGINT",
        merge_engine="aggregation",
        bucket=2,
        folds={"n": "sum"},
    )
    spark.sql("INSERT INTO keyfold.s.t SELECT CAST(id AS INT), 1 FROM range(20)")
    for _ in range(8):
        spark.sql("INSERT INTO keyfold.s.t SELECT * FROM keyfold.s.t")
    steps = spark.sql("CALL keyfold.sys.compact('s.t')").collect()
    rows = spark.sql("SELECT * FROM keyfold.s.t ORDER BY k").collect()
    return {"rows": [list(row) for row in rows], "statuses": [step.status for step in steps]}


def first_query(folder: Path, argument: str) -> dict[str, Any]:
    """What a session's first statements answer. `argument` is JSON of its confs, and of confs that
    are tried one after another until one serves: the error of each other one, by its name.
    """
    asked = json.loads(argument or "{}")
    spark = start(folder, **asked.get("session", {}))
    errors: dict[str, str] = {}
    for name, (conf, value) in asked.get("tried", {}).items():
        spark.conf.set(conf, value)
        try:
            spark.sql("SHOW NAMESPACES IN keyfold").collect()
        except Exception as error:  # the test reads it
            errors[name] = str(error)
            spark.conf.unset(conf)
    table = wide_table(spark, 10)
    return {**errors, "count": spark.sql(f"SELECT count(pad) FROM {table}").first()[0]}


def installed(folder: Path, argument: str) -> dict[str, Any]:
    """What tables hold whose function and engine come from a package installed at `argument`."""
    known = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [argument, known]))
    spark = start(folder)
    spark.sql("CREATE NAMESPACE keyfold.s")
    options = {
        "sums": "'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'installed_sum'",
        "kept": "'merge-engine' = 'greatest'",
    }
    found = {}
    for name, properties in options.items():
        columns = "id INT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED"
        spark.sql(f"CREATE TABLE keyfold.s.{name} ({columns}) TBLPROPERTIES ({properties})")
        values = "(1, 2), (1, 3)" if name == "sums" else "(1, 2), (1, 9), (1, 3)"
        spark.sql(f"INSERT INTO keyfold.s.{name} VALUES {values}")
        found[name] = [list(row) for row in spark.table(f"keyfold.s.{name}").collect()]
    return found


SCENARIOS: dict[str, Callable[[Path, str], object]] = {
    scenario.__name__: scenario for scenario in (faults, linger, cluster, first_query, installed)
}

if __name__ == "__main__":
    others = doomed.SCENARIOS | {"copied": copied, "streaming": streaming}
    tell((SCENARIOS | others)[sys.argv[1]](Path(sys.argv[2]), sys.argv[3]))
