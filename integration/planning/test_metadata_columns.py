"""Metadata columns as Spark's queries name them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import scans

ALL = "_file, _bucket, _sequence_number, _level"


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    """Twenty rows in two buckets, ten of them written twice."""
    name = "keyfold.it.hidden"
    create_keyed(spark, name, "k INT, v STRING", bucket=2, write_only=True)
    spark.sql(f"INSERT INTO {name} SELECT id, 'old' FROM range(20)")
    spark.sql(f"INSERT INTO {name} SELECT id, 'new' FROM range(10)")
    return name


def test_they_tell_where_a_row_is(spark: SparkSession, table: str) -> None:
    assert spark.table(table).columns == ["k", "v"]
    rows = spark.sql(f"SELECT v, {ALL}, k FROM {table}").collect()
    files = {
        row["file_path"]: row
        for row in spark.sql("SELECT * FROM keyfold.it.`hidden$files`").collect()
    }
    assert len(rows) == 20
    for row in rows:
        file = files[row["_file"]]
        assert (row["_bucket"], row["_level"]) == (file["bucket"], file["level"])
        number = row["_sequence_number"]
        assert file["min_sequence_number"] <= number <= file["max_sequence_number"]
    by_age = {row["v"]: row["_sequence_number"] for row in rows}
    assert by_age["new"] > by_age["old"]


def test_queries_use_them_as_columns(spark: SparkSession, table: str) -> None:
    buckets = spark.sql(
        f"SELECT _bucket, count(_bucket), count(_file), min(_bucket) FROM {table} GROUP BY 1"
    ).collect()
    assert sum(row[1] for row in buckets) == 20
    assert all(row[1] == row[2] and row[0] == row[3] for row in buckets)
    one = spark.sql(f"SELECT k FROM {table} WHERE _bucket = 1 AND k < 10 ORDER BY k").collect()
    rows = spark.sql(f"SELECT k, _bucket AS b FROM {table} WHERE k < 10 ORDER BY k").collect()
    assert [row.k for row in one] == [row.k for row in rows if row.b == 1]
    (line,) = scans(spark.sql(f"SELECT v FROM {table}"))
    assert "_bucket" not in line
    joined = spark.sql(
        f"SELECT count(*) FROM {table} a JOIN {table} b ON a._file = b._file AND a.k = b.k"
    )
    assert joined.first()[0] == 20


def test_a_column_of_the_table_hides_one(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT, _file STRING")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'mine')")
    assert spark.sql(f"SELECT _file, _level FROM {name}").first() == ("mine", 0)


def test_a_folded_row_has_no_file(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "k INT, n INT",
        merge_engine="aggregation",
        bucket=1,
        write_only=True,
        folds={"n": "sum"},
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 1)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1)")
    query = f"SELECT k, n, _file IS NULL, _level, _sequence_number FROM {name} ORDER BY k"
    first, second = spark.sql(query).collect()
    assert first[:4] == (1, 2, True, None)
    assert second[:4] == (2, 1, False, 0)
    assert first[4] > second[4]
    whole = f"table => '{name.partition('.')[2]}', compact_strategy => 'full'"
    spark.sql(f"CALL keyfold.sys.compact({whole})")
    found = spark.sql(query).collect()
    assert [row[:3] for row in found] == [(1, 2, False), (2, 1, False)]
    assert {row[3] for row in found} == {5}
    assert [row[4] for row in found] == [first[4], second[4]]
