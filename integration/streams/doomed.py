"""A session that streams files into tables until it is killed, in one process or on a cluster.
A query that fails, because a process that it needed was killed, is started from its checkpoint.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from integration.cluster.clusters import Cluster
from integration.faults import harness

CLUSTER = "cluster.json"
COLUMNS = "k BIGINT, n BIGINT, word STRING"
TABLES = {"sums": ("n", "BIGINT", "sum"), "lists": ("word", "STRING", "listagg")}
MERGED = "merged"  # a table whose rows MERGE adds to
QUERIES = (*TABLES, MERGED)
_KEPT = "'bucket' = '2', 'snapshot.num-retained.min' = '2', 'snapshot.time-retained' = '1 s'"


def create(spark: SparkSession) -> None:
    """The tables in the namespace `s` of the session's catalog."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.s")
    for name, (column, kind, function) in TABLES.items():
        spark.sql(
            f"CREATE TABLE keyfold.s.{name} (k BIGINT NOT NULL, {column} {kind}, "
            f"PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ({_KEPT}, "
            f"'merge-engine' = 'aggregation', 'fields.{column}.aggregate-function' = '{function}')"
        )
    spark.sql(
        f"CREATE TABLE keyfold.s.{MERGED} (k BIGINT NOT NULL, n BIGINT, "
        f"PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ({_KEPT})"
    )


def added(table: str) -> Callable[[DataFrame, int], None]:
    """Writes a batch by a MERGE that adds to the rows that are there."""

    def write(batch: DataFrame, number: int) -> None:
        spark = batch.sparkSession
        spark.conf.set("spark.keyfold.txnAppId", "added")
        spark.conf.set("spark.keyfold.txnVersion", str(number))
        batch.groupBy("k").agg({"n": "sum"}).toDF("k", "n").createOrReplaceTempView("new_rows")
        spark.sql(
            f"MERGE INTO {table} t USING new_rows s ON t.k = s.k WHEN MATCHED THEN UPDATE "
            "SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT *"
        )

    return write


def stream(
    spark: SparkSession, folder: Path, name: str, files: int, catalog: str = "keyfold", **how: Any
) -> StreamingQuery:
    """A query into one of the tables, so many files a batch."""
    table = f"{catalog}.s.{name}"
    source = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", files)
    frame = source.json(str(folder / "in")).select("k", *TABLES.get(name, ("n",))[:1])
    writer = frame.writeStream.option("checkpointLocation", str(folder / "checkpoints" / name))
    writer = writer.trigger(**how) if how else writer
    return writer.foreachBatch(added(table)).start() if name == MERGED else writer.toTable(table)


def session(folder: Path) -> SparkSession:
    """One on the cluster that a file in the folder names; without the file, in one process."""
    file = folder / CLUSTER
    if not file.exists():
        return harness.start(folder)
    confs = Cluster.from_json(file.read_text()).confs()
    confs["spark.executorEnv.PYTHONPATH"] = os.environ.get("PYTHONPATH", "")
    named = {name.replace(".", "__"): value for name, value in confs.items()}
    return harness.start(folder, named.pop("spark__master"), **named)


def streaming(folder: Path, argument: str) -> dict[str, Any]:
    """Stream into all tables, from where the session before this one ended, and never end."""
    spark = session(folder)
    if not spark.catalog.databaseExists("keyfold.s"):
        create(spark)
    threads = [
        threading.Thread(target=keep_on, args=(spark, folder, name), daemon=True)
        for name in QUERIES
    ]
    for thread in threads:
        thread.start()
    harness.tell({"jvm": harness.jvm_of(spark)})
    for thread in threads:
        thread.join()
    return {}


def keep_on(spark: SparkSession, folder: Path, name: str) -> None:
    """Start the query again whenever it fails."""
    while True:
        query = stream(spark, folder, name, 1)
        try:
            query.awaitTermination()
        except Exception as error:  # a process it needed was killed
            print(f"{name}: {str(error)[:300]}", flush=True)
