"""Rows and results cross the bridge in batches, whatever the number of groups."""

from __future__ import annotations

from pyspark.sql import SparkSession

from integration.aggregates.plans import figure, named

ROWS = 1_000_000


def test_rows_go_in_batches(spark: SparkSession) -> None:
    """1 M rows of 5,000 groups, which is beyond Spark's 128: about one message for 32 K rows."""
    query = f"SELECT id % 5000 k, keyfold.sum(id) s FROM range(0, {ROWS}, 1, 2) GROUP BY id % 5000"
    frame = spark.sql(query)
    assert {row.k: row.s for row in frame.collect()} == {
        k: sum(range(k, ROWS, 5000)) for k in range(5000)
    }
    nodes = named(frame, "FoldAggregateExec")
    assert len(nodes) == 2
    assert not named(frame, "ObjectHashAggregateExec")
    assert figure(nodes, "batches") <= ROWS / 32768 + 2 + 2 * 4
    assert figure(nodes, "answers") <= 20


def test_a_million_groups(spark: SparkSession) -> None:
    query = f"""SELECT count(*) n, sum(s) s, max(m) m FROM (SELECT id % {ROWS} k, keyfold.sum(id) s,
        keyfold.max(id) m FROM range(0, {2 * ROWS}, 1, 2) GROUP BY 1)"""
    row = spark.sql(query).first()
    assert row is not None
    assert tuple(row) == (ROWS, ROWS * (2 * ROWS - 1), 2 * ROWS - 1)


def test_many_groups_beside_sparks_own(spark: SparkSession) -> None:
    """Each group of Spark's functions is an object here: the first operator emits groups, the
    second sorts them, when there are many.
    """
    shuffled = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        frame = spark.sql(f"""SELECT count(*) n, sum(s) s, count_if(s <> t OR m <> u) wrong FROM (
            SELECT id % 600000 k, keyfold.sum(id) s, sum(id) t, max(id) u, keyfold.max(id) m
            FROM range(0, {ROWS}, 1, 2) GROUP BY 1)""")
        assert [tuple(row) for row in frame.collect()] == [(600000, sum(range(ROWS)), 0)]
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", shuffled)
    final, partial = named(frame, "FoldAggregateExec")
    assert figure([partial], "emptied") >= 2
    assert figure([final], "emptied") >= 2


def test_skew(spark: SparkSession) -> None:
    """Nearly all rows in one group."""
    query = f"""SELECT if(id % 1000 = 0, id, -1) k, keyfold.sum(id) s, keyfold.count(id) n
        FROM range(0, {ROWS}, 1, 2) GROUP BY 1 HAVING n > 1"""
    assert [tuple(row) for row in spark.sql(query).collect()] == [
        (-1, sum(range(ROWS)) - sum(range(0, ROWS, 1000)), ROWS - ROWS // 1000)
    ]


def test_bitmaps_of_many_groups(spark: SparkSession) -> None:
    """Spark's operator would sort the rows behind the first 128 groups."""
    query = "SELECT id % 1000 k, keyfold.bitmap_agg(id) b FROM range(20000) GROUP BY id % 1000"
    frame = spark.sql(query)
    assert [row.n for row in frame.selectExpr("keyfold.bitmap_count(b) n").collect()] == [20] * 1000
    assert len(frame.collect()) == 1000
    assert len(named(frame, "FoldAggregateExec")) == 2
    assert not named(frame, "ObjectHashAggregateExec")
