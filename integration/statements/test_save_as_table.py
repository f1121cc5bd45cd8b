"""`df.write.saveAsTable` in every mode: made with the key that options name, appended to, and
overwritten with key, partitioning and options kept.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed

FreshName = Callable[[], str]
KEY = {"primary-key": "id"}


def frame(spark: SparkSession, *values: tuple[int, str]) -> DataFrame:
    return spark.createDataFrame(list(values), "id INT, v STRING")


def rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def properties(spark: SparkSession, table: str) -> dict[str, str]:
    return {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}


@pytest.fixture
def table(spark: SparkSession, fresh_name: FreshName) -> str:
    """id INT, v STRING; two buckets; a comment; the row (1, 'a')."""
    name = fresh_name()
    frame(spark, (1, "a")).write.options(**KEY, bucket="2", comment="what is there").saveAsTable(
        name
    )
    return name


@pytest.mark.parametrize(
    ("mode", "format_"),
    [
        ("append", None),
        ("overwrite", None),
        ("errorifexists", "keyfold"),
        ("ignore", "parquet"),
    ],
)
def test_every_mode_makes_what_is_not_there(
    spark: SparkSession, fresh_name: FreshName, mode: str, format_: str | None
) -> None:
    name = fresh_name()
    writer = frame(spark, (1, "a"), (1, "b")).coalesce(1).write.mode(mode).options(**KEY)
    (writer if format_ is None else writer.format(format_)).saveAsTable(name)
    assert rows(spark, name) == [(1, "b")]
    assert properties(spark, name)["primary-key"] == "id"


@pytest.mark.parametrize("mode", ["append", "overwrite", "errorifexists", "ignore"])
def test_a_new_table_needs_a_key(spark: SparkSession, fresh_name: FreshName, mode: str) -> None:
    name = fresh_name()
    with pytest.raises(PySparkException, match="has no primary key"):
        frame(spark, (1, "a")).write.mode(mode).saveAsTable(name)
    assert not spark.catalog.tableExists(name)


def test_modes_on_what_is_there(spark: SparkSession, table: str) -> None:
    frame(spark, (1, "aa"), (2, "b")).write.mode("append").saveAsTable(table)
    assert rows(spark, table) == [(1, "aa"), (2, "b")]
    frame(spark, (9, "z")).write.mode("ignore").options(**KEY).saveAsTable(table)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        frame(spark, (9, "z")).write.options(**KEY).saveAsTable(table)
    assert rows(spark, table) == [(1, "aa"), (2, "b")]


@pytest.mark.parametrize("format_", [None, "keyfold"])
def test_overwrite_keeps_key_and_options(
    spark: SparkSession, table: str, format_: str | None
) -> None:
    writer = frame(spark, (2, "b"), (2, "c")).coalesce(1).selectExpr("v", "id", "1 AS w").write
    (writer if format_ is None else writer.format(format_)).mode("overwrite").saveAsTable(table)
    assert rows(spark, table) == [("c", 2, 1)]
    found = properties(spark, table)
    assert (found["primary-key"], found["bucket"]) == ("id", "2")
    described = spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Comment'")
    assert [row.data_type for row in described.collect()] == ["what is there"]
    assert not spark.table(table).schema["id"].nullable
    spark.sql(f"INSERT INTO {table} VALUES ('d', 2, 2)")
    assert rows(spark, table) == [("d", 2, 2)]


def test_overwrite_changes_what_it_names(spark: SparkSession, table: str) -> None:
    spark.table(table).write.mode("overwrite").option("bucket", "3").saveAsTable(table)
    assert rows(spark, table) == [(1, "a")]
    assert properties(spark, table)["bucket"] == "3"


@pytest.mark.parametrize(
    ("columns", "options", "by", "words"),
    [
        (["v"], {}, [], "column id.*overwriting keeps key and options"),
        (["id", "v"], {"primary-key": "v"}, [], r"has primary-key \(id\).*createOrReplace"),
        (["id", "v"], {}, ["v"], r"has partitioning \(\), and the call says \(v\)"),
        (["id", "v"], {"bucket": "none"}, [], "option bucket"),
    ],
)
def test_overwrite_refuses_before_it_touches_anything(
    spark: SparkSession,
    table: str,
    columns: list[str],
    options: dict[str, str],
    by: list[str],
    words: str,
) -> None:
    writer = frame(spark, (2, "b")).select(*columns).write.mode("overwrite").options(**options)
    with pytest.raises(PySparkException, match=words):
        (writer.partitionBy(*by) if by else writer).saveAsTable(table)
    assert rows(spark, table) == [(1, "a")]
    assert properties(spark, table)["bucket"] == "2"


def test_overwrite_keeps_engine_and_partitioning(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "p INT, k INT, n BIGINT",
        key="p, k",
        by="p",
        merge_engine="aggregation",
        folds={"n": "sum"},
    )
    data = spark.range(8).selectExpr("CAST(id % 2 AS INT) p", "CAST(id % 4 AS INT) k", "id n")
    for _ in range(2):
        data.write.mode("overwrite").saveAsTable(name)
        assert rows(spark, name) == [(0, 0, 4), (0, 2, 8), (1, 1, 6), (1, 3, 10)]
    shown = spark.sql(f"SHOW CREATE TABLE {name}").collect()[0][0]
    assert "PARTITIONED BY (p)" in shown
    with pytest.raises(PySparkException, match=r"Field n can not be found.*overwriting keeps"):
        data.drop("n").write.mode("overwrite").saveAsTable(name)
    assert len(rows(spark, name)) == 4


def test_an_overwrite_that_fails_leaves_the_old_table(spark: SparkSession, table: str) -> None:
    failing = frame(spark, (1, "b")).selectExpr("id", "CAST(raise_error('no good') AS INT) AS v")
    with pytest.raises(PySparkException, match="no good"):
        failing.write.mode("overwrite").saveAsTable(table)
    assert rows(spark, table) == [(1, "a")]


def test_create_or_replace_defines_anew(spark: SparkSession, table: str) -> None:
    writer = frame(spark, (2, "b")).writeTo(table).tableProperty("primary-key", "v")
    writer.createOrReplace()
    found = properties(spark, table)
    assert (found["primary-key"], found["bucket"]) == ("v", "4")
    frame(spark, (3, "c")).writeTo(table).tableProperty("primary-key", "id").replace()
    assert rows(spark, table) == [(3, "c")]
    with pytest.raises(PySparkException, match="no primary key"):
        frame(spark, (2, "b")).writeTo(table).createOrReplace()
    assert rows(spark, table) == [(3, "c")]


def test_what_is_said_in_vain(spark: SparkSession, fresh_name: FreshName) -> None:
    name = fresh_name()
    data = frame(spark, (1, "a")).write.options(**KEY)
    with pytest.raises(PySparkException, match="declared USING csv"):
        data.format("csv").saveAsTable(name)
    data = frame(spark, (1, "a")).write.options(**KEY)
    with pytest.raises(PySparkException, match=r"CLUSTERED BY is not supported.*'bucket'"):
        data.bucketBy(2, "id").saveAsTable(name)
    data = frame(spark, (1, "a")).write.options(**KEY, path="/somewhere/else")
    with pytest.raises(PySparkException, match=r"LOCATION .*somewhere/else is not supported"):
        data.saveAsTable(name)
    assert not spark.catalog.tableExists(name)
