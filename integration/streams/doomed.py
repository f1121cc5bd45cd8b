"""A session that streams files into two tables until it is killed, in one process or on a cluster.
A query that fails, because a process that it needed was killed, is started from its checkpoint.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from integration.cluster.clusters import Cluster
from integration.faults import harness

CLUSTER = "cluster.json"
COLUMNS = "k BIGINT, n BIGINT, word STRING"
TABLES = {"sums": ("n", "BIGINT", "sum"), "lists": ("word", "STRING", "listagg")}


def create(spark: SparkSession) -> None:
    """The tables in the namespace `s` of the session's catalog."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.s")
    for name, (column, kind, function) in TABLES.items():
        spark.sql(
            f"CREATE TABLE keyfold.s.{name} (k BIGINT NOT NULL, {column} {kind}, "
            "PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('bucket' = '2', "
            f"'merge-engine' = 'aggregation', 'fields.{column}.aggregate-function' = '{function}', "
            "'snapshot.num-retained.min' = '2', 'snapshot.time-retained' = '1 s')"
        )


def stream(spark: SparkSession, folder: Path, name: str, files: int) -> DataStreamWriter:
    """A writer of a query into one of the tables, so many files a batch."""
    source = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", files)
    frame = source.json(str(folder / "in")).select("k", TABLES[name][0])
    return frame.writeStream.option("checkpointLocation", str(folder / "checkpoints" / name))


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
    """Stream into both tables, from where the session before this one ended, and never end."""
    spark = session(folder)
    if not spark.catalog.databaseExists("keyfold.s"):
        create(spark)
    threads = [
        threading.Thread(target=keep_on, args=(spark, folder, name), daemon=True) for name in TABLES
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
        query = stream(spark, folder, name, 1).toTable(f"keyfold.s.{name}")
        try:
            query.awaitTermination()
        except Exception as error:  # a process it needed was killed
            print(f"{name}: {str(error)[:300]}", flush=True)
