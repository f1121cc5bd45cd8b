"""A program on a standalone cluster: one of its workers hangs, another is killed, an executor is
lost. Run by the tests with the environment's Python:

    python -m integration.cluster.cluster_faults CLUSTER FOLDER

where CLUSTER is the JSON of a `Cluster`; prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import keyfold
from integration.cluster.clusters import HOSTS, Cluster
from integration.faults import processes
from integration.keyed import create_keyed

ROWS, KEYS = 80_000, 1000
_CHANGES = count()
INSERT = f"""
INSERT INTO keyfold.f.sums SELECT id % {KEYS}, 1, repeat(md5(CAST(id AS STRING)), 40)
FROM range(0, {ROWS}, 1, 2)
"""
# Statements that add one to each row's n, and how many Spark jobs one has begun when it writes.
UPDATE = "UPDATE keyfold.f.rows SET n = n + 1", 2
MERGE = (
    f"""
MERGE INTO keyfold.f.rows AS t USING (SELECT id AS k, 1 AS one FROM range({ROWS})) AS s
ON t.k = s.k WHEN MATCHED AND t.n >= 0 THEN UPDATE SET n = t.n + s.one
WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.k, -1)
""",
    3,
)
CONFS = {
    "spark.sql.adaptive.enabled": "true",  # makes jobs of the stages that are counted above
    "spark.locality.wait": "0s",  # a task for each machine, wherever its input is
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
}


def session(cluster: Cluster, folder: Path) -> SparkSession:
    """One with an aggregation table of two buckets: a writing task for each executor."""
    builder = keyfold.configure(SparkSession.builder, warehouse=str(folder / "warehouse"))
    for name, value in (cluster.confs() | CONFS).items():
        builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sql("CREATE NAMESPACE keyfold.f")
    create_keyed(
        spark,
        "keyfold.f.sums",
        "k BIGINT, n BIGINT, pad STRING",
        merge_engine="aggregation",
        bucket=2,
        write_only=True,
        folds={"n": "sum"},
    )
    create_keyed(
        spark, "keyfold.f.rows", "k BIGINT, n BIGINT, pad STRING", bucket=2, write_only=True
    )
    spark.sql(
        "INSERT INTO keyfold.f.rows SELECT id, 0, repeat(md5(CAST(id AS STRING)), 40) "
        f"FROM range({ROWS})"
    )
    return spark


def workers_on(cluster: Cluster, host: str) -> set[int]:
    """The forked workers of the executors of one machine, without their fork servers."""
    executors = (pid for pid, place in cluster.executors().items() if place == host)
    servers = filter(processes.is_worker, processes.children(*executors))
    return set(filter(processes.is_worker, processes.children(*servers)))


class Victim(threading.Thread):
    """The first new worker on the second machine: hangs once it is seen and `is_time`, then
    `strike` is done.
    """

    def __init__(
        self, cluster: Cluster, strike: Callable[[int], None], is_time: Callable[[], bool]
    ) -> None:
        super().__init__(daemon=True)
        self.cluster, self.strike, self.is_time = cluster, strike, is_time
        self.pid = 0

    def run(self) -> None:
        """Wait for it."""
        processes.wait_until(self.is_time, processes.DEADLINE)
        processes.wait_until(lambda: workers_on(self.cluster, HOSTS[1]), processes.DEADLINE)
        self.pid = min(workers_on(self.cluster, HOSTS[1]))
        os.kill(self.pid, signal.SIGSTOP)
        self.strike(self.pid)


@contextmanager
def victim(
    cluster: Cluster, strike: Callable[[int], None], is_time: Callable[[], bool] = lambda: True
) -> Iterator[Victim]:
    """The next worker to be born; those that are idle are ended first, so that it has a task."""
    for pid in workers_on(cluster, HOSTS[1]):
        processes.kill(pid)
    assert processes.wait_until(lambda: not workers_on(cluster, HOSTS[1]))
    waiting = Victim(cluster, strike, is_time)
    waiting.start()
    yield waiting
    waiting.join(processes.DEADLINE)


def lose_executor(cluster: Cluster) -> Callable[[int], None]:
    """Kill the executor on the second machine."""

    def strike(_: int) -> None:
        for executor, host in cluster.executors().items():
            if host == HOSTS[1]:
                processes.kill(executor)

    return strike


def insert(spark: SparkSession, cluster: Cluster, strike: Callable[[int], None]) -> dict[str, Any]:
    """An INSERT to one of whose workers something happens; what is found after it."""
    with victim(cluster, strike) as struck:
        spark.sql(INSERT)
    gone = processes.wait_until(lambda: not processes.alive([struck.pid]))
    found = spark.sql(
        "SELECT count(*), min(n), max(n), min(length(pad)) FROM keyfold.f.sums"
    ).first()
    return {"pid": struck.pid, "gone": gone, "rows": list(found)}


def change(
    spark: SparkSession,
    cluster: Cluster,
    statement: tuple[str, int],
    strike: Callable[[int], None],
    *,
    is_writing: bool,
) -> dict[str, Any]:
    """The same of a statement that changes rows, in a task that reads them or one that writes."""
    context, (text, jobs) = spark.sparkContext, statement
    both = context._jsc.sc()
    assert processes.wait_until(lambda: both.getExecutorMemoryStatus().size() == 3)
    # A new executor starts its fork server first; until then the other one does all tasks.
    end = time.monotonic() + processes.DEADLINE
    while not workers_on(cluster, HOSTS[1]):
        assert time.monotonic() < end
        spark.sql("SELECT max(n) FROM keyfold.f.rows").collect()
    group = f"change {next(_CHANGES)}"
    context.setJobGroup(group, text)
    tracker, least = context.statusTracker(), jobs if is_writing else 1
    with victim(cluster, strike, lambda: len(tracker.getJobIdsForGroup(group)) >= least) as struck:
        spark.sql(text)
    gone = processes.wait_until(lambda: not processes.alive([struck.pid]))
    found = spark.sql(
        "SELECT count(*), min(n), max(n), min(length(pad)) FROM keyfold.f.rows"
    ).first()
    return {"pid": struck.pid, "gone": gone, "rows": list(found)}


def main() -> None:
    """Each fault in turn."""
    cluster = Cluster.from_json(sys.argv[1])
    spark = session(cluster, Path(sys.argv[2]))
    answer = {
        "hung": insert(spark, cluster, lambda _: None),
        "killed": insert(spark, cluster, processes.kill),
        "lost": insert(spark, cluster, lose_executor(cluster)),
    }
    for name, statement in (("UPDATE", UPDATE), ("MERGE", MERGE)):
        for fault, strike, is_writing in (
            ("hung, writing", lambda _: None, True),
            ("killed, reading", processes.kill, False),
            ("lost, writing", lose_executor(cluster), True),
        ):
            answer[f"{name}, {fault}"] = change(
                spark, cluster, statement, strike, is_writing=is_writing
            )
    for table in ("sums", "rows"):
        snapshots = f"SELECT snapshot_id FROM keyfold.f.`{table}$snapshots`"
        answer[table] = [row[0] for row in spark.sql(snapshots).collect()]
    spark.stop()
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
