"""A DELETE means the same in whatever form: by conditions on partitions, or on their rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

ROWS = "(1, 'x', 100, 'a'), (2, 'y', 100, 'b'), (3, 'z', 100, 'c')"
LATE = "(1, 'x', 50, 'late'), (2, 'y', 50, 'late'), (3, 'z', 50, 'late'), (4, 'x', 50, 'new')"
LATER = "(1, 'x', 150, 'later'), (2, 'y', 150, 'later'), (3, 'z', 150, 'later')"
FORMS = {  # what a DELETE ends with, and the partitions that it empties
    " WHERE p = 'x'": "x",
    " WHERE p IN ('x', 'z')": "xz",
    " WHERE p <> 'y' AND p IS NOT NULL": "xz",
    " WHERE p IN (SELECT * FROM VALUES ('x'))": "x",
    " WHERE p = 'x' AND k > 0": "x",
    " WHERE true": "xyz",
    " WHERE 1 = 1": "xyz",
    "": "xyz",
}
OPTIONS = {
    "sequence": "'sequence.field' = 'ts'",
    "plain": "'merge-engine' = 'deduplicate'",
}


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> Callable[[str], str]:
    """Makes a table of three partitions, a row each."""

    def made(options: str) -> str:
        name = fresh_name()
        spark.sql(
            f"CREATE TABLE {name} (k INT, p STRING, ts INT, c CHAR(5), PRIMARY KEY (k, p) "
            f"NOT ENFORCED) PARTITIONED BY (p) TBLPROPERTIES ({options}, 'write-only' = 'true', "
            "'bucket' = '1')"
        )
        spark.sql(f"INSERT INTO {name} VALUES {ROWS}")
        return name

    return made


def shown(spark: SparkSession, table: str) -> dict[int, str]:
    return {row.k: row.c.strip() for row in spark.table(table).collect()}


def partitions(spark: SparkSession, table: str) -> str:
    return "".join(row[0][-1] for row in spark.sql(f"SHOW PARTITIONS {table}").collect())


@pytest.mark.parametrize("form", FORMS)
def test_late_rows_stay_hidden_after_any_delete(
    spark: SparkSession, table: Callable[[str], str], form: str
) -> None:
    name, gone = table(OPTIONS["sequence"]), FORMS[form]
    spark.sql(f"DELETE FROM {name}{form}")
    left = {k: c for k, p, c in ((1, "x", "a"), (2, "y", "b"), (3, "z", "c")) if p not in gone}
    assert shown(spark, name) == left
    assert partitions(spark, name) == "".join(p for p in "xyz" if p not in gone)
    spark.sql(f"INSERT INTO {name} VALUES {LATE}")
    assert shown(spark, name) == left | {4: "new"}
    spark.sql(f"INSERT INTO {name} VALUES {LATER}")
    assert shown(spark, name) == dict.fromkeys((1, 2, 3), "later") | {4: "new"}


@pytest.mark.parametrize("options", OPTIONS)
def test_files_go_where_no_row_can_be_late(
    spark: SparkSession, table: Callable[[str], str], options: str
) -> None:
    """And then without a look at a row, or a task."""
    name = table(OPTIONS[options])
    for form in (" WHERE p = 'x'", ""):
        text = spark.sql(f"EXPLAIN DELETE FROM {name}{form}").head()[0]
        assert ("DeleteFromTable" in text) == (options == "plain"), text
        assert ("WriteDelta" in text) == (options == "sequence"), text


def test_statements_about_partitions_leave_nothing(
    spark: SparkSession, table: Callable[[str], str]
) -> None:
    """TRUNCATE, DROP PARTITION and overwrites remove files: then no row is late."""
    statements = {
        "TRUNCATE TABLE {}": {1: "late", 2: "late", 3: "late", 4: "new"},
        "ALTER TABLE {} DROP PARTITION (p = 'x')": {1: "late", 2: "b", 3: "c", 4: "new"},
        "TRUNCATE TABLE {} PARTITION (p = 'x')": {1: "late", 2: "b", 3: "c", 4: "new"},
        "INSERT INTO {} REPLACE WHERE p = 'x' SELECT 5, 'x', 9, 'over'": {
            1: "late", 2: "b", 3: "c", 4: "new", 5: "over"
        },
    }  # fmt: skip
    for statement, expected in statements.items():
        name = table(OPTIONS["sequence"])
        spark.sql(statement.format(name))
        spark.sql(f"INSERT INTO {name} VALUES {LATE}")
        assert shown(spark, name) == expected, statement
