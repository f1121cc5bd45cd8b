"""Rows and results cross the bridge in batches, whatever the number of groups."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from integration.aggregates.plans import figure, named
from integration.sessions import conf

ROWS = 1_000_000


def test_rows_go_in_batches(spark: SparkSession) -> None:
    """1 M rows of 5,000 groups, which is beyond Spark's 128: about one message for 32 K rows."""
    query = f"SELECT id % 5000 k, keyfold.sum(id) s FROM range(0, {ROWS}, 1, 2) GROUP BY id % 5000"
    frame = spark.sql(query)
    assert {row.k: row.s for row in frame.collect()} == {
        k: sum(range(k, ROWS, 5000)) for k in range(5000)
    }
    nodes = named(frame, "FoldGroupsExec")
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
    with conf(spark, spark__sql__shuffle__partitions=1):
        frame = spark.sql(f"""SELECT count(*) n, sum(s) s, count_if(m <> u OR l <> v) wrong FROM (
            SELECT id % 600000 k, keyfold.sum(id) s, max_by(id, id) u, min_by(id, id) v,
            keyfold.max(id) m, keyfold.min(id) l FROM range(0, {ROWS}, 1, 2) GROUP BY 1)""")
        assert [tuple(row) for row in frame.collect()] == [(600000, sum(range(ROWS)), 0)]
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
    """Spark's operator would sort the rows behind the first 128 groups. Numbers and bitmaps
    are folded by Python; beside a function that it has not, by the JVM.
    """
    united = "keyfold.bitmap_union(keyfold.to_bitmap64(id))"
    for made, operator in (
        ("keyfold.bitmap_agg(id) b", "FoldGroupsExec"),
        (f"{united} b", "FoldGroupsExec"),
        (f"{united} b, max_by(id, id) m", "FoldAggregateExec"),
    ):
        frame = spark.sql(f"SELECT id % 1000 k, {made} FROM range(20000) GROUP BY id % 1000")
        counts = [row.n for row in frame.selectExpr("keyfold.bitmap_count(b) n").collect()]
        assert counts == [20] * 1000
        assert len(frame.collect()) == 1000
        assert len(named(frame, operator)) == 2
        assert not named(frame, "ObjectHashAggregateExec")


def test_groups_beyond_memory(spark: SparkSession) -> None:
    """The first operator emits groups when its worker is full, the second spills; a NULL is a group
    too, and a text that is larger than what is sent at once.
    """
    keys = "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('a group of a long name: ', id) END"
    calls = "keyfold.sum(id) s, keyfold.last_value(if(id = 5, repeat('x', 3000000), 'y')) t"
    query = f"""SELECT count(*) n, sum(s) s, max(length(t)) t, count_if(k IS NULL) nulls FROM (
        SELECT {keys} k, {calls} FROM range(0, 600000, 1, 2) GROUP BY 1)"""
    with conf(spark, spark__sql__shuffle__partitions=1, spark__keyfold__worker__memory="128m"):
        frame = spark.sql(query)
        rows = frame.collect()
    final, partial = named(frame, "FoldGroupsExec")
    assert figure([partial], "emptied") >= 1
    assert figure([final], "spillSize") > 0
    others = [at for at in range(600000) if at % 7]
    assert rows == [(len(others) + 1, sum(range(600000)), 3000000, 1)]


@pytest.mark.parametrize("setting", ["spark.sql.codegen.wholeStage", "spark.sql.codegen.maxFields"])
def test_rows_that_no_code_is_generated_for(spark: SparkSession, setting: str) -> None:
    with conf(spark, **{setting: False if setting.endswith("wholeStage") else 1}):
        frame = spark.sql("""SELECT id % 3 k, CAST(id % 2 AS STRING) g,
            keyfold.sum(CAST(id AS FLOAT)) f, keyfold.max(id % 5 = 1) b,
            keyfold.collect(array(id)) c,
            keyfold.sum(CAST(id AS DECIMAL(9, 2))) FILTER (WHERE id > 3) d
            FROM range(0, 12, 1, 1) GROUP BY 1, 2 ORDER BY 1, 2""")
        found = [tuple(row) for row in frame.collect()]
    assert named(frame, "FoldGroupsExec")
    assert found == [
        (
            k,
            str(g),
            float(sum(ids)),
            any(at % 5 == 1 for at in ids),
            ids,
            sum(ids) - sum(i for i in ids if i <= 3),
        )
        for k in range(3)
        for g in range(2)
        for ids in [[i for i in range(12) if i % 3 == k and i % 2 == g]]
    ]
