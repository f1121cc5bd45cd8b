"""Joins with a filtered table: the files of ours that can't match are not read, by what the other
side turns out to hold; and the answers are the same without.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import plan_of, scan_figures
from integration.planning.test_pushdown import rows_of
from integration.sessions import conf

PRUNING = "spark.sql.optimizer.dynamicPartitionPruning.enabled"
FACTS, BY_ID = "keyfold.it.facts", "keyfold.it.facts_by_id"
DIM = "keyfold.it.dim"


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession) -> None:
    """Facts in 4 partitions of 4 buckets, two files each; facts in 4 buckets; a small table."""
    create_keyed(
        spark, FACTS, "p INT, id BIGINT, v DOUBLE", key="p, id", by="p", bucket=4, write_only=True
    )
    create_keyed(
        spark,
        BY_ID,
        "id BIGINT, t STRING, v BIGINT",
        key="id, t",
        bucket=4,
        bucket_key="id",
        write_only=True,
    )
    for low in (0, 4000):
        rows = f"FROM range({low}, {low + 4000})"
        spark.sql(f"INSERT INTO {FACTS} SELECT id % 4, id, id / 2 {rows}")
        spark.sql(f"INSERT INTO {BY_ID} SELECT id, concat('t', id % 2), id {rows}")
    spark.sql(f"INSERT INTO {FACTS} SELECT id % 4, id, -1 FROM range(100)")  # updates
    create_keyed(spark, DIM, "k BIGINT, p INT, name STRING", bucket=1)
    spark.sql(
        f"INSERT INTO {DIM} SELECT id, id % 4, concat('n', id) FROM range(3000) "
        "UNION ALL SELECT -1, NULL, 'null'"
    )


@pytest.fixture(params=["true", "false"], ids=["adaptive", "static"])
def adaptive(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Spark's plans are made with and without adaptive execution."""
    with conf(spark, spark__sql__adaptive__enabled=request.param):
        yield


def joined(spark: SparkSession, facts: str, on: str, where: str) -> DataFrame:
    """The facts that match some rows of the small table."""
    return spark.sql(f"SELECT f.*, name FROM {facts} f JOIN {DIM} d ON {on} WHERE {where}")


def without(spark: SparkSession, facts: str, on: str, where: str) -> list[str]:
    """The rows of the same query if nothing is pruned as it runs."""
    with conf(spark, **{PRUNING: False}):
        found = joined(spark, facts, on, where)
        assert "dynamicpruning" not in plan_of(found)
        return rows_of(found)


@pytest.mark.parametrize(
    ("facts", "on", "where", "files", "most_rows"),
    [
        (FACTS, "f.p = d.p", "name IN ('n1', 'n5')", 12, None),
        (FACTS, "f.p = d.p", "name = 'null'", 0, 0),
        (FACTS, "f.p = d.p", "name LIKE 'no%'", 0, 0),
        (FACTS, "f.p = d.p AND f.id = d.k", "name = 'n6'", 2, 2),
        (BY_ID, "f.id = d.k", "name = 'n7'", 1, 1),
        (BY_ID, "f.id = d.k", "name IN ('n7', 'n8')", 2, 2),
        (BY_ID, "f.id = d.k", "name LIKE 'n%' AND k < 1500", 4, 1500),
    ],
)
def test_only_files_that_may_match_are_read(
    spark: SparkSession,
    adaptive: None,
    facts: str,
    on: str,
    where: str,
    files: int,
    most_rows: int | None,
) -> None:
    found = joined(spark, facts, on, where)
    assert "dynamicpruning" in plan_of(found)
    rows = rows_of(found)
    assert rows == without(spark, facts, on, where)
    figures = [f for f in scan_figures(found) if f["files"] + f["files_skipped"] > 1]
    if not figures:  # adaptive execution saw that the other side is empty
        assert files == 0
        assert not rows
    for scan in figures:
        assert scan["files"] == files
        assert most_rows is None or scan["rows_in"] <= most_rows
