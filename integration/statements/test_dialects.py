"""Statements as the documents of Doris, Flink, Paimon and Fluss print them, run by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


@contextmanager
def warnings(spark: SparkSession) -> Iterator[Callable[[], str]]:
    """The text that the driver's log has of catalogs, from warnings on, since the block began."""
    jvm = spark._jvm
    log4j = jvm.org.apache.logging.log4j
    name = "keyfold.spark.questions.CatalogQuestions"
    text = jvm.java.io.StringWriter()
    layout = log4j.core.layout.PatternLayout.createDefaultLayout()
    appender = log4j.core.appender.WriterAppender.createAppender(
        layout, None, text, "notes", False, True
    )
    appender.start()
    log4j.core.config.Configurator.setLevel(name, log4j.Level.WARN)
    logger = log4j.LogManager.getLogger(name)
    logger.addAppender(appender)
    try:
        yield text.toString
    finally:
        logger.removeAppender(appender)
        log4j.core.config.Configurator.setLevel(name, log4j.Level.ERROR)


def test_options_without_effect_are_noted(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """By the statement that names them, once; a table that has them says no more."""
    table = fresh_name()
    with warnings(spark) as logged:
        spark.sql(
            f"CREATE TABLE {table} (k INT, PRIMARY KEY (k) NOT ENFORCED) WITH "
            "('table.log.local-ttl' = '1 d', 'lookup.cache-max-memory-size' = '1 gb')"
        )
        note = f"NOTE: table {table}: options without effect here, which are stored: "
        assert logged() == (
            f"{note}lookup.cache-max-memory-size (Paimon); table.log.local-ttl (Fluss)\n"
        )
        spark.sql(f"INSERT INTO {table} VALUES (1)")
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('page-size' = '1 mb')")
        assert logged().splitlines()[1:] == [f"{note}page-size (Paimon)"]


def test_inserts_of_some_columns(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    """Those of Fluss' page, where a table is made in its words or an option says so."""
    for said, expected in (
        ("'bucket.num' = '1'", (1, 2.5, "x")),
        ("'bucket' = '1', 'keyfold.partial-insert' = 'false'", (1, None, "x")),
    ):
        table = fresh_name()
        spark.sql(
            f"CREATE TABLE {table} (k INT, v1 DOUBLE, v2 STRING, PRIMARY KEY (k) NOT ENFORCED) "
            f"WITH ({said})"
        )
        spark.sql(f"INSERT INTO {table} (k, v1) VALUES (1, 2.5)")
        spark.sql(f"INSERT INTO {table} (v2, k) VALUES ('x', 1)")
        assert rows(spark, table) == [expected]
        frame = spark.createDataFrame([(1, "y")], "k INT, v2 STRING")
        frame.writeTo(table).append()
        assert rows(spark, table) == [(*expected[:2], "y")]
        spark.sql(f"UPDATE {table} SET v2 = 'z'")
        spark.sql(
            f"MERGE INTO {table} t USING (SELECT * FROM VALUES (1), (2) AS (k)) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET v1 = 7 WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)"
        )
        assert rows(spark, table) == [(1, 7.0, "z"), (2, None, None)]
        spark.sql(f"INSERT INTO {table} VALUES (1, NULL, NULL)")
        assert rows(spark, table)[0] == (1, None, None)


def test_a_number_of_39_digits(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    """LARGEINT's last ones have no column here: the value is refused, as number and text."""
    table = fresh_name()
    spark.sql(
        f"CREATE TABLE {table} (k INT, n LARGEINT) UNIQUE KEY(k) DISTRIBUTED BY HASH(k) BUCKETS 1"
    )
    most = 2**127 - 1
    for value, named in (
        (f"{most}", "Decimal precision 39 exceeds max precision 38"),
        (f"CAST('{most}' AS DECIMAL(38, 0))", f"{most}"),
    ):
        with pytest.raises(Exception, match=named):
            spark.sql(f"INSERT INTO {table} VALUES (1, {value})")
    spark.sql(f"INSERT INTO {table} VALUES (1, {most // 10})")
    assert rows(spark, table) == [(1, most // 10)]
