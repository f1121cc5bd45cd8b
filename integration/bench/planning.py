"""`--planning`: how long a query takes to plan, over hundreds of commits and thousands of files."""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

BUCKETS = 20
EVERY = 50


def plan_seconds(spark: SparkSession, query: str) -> tuple[float, int]:
    """From the text of a query to its Spark partitions, and how many these are."""
    start = time.perf_counter()
    count = spark.sql(query).rdd.getNumPartitions()
    return time.perf_counter() - start, count


def run(spark: SparkSession, commits: int) -> list[dict[str, object]]:
    """`commits` jobs of one file per bucket each; planning time as they pile up."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.bench")
    spark.sql("DROP TABLE IF EXISTS keyfold.bench.many")
    spark.sql(
        "CREATE TABLE keyfold.bench.many (id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) "
        f"TBLPROPERTIES ('bucket' = '{BUCKETS}')"
    )
    found = []
    print("commits    files    plan all s   plan one key s   commit s")
    for number in range(1, commits + 1):
        start = time.perf_counter()
        spark.sql(f"INSERT INTO keyfold.bench.many SELECT id, {number} FROM range({BUCKETS * 20})")
        took = time.perf_counter() - start
        if number == 1 or number % EVERY == 0:
            everything, _ = plan_seconds(spark, "SELECT * FROM keyfold.bench.many")
            one, _ = plan_seconds(spark, "SELECT * FROM keyfold.bench.many WHERE id = 7")
            found.append({"commits": number, "all": everything, "one": one, "commit": took})
            print(
                f"{number:>7}{number * BUCKETS:>9}{everything:>14.3f}{one:>17.3f}{took:>11.3f}",
                flush=True,
            )
    return found
