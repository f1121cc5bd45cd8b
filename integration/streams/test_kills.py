"""Streams whose drivers, executors and processes of Python are killed at any moment: each row is in
the table once. KEYFOLD_STREAM_KILLS sets how many kills there are.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.cluster import clusters
from integration.cluster.clusters import Cluster
from integration.faults import harness, processes
from integration.streams import doomed
from integration.streams.sinks import folded

KILLS = int(os.environ.get("KEYFOLD_STREAM_KILLS", "3"))
# The last is the session's own, so that in one process a session is killed that has just gone on
# from where another ended. On a cluster executors are killed before it.
KILLS_A_SESSION = {"session": 2, "cluster": 3}
KEYS, ROWS = 7, 20
FILES = 20 * KILLS


def rows_of(number: int) -> list[dict[str, object]]:
    """The rows of a file of the source."""
    ids = range(number * ROWS, (number + 1) * ROWS)
    return [{"k": i % KEYS, "n": i, "word": f"w{i}"} for i in ids]


def add_files(folder: Path) -> None:
    """The source: read in the order of the files' times."""
    folder.mkdir()
    begin = time.time() - 10_000
    for number in range(FILES):
        path = folder / f"{number:05}.json"
        path.write_text("\n".join(map(json.dumps, rows_of(number))))
        os.utime(path, (begin + number, begin + number))


@pytest.fixture(params=["session", "cluster"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster | None]:
    """Where the streams run: in one JVM, or on two executors below a master's workers."""
    if request.param == "session":
        yield None
        return
    folder = tmp_path / "cluster"
    folder.mkdir()
    with clusters.standalone(folder) as running:
        (tmp_path / doomed.CLUSTER).write_text(running.to_json())
        yield running


def processes_of(jvm: int, cluster: Cluster | None) -> set[int]:
    """Executors and keyfold's processes below the driver's JVM and the executors."""
    return processes.workers(jvm) | (cluster.left() if cluster else set())


def kill_at_random(jvm: int, cluster: Cluster | None, draw: random.Random, kills: int) -> list[int]:
    """Kill processes of a session, then the driver; how many executors, others and drivers."""
    killed = [0, 0, 1]
    for _ in range(kills - 1):
        time.sleep(draw.uniform(0.3, 3.0))
        executors = sorted(cluster.executors()) if cluster else []
        others = sorted(processes_of(jvm, cluster) - processes.children(jvm) - set(executors))
        victims = executors if executors and draw.random() < 0.5 else others
        if victims:
            processes.kill(draw.choice(victims))
            killed[victims is others] += 1
    time.sleep(draw.uniform(0.3, 3.0))
    below = processes_of(jvm, cluster)
    processes.kill(jvm)
    assert processes.wait_until(lambda: not processes.alive(below))
    return killed


def test_killed_at_any_moment(
    spark: SparkSession, tmp_path: Path, seed: int, cluster: Cluster | None
) -> None:
    draw, left, session, killed = random.Random(seed), KILLS, 0, [0, 0, 0]
    add_files(tmp_path / "in")
    most = KILLS_A_SESSION["cluster" if cluster else "session"]
    while left:
        kills = min(left, most)
        with harness.running("streaming", tmp_path, str(session)) as (_, answer):
            found = kill_at_random(answer["jvm"], cluster, draw, kills)
            killed = [a + b for a, b in zip(killed, found, strict=True)]
            left -= kills
        session += 1
    print("killed {} executors, {} processes of Python, {} drivers".format(*killed))
    catalog = "streamed_on_cluster" if cluster else "streamed"  # a session keeps what it has opened
    spark.conf.set(f"spark.sql.catalog.{catalog}", "keyfold.spark.KeyfoldCatalog")
    spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", str(tmp_path / "warehouse"))
    for name in doomed.QUERIES:
        query = doomed.stream(spark, tmp_path, name, FILES, catalog, availableNow=True)
        try:
            assert query.awaitTermination(processes.PATIENCE)
        finally:
            query.stop()
    rows = [row for number in range(FILES) for row in rows_of(number)]
    for name in ("sums", doomed.MERGED):
        sums = spark.table(f"{catalog}.s.{name}").collect()
        assert sorted(map(tuple, sums)) == folded((row["k"], row["n"]) for row in rows)
    lists = {row.k: row.word for row in spark.table(f"{catalog}.s.lists").collect()}
    for key in range(KEYS):  # Spark reads the files of a batch in an order of its own
        words = sorted(str(row["word"]) for row in rows if row["k"] == key)
        assert sorted(lists[key].split(",")) == words
