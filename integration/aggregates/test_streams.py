"""Aggregates of keyfold in a streaming query, whose groups are in Spark's state store."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from integration.aggregates.plans import named


def totals(spark: SparkSession, source: Path, checkpoint: Path) -> dict[int, tuple[object, ...]]:
    """Reads what is new in the source, as a query that is started again from its checkpoint."""
    stream = spark.readStream.schema("k INT, x BIGINT").json(str(source))
    stream.createOrReplaceTempView("arriving")
    query = """SELECT k, keyfold.sum(x) s, sum(x) t, keyfold.max(x) m,
        keyfold.bitmap_union_count(keyfold.to_bitmap(x)) n FROM arriving GROUP BY k"""
    started = (
        spark.sql(query)
        .writeStream.format("memory")
        .queryName("totals")
        .outputMode("complete")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert started.awaitTermination(120)
        plan = started._jsq.explainInternal(False)
        assert plan.count("FoldGroups(") == 4
        assert "FoldAggregate" not in plan
    finally:
        started.stop()
    return {row.k: (row.s, row.t, row.m, row.n) for row in spark.table("totals").collect()}


def test_state_is_kept_between_batches_and_restarts(spark: SparkSession, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    spark.range(300).selectExpr("CAST(id % 150 AS INT) k", "id x").coalesce(1).write.json(
        str(source)
    )
    first = totals(spark, source, checkpoint)
    assert first == {k: (2 * k + 150, 2 * k + 150, k + 150, 2) for k in range(150)}
    more = spark.range(500, 600).selectExpr("CAST(id % 150 AS INT) k", "id x").coalesce(1)
    more.write.mode("append").json(str(source))
    second = totals(spark, source, checkpoint)
    for k in range(150):
        new = [x for x in range(500, 600) if x % 150 == k]
        total = 2 * k + 150 + sum(new)
        assert second[k] == (total, total, max([k + 150, *new]), 2 + len(new))


def test_plan_of_a_batch(spark: SparkSession) -> None:
    frame = spark.sql("SELECT k, keyfold.sum(k) FROM VALUES (1), (2) AS t (k) GROUP BY k")
    assert len(frame.collect()) == 2
    assert len(named(frame, "FoldGroupsExec")) == 2
