"""A session with Delta Lake beside keyfold, in which tables of Delta follow tables of keyfold: each
batch of changes is merged into them, some of them twice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from integration import sessions
from integration.bench import delta

TURNS, KEYS = 2, 15
TABLES = {
    "newest": "",
    "sums": ", 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum', "
    "'changelog-producer' = 'lookup'",
}


def copied(folder: Path, argument: str) -> dict[str, Any]:
    """The rows of each table and of its copy after each turn; `argument` seeds them."""
    spark = sessions.start(
        folder,
        **sessions.INTERPRETED,
        spark__jars=",".join(map(str, delta.jars())),
        spark__sql__extensions="io.delta.sql.DeltaSparkSessionExtension",
        spark__sql__catalog__spark_catalog="org.apache.spark.sql.delta.catalog.DeltaCatalog",
        spark__databricks__delta__snapshotPartitions="2",
    )
    spark.sql("CREATE NAMESPACE keyfold.s")
    draw, found = random.Random(argument), dict[str, Any]()
    for name, options in TABLES.items():
        spark.sql(
            f"CREATE TABLE keyfold.s.{name} (k INT NOT NULL, v BIGINT, "
            f"PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES ('bucket' = '2'{options})"
        )
        spark.sql(f"CREATE TABLE delta.`{folder}/{name}` (k INT, v BIGINT) USING delta")
        keys: Sequence[int] = range(KEYS)
        found[name] = []
        for _ in range(TURNS):
            found[name].append(turn(spark, folder, name, draw, draw.choice(keys)))
            keys = [key for key, _ in found[name][-1][1]]  # the next DELETE is the copy's too
    return found


def turn(
    spark: SparkSession, folder: Path, name: str, draw: random.Random, gone: int
) -> list[list[Any]]:
    """The table changes, then a stream brings the changes to its copy: the rows of both."""
    table, copy = f"keyfold.s.{name}", f"delta.`{folder}/{name}`"
    for _ in range(2):
        rows = ", ".join(f"({draw.randrange(KEYS)}, {draw.randrange(50)})" for _ in range(8))
        spark.sql(f"INSERT INTO {table} VALUES {rows}")
    spark.sql(f"DELETE FROM {table} WHERE k = {gone}")

    def merge(batch: DataFrame, _: int) -> None:
        batch.where("_change_type <> 'update_preimage'").createOrReplaceTempView("changed")
        for _ in range(draw.choice((1, 2))):  # as it is after a crash: the batch comes again
            batch.sparkSession.sql(
                f"MERGE INTO {copy} AS t USING changed AS c ON t.k = c.k "
                "WHEN MATCHED AND c._change_type = 'delete' THEN DELETE "
                "WHEN MATCHED THEN UPDATE SET v = c.v "
                "WHEN NOT MATCHED AND c._change_type <> 'delete' "
                "THEN INSERT (k, v) VALUES (c.k, c.v)"
            )

    stream = spark.readStream.option("deduplicationMode", "netChanges")
    changes = stream.option("computeUpdates", "true").changes(table)
    writer = changes.writeStream.foreachBatch(merge).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{name}"))
    writer.start().awaitTermination()
    return [sorted(map(list, spark.table(each).collect())) for each in (table, copy)]
