"""Rows of one INSERT that share a key fold in input order, whatever their tasks. On a cluster:
integration/faults/test_compaction_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours

KEYS = 37
ROWS = 5_000


def expected() -> dict[int, tuple[int, int, int]]:
    """First, last and number of the ids of each key."""
    return {
        key: (key, max(range(key, ROWS, KEYS)), len(range(key, ROWS, KEYS))) for key in range(KEYS)
    }


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "k BIGINT, first BIGINT, last BIGINT, n BIGINT",
        merge_engine="aggregation",
        folds={"first": "first_value", "last": "last_value", "n": "sum"},
    )
    return name


def folded(spark: SparkSession, table: str) -> dict[int, tuple[int, int, int]]:
    rows = assert_ours(spark.sql(f"SELECT * FROM {table}")).collect()
    return {row.k: (row.first, row.last, row.n) for row in rows}


@pytest.mark.parametrize("tasks", [1, 2, 7])
def test_order_of_the_input(spark: SparkSession, table: str, tasks: int) -> None:
    columns = (f"id % {KEYS} AS k", "id AS first", "id AS last", "1L AS n")
    spark.range(0, ROWS, 1, tasks).selectExpr(*columns).writeTo(table).append()
    assert folded(spark, table) == expected()


def test_order_of_a_sorted_query(spark: SparkSession, table: str) -> None:
    turned = f"SELECT id % {KEYS} AS k, -id AS v FROM range(0, {ROWS}, 1, 5)"
    spark.sql(f"INSERT INTO {table} SELECT k, v, v, 1 FROM ({turned}) ORDER BY v")
    wanted = {k: (-last, -first, n) for k, (first, last, n) in expected().items()}
    assert folded(spark, table) == wanted


def test_later_jobs_come_later(spark: SparkSession, table: str) -> None:
    for job in range(3):
        spark.sql(
            f"INSERT INTO {table} VALUES (1, {job}, {job}, 1), (1, {job + 10}, {job + 10}, 1)"
        )
    assert folded(spark, table) == {1: (0, 12, 6)}
