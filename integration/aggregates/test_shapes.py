"""Aggregates of keyfold in every shape of query, compared with Spark's own of the same name."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration.aggregates.plans import named
from integration.sessions import conf

SCHEMA = "k INT, g STRING, x BIGINT, d DOUBLE, s STRING"
DOUBLES = (0.0, -0.0, 1.5, -7.25, math.nan, math.inf, None)
# Spark has functions of these names: without `keyfold.` a query is the one to compare with.
QUERIES = (
    "SELECT keyfold.sum(x), keyfold.min(s), keyfold.max(d), keyfold.count(k) FROM facts",
    "SELECT keyfold.sum(x), keyfold.max(s), keyfold.count(k) FROM facts WHERE k > 1000",
    "SELECT k, keyfold.sum(x) FROM facts WHERE k > 1000 GROUP BY k",
    "SELECT k, g, keyfold.sum(x), keyfold.max(s), keyfold.min(d) FROM facts GROUP BY k, g",
    "SELECT d, keyfold.sum(x), keyfold.count(s), keyfold.count(d) FROM facts GROUP BY d",
    "SELECT k, keyfold.sum(x), count(*), avg(x), collect_set(g) IS NULL FROM facts GROUP BY k",
    *(
        f"SELECT {keys}, keyfold.max(s), count(*), count(x), count(x, s), sum(x), sum(k), sum(d), "
        "min(x), max(x + 1), avg(k), avg(d), sum(x) FILTER (WHERE k > 3), avg(x) + count(s), "
        f"count(d) FILTER (WHERE s IS NULL) FROM facts {where}"
        for keys, where in (
            ("g", "GROUP BY g"),
            ("k, g", "GROUP BY k, g HAVING min(x) < 900"),
            ("1", ""),
            ("1", "WHERE k > 1000"),
            ("k", "WHERE k > 1000 GROUP BY k"),
        )
    ),
    "SELECT g, keyfold.max(s), count(DISTINCT x), sum(x), avg(k), sum(d) FROM facts GROUP BY g",
    "SELECT g, keyfold.sum(DISTINCT x) FROM facts GROUP BY g",
    "SELECT g, keyfold.sum(DISTINCT x), keyfold.max(s), max(x) FROM facts GROUP BY g",
    "SELECT g, keyfold.sum(DISTINCT x), keyfold.count(DISTINCT k), keyfold.min(s) "
    "FROM facts GROUP BY g",
    "SELECT keyfold.count(DISTINCT x), keyfold.count(DISTINCT k), keyfold.sum(x) FROM facts",
    "SELECT g, keyfold.sum(x) FILTER (WHERE k > 3), keyfold.max(s) FROM facts GROUP BY g",
    "SELECT g, keyfold.count(x) FILTER (WHERE false), keyfold.sum(x) FILTER (WHERE s IS NULL) "
    "FROM facts GROUP BY g",
    "SELECT keyfold.count(DISTINCT x) FILTER (WHERE k > 3) FROM facts",
    "SELECT k, g, keyfold.sum(x), keyfold.count(x) FROM facts GROUP BY ROLLUP (k, g)",
    "SELECT k, g, keyfold.sum(x), grouping_id() FROM facts GROUP BY CUBE (k, g)",
    "SELECT k, g, s, keyfold.max(x) FROM facts GROUP BY GROUPING SETS ((k, g), (s), ())",
    "SELECT k, keyfold.sum(x) AS total FROM facts GROUP BY k HAVING keyfold.count(x) > 30",
    "SELECT k, keyfold.sum(x) FROM facts GROUP BY ALL ORDER BY keyfold.sum(x) DESC, k LIMIT 5",
    "SELECT * FROM (SELECT k, g, x FROM facts) PIVOT (keyfold.sum(x) AS t, keyfold.max(x) AS m "
    "FOR g IN ('a', 'b'))",
    "SELECT k, x FROM facts WHERE x > (SELECT keyfold.min(x) + 900 FROM facts)",
    "SELECT DISTINCT k, (SELECT keyfold.sum(x) FROM facts i WHERE i.k = o.k), "
    "(SELECT keyfold.count(x) FROM facts i WHERE i.k = o.k + 8) FROM facts o",
    "SELECT a.k, a.t, b.m FROM (SELECT k, keyfold.sum(x) t FROM facts GROUP BY k) a "
    "JOIN (SELECT k, keyfold.max(s) m FROM facts GROUP BY k) b ON a.k = b.k",
    "SELECT keyfold.max(t), keyfold.count(t) FROM "
    "(SELECT k, keyfold.sum(x) t FROM facts GROUP BY k)",
    "SELECT x % 3 AS r, keyfold.sum(x + 1) + keyfold.max(x) * 2 FROM facts GROUP BY x % 3",
    "SELECT g, k, x, keyfold.sum(x) OVER (PARTITION BY g) FROM facts",
    "SELECT g, keyfold.max(keyfold.sum(x)) OVER (PARTITION BY g) FROM facts GROUP BY g, k",
    "SELECT x, keyfold.sum(x) OVER (PARTITION BY g ORDER BY x, k) FROM facts WHERE k = 1",
    "SELECT x, keyfold.max(x) OVER (PARTITION BY g ORDER BY x, k, s, d "
    "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM facts WHERE k = 2",
    "SELECT x, s, keyfold.sum(x) OVER before, keyfold.count(s) OVER before, "
    "keyfold.max(s) OVER near, keyfold.sum(x) OVER behind, min(x) OVER near FROM facts WINDOW "
    "before AS (PARTITION BY g ORDER BY x, k, s, d "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), "
    "near AS (PARTITION BY g ORDER BY x RANGE BETWEEN 90 PRECEDING AND CURRENT ROW), "
    "behind AS (PARTITION BY k ORDER BY x DESC RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "SELECT x, keyfold.sum(x) FILTER (WHERE x > 0) OVER (PARTITION BY g ORDER BY k) FROM facts",
    "SELECT g, keyfold.count(NULL), keyfold.sum(1L), keyfold.max('a') FROM facts GROUP BY g",
)


@pytest.fixture(scope="module")
def facts(spark: SparkSession) -> Iterator[DataFrame]:
    """A view of random rows with NULLs, NaN and both zeros."""
    draw = random.Random(7)

    def row() -> tuple[object, ...]:
        texts = [None, *"pqrstu"]
        number = draw.choice([None, *range(9)])
        value = None if draw.random() < 0.1 else draw.randrange(-1000, 1000)
        return (
            number,
            draw.choice([None, "a", "b"]),
            value,
            draw.choice(DOUBLES),
            draw.choice(texts),
        )

    frame = spark.createDataFrame([row() for _ in range(600)], SCHEMA).repartition(3).cache()
    frame.createOrReplaceTempView("facts")
    yield frame
    spark.catalog.dropTempView("facts")
    frame.unpersist()


def rows(spark: SparkSession, query: str) -> list[str]:
    """The rows as texts that sort; both zeros are one, as in GROUP BY."""
    return sorted(str(tuple(row)).replace("-0.0", "0.0") for row in spark.sql(query).collect())


@pytest.mark.parametrize("query", QUERIES)
def test_is_as_sparks_own(spark: SparkSession, facts: DataFrame, query: str) -> None:
    assert "keyfold." in query
    assert rows(spark, query) == rows(spark, query.replace("keyfold.", ""))


def test_sparks_own_fold_beside_ours(spark: SparkSession, facts: DataFrame) -> None:
    """In one pass, if Python has each of them with the same result."""
    calls = "keyfold.max(s), count(*), sum(x), sum(d), min(x), max(k), avg(d)"
    frame = spark.sql(f"SELECT g, {calls} FROM facts GROUP BY g")
    frame.collect()
    assert len(named(frame, "FoldGroupsExec")) == 2
    frame = spark.sql(f"SELECT g, {calls}, max(d) FROM facts GROUP BY g")
    frame.collect()
    assert len(named(frame, "FoldAggregateExec")) == 2


def test_without_adaptive_execution(spark: SparkSession, facts: DataFrame) -> None:
    with conf(spark, spark__sql__adaptive__enabled=False):
        for query in (QUERIES[3], QUERIES[8], QUERIES[14]):
            assert rows(spark, query) == rows(spark, query.replace("keyfold.", ""))
        one = "(SELECT g, keyfold.max(s) AS m FROM facts GROUP BY g)"
        frame = spark.sql(f"SELECT a.m, b.m FROM {one} a JOIN {one} b ON a.g = b.g")
        assert len(named(frame, "ReusedExchangeExec")) == 1


def test_results_of_windows_come_together(spark: SparkSession, facts: DataFrame) -> None:
    """One operator above a window has the results of our functions; without such there is none."""
    window = "OVER (PARTITION BY g ORDER BY x, k, s, d)"
    frame = spark.sql(f"SELECT keyfold.sum(x) {window}, keyfold.max(s) {window} FROM facts")
    frame.collect()
    (operator,) = named(frame, "StateRowsExec")
    assert operator.frames().isDefined()
    assert operator.calls().size() == 2
    frame = spark.sql(f"SELECT sum(x) {window} FROM facts")
    assert named(frame, "StateRowsExec") == []


def test_large_results_of_windows(spark: SparkSession) -> None:
    """They come in parts: together they take far more than the rows."""
    texts = "keyfold.listagg(lpad(CAST(id AS STRING), 20, '0')) OVER (ORDER BY id)"
    frame = spark.sql(f"SELECT length({texts}) size FROM range(2500)")
    assert sorted(row.size for row in frame.collect()) == [21 * n + 20 for n in range(2500)]


def test_beside_python_functions(spark: SparkSession, facts: DataFrame) -> None:
    spark.udf.register("twice", lambda x: None if x is None else 2 * x, "BIGINT")
    query = "SELECT twice(k) j, keyfold.sum(twice(x)) FROM facts GROUP BY twice(k)"
    try:
        assert rows(spark, query) == rows(spark, query.replace("keyfold.", ""))
    finally:
        spark.sql("DROP TEMPORARY FUNCTION twice")


def test_names_alone(spark: SparkSession, facts: DataFrame) -> None:
    """A name that is nobody else's needs no catalog; Spark's and the user's own come first."""
    query = "SELECT k, product(x % 3), listagg(s) IS NULL FROM facts GROUP BY k"
    assert rows(spark, query) == rows(spark, query.replace("product", "keyfold.product"))
    spark.udf.register("product", lambda x: "mine")
    try:
        assert rows(spark, "SELECT product(1)") == ["('mine',)"]
    finally:
        spark.sql("DROP TEMPORARY FUNCTION product")


def test_is_listed_and_described(spark: SparkSession) -> None:
    shown = {row[0] for row in spark.sql("SHOW USER FUNCTIONS IN keyfold").collect()}
    assert {"keyfold.sum", "keyfold.last_value", "keyfold.bitmap_union"} <= shown
    described = spark.sql("DESCRIBE FUNCTION keyfold.listagg").collect()
    assert any("delimiter" in row[0] for row in described)
