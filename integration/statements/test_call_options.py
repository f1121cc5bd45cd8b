"""Options of single reads and writes: one that is unknown is refused wherever a user may write it,
with the nearest known name, and nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

MISSPELT = [
    ("targetColumns", "did you mean target-columns?"),
    ("target-column", "did you mean target-columns?"),
    ("mergemode", "did you mean merge_mode?"),
    ("merge.mode", "did you mean merge_mode?"),
    ("partitionOverwriteMod", "did you mean partitionOverwriteMode?"),
    ("num-level", "did you mean num-levels?"),
    ("foo", "is unknown"),
    ("mergeSchema", "expected true or false"),
    ("branch", "t$branch_NAME"),
    ("overwriteSchema", "createOrReplace"),
]
DDL = (
    "CREATE TABLE {} (k INT, a INT, b INT, PRIMARY KEY (k) NOT ENFORCED) "
    "TBLPROPERTIES ('merge-engine' = 'aggregation', 'fields.default-aggregate-function' = 'sum')"
)


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    name = "keyfold.it.call_options"
    spark.sql(DDL.format(name))
    spark.sql(f"INSERT INTO {name} VALUES (1, 10, 100)")
    return name


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT 1 AS k, 1 AS a, 1 AS b")


def refused(run: Callable[[], object], *words: str) -> None:
    with pytest.raises(PySparkException) as caught:
        run()
    for word in words:
        assert word.lower() in str(caught.value).lower()


@pytest.mark.parametrize(("option", "hint"), MISSPELT)
def test_unknown_options_of_writes(
    spark: SparkSession, table: str, rows: DataFrame, warehouse: Path, option: str, hint: str
) -> None:
    namespace, name = table.split(".")[1:]
    path = f"{warehouse}/{namespace}.db/{name}"
    writes: list[Callable[[], object]] = [
        lambda: spark.sql(f"INSERT INTO {table} WITH ('{option}' = 'k,a') VALUES (1, 1, 1)"),
        lambda: rows.writeTo(table).option(option, "k,a").append(),
        lambda: rows.writeTo(table).option(option, "k,a").overwritePartitions(),
        lambda: rows.write.option(option, "k,a").insertInto(table),
        lambda: rows.write.option(option, "k,a").mode("append").saveAsTable(table),
        lambda: rows.write.option(option, "k,a").format("keyfold").mode("append").save(path),
        lambda: rows.write.option(option, "k,a").format("keyfold").mode("overwrite").save(path),
    ]
    for write in writes:
        refused(write, name, f"option {option} ", hint)
    assert [tuple(row) for row in spark.table(table).collect()] == [(1, 10, 100)]


@pytest.mark.parametrize(("option", "hint"), MISSPELT[:2])
def test_unknown_options_of_tables_that_are_made(
    spark: SparkSession,
    rows: DataFrame,
    folder: Path,
    fresh_name: Callable[[], str],
    option: str,
    hint: str,
) -> None:
    name, path = fresh_name(), str(folder / "misspelt")
    keyed = rows.write.option("primary-key", "k").option(option, "k")
    refused(lambda: keyed.saveAsTable(name), option, hint)
    refused(lambda: keyed.format("keyfold").save(path), option, hint)
    made = rows.writeTo(name).tableProperty("primary-key", "k").option(option, "k")
    refused(made.create, option, hint)
    assert not spark.catalog.tableExists(name)
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("read-optimised", "did you mean read-optimized?"),
        ("source.split.target.size", "did you mean source.split.target-size?"),
        ("target-columns", "is unknown"),
        ("bucket", "the call says"),
        ("scan.mode", "option scan.mode = '3' is not supported"),
        ("branch", "t$branch_NAME"),
        ("read.changelog", "t$audit_log"),
        ("write.merge-schema", "mergeSchema adds columns"),
    ],
)
def test_unknown_options_of_reads(
    spark: SparkSession, table: str, warehouse: Path, option: str, hint: str
) -> None:
    namespace, name = table.split(".")[1:]
    path = f"{warehouse}/{namespace}.db/{name}"
    reads: list[Callable[[], object]] = [
        lambda: spark.sql(f"SELECT * FROM {table} WITH ('{option}' = '3')").collect(),
        lambda: spark.read.option(option, "3").table(table).collect(),
        lambda: spark.read.option(option, "3").format("keyfold").load(path).collect(),
    ]
    for read in reads:
        refused(read, option, hint)


@pytest.mark.usefixtures("table")
def test_unknown_options_of_metadata(spark: SparkSession) -> None:
    reader = spark.read.option("read-optimized", "true")
    files = reader.table("keyfold.it.`call_options$files`")
    refused(files.collect, "option read-optimized is unknown", "versionAsOf")


def test_what_spark_puts_there_and_what_the_table_has_pass(
    spark: SparkSession, table: str, rows: DataFrame, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    stored = {"primary-key": "k", "bucket": "2", "comment": "c", "mergeSchema": "false"}
    for mode in ("error", "append", "overwrite"):
        rows.write.options(**stored).mode(mode).saveAsTable(name)
    rows.writeTo(name).option("Target_Columns", "k,a").option("bucket", "2").append()
    rows.write.option("partitionOverwriteMode", "dynamic").mode("overwrite").insertInto(name)
    read = spark.read.option("Read-Optimized", "true").option("bucket", "2").table(name)
    assert read.count() <= spark.table(name).count() == 1


def test_a_write_may_leave_compaction_to_others(spark: SparkSession, table: str) -> None:
    name = f"{table}_alone"
    spark.sql(
        f"CREATE TABLE {name} (k INT, PRIMARY KEY (k) NOT ENFORCED) "
        "TBLPROPERTIES ('bucket' = '1', 'num-sorted-run.compaction-trigger' = '2')"
    )
    row, path = spark.sql("SELECT 1 AS k"), f"{name}$files".split(".")

    def levels() -> list[int]:
        files = spark.table(".".join([*path[:-1], f"`{path[-1]}`"]))
        return sorted(one.level for one in files.collect())

    spark.sql(f"INSERT INTO {name} WITH ('write-only' = 'true') VALUES (1)")
    spark.sql(f"INSERT INTO {name} /*+ OPTIONS('write-only' = 'true') */ VALUES (1)")
    row.writeTo(name).option("write-only", "true").append()
    assert levels() == [0, 0, 0]
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    assert len(levels()) == 1


def test_an_option_of_the_table_is_not_changed_by_a_write(
    table: str, rows: DataFrame, fresh_name: Callable[[], str]
) -> None:
    append = rows.writeTo(table).option("num-levels", "9").append
    refused(append, "num-levels", "ALTER TABLE")
    created = rows.writeTo(fresh_name()).tableProperty("primary-key", "k").option("bucket", "8")
    refused(created.create, "bucket", "tableProperty")
