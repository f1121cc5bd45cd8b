"""MERGE as AUTO CDC of SCD type 2 has it: it finds a version of a key by a field of a struct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.sessions import conf

SETTING = "spark.keyfold.merge.lookup"
KEYS, VERSIONS = 12, 6
META = "__spark_autocdc_metadata"
ON = f"t.id = s.id AND t.{META}.__RECORD_START_AT <=> s.{META}.__RECORD_START_AT"
SET = f"__START_AT = s.__START_AT, v = s.v, {META} = s.{META}"
MERGE = (
    f"WHEN MATCHED AND s.gone THEN DELETE WHEN MATCHED THEN UPDATE SET {SET} "
    f"WHEN NOT MATCHED AND NOT s.gone THEN INSERT (id, __START_AT, v, {META}) "
    f"VALUES (s.id, s.__START_AT, s.v, s.{META})"
)
Change = tuple[int, int, int, bool]  # id, sequence, v, whether the version goes


def made(spark: SparkSession, table: str) -> None:
    """A table with some versions of each key, in two runs."""
    create_keyed(
        spark,
        table,
        f"id INT, __START_AT BIGINT, v INT, {META} STRUCT<__RECORD_START_AT: BIGINT>",
        key="id, __START_AT",
        bucket=2,
    )
    for run in range(2):
        spark.sql(
            f"INSERT INTO {table} SELECT CAST(id % {KEYS} AS INT), at, CAST(at AS INT), "
            f"named_struct('__RECORD_START_AT', at) FROM (SELECT id, {run * 3} + id DIV {KEYS} AS "
            f"at FROM range({KEYS * VERSIONS // 2}))"
        )


def merge(spark: SparkSession, table: str, changes: Sequence[Change]) -> str:
    """Runs the statement, and returns its plan."""
    values = ", ".join(f"({one}, {at}L, {v}, {gone})" for one, at, v, gone in changes)
    source = (
        f"SELECT id, at AS __START_AT, v, named_struct('__RECORD_START_AT', at) AS {META}, gone "
        f"FROM VALUES {values} AS s(id, at, v, gone)"
    )
    text = f"MERGE INTO {table} AS t USING ({source}) AS s ON {ON} {MERGE}"
    plan = str(spark.sql(f"EXPLAIN {text}").collect()[0][0])
    spark.sql(text)
    return plan


def content(spark: SparkSession, table: str) -> list[str]:
    return sorted(map(str, spark.table(table).collect()))


def test_versions_are_looked_up_by_their_keys(
    spark: SparkSession, fresh_name: Callable[[], str], seed: int
) -> None:
    """Several rows of a source have one key, and meet the versions that are theirs alone."""
    tables = [fresh_name(), fresh_name()]
    for table in tables:
        made(spark, table)
    random = Random(f"versions of keys {seed}")
    for turn in range(2):
        every = [(key, at) for key in range(-1, KEYS + 2) for at in range(-2, VERSIONS + 2)]
        picked = random.sample(every, 40)
        changes = [(*one, random.randrange(100), random.random() < 0.4) for one in picked]
        plan = merge(spark, tables[0], changes)
        assert "LookupJoin" in plan
        assert "BatchScan" not in plan
        with conf(spark, **{SETTING: False}):
            assert "LookupJoin" not in merge(spark, tables[1], changes)
        assert content(spark, tables[0]) == content(spark, tables[1]), turn


def test_two_rows_for_one_version_are_refused(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    table = fresh_name()
    made(spark, table)
    before = content(spark, table)
    with pytest.raises(PySparkException, match="MERGE_CARDINALITY_VIOLATION"):
        merge(spark, table, [(1, 2, 7, False), (1, 3, 8, False), (1, 2, 9, False)])
    assert content(spark, table) == before
