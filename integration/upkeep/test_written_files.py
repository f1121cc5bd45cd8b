"""What a write leaves on disk: a file per bucket, spread over the tasks; nothing if it failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.paimon import stored
from integration.planning.plans import assert_ours, rows_of_tasks

FreshName = Callable[[], str]


def folder_of(warehouse: Path, name: str) -> Path:
    _, database, table = name.split(".")
    return warehouse / f"{database}.db" / table


def files(warehouse: Path, name: str) -> set[Path]:
    """Every data file and snapshot below a table."""
    folder = folder_of(warehouse, name)
    return {*folder.rglob("data-*"), *folder.glob("snapshot/snapshot-*")}


def create(spark: SparkSession, name: str, buckets: int) -> None:
    create_keyed(spark, name, "id BIGINT, v BIGINT", key="id", bucket=buckets)


@pytest.mark.parametrize("buckets", [1, 2, 4, 16])
def test_one_file_a_bucket(
    spark: SparkSession, fresh_name: FreshName, warehouse: Path, buckets: int
) -> None:
    name = fresh_name()
    create(spark, name, buckets)
    spark.range(0, 4000, 1, 8).selectExpr("id", "id AS v").writeTo(name).append()
    found = stored.describe(warehouse, name.split(".", 1)[1])
    assert (found.files, found.buckets, found.rows) == (buckets, buckets, 4000)
    assert found.snapshots == 1
    assert found.levels == {0: buckets}


@pytest.mark.parametrize("buckets", [2, 4, 16])
def test_no_task_idles_while_another_holds_two(
    spark: SparkSession, fresh_name: FreshName, buckets: int
) -> None:
    name = fresh_name()
    create(spark, name, buckets)
    group = f"write-{buckets}"
    spark.sparkContext.setJobGroup(group, group)
    spark.range(0, 8000, 1, 4).selectExpr("id", "id AS v").writeTo(name).append()
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    loads = rows_of_tasks(spark, group)
    assert sum(loads) == 8000
    assert len(loads) == buckets
    assert max(loads) <= 1.5 * 8000 / buckets, loads


def test_batches_of_many_buckets_are_bounded_and_whole(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    """A task of the input holds a batch for each bucket; beyond 32 MB the largest one is sent."""
    name = fresh_name()
    create_keyed(spark, name, "id BIGINT, v STRING", key="id", bucket=16)
    rows = spark.range(0, 200, 1, 1)
    rows.selectExpr("id % 100 AS id", "repeat(string(id), 300000) AS v").writeTo(name).append()
    found = assert_ours(spark.sql(f"SELECT id, length(v) AS n, left(v, 3) AS v FROM {name}"))
    assert {(row.id, row.n, row.v) for row in found.collect()} == {
        (key, 900_000, str(100 + key)) for key in range(100)
    }


ALL_TYPES = {
    "flag BOOLEAN": "id % 3 = 0",
    "tiny TINYINT": "id % 100",
    "small SMALLINT": "id % 30000 - 7",
    "i INT": "-id",
    "f FLOAT": "id / 7",
    "d DOUBLE": "id / 3",
    "short DECIMAL(10,2)": "id / 100",
    "wide DECIMAL(30,4)": "id * 1000000007 / 100",
    "day DATE": "date_add(DATE'2020-01-01', int(id % 1000))",
    "at TIMESTAMP": "timestamp_micros(id * 1000003)",
    "here TIMESTAMP_NTZ": "timestamp_micros(id * 1000003)",
    "text STRING": "repeat('x', int(id % 30)) || id",
    "bytes BINARY": "string(id * id)",
    "list ARRAY<INT>": "array(int(id), NULL, 2)",
    "pair STRUCT<a: INT, b: STRING>": "named_struct('a', int(id), 'b', string(id))",
    "of MAP<STRING, INT>": "map(string(id), int(id))",
}


def test_values_and_nulls_of_all_types_cross_the_shuffle(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    """More rows than a batch has; one column in two begins with NULLs far behind its first row."""
    name = fresh_name()
    create_keyed(spark, name, f"id BIGINT, {', '.join(ALL_TYPES)}", key="id", bucket=2)
    made = ["id"]
    for place, (column, value) in enumerate(ALL_TYPES.items()):
        words, kind = column.split(" ", 1)
        is_null = f"id % {place + 3} = 0 AND id >= {5000 * (place % 2)}"
        made.append(f"IF({is_null}, NULL, CAST({value} AS {kind})) AS {words}")
    rows = spark.range(0, 90000, 1, 2).selectExpr(*made)
    rows.writeTo(name).append()
    given, found = (
        frame.selectExpr("id", f"to_json(struct({', '.join(rows.columns)})) AS row")
        for frame in (rows, assert_ours(spark.table(name)))
    )
    assert found.count() == 90000
    assert found.exceptAll(given).take(1) == []


def test_a_failed_write_leaves_the_table_as_it_was(
    spark: SparkSession, fresh_name: FreshName, warehouse: Path
) -> None:
    name = fresh_name()
    create(spark, name, 2)
    spark.sql(f"INSERT INTO {name} VALUES (1, 1)")
    before = files(warehouse, name)
    failing = "IF(id = 90000, CAST(raise_error('stop here') AS BIGINT), id)"
    with pytest.raises(PySparkException, match="stop here"):
        spark.sql(f"INSERT INTO {name} SELECT id, {failing} FROM range(0, 100000, 1, 4)")
    with pytest.raises(PySparkException, match="stop here"):
        spark.sql(f"INSERT OVERWRITE {name} SELECT id, {failing} FROM range(0, 100000, 1, 4)")
    assert files(warehouse, name) == before
    assert assert_ours(spark.table(name)).collect() == [(1, 1)]


def test_spilling_gives_the_same_rows(spark: SparkSession, fresh_name: FreshName) -> None:
    name = fresh_name()
    create_keyed(
        spark, name, "id BIGINT, v BIGINT, pad STRING", key="id", bucket=2, write_buffer_size="1 mb"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT id % 30000, id, md5(CAST(id AS STRING)) "
        "FROM range(0, 90000, 1, 3)"
    )
    frame = assert_ours(spark.table(name))
    row = frame.selectExpr("count(*)", "sum(v)", "count_if(pad = md5(CAST(v AS STRING)))").first()
    assert tuple(row) == (30000, sum(range(60000, 90000)), 30000)
