"""INSERTs of some columns: which they touch, DEFAULT and NULL, overwriting, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests import readers

FreshName = Callable[[], str]

SUM = (
    "'merge-engine' = 'aggregation', 'fields.n.aggregate-function' = 'sum', "
    "'fields.s.aggregate-function' = 'last_value'"
)
COLUMNS = "k INT, n BIGINT DEFAULT 7, s STRING DEFAULT 'd', PRIMARY KEY (k) NOT ENFORCED"


def make(spark: SparkSession, name: str, properties: str, columns: str = COLUMNS) -> str:
    spark.sql(f"CREATE TABLE {name} ({columns}) TBLPROPERTIES ({properties})")
    return name


def rows(spark: SparkSession, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.table(name).collect())


@pytest.fixture
def sums(spark: SparkSession, fresh_name: FreshName) -> str:
    """One row (1, 5, 'x')."""
    name = make(spark, fresh_name(), SUM)
    spark.sql(f"INSERT INTO {name} VALUES (1, 5, 'x')")
    return name


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("INSERT INTO {} (k, n) VALUES (1, 2)", (1, 7, "x")),
        ("INSERT INTO {} (s, K) VALUES ('y', 1)", (1, 5, "y")),
        ("INSERT INTO {} (k, s) VALUES (1, NULL)", (1, 5, None)),
        ("INSERT INTO {} (k) VALUES (1)", (1, 5, "x")),
        ("INSERT INTO {} BY NAME SELECT 2L AS n, 1 AS k", (1, 7, "x")),
        ("INSERT INTO {} BY NAME SELECT 1 AS k, CAST(NULL AS STRING) AS s", (1, 5, None)),
        ("WITH w AS (SELECT 1 AS a, 2L AS b) INSERT INTO {} (k, n) SELECT * FROM w", (1, 7, "x")),
        ("INSERT INTO {} (k, n) VALUES (1, DEFAULT)", (1, 12, "x")),
        ("INSERT INTO {} VALUES (1, NULL, NULL)", (1, 5, None)),
        ("INSERT INTO {} (k, n, s) VALUES (1, 2, NULL)", (1, 7, None)),
        ("INSERT INTO {} WITH ('merge_mode' = 'overwrite') (k, n) VALUES (1, 2)", (1, 2, "x")),
        (
            "INSERT INTO {} WITH ('merge_mode' = 'overwrite') (k, n) VALUES (1, NULL)",
            (1, None, "x"),
        ),
        ("INSERT INTO {} WITH ('merge_mode' = 'overwrite') VALUES (1, 2, NULL)", (1, 2, None)),
        ("INSERT OVERWRITE {} (k, n) VALUES (1, 2)", (1, 2, None)),
    ],
)
def test_statements_touch_what_they_name(
    spark: SparkSession, sums: str, statement: str, expected: tuple[object, ...]
) -> None:
    spark.sql(statement.format(sums))
    assert rows(spark, sums) == [expected]


def test_a_new_row_takes_no_default_of_a_column_not_named(spark: SparkSession, sums: str) -> None:
    spark.sql(f"INSERT INTO {sums} (k, n) VALUES (2, 3)")
    spark.sql(f"INSERT INTO {sums} (k, n) VALUES (2, 4)")
    assert rows(spark, sums) == [(1, 5, "x"), (2, 7, None)]


def test_frames_name_by_their_columns_or_by_an_option(spark: SparkSession, sums: str) -> None:
    spark.createDataFrame([(1, 2)], "k INT, n BIGINT").writeTo(sums).append()
    assert rows(spark, sums) == [(1, 7, "x")]
    spark.createDataFrame([(1, 1)], "k INT, n BIGINT").write.mode("append").saveAsTable(sums)
    assert rows(spark, sums) == [(1, 8, "x")]
    spark.sql("VALUES (1, 0L)").toDF("k", "n").writeTo(sums).append()
    assert rows(spark, sums) == [(1, 8, "x")]
    whole = spark.createDataFrame([(1, 1, "junk")], "k INT, n BIGINT, s STRING")
    whole.writeTo(sums).option("target-columns", "k,n").append()
    assert rows(spark, sums) == [(1, 9, "x")]
    whole.writeTo(sums).option("target-columns", "k, n").option("merge_mode", "overwrite").append()
    assert rows(spark, sums) == [(1, 1, "x")]
    whole.write.insertInto(sums)
    assert rows(spark, sums) == [(1, 2, "junk")]


def test_partial_update_takes_a_named_null_of_a_group(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    columns = "k INT, v BIGINT, g INT, a STRING, b STRING, PRIMARY KEY (k) NOT ENFORCED"
    properties = "'merge-engine' = 'partial-update', 'fields.g.sequence-group' = 'a,b'"
    name = make(spark, fresh_name(), properties, columns)
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 1, 'a', 'b')")
    spark.sql(f"INSERT INTO {name} (k, g, a) VALUES (1, 2, NULL)")
    assert rows(spark, name) == [(1, 1, 2, None, "b")]
    spark.sql(f"INSERT INTO {name} (k, v) VALUES (1, NULL)")
    assert rows(spark, name) == [(1, 1, 2, None, "b")]
    spark.sql(f"INSERT INTO {name} (k, g, b) VALUES (1, 1, 'late')")
    assert rows(spark, name) == [(1, 1, 2, None, "b")]


def test_deduplicate_keeps_sparks_meaning_unless_the_option_names(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    name = make(spark, fresh_name(), "'bucket' = '1'")
    spark.sql(f"INSERT INTO {name} VALUES (1, 5, 'x'), (2, 6, 'y')")
    spark.sql(f"INSERT INTO {name} (k, n) VALUES (1, 9)")
    assert rows(spark, name) == [(1, 9, "d"), (2, 6, "y")]
    frame = spark.createDataFrame([(2, None), (3, 1)], "k INT, n BIGINT")
    frame.writeTo(name).option("target-columns", "k,n").append()
    assert rows(spark, name) == [(1, 9, "d"), (2, None, "y"), (3, 1, None)]
    spark.sql(f"INSERT INTO {name} WITH ('target-columns' = 'k,s') VALUES (2, 0, 'z')")
    assert rows(spark, name) == [(1, 9, "d"), (2, None, "z"), (3, 1, None)]


def test_deletes_of_some_columns(spark: SparkSession, fresh_name: FreshName) -> None:
    columns = "k INT, a INT, b INT, op STRING, PRIMARY KEY (k) NOT ENFORCED"
    name = make(spark, fresh_name(), "'rowkind.field' = 'op'", columns)
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 1, '+I'), (2, 2, NULL, '+I')")
    gone = spark.createDataFrame([(1, "-D"), (2, "-D"), (3, "-D")], "k INT, op STRING")
    named = gone.selectExpr("k", "CAST(NULL AS INT) AS a", "op")
    named.writeTo(name).option("target-columns", "k,a,op").append()
    assert [tuple(r) for r in spark.sql(f"SELECT k, b FROM {name}").collect()] == [(1, 1)]
    assert spark.sql(f"SELECT count(*) FROM {name}").first()[0] == 1
    assert spark.sql(f"SELECT a FROM {name} WHERE k = 1").first()[0] is None


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("INSERT INTO {} (n) VALUES (1)", r"write columns \[n\] must contain the primary key"),
        ("INSERT INTO {} (k, zz) VALUES (1, 1)", "zz"),
        ("INSERT INTO {} WITH ('merge_mode' = 'replace') VALUES (1, 1, 'a')", "merge_mode"),
    ],
)
def test_refused_statements(spark: SparkSession, sums: str, statement: str, words: str) -> None:
    with pytest.raises(PySparkException, match=words):
        spark.sql(statement.format(sums))
    assert rows(spark, sums) == [(1, 5, "x")]


def test_not_null_columns_keep_a_table_from_partial_writes(
    spark: SparkSession, fresh_name: FreshName
) -> None:
    columns = "k INT, n BIGINT, s STRING NOT NULL, PRIMARY KEY (k) NOT ENFORCED"
    name = make(spark, fresh_name(), SUM, columns)
    words = "requires all columns except primary key to be nullable, but column s is NOT NULL"
    for names, values in (("k, n", "1, 1"), ("k, s", "1, 'a'")):
        with pytest.raises(PySparkException, match=words):
            spark.sql(f"INSERT INTO {name} ({names}) VALUES ({values})")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 'a')")
    assert rows(spark, name) == [(1, 1, "a")]


def test_overwriting_needs_a_merge_engine(spark: SparkSession, fresh_name: FreshName) -> None:
    name = make(spark, fresh_name(), "'bucket' = '1'")
    with pytest.raises(PySparkException, match="only supported where rows fold"):
        spark.sql(f"INSERT INTO {name} WITH ('merge_mode' = 'overwrite') VALUES (1, 1, 'a')")


def test_pypaimon_refuses_marks_and_reads_what_has_none(
    spark: SparkSession, sums: str, warehouse: Path
) -> None:
    inside = sums.split(".", 1)[1]
    spark.sql(f"INSERT INTO {sums} (k, s) VALUES (1, 'y')")  # a NULL to sum is nothing: no marks
    assert readers.read(warehouse, inside).to_pylist() == [{"k": 1, "n": 5, "s": "y"}]
    spark.sql(f"INSERT INTO {sums} (k, n) VALUES (1, 1)")  # last_value would take the NULL
    with pytest.raises(readers.Refused, match=r"(?i)format|keyfold"):
        readers.read(warehouse, inside)
    assert rows(spark, sums) == [(1, 6, "y")]
