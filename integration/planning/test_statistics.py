"""`CALL sys.analyze`: what Spark's optimizer knows of columns, and `t$statistics`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.paimon.bench import Bench
from integration.sessions import conf

NAME = "keyfold.it.analyzed"
ALL = "k, n, f, d, day, t, text, flag, data"
STORED = "`analyzed$statistics`"


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    """A thousand rows, 200 of them written twice; a column of each kind of type."""
    create_keyed(
        spark,
        NAME,
        (
            "k BIGINT, n INT, f DOUBLE, d DECIMAL(12, 2), day DATE, t TIMESTAMP, "
            "text STRING, flag BOOLEAN, data BINARY, list ARRAY<INT>"
        ),
        bucket=2,
        write_only=True,
    )
    rows = (
        "SELECT id, if(id % 10 = 0, NULL, id % 10) AS n, id / 2, id / 4, "
        "date_add(DATE '2026-01-01', cast(id AS INT)), "
        "TIMESTAMP '2026-01-01 00:00:00.5' + make_interval(0, 0, 0, 0, 0, 0, id), "
        "repeat('x', cast(id % 5 AS INT)), id % 2 = 0, binary('abc'), array(1)"
    )
    spark.sql(f"INSERT INTO {NAME} {rows} FROM range(1000)")
    spark.sql(f"INSERT INTO {NAME} {rows} FROM range(200)")
    return NAME


@pytest.fixture(autouse=True)
def optimizer(spark: SparkSession) -> Iterator[None]:
    """Spark's optimizer goes by statistics."""
    with conf(spark, spark__sql__cbo__enabled=True):
        yield


def known(frame: DataFrame) -> tuple[int, dict[str, Any]]:
    """The rows and column statistics of the only scan of a frame."""
    plan = frame._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0)
    stats = plan.stats()
    found = {}
    for place in range(plan.output().size()):
        attribute = plan.output().apply(place)
        figures = stats.attributeStats().get(attribute)
        found[attribute.name()] = figures.get() if figures.isDefined() else None
    return int(str(stats.rowCount().get())), found


def figure(option: Any) -> Any:
    return option.get() if option.isDefined() else None


def test_spark_knows_what_was_counted(spark: SparkSession, table: str) -> None:
    before, nothing = known(spark.sql(f"SELECT {ALL} FROM {table}"))
    assert before == 1200
    assert set(nothing.values()) == {None}
    row = spark.sql(f"CALL keyfold.sys.analyze(table => '{table.partition('.')[2]}')").first()
    assert row.row_count == 1000
    assert row.columns == ALL.split(", ")
    rows, columns = known(spark.sql(f"SELECT {ALL}, list FROM {table}"))
    assert rows == 1000
    assert columns["list"] is None
    k, n, text = columns["k"], columns["n"], columns["text"]
    assert (figure(k.min()), figure(k.max())) == (0, 999)
    assert 900 <= int(str(figure(k.distinctCount()))) <= 1000
    assert int(str(figure(n.nullCount()))) == 100
    assert int(str(figure(n.distinctCount()))) == 9
    assert (figure(text.avgLen()), figure(text.maxLen())) == (2, 4)
    assert str(figure(columns["d"].max())) == "249.75"
    assert figure(columns["f"].max()) == 499.5
    day = spark.sql("SELECT unix_date(DATE '2026-01-01')").first()[0]
    assert figure(columns["day"].min()) == day
    assert figure(columns["t"].min()) == day * 86_400_000_000 + 500_000
    assert figure(columns["flag"].max()) is True
    filtered = spark.sql(f"SELECT n FROM {table} WHERE n = 3")
    estimated = filtered._jdf.queryExecution().optimizedPlan().stats().rowCount().get()
    assert 90 <= int(str(estimated)) <= 110


def test_conditions_that_scans_decide_are_counted(spark: SparkSession, table: str) -> None:
    """Spark has no filter over these scans, and reads its estimate from them."""
    for condition, expected in (
        ("k < 100", 1000),  # no guess: the values of a key need not be spread evenly
        ("k IN (1, 2, 3)", 3),
        ("k = 7", 1),
    ):
        frame = spark.sql(f"SELECT text FROM {table} WHERE {condition}")
        rows, _ = known(frame)
        assert abs(rows - expected) <= 1, condition
        size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
        assert int(str(size)) <= 40 * (expected + 1), condition


def test_later_rows_scale_it_and_columns_are_added(spark: SparkSession, table: str) -> None:
    call = f"CALL keyfold.sys.analyze(table => '{table.partition('.')[2]}', columns => %r)"
    spark.sql(call % "k, N")
    spark.sql(f"INSERT INTO {table} (k, n) SELECT id, 1 FROM range(1000, 2200)")
    rows, columns = known(spark.sql(f"SELECT k, n FROM {table}"))
    assert rows == 2000
    assert int(str(figure(columns["n"].nullCount()))) == 200
    assert figure(columns["k"].max()) == 999
    spark.sql(call % "text")
    rows, columns = known(spark.sql(f"SELECT k, text FROM {table}"))
    assert rows == 2200
    assert figure(columns["k"].max()) == 999
    assert int(str(figure(columns["text"].nullCount()))) == 1200
    (stored,) = spark.sql(f"SELECT * FROM keyfold.it.{STORED}").collect()
    assert stored.mergedRecordCount == 2200
    assert json.loads(stored.colstat)["text"]["maxLen"] == 4


def test_an_empty_table_has_nothing_to_store(spark: SparkSession, fresh_name: Any) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT")
    row = spark.sql(f"CALL keyfold.sys.analyze(table => '{name.partition('.')[2]}')").first()
    assert (row.snapshot_id, row.row_count) == (None, 0)


def test_paimon_reads_them(bench: Bench) -> None:
    columns = (
        "k BIGINT, d DECIMAL(12, 2), f FLOAT, t TIMESTAMP, n TIMESTAMP_NTZ, day DATE, s STRING"
    )
    bench.create(f"{columns}, PRIMARY KEY (k) NOT ENFORCED", bucket="1")
    times = "TIMESTAMP '2026-02-03 04:05:06.7', TIMESTAMP_NTZ '2026-02-03 04:05:06'"
    bench.insert(f"VALUES (1, 2.50, 1e20, {times}, DATE '2026-02-03', 'four')")
    bench.spark.sql(f"CALL keyfold.sys.analyze(table => '{bench.name.partition('.')[2]}')")
    theirs = bench.paimon.statistics(bench.folder)
    assert (theirs["snapshotId"], theirs["mergedRecordCount"]) == (1, 1)
    found = {name: column.get("min") for name, column in theirs["colStats"].items()}
    assert found == {
        "k": "1", "d": "2.50", "f": "1.0E20", "t": "2026-02-03 04:05:06.700000",
        "n": "2026-02-03 04:05:06", "day": "20487", "s": None,
    }  # fmt: skip
    assert bench.agree(1)
