"""pypaimon and pypaimon-rust, without any of our code, read the tables we wrote: row for row, for
every type.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours
from tests import readers

FreshName = Callable[[], str]
TYPES = {
    "b": ("BOOLEAN", "true", "false"),
    "i1": ("TINYINT", "-128Y", "127Y"),
    "i2": ("SMALLINT", "-32768S", "300S"),
    "i4": ("INT", "-2147483648", "2147483647"),
    "i8": ("BIGINT", "-9223372036854775808L", "9223372036854775807L"),
    "f4": ("FLOAT", "-1.5F", "CAST('Infinity' AS FLOAT)"),
    "f8": ("DOUBLE", "2.5D", "1.7976931348623157E308D"),
    "small": ("DECIMAL(4, 2)", "-99.99", "12.34"),
    "middle": ("DECIMAL(18, 6)", "123456789012.345678", "0"),
    "wide": ("DECIMAL(38, 10)", "1234567890123456789012345678.0123456789", "-1"),
    "s": ("STRING", "'Grüße, 世界 🌍'", "''"),
    "c": ("CHAR(5)", "'abc'", "'abcde'"),
    "vc": ("VARCHAR(10)", "'varied'", "''"),
    "x": ("BINARY", "X'00FF10'", "X''"),
    "d": ("DATE", "DATE '0001-01-01'", "DATE '9999-12-31'"),
    "ts": ("TIMESTAMP", "TIMESTAMP '2024-01-02 03:04:05.678901'", "TIMESTAMP '1969-12-31 23:59'"),
    "ntz": (
        "TIMESTAMP_NTZ",
        "TIMESTAMP_NTZ '2024-01-02 03:04:05.678901'",
        "TIMESTAMP_NTZ '1969-12-31 23:59:59'",
    ),
    "t": ("TIME(3)", "CAST('23:59:59.999' AS TIME(3))", "CAST('00:00:00' AS TIME(3))"),
    "a": ("ARRAY<INT>", "array(1, NULL, 3)", "array()"),
    "m": ("MAP<STRING, BIGINT>", "map('k', 1L, 'n', NULL)", "map()"),
    "st": (
        "STRUCT<x: INT, y: STRING>",
        "named_struct('x', 1, 'y', NULL)",
        "named_struct('x', 2, 'y', 'z')",
    ),
    "deep": (
        "ARRAY<STRUCT<m: MAP<INT, ARRAY<DATE>>>>",
        "array(named_struct('m', map(1, array(DATE '2024-01-01', NULL))), NULL)",
        "array()",
    ),
}
ATOMIC = [name for name in TYPES if name not in ("a", "m", "st", "deep")]


def plain(value: Any) -> Any:
    """Arrow's Python values with pairs as lists and times without zone, so that they compare."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return value


def ours(spark: SparkSession, name: str) -> list[dict[str, Any]]:
    """Every row, as Spark reads it through keyfold."""
    table = assert_ours(spark.table(name)).toArrow()
    return sorted((plain(row) for row in table.to_pylist()), key=repr)


def theirs(warehouse: Path, name: str) -> list[dict[str, Any]]:
    """Every row, as pypaimon and pypaimon-rust both read it."""
    tables = [read(warehouse, name.split(".", 1)[1]) for read in readers.READERS.values()]
    rows, of_rust = [
        sorted((plain(row) for row in table.to_pylist()), key=repr) for table in tables
    ]
    assert of_rust == rows
    return rows


@pytest.mark.usefixtures("has_times")
@pytest.mark.parametrize("name", TYPES)
def test_values_of_each_type(
    spark: SparkSession, fresh_name: FreshName, warehouse: Path, name: str
) -> None:
    table = fresh_name()
    sql_type, one, other = TYPES[name]
    create_keyed(spark, table, f"id INT, v {sql_type}", key="id")
    spark.sql(f"INSERT INTO {table} VALUES (1, {one}), (2, {one}), (3, NULL)")
    spark.sql(f"INSERT INTO {table} VALUES (2, {other}), (4, {other})")
    found = theirs(warehouse, table)
    assert len(found) == 4
    assert found == ours(spark, table)


@pytest.mark.usefixtures("has_times")
@pytest.mark.parametrize("name", ATOMIC)
def test_keys_of_each_type(
    spark: SparkSession, fresh_name: FreshName, warehouse: Path, name: str
) -> None:
    table = fresh_name()
    sql_type, one, other = TYPES[name]
    create_keyed(spark, table, f"v INT, k {sql_type}")
    spark.sql(f"INSERT INTO {table} VALUES (1, {one}), (2, {other})")
    spark.sql(f"INSERT INTO {table} VALUES (3, {other})")
    found = theirs(warehouse, table)
    assert sorted(row["v"] for row in found) == [1, 3]
    assert found == ours(spark, table)


def test_partitions_deletes_and_several_keys(
    spark: SparkSession, fresh_name: FreshName, warehouse: Path
) -> None:
    table = fresh_name()
    create_keyed(
        spark,
        table,
        "v STRING, b STRING, day DATE, a INT, op STRING",
        key="a, day, b",
        by="day",
        rowkind__field="op",
        bucket=3,
    )
    for job in range(3):
        spark.sql(
            f"INSERT INTO {table} SELECT concat('v', id, '.{job}'), concat('b', id % 7), "
            "date_add(DATE '2024-01-01', CAST(id % 3 AS INT)), CAST(id AS INT), "
            f"IF(id % 5 = {job}, '-D', '+I') FROM range({job * 10}, 60)"
        )
    found = theirs(warehouse, table)
    assert 0 < len(found) < 60
    assert found == ours(spark, table)


def test_aggregates(spark: SparkSession, fresh_name: FreshName, warehouse: Path) -> None:
    table = fresh_name()
    create_keyed(
        spark,
        table,
        "k INT, n BIGINT, top INT, last STRING, first STRING, yes BOOLEAN",
        merge_engine="aggregation",
        folds={
            "n": "sum",
            "top": "max",
            "last": "last_non_null_value",
            "first": "first_value",
            "yes": "bool_or",
        },
    )
    for job in range(3):
        spark.sql(
            f"INSERT INTO {table} SELECT CAST(id % 9 AS INT), id, CAST(id AS INT), "
            f"IF(id % 4 = {job}, NULL, concat('s', id)), concat('f', id), id % 3 = 0 "
            f"FROM range({job * 7}, 50)"
        )
    found = theirs(warehouse, table)
    assert len(found) == 9
    assert found == ours(spark, table)
