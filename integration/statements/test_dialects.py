"""Statements as the documents of Doris, Flink, Paimon and Fluss print them, run by Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

DORIS = """
CREATE TABLE IF NOT EXISTS {table}
(
    user_id             LARGEINT    NOT NULL,
    load_date           DATE        NOT NULL,
    city                VARCHAR(20) NOT NULL,
    cost                BIGINT SUM DEFAULT "0",
    max_dwell           INT MAX DEFAULT "0"
)
AGGREGATE KEY(user_id, load_date, city)
DISTRIBUTED BY HASH(user_id) BUCKETS 2
PROPERTIES ("replication_num" = "1");
"""
PAIMON = """
CREATE TABLE {table} (
    product_id BIGINT,
    price DOUBLE,
    sales BIGINT,
    noted TIMESTAMP(3),
    PRIMARY KEY (product_id) NOT ENFORCED
) WITH (
    'merge-engine' = 'aggregation',
    'fields.price.aggregate-function' = 'max',
    'fields.sales.aggregate-function' = 'sum'
);
"""
FLUSS = """
CREATE TABLE {table} (
    shop_id BIGINT,
    ds STRING,
    num_orders INT,
    raw BYTES,
    PRIMARY KEY (shop_id, ds) NOT ENFORCED
) PARTITIONED BY (ds) WITH (
    'bucket.num' = '2',
    'table.merge-engine' = 'aggregation',
    'fields.num_orders.agg' = 'sum'
);
"""


def rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.sql(f"SELECT * FROM {table}").collect())


def test_doris(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    table = fresh_name()
    spark.sql(DORIS.format(table=table))
    spark.sql(f"INSERT INTO {table} VALUES (1, DATE'2024-11-01', 'BJ', 10, -5)")
    spark.sql(f"INSERT INTO {table} VALUES (1, DATE'2024-11-01', 'BJ', 20, DEFAULT)")
    assert [row[3:] for row in rows(spark, table)] == [(30, 0)]
    assert spark.table(table).dtypes[0] == ("user_id", "decimal(38,0)")
    spark.sql(DORIS.format(table=table))  # IF NOT EXISTS


def test_paimon(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    table = fresh_name()
    spark.sql(PAIMON.format(table=table))
    spark.sql(f"INSERT INTO {table} VALUES (1, 23.0, 15, NULL), (1, 20.0, 20, NULL)")
    assert rows(spark, table) == [(1, 23.0, 35, None)]
    assert spark.table(table).dtypes[3] == ("noted", "timestamp_ntz")


def test_fluss(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    table = fresh_name()
    spark.sql(FLUSS.format(table=table))
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a', 2, X'00'), (1, 'b', 3, X'01')")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a', 5, NULL)")
    assert rows(spark, table) == [(1, "a", 7, bytearray(b"\0")), (1, "b", 3, bytearray(b"\1"))]


def test_the_current_catalog_decides(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    session = spark.newSession()
    session.sql("USE keyfold.it")
    short = fresh_name().rsplit(".", 1)[1]
    session.sql(PAIMON.format(table=short))
    assert session.table(f"keyfold.it.{short}").count() == 0


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("k INT, v MULTISET<INT>", "column v: type MULTISET is not supported"),
        ("k INT, t TIMESTAMP(3), WATERMARK FOR t AS t", "the clause WATERMARK"),
    ],
)
def test_a_refusal_is_ours(spark: SparkSession, columns: str, words: str) -> None:
    with pytest.raises(AnalysisException) as raised:
        spark.sql(f"CREATE TABLE keyfold.it.no ({columns}) WITH ('bucket' = '1')")
    assert not isinstance(raised.value, ParseException)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE keyfold.it.no (k INT) TBLPROPERTY ('a' = 'b')",
        "CREATE TABLE spark_catalog.default.no (k INT) WITH ('a' = 'b')",
        "CREATE TABLE no (k INT, v INT SUM) DISTRIBUTED BY HASH(k)",
        "SELEC 1",
    ],
)
def test_spark_refuses_what_is_not_ours(spark: SparkSession, statement: str) -> None:
    with pytest.raises(ParseException, match=r"\[PARSE_SYNTAX_ERROR\]"):
        spark.sql(statement)
