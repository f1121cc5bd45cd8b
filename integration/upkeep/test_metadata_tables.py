"""Metadata tables and `t$ro` in SQL and DataFrames: read, filtered, joined, never written."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

import keyfold
from integration.keyed import create_keyed
from integration.planning.plans import assert_ours, plan_of

FULL = ("snapshots", "files", "options", "partitions", "buckets", "schemas", "manifests")
TABLES = (*FULL, "tags", "branches", "consumers", "statistics")


@pytest.fixture
def table(spark: SparkSession, fresh_name: Callable[[], str]) -> str:
    """Three jobs in two partitions; `base`.`name$…` are its metadata tables."""
    name = fresh_name()
    create_keyed(
        spark, name, "p STRING, k INT, v STRING", key="p, k", by="p", bucket=1, write_only=True
    )
    for p, keys in (("a", 10), ("a", 5), ("b", 7)):
        spark.sql(f"INSERT INTO {name} SELECT '{p}', id, 'x' FROM range({keys})")
    return name


def of(table: str, suffix: str) -> str:
    """The full name of a metadata table, as SQL takes it."""
    catalog, namespace, name = table.split(".")
    return f"{catalog}.{namespace}.`{name}${suffix}`"


@pytest.mark.parametrize("suffix", TABLES)
def test_each_is_read(spark: SparkSession, table: str, suffix: str) -> None:
    frame = spark.table(of(table, suffix))
    rows = frame.collect()
    assert bool(rows) == (suffix in FULL)
    assert spark.table(of(table, suffix.upper())).count() == len(rows)
    assert spark.sql(f"DESCRIBE {of(table, suffix)}").count() == len(frame.columns)


def test_filters_order_and_points_in_time(spark: SparkSession, table: str) -> None:
    frame = spark.sql(
        f"SELECT snapshot_id, commit_kind, commit_time FROM {of(table, 'snapshots')} "
        "WHERE snapshot_id >= 2 AND commit_time > current_timestamp() - INTERVAL 10 MINUTES "
        "ORDER BY snapshot_id DESC"
    )
    assert [row[:2] for row in frame.collect()] == [(3, "APPEND"), (2, "APPEND")]
    assert dict(frame.dtypes)["commit_time"] == "timestamp_ntz"
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    assert all(
        abs(now - row.commit_time) < datetime.timedelta(minutes=10) for row in frame.collect()
    )


def test_they_join_with_each_other_and_the_table(spark: SparkSession, table: str) -> None:
    joined = spark.sql(
        f"SELECT p.partition, p.record_count, count(*), sum(f.record_count) FROM "
        f"{of(table, 'partitions')} p JOIN {of(table, 'files')} f USING (partition) "
        "GROUP BY ALL ORDER BY 1"
    )
    assert [tuple(row) for row in joined.collect()] == [("p=a", 15, 2, 15), ("p=b", 7, 1, 7)]
    frame = spark.sql(
        f"SELECT t.p, count(*) AS n, max(f.file_count) FROM {table} t "
        f"JOIN {of(table, 'buckets')} f ON f.partition = concat('p=', t.p) GROUP BY t.p ORDER BY 1"
    )
    assert [tuple(row) for row in assert_ours(frame).collect()] == [("a", 10, 2), ("b", 7, 1)]


def test_only_the_wanted_columns_are_made(spark: SparkSession, table: str) -> None:
    frame = spark.table(of(table, "files")).where("level = 0").select("bucket")
    assert "LocalTableScan" in plan_of(frame)
    assert "min_value_stats" not in plan_of(frame)
    assert frame.count() == 3
    assert spark.sql(f"SELECT count(*) FROM {of(table, 'files')}").collect()[0][0] == 3


def test_conditions_are_sparks_where_the_table_has_such_columns(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = create_keyed(
        spark, fresh_name(), "partition INT, level INT", key="partition, level", by="partition"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 7), (2, 7)")
    files = spark.table(of(name, "files"))
    assert files.where("level = 7").count() == 0
    assert files.where("level = 0 AND partition = 'partition=2'").count() == 1
    assert files.where("partition IN ('partition=1', 'partition=3')").count() == 1
    assert len(files.limit(1).collect()) == 1


def test_a_new_snapshot_is_seen(spark: SparkSession, table: str) -> None:
    frame = spark.table(of(table, "snapshots"))
    assert frame.count() == 3
    spark.sql(f"INSERT INTO {table} VALUES ('c', 1, 'x')")
    assert spark.table(of(table, "snapshots")).count() == 4


def test_read_optimized_is_the_highest_level(spark: SparkSession, table: str) -> None:
    ro = of(table, "ro")
    assert spark.table(ro).count() == 0
    spark.sql(f"CALL keyfold.sys.compact(table => '{table.split('.', 1)[1]}')").collect()
    spark.sql(f"INSERT INTO {table} VALUES ('a', 1, 'new'), ('a', 100, 'new')")
    frame = spark.sql(f"SELECT k, v FROM {ro} WHERE p = 'a' AND k < 3 ORDER BY k")
    assert [tuple(row) for row in assert_ours(frame).collect()] == [(0, "x"), (1, "x"), (2, "x")]
    assert spark.table(ro).count() == 17
    assert spark.table(table).where("v = 'new'").count() == 2
    same = spark.read.option("read-optimized", "true").table(table)
    assert sorted(same.collect()) == sorted(spark.table(ro).collect())


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT * FROM {nope}", r"no metadata table \$nope; there are \$snapshots, \$files"),
        ("INSERT INTO {options} VALUES ('a', 'b')", "does not support append"),
        ("INSERT INTO {ro} VALUES ('a', 1, 'b')", "does not support append"),
        ("INSERT OVERWRITE {ro} VALUES ('a', 1, 'b')", "does not support"),
        ("DELETE FROM {files} WHERE bucket = 0", "does not support"),
        ("TRUNCATE TABLE {files}", "does not support"),
        ("DROP TABLE {files}", "read only"),
        ("ALTER TABLE {files} ADD COLUMN x INT", "read only"),
        ("ALTER TABLE {ro} SET TBLPROPERTIES ('bucket' = '3')", "read only"),
        ("ALTER TABLE {table} RENAME TO keyfold.it.`a$b`", "not allowed"),
        ("CREATE TABLE keyfold.it.`none$files` (k INT)", "not allowed"),
    ],
)
def test_they_are_not_written(spark: SparkSession, table: str, statement: str, says: str) -> None:
    names = {suffix: of(table, suffix) for suffix in (*TABLES, "nope", "ro")}
    with pytest.raises(AnalysisException, match=says):
        spark.sql(statement.format(table=table, **names)).collect()


def test_a_table_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("SELECT * FROM keyfold.it.`none$files`").collect()
    assert not spark.catalog.tableExists("keyfold.it.`none$files`")


def test_a_name_with_a_backtick(spark: SparkSession) -> None:
    create_keyed(spark, "keyfold.it.`it``s`", "k INT")
    spark.sql("INSERT INTO keyfold.it.`it``s` VALUES (1)")
    assert spark.sql("SELECT * FROM keyfold.it.`it``s$files`").count() == 1


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("SELECT 'a$b', * FROM {table}$files", "`{last}$files`"),
        ("SELECT *\nFROM -- of\n{table}$branch_b$ro AS x", "`{last}$branch_b$ro`"),
        ("INSERT INTO {table}$branch_b VALUES ('a', 1, 'x')", "`{last}$branch_b`"),
        ("ALTER TABLE {table}$branch_b ADD COLUMN x INT", "`{last}$branch_b`"),
        ("CALL keyfold.sys.compact(table => 'it.{last}$branch_b')", "it.`{last}$branch_b`"),
    ],
)
def test_a_name_with_a_dollar_without_backticks(
    spark: SparkSession, table: str, statement: str, name: str
) -> None:
    last = table.split(".")[2]
    with pytest.raises(keyfold.TableError, match=r"name with a \$ needs backticks: ") as caught:
        spark.sql(statement.format(table=table, last=last))
    assert str(caught.value).endswith(name.format(last=last))


def test_a_dollar_elsewhere(spark: SparkSession, table: str) -> None:
    for statement in ("SELECT 1$2", "SELECT * FROM spark_catalog.it.t$files", "SELECT $ FROM t"):
        with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
            spark.sql(statement)
    with pytest.raises(keyfold.TableError, match="needs backticks"):
        spark.table(f"{table}$files")
    with pytest.raises(keyfold.TableError, match=r"'it.a b' can't be read as a name"):
        spark.sql("CALL keyfold.sys.compact(table => 'it.a b')")


def test_health(spark: SparkSession, table: str) -> None:
    called = spark.sql(f"CALL keyfold.sys.table_health(table => '{table.split('.', 1)[1]}')")
    rows = {row["partition"]: row.asDict() for row in called.collect()}
    assert set(rows) == {"p=a", "p=b"}
    figures = {"bucket": 0, "runs": 2, "level0_files": 2, "files": 2, "rows": 15, "delete_rows": 0}
    assert figures.items() <= rows["p=a"].items()
    assert (rows["p=a"]["read_amplification"], rows["p=a"]["advice"]) == (2.0, "")


def test_health_of_a_neglected_table(spark: SparkSession, table: str) -> None:
    for _ in range(4):
        spark.sql(f"INSERT INTO {table} VALUES ('a', 1, 'y')")
    asked = f"CALL keyfold.sys.table_health(table => '{table.split('.', 1)[1]}')"
    advice = max(row["advice"] for row in spark.sql(asked).collect())
    reason, call = advice.split("run ", 1)
    assert reason == "write-only, and no compaction for 6 runs: "
    spark.sql(call[: call.index(")") + 1]).collect()  # as it is printed
    told = {(row["runs"], row["read_amplification"]) for row in spark.sql(asked).collect()}
    assert told == {(1, 1.0)}
