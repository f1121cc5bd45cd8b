"""Queries of few whole keys: rows without a Spark job, equal to those that tasks read."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from integration.keyed import create_keyed
from integration.planning.plans import plan_of, scan_figures, settle

T = "keyfold.key_reads.t"
COLUMNS = (
    "p STRING, k BIGINT, n DECIMAL(12, 2), a ARRAY<STRING>, "
    "m MAP<INT, STRUCT<x: DOUBLE, y: BINARY>>, t TIMESTAMP, v VARCHAR(5)"
)
VALUES = (
    "IF(id % 2 = 0, 'a', 'b'), id, CAST(id AS DECIMAL(12, 2)) / 4, array(string(id), NULL), "
    "map(1, named_struct('x', id / 3, 'y', X'00FF')), timestamp_seconds(id), concat('v', id % 7)"
)


@pytest.fixture(scope="module", autouse=True)
def table(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.key_reads")
    create_keyed(spark, T, COLUMNS, "p, k", "p", bucket=2, write_only=True)
    for low in (0, 50):
        spark.sql(f"INSERT INTO {T} SELECT {VALUES} FROM range({low}, 100)")
    spark.sql(f"INSERT INTO {T} (p, k, v) VALUES ('a', 60, 'new')")


def collected(frame: DataFrame) -> tuple[list[Any], int]:
    """The rows, and how many Spark jobs they took."""
    context = frame.sparkSession.sparkContext
    context.setJobGroup(group := str(uuid.uuid4()), "rows of keys")
    try:
        rows = frame.collect()
    finally:
        context._jsc.clearJobGroup()
    settle(frame.sparkSession)
    return rows, len(context.statusTracker().getJobIdsForGroup(group))


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (f"SELECT * FROM {T} WHERE p = 'b' AND k = 51", 1),
        (f"SELECT * FROM {T} WHERE k IN (60, 900) AND p IN ('a', 'x')", 1),
        (f"SELECT * FROM {T} WHERE p = 'c' AND k = 1", 0),
        (f"SELECT 1 FROM {T} WHERE p = 'a' AND k = 4", 1),
        (f"SELECT upper(v) || p, n + 1, m[1].x, year(t) FROM {T} WHERE p = 'a' AND k = 58", 1),
        (f"SELECT k, v FROM {T} WHERE p = 'a' AND k = 58 LIMIT 1", 1),
        (f"SELECT * FROM {T} VERSION AS OF 1 WHERE p = 'a' AND k = 60", 1),
    ],
)
def test_rows_of_keys_take_no_job(spark: SparkSession, query: str, count: int) -> None:
    rows, jobs = collected(frame := spark.sql(query))
    assert (len(rows), jobs) == (count, 0), plan_of(frame)
    assert sorted(map(str, rows)) == sorted(map(str, spark.sql(query).rdd.collect()))  # of tasks


def test_what_else_takes_a_job(spark: SparkSession) -> None:
    subquery = f"(SELECT v FROM {T} WHERE p = 'a' AND k = 60)"
    assert collected(spark.sql(f"SELECT {subquery}")) == ([("new",)], 1)  # that of the outer query
    several = ", ".join(map(str, range(65)))
    key = "p = 'a' AND k"
    several_tasks = "k IN (4, 52, 61, 93) AND p IN ('a', 'b')"
    for where in (
        several_tasks,
        "k = 51",
        "p = 'b' AND k > 98",
        f"{key} IN ({several})",
        f"{key} = 58 AND n > 2",
    ):
        assert collected(spark.sql(f"SELECT * FROM {T} WHERE {where}"))[1] == 1, where
    named = spark.table(T).where("p = 'a' AND k = 4")
    shouted = F.udf(lambda text: text.upper())("v")  # code of the user's stays with the executors
    assert "KeyRead" not in plan_of(named.select(shouted))


def test_figures_of_the_scan_are_those_of_a_task(spark: SparkSession) -> None:
    query = f"SELECT * FROM {T} WHERE p = 'a' AND k = 60"
    here, there = spark.sql(query), spark.sql(query)
    here.collect()
    there.rdd.collect()
    settle(spark)
    names = ("numOutputRows", "files", "files_skipped", "rows_in", "rows_out", "runs")
    ((one,), (other,)) = scan_figures(here), scan_figures(there)
    assert {name: one[name] for name in names} == {name: other[name] for name in names}
    assert one["rows_in"] == 3
    assert one["peak_bytes"] > 0


def test_errors_are_those_of_a_task(spark: SparkSession) -> None:
    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        spark.sql(f"SELECT 1 / (k - 4) FROM {T} WHERE p = 'a' AND k = 4").collect()
    create_keyed(spark, lost := "keyfold.key_reads.lost", "k INT, v INT", bucket=1)
    spark.sql(f"INSERT INTO {lost} VALUES (1, 1)")
    (file,) = spark.sql("SELECT file_path FROM keyfold.key_reads.`lost$files`").collect()
    Path(file.file_path).unlink()
    with pytest.raises(Exception, match="restore the file from a backup") as told:
        spark.sql(f"SELECT v FROM {lost} WHERE k = 1").collect()
    assert Path(file.file_path).name in str(told.value)
