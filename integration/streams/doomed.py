"""A session that streams files into two tables until it is killed; a query that fails, because a
process of Python was killed, is started again from its checkpoint.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from integration import sessions
from integration.faults import harness

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


def streaming(folder: Path, argument: str) -> dict[str, Any]:
    """Stream into both tables, from where the session before this one ended, and never end."""
    spark = sessions.start(folder)
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
