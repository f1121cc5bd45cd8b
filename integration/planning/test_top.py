"""ORDER BY the key with LIMIT: each split returns its first rows, and answers stay Spark's."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import scan_figures, scans
from integration.planning.test_pushdown import rows_of

NAME, PLAIN = "keyfold.it.top", "plain_top"


@pytest.fixture(scope="module", autouse=True)
def table(spark: SparkSession) -> None:
    """Overlapping runs in 2 partitions of 2 buckets; a key of a nullable and another column."""
    create_keyed(
        spark,
        NAME,
        "p INT, a INT, b STRING, v INT",
        key="p, a, b",
        by="p",
        bucket=2,
        write_only=True,
        primary_key__nullable=True,
        keyfold__row_group__rows=1024,
    )
    rows = "SELECT id % 2 AS p, if(id % 50 = 0, NULL, id % 997) AS a, concat('b', id) AS b, "
    spark.sql(f"INSERT INTO {NAME} {rows} 0 FROM range(40000)")
    spark.sql(f"INSERT INTO {NAME} {rows} 1 FROM range(0, 40000, 3)")
    spark.sql(f"{rows} if(id % 3 = 0, 1, 0) AS v FROM range(40000)").createOrReplaceTempView(PLAIN)


@pytest.mark.parametrize(
    ("query", "is_pushed"),
    [
        ("ORDER BY a, b LIMIT 7", True),
        ("ORDER BY a NULLS FIRST, b LIMIT 7", True),
        ("ORDER BY p, a, b LIMIT 7", True),
        ("ORDER BY p DESC, a, b LIMIT 30", True),
        ("ORDER BY a, b, p, v DESC LIMIT 9", True),
        ("WHERE a > 700 AND p = 1 ORDER BY a, b LIMIT 5", True),
        ("ORDER BY a, b LIMIT 5 OFFSET 3", True),
        ("ORDER BY a NULLS LAST, b LIMIT 7", False),
        ("ORDER BY a DESC, b LIMIT 7", False),
        ("ORDER BY b, a LIMIT 7", False),
        ("ORDER BY a + 1, b LIMIT 7", False),
        ("WHERE v = 1 ORDER BY a, b LIMIT 7", False),
    ],
)
def test_answers_are_plain_sparks(spark: SparkSession, query: str, is_pushed: bool) -> None:
    ours = spark.sql(f"SELECT p, a, b, v FROM {NAME} {query}")
    (line,) = scans(ours)
    assert ("first " in line) == is_pushed, line
    assert ours.collect() == spark.sql(f"SELECT p, a, b, v FROM {PLAIN} {query}").collect()


def test_little_is_read(spark: SparkSession) -> None:
    found = spark.sql(f"SELECT a, b, v FROM {NAME} WHERE a >= 3 ORDER BY a, b LIMIT 3")
    assert len(found.collect()) == 3
    (figures,) = scan_figures(found)
    assert figures["rows_out"] == 4 * 3


@pytest.mark.parametrize("condition", ["p = 1", "a IS NULL", "a > 500 AND b < 'b3'", "v = 1"])
def test_a_limit_counts_rows_behind_its_condition(spark: SparkSession, condition: str) -> None:
    found = spark.sql(f"SELECT p, a, b, v FROM {NAME} WHERE {condition} LIMIT 50")
    every = set(rows_of(spark.sql(f"SELECT p, a, b, v FROM {PLAIN} WHERE {condition}")))
    rows = rows_of(found)
    assert len(set(rows)) == 50
    assert every >= set(rows)
