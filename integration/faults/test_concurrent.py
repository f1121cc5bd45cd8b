"""Jobs that write at once: every row of every job counts, once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours

WRITERS = 4
JOBS = 3


def test_no_upsert_is_lost(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    create_keyed(
        spark, name, "k INT, n BIGINT", merge_engine="aggregation", bucket=2, folds={"n": "sum"}
    )

    def write(writer: int) -> None:
        for job in range(JOBS):
            spark.sql(f"INSERT INTO {name} SELECT id % 10, {writer * 100 + job} FROM range(20)")

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    once = sum(writer * 100 + job for writer in range(WRITERS) for job in range(JOBS))
    rows = assert_ours(spark.sql(f"SELECT k, n FROM {name} ORDER BY k")).collect()
    assert [tuple(row) for row in rows] == [(k, 2 * once) for k in range(10)]
