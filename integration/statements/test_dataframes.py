"""The DataFrame writer: append, overwritePartitions, create, createOrReplace, insertInto."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours

FreshName = Callable[[], str]


def pairs(spark: SparkSession, table: str, columns: str = "id, v") -> list[tuple[object, ...]]:
    frame = assert_ours(spark.sql(f"SELECT {columns} FROM {table}"))
    return sorted(tuple(row) for row in frame.collect())


def rows(spark: SparkSession, *values: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(values), "id INT, v STRING")


@pytest.fixture
def table(spark: SparkSession, fresh_name: FreshName) -> str:
    name = fresh_name()
    create_keyed(spark, name, "id INT, v STRING", key="id")
    return name


@pytest.fixture
def partitioned(spark: SparkSession, fresh_name: FreshName) -> str:
    name = fresh_name()
    create_keyed(spark, name, "id INT, v STRING, p INT", key="p, id", by="p")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    return name


def test_append_is_an_upsert(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a"), (2, "b")).writeTo(table).append()
    rows(spark, (2, "bb"), (3, "c")).writeTo(table).append()
    assert pairs(spark, table) == [(1, "a"), (2, "bb"), (3, "c")]


def test_columns_match_by_name(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a")).select("v", "id").writeTo(table).append()
    assert pairs(spark, table) == [(1, "a")]


def test_insert_into_matches_by_position(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a")).select(col("id").alias("x"), col("v").alias("y")).write.insertInto(table)
    assert pairs(spark, table) == [(1, "a")]
    rows(spark, (2, "b")).write.insertInto(table, overwrite=True)
    assert pairs(spark, table) == [(2, "b")]


def test_save_as_table_appends(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a")).write.mode("append").saveAsTable(table)
    rows(spark, (1, "b")).write.mode("append").saveAsTable(table)
    assert pairs(spark, table) == [(1, "b")]


def test_overwrite_partitions(spark: SparkSession, partitioned: str) -> None:
    frame = spark.createDataFrame([(9, "z", 1), (8, "y", 3)], "id INT, v STRING, p INT")
    frame.writeTo(partitioned).overwritePartitions()
    assert pairs(spark, partitioned, "id, v, p") == [(3, "c", 2), (8, "y", 3), (9, "z", 1)]


def test_overwrite_by_partition_filter(spark: SparkSession, partitioned: str) -> None:
    frame = spark.createDataFrame([(9, "z", 1)], "id INT, v STRING, p INT")
    frame.writeTo(partitioned).overwrite(col("p") == 1)
    assert pairs(spark, partitioned, "id, v, p") == [(3, "c", 2), (9, "z", 1)]


def test_overwrite_by_another_filter_is_refused(spark: SparkSession, partitioned: str) -> None:
    frame = spark.createDataFrame([(9, "z", 1)], "id INT, v STRING, p INT")
    with pytest.raises(PySparkException):
        frame.writeTo(partitioned).overwrite(col("v") == "a")
    assert len(pairs(spark, partitioned)) == 3


def test_create_and_replace(spark: SparkSession, fresh_name: FreshName) -> None:
    name = fresh_name()
    rows(spark, (1, "a"), (1, "b")).coalesce(1).writeTo(name).tableProperty(
        "primary-key", "id"
    ).create()
    assert pairs(spark, name) == [(1, "b")]
    assert not spark.table(name).schema["id"].nullable
    spark.table(name).selectExpr("id + 1 AS id", "v").writeTo(name).tableProperty(
        "primary-key", "id"
    ).createOrReplace()
    assert pairs(spark, name) == [(2, "b")]


def test_partitioned_create(spark: SparkSession, fresh_name: FreshName) -> None:
    name = fresh_name()
    spark.range(10).selectExpr("id", "id % 2 AS p", "'x' AS v").writeTo(name).partitionedBy(
        col("p")
    ).tableProperty("primary-key", "p,id").create()
    assert pairs(spark, name, "id, p") == [(i, i % 2) for i in range(10)]


def test_create_without_a_key_is_refused(spark: SparkSession, fresh_name: FreshName) -> None:
    name = fresh_name()
    with pytest.raises(PySparkException, match=r"(?i)primary.key"):
        rows(spark, (1, "a")).writeTo(name).create()
    assert not spark.catalog.tableExists(name)


def test_to_arrow_and_pandas(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a"), (2, "b")).writeTo(table).append()
    arrow = assert_ours(spark.table(table).orderBy("id")).toArrow()
    assert arrow.to_pylist() == [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]


def test_a_frame_outlives_what_alter_adds(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a")).writeTo(table).append()
    frame = spark.table(table)
    spark.sql(f"ALTER TABLE {table} ADD COLUMN w INT")
    spark.sql(f"INSERT INTO {table} VALUES (2, 'b', 3)")
    assert sorted(map(tuple, frame.collect())) == [(1, "a"), (2, "b")]


def test_which_rows_a_frame_has_after_a_write(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a")).writeTo(table).append()
    frame = spark.table(table)
    assert len(frame.collect()) == 1
    rows(spark, (2, "b")).writeTo(table).append()
    assert [len(frame.collect()), frame.count(), frame.where("id > 0").count()] == [1, 2, 2]
    frame.cache()
    assert frame.count() == 2
    rows(spark.newSession(), (3, "c")).writeTo(table).append()
    assert frame.count() == 3
    spark.catalog.uncacheTable(table)


def test_a_query_reads_on_while_its_table_is_replaced(spark: SparkSession, table: str) -> None:
    spark.range(1000).selectExpr("id", "CAST(id AS STRING) AS v").writeTo(table).append()
    found = spark.table(table).toLocalIterator()
    first = next(found)
    rows(spark, (7, "new")).writeTo(table).tableProperty("primary-key", "id").createOrReplace()
    assert sorted(row.id for row in (first, *found)) == list(range(1000))
    assert [tuple(row) for row in spark.table(table).collect()] == [(7, "new")]


def test_deletes_of_a_cached_table(spark: SparkSession, table: str) -> None:
    rows(spark, (1, "a"), (2, "b"), (3, "c")).writeTo(table).append()
    cached = spark.table(table).cache()
    assert cached.count() == 3
    spark.sql(f"DELETE FROM {table} WHERE id = 2")
    assert spark.table(table).count() == 2
    assert spark.table(table).cache().where("id = 1").count() == 1
    spark.sql(f"DELETE FROM {table} WHERE ID > 0")
    assert spark.table(table).collect() == []
    spark.catalog.uncacheTable(table)


def test_a_stream_is_written_by_its_batches(
    spark: SparkSession, fresh_name: FreshName, tmp_path: Path
) -> None:
    name, source = fresh_name(), tmp_path / "in"
    create_keyed(
        spark, name, "id INT, n BIGINT", key="id", merge_engine="aggregation", folds={"n": "sum"}
    )
    source.mkdir()
    (source / "log.json").write_text('{"id": 1, "n": 5}\n{"id": 1, "n": 2}\n{"id": 2, "n": 1}\n')
    stream = spark.readStream.schema("id INT, n BIGINT").json(str(source)).writeStream
    stream = stream.option("checkpointLocation", str(tmp_path / "at")).trigger(availableNow=True)
    query = stream.foreachBatch(lambda batch, _: batch.writeTo(name).append()).start()
    assert query.awaitTermination(120)
    assert pairs(spark, name, "id, n") == [(1, 7), (2, 1)]
