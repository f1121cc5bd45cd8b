"""SHOW, DROP and TRUNCATE PARTITION, and overwrites by a condition on partition columns."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from integration.keyed import create_keyed

DAYS = "(id INT, day DATE, kind STRING, v STRING, PRIMARY KEY (day, kind, id) NOT ENFORCED)"


@pytest.fixture
def days(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    """Two days of two kinds, a row each, and two of a kind that is NULL-like text."""
    name = fresh_name()
    spark.sql(f"CREATE TABLE {name} {DAYS} PARTITIONED BY (day, kind)")
    spark.sql(
        f"INSERT INTO {name} VALUES (1, DATE '2024-01-01', 'x', 'a'), "
        "(2, DATE '2024-01-01', 'y/z', 'b'), (3, DATE '2024-01-02', 'x', 'c'), "
        "(4, DATE '2024-01-02', 'y/z', 'd'), (5, DATE '2024-01-02', 'y/z', 'e')"
    )
    return name


def ids(spark: SparkSession, table: str) -> list[int]:
    return sorted(row.id for row in spark.table(table).collect())


def shown(spark: SparkSession, table: str, spec: str = "") -> list[str]:
    return [row[0] for row in spark.sql(f"SHOW PARTITIONS {table} {spec}").collect()]


def snapshots(spark: SparkSession, table: str) -> int:
    return spark.sql(f"SELECT * FROM `{table.replace('.', '`.`')}$snapshots`").count()


def test_show_partitions(spark: SparkSession, days: str) -> None:
    assert shown(spark, days) == [
        "day=2024-01-01/kind=x",
        "day=2024-01-01/kind=y%2Fz",
        "day=2024-01-02/kind=x",
        "day=2024-01-02/kind=y%2Fz",
    ]
    assert shown(spark, days, "PARTITION (day = '2024-01-02')") == [
        "day=2024-01-02/kind=x",
        "day=2024-01-02/kind=y%2Fz",
    ]
    assert shown(spark, days, "PARTITION (kind = 'x')") == [
        "day=2024-01-01/kind=x",
        "day=2024-01-02/kind=x",
    ]
    assert shown(spark, days, "PARTITION (day = '2024-01-02', kind = 'x')") == [
        "day=2024-01-02/kind=x"
    ]
    assert shown(spark, days, "PARTITION (day = '1999-01-01')") == []
    namespace, name = days.rpartition(".")[::2]
    (extended,) = spark.sql(
        f"SHOW TABLE EXTENDED IN {namespace} LIKE '{name}' "
        "PARTITION (day = '2024-01-02', kind = 'y/z')"
    ).collect()
    assert "record_count: 2" in extended.information
    spark.sql(f"DELETE FROM {days} WHERE day = DATE '2024-01-01'")
    assert len(shown(spark, days)) == 2


def test_only_partitioned_tables_have_partitions(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "id INT", key="id")
    with pytest.raises(AnalysisException, match="is not partitioned"):
        spark.sql(f"SHOW PARTITIONS {name}")
    with pytest.raises(AnalysisException):
        spark.sql(f"ALTER TABLE {name} DROP PARTITION (id = 1)")


TYPES = {
    "BOOLEAN": ("true", "true"),
    "TINYINT": ("-3Y", "-3"),
    "SMALLINT": ("300S", "300"),
    "INT": ("7", "7"),
    "BIGINT": ("9007199254740993L", "9007199254740993"),
    "DECIMAL(20, 3)": ("CAST(12.5 AS DECIMAL(20, 3))", "12.500"),
    "STRING": ("'a b=c'", "a b=c"),
    "CHAR(4)": ("'ab'", "ab"),
    "VARCHAR(4)": ("'ab'", "ab"),
    "DATE": ("DATE '1969-12-31'", "1969-12-31"),
    "TIMESTAMP": ("TIMESTAMP '2024-01-02 03:04:05.678'", "2024-01-02 03:04:05.678"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ '2024-01-02 03:04:05'", "2024-01-02 03:04:05"),
}


def test_every_type_is_shown_and_dropped(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """A partition that is shown can be named: by the text of its values, NULL by NULL."""
    table = fresh_name()
    names = [f"p{place}" for place in range(len(TYPES))]
    columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, TYPES, strict=True))
    listed = ", ".join(names)
    create_keyed(
        spark,
        table,
        f"id INT, {columns}",
        key=f"id, {listed}",
        by=listed,
        bucket=1,
        primary_key__nullable=True,
    )
    values = ", ".join(literal for literal, _ in TYPES.values())
    spark.sql(f"INSERT INTO {table} VALUES (1, {values}), (2{', NULL' * len(TYPES)})")
    both = shown(spark, table)
    assert len(both) == 2
    for name, (_, text) in zip(names, TYPES.values(), strict=True):
        named = shown(spark, table, f"PARTITION ({name} = '{text}')")
        empty = shown(spark, table, f"PARTITION ({name} = NULL)")
        assert sorted(named + empty) == sorted(both), name
    pairs = zip(names, TYPES.values(), strict=True)
    spec = ", ".join(f"{name} = '{text}'" for name, (_, text) in pairs)
    spark.sql(f"ALTER TABLE {table} DROP PARTITION ({spec})")
    assert ids(spark, table) == [2]
    spark.sql(f"ALTER TABLE {table} DROP PARTITION ({names[-1]} = NULL)")
    assert shown(spark, table) == ids(spark, table) == []


def test_drop_partition(spark: SparkSession, days: str) -> None:
    before = snapshots(spark, days)
    spark.sql(f"ALTER TABLE {days} DROP PARTITION (day = '2024-01-01', kind = 'x')")
    assert ids(spark, days) == [2, 3, 4, 5]
    spark.sql(
        f"ALTER TABLE {days} DROP IF EXISTS PARTITION (day = '2024-01-01', kind = 'y/z'), "
        "PARTITION (day = '2024-01-02', kind = 'x'), PARTITION (day = '2030-01-01', kind = 'x')"
    )
    assert ids(spark, days) == [4, 5]
    assert snapshots(spark, days) == before + 2  # all partitions of a statement in one commit
    spark.sql(f"INSERT INTO {days} VALUES (6, DATE '2024-01-01', 'x', 'f')")
    assert ids(spark, days) == [4, 5, 6]


def test_drop_by_some_of_the_columns(spark: SparkSession, days: str) -> None:
    spark.sql(f"ALTER TABLE {days} DROP PARTITION (kind = 'x')")
    assert ids(spark, days) == [2, 4, 5]
    spark.sql(f"ALTER TABLE {days} DROP PARTITION (DAY = '2024-01-02') PURGE")
    assert ids(spark, days) == [2]
    with pytest.raises(AnalysisException, match="PARTITIONS_NOT_FOUND"):
        spark.sql(f"ALTER TABLE {days} DROP PARTITION (day = '2024-01-02')")
    spark.sql(f"ALTER TABLE {days} DROP IF EXISTS PARTITION (day = '2024-01-02')")


def test_dropped_rows_leave_a_cached_table(spark: SparkSession, days: str) -> None:
    spark.sql(f"CACHE TABLE {days}")
    try:
        assert len(ids(spark, days)) == 5
        spark.sql(f"ALTER TABLE {days} DROP PARTITION (day = '2024-01-01')")
        assert ids(spark, days) == [3, 4, 5]
        spark.sql(f"TRUNCATE TABLE {days} PARTITION (kind = 'x')")
        assert ids(spark, days) == [4, 5]
    finally:
        spark.sql(f"UNCACHE TABLE {days}")


def test_truncate_partition(spark: SparkSession, days: str) -> None:
    spark.sql(f"TRUNCATE TABLE {days} PARTITION (day = '2024-01-01', kind = 'x')")
    assert ids(spark, days) == [2, 3, 4, 5]
    spark.sql(f"TRUNCATE TABLE {days} PARTITION (day = '2024-01-02')")
    assert ids(spark, days) == [2]
    with pytest.raises(AnalysisException, match="PARTITION"):
        spark.sql(f"TRUNCATE TABLE {days} PARTITION (day = '2024-01-01', kind = 'x')")
    assert ids(spark, days) == [2]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DROP PARTITION (day = '1999-01-01', kind = 'x')", "PARTITIONS_NOT_FOUND"),
        ("DROP PARTITION (v = 'a')", "PARTITION"),
        ("ADD PARTITION (day = '1999-01-01', kind = 'x')", "comes with its first rows: INSERT"),
        (
            "PARTITION (day = '2024-01-01', kind = 'x') RENAME TO "
            "PARTITION (day = '1999-01-01', kind = 'x')",
            "INSERT the rows with the new values, then DROP PARTITION",
        ),
    ],
)
def test_refused(spark: SparkSession, days: str, statement: str, reason: str) -> None:
    with pytest.raises(AnalysisException, match=reason):
        spark.sql(f"ALTER TABLE {days} {statement}")
    assert ids(spark, days) == [1, 2, 3, 4, 5]


def test_drop_table_purge(spark: SparkSession, days: str, fresh_name: Callable[[], str]) -> None:
    spark.sql(f"DROP TABLE {days} PURGE")
    assert not spark.catalog.tableExists(days)
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"DROP TABLE {days} PURGE")
    spark.sql(f"DROP TABLE IF EXISTS {days} PURGE")


NEW = "SELECT 9, DATE '2024-01-02', 'x', 'new'"


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("day = DATE '2024-01-02'", [1, 2, 9]),
        ("day = '2024-01-02' AND kind = 'x'", [1, 2, 4, 5, 9]),
        ("DAY >= DATE '2024-01-01' + INTERVAL 1 DAY", [1, 2, 9]),
        ("kind LIKE 'y%'", [1, 3, 9]),
        ("kind IN ('x', 'q') OR day < DATE '2024-01-02'", [4, 5, 9]),
        ("NOT kind = 'x'", [1, 3, 9]),
        ("kind IS NULL", [1, 2, 3, 4, 5, 9]),
        ("true", [9]),
        ("false", [1, 2, 3, 4, 5, 9]),
    ],
)
def test_replace_where(spark: SparkSession, days: str, condition: str, left: list[int]) -> None:
    """The partitions that satisfy it go, the rows come, in one commit."""
    before = snapshots(spark, days)
    spark.sql(f"INSERT INTO {days} REPLACE WHERE {condition} {NEW}")
    assert ids(spark, days) == left
    assert snapshots(spark, days) == before + 1


def test_overwrite_of_a_frame(spark: SparkSession, days: str) -> None:
    frame = spark.sql(f"SELECT * FROM ({NEW}) AS n(id, day, kind, v)")
    frame.writeTo(days).overwrite(col("day") == lit("2024-01-02").cast("date"))
    assert ids(spark, days) == [1, 2, 9]
    frame.writeTo(days).overwrite(col("kind").isin("x", "y/z"))
    assert ids(spark, days) == [9]


def test_the_writers_option_overwrites_partitions(spark: SparkSession, days: str) -> None:
    frame = spark.sql("SELECT 9 AS id, DATE '2024-01-02' AS day, 'y/z' AS kind, 'new' AS v")
    writer = frame.write.mode("overwrite")
    with pytest.raises(AnalysisException, match="expected static or dynamic, found 'dyn'"):
        writer.option("partitionOverwriteMode", "dyn").insertInto(days)
    writer.option("partitionOverwriteMode", "dynamic").insertInto(days)
    assert ids(spark, days) == [1, 2, 3, 9]
    writer.option("partitionOverwriteMode", "static").insertInto(days)
    assert ids(spark, days) == [9]


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("v = 'a'", r"takes partition columns \(day, kind\); found v = 'a'"),
        ("id = 1 AND day = DATE '2024-01-02'", r"takes partition columns \(day, kind\); found id"),
        ("kind = v", r"takes partition columns \(day, kind\); found kind = v"),
        (
            "length(kind) = 1",
            r"compares partition columns \(day, kind\) with constants; found .*kind",
        ),
        ("day IN (SELECT max(day) FROM {days})", "ubquery"),
        ("rand() < 2", "eterministic"),
    ],
)
def test_conditions_that_do_not_choose_partitions(
    spark: SparkSession, days: str, condition: str, reason: str
) -> None:
    with pytest.raises(Exception, match=reason) as refused:
        spark.sql(f"INSERT INTO {days} REPLACE WHERE {condition.format(days=days)} {NEW}")
    assert isinstance(refused.value, AnalysisException)
    assert ids(spark, days) == [1, 2, 3, 4, 5]
