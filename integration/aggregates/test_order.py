"""Aggregates WITHIN GROUP (ORDER BY …), compared with Spark's own and with the rows in Python."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

GROUPS = 400


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[DataFrame]:
    """A view of rows with one time each, in no order."""
    draw = random.Random(11)
    rows = [(t % GROUPS, t, draw.choice([None, *"abcde"])) for t in range(GROUPS * 7)]
    draw.shuffle(rows)
    frame = spark.createDataFrame(rows, "k INT, t INT, s STRING").repartition(3).cache()
    frame.createOrReplaceTempView("events")
    yield frame
    spark.catalog.dropTempView("events")
    frame.unpersist()


def test_first_and_last(spark: SparkSession, events: DataFrame) -> None:
    found = spark.sql("""SELECT k, keyfold.first_value(s) WITHIN GROUP (ORDER BY t) AS first,
        keyfold.last_value(s) WITHIN GROUP (ORDER BY t) AS last,
        keyfold.first_value(s) WITHIN GROUP (ORDER BY t DESC) AS latest,
        keyfold.last_non_null_value(s) WITHIN GROUP (ORDER BY t) AS seen,
        keyfold.sum(t) AS total FROM events GROUP BY k""").collect()
    stored = events.collect()
    assert len(found) == GROUPS
    for row in found:
        rows = sorted((one.t, one.s) for one in stored if one.k == row.k)
        seen = [s for _, s in rows if s is not None]
        assert row[1:] == (
            rows[0][1],
            rows[-1][1],
            rows[-1][1],
            seen[-1] if seen else None,
            sum(t for t, _ in rows),
        )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, {}(s, ';') WITHIN GROUP (ORDER BY t) FROM events GROUP BY k",
        "SELECT k % 3, {}(s, ';') WITHIN GROUP (ORDER BY s DESC NULLS LAST, t) FROM events "
        "GROUP BY 1",
        "SELECT {}(s, ';') WITHIN GROUP (ORDER BY t) FROM events",
        "SELECT {}(s, ';') WITHIN GROUP (ORDER BY t) FROM events WHERE k < 0",
        "SELECT k, {}(s, ';') WITHIN GROUP (ORDER BY t) FILTER (WHERE t > 900) "
        "FROM events GROUP BY k",
        "SELECT k % 3, {}(s, ';') WITHIN GROUP (ORDER BY struct(NULLIF(s, 'a'), t % 2) DESC, t), "
        "max_by(k, t) FROM events GROUP BY 1",
        "SELECT k % 3, {}(DISTINCT s, ';') WITHIN GROUP (ORDER BY s) FROM events GROUP BY k % 3",
    ],
)
def test_joined_texts(spark: SparkSession, events: DataFrame, query: str) -> None:
    ours, sparks = (
        sorted(str(tuple(row)) for row in spark.sql(query.format(name)).collect())
        for name in ("keyfold.listagg", "listagg")
    )
    assert ours == sparks


def test_pivots(spark: SparkSession) -> None:
    """Where a result is a text, Spark gives each column NULL in place of the others' values."""
    rows = "VALUES ('a', 'v', 1), ('b', 'w', 2), ('a', 'x', 3), ('b', 'y', 4) AS t (g, s, t)"

    def found(name: str, columns: str, value: str) -> list[object]:
        call = f"keyfold.{name}({value}) WITHIN GROUP (ORDER BY t)"
        query = f"SELECT * FROM (SELECT {columns} FROM {rows}) PIVOT ({call} FOR g IN ('a', 'b'))"
        return [tuple(row) for row in spark.sql(query).collect()]

    assert found("first_value", "g, t", "t") == [(1, 2)]
    assert found("first_non_null_value", "g, s, t", "s") == [("v", "w")]
    with pytest.raises(Exception, match=r"keyfold.first_value in this PIVOT is not supported"):
        found("first_value", "g, s, t", "s")
