"""Statements that change rows don't name metadata columns of their table; subqueries do."""

from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.keyed import create_keyed

COLUMNS = ("_bucket", "_file", "_level", "_sequence_number")
MERGE = "MERGE INTO {t} t USING (SELECT 1 AS k) s ON t.k = s.k"
STATEMENTS = (
    "DELETE FROM {t} WHERE {c} IS NOT NULL",
    "UPDATE {t} SET a = 5 WHERE a = 1 OR {c} IS NOT NULL",
    "UPDATE {t} SET a = hash({c}) WHERE k = 1",
    MERGE + " WHEN MATCHED THEN UPDATE SET a = hash({c})",
    MERGE + " AND {c} IS NOT NULL WHEN MATCHED THEN DELETE",
    MERGE + " WHEN MATCHED AND {c} IS NOT NULL THEN UPDATE SET a = 7",
    MERGE + " WHEN NOT MATCHED BY SOURCE AND {c} IS NOT NULL THEN DELETE",
)


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    name = fresh_name()
    create_keyed(spark, name, "k INT, a INT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    spark.sql(f"INSERT INTO {name} VALUES (3, 3)")
    return name


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_they_are_refused(spark: SparkSession, table: str, statement: str, column: str) -> None:
    with pytest.raises(PySparkException, match=f"metadata column {column}; a subquery can"):
        spark.sql(statement.format(t=table, c=column))
    assert sorted(spark.table(table).collect()) == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("column", COLUMNS)
def test_subqueries_and_sources_have_them(spark: SparkSession, table: str, column: str) -> None:
    chosen = f"SELECT k FROM {table} WHERE {column} = (SELECT max({column}) FROM {table})"
    keys = sorted(row.k for row in spark.sql(chosen).collect())
    assert 3 in keys or column in ("_file", "_bucket")
    spark.sql(
        f"MERGE INTO {table} t USING ({chosen}) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET a = 9"
    )
    assert sorted(row.k for row in spark.table(table).where("a = 9").collect()) == keys
    source = f"SELECT k, hash({column}) AS a FROM {table}"
    hashes = sorted(map(tuple, spark.sql(source).collect()))
    spark.sql(
        f"MERGE INTO {table} t USING ({source}) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET *"
    )
    assert sorted(map(tuple, spark.table(table).collect())) == hashes
    spark.sql(f"DELETE FROM {table} WHERE k IN (SELECT k FROM {table} WHERE {column} IS NOT NULL)")
    assert spark.table(table).count() == 0
