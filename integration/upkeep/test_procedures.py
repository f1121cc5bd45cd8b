"""CALL: which procedures there are, the arguments they take, and what they say of wrong ones."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from integration.keyed import create_keyed, properties
from keyfold.procedures import procedures

TABLE = "keyfold.it.upkeep"


@pytest.fixture(scope="module", autouse=True)
def table(spark: SparkSession) -> Iterator[str]:
    """Partitions of two columns, three runs in each bucket; nothing compacts them but a CALL."""
    create_keyed(
        spark,
        TABLE,
        "k INT, dt STRING, hh INT, v INT",
        key="dt, hh, k",
        by="dt, hh",
        bucket=1,
        write_only=True,
    )
    for v in range(3):
        spark.sql(
            f"INSERT INTO {TABLE} VALUES (1, 'a', 1, {v}), (2, 'b', 1, {v}), (2, 'b', 2, {v})"
        )
    yield TABLE
    spark.sql(f"DROP TABLE {TABLE}")


def planned(spark: SparkSession, arguments: str) -> list[str]:
    """The partitions that a compaction would touch."""
    rows = spark.sql(
        f"CALL keyfold.sys.compact(table => 'it.upkeep', dry_run => true, {arguments})"
    ).collect()
    assert {row.status for row in rows} <= {"planned", "skipped"}
    return sorted(row.partition for row in rows if row.status == "planned")


def test_they_are_listed_and_described(spark: SparkSession) -> None:
    names = sorted(procedures())
    for place in ("keyfold", "keyfold.sys"):
        found = spark.sql(f"SHOW PROCEDURES IN {place}").collect()
        assert sorted(row.procedure_name for row in found) == names
    assert spark.sql("SHOW PROCEDURES IN keyfold.it").collect() == []
    lines = [row[0] for row in spark.sql("DESCRIBE PROCEDURE keyfold.sys.compact").collect()]
    assert any("max_bytes" in line and "BIGINT" in line for line in lines), lines
    lines = [row[0] for row in spark.sql("DESCRIBE PROCEDURE keyfold.sys.nope").collect()]
    assert any("no procedure keyfold.sys.nope" in line for line in lines), lines


@pytest.mark.parametrize(
    ("where", "partitions"),
    [
        ("dt = 'b'", ["dt=b/hh=1", "dt=b/hh=2"]),
        ("DT = 'b' AND hh > 3 - 2", ["dt=b/hh=2"]),
        ("dt IN ('a', 'c') OR hh = 2", ["dt=a/hh=1", "dt=b/hh=2"]),
        ("NOT dt LIKE 'b%'", ["dt=a/hh=1"]),
        ("dt >= date_format(current_date(), 'yyyy')", ["dt=a/hh=1", "dt=b/hh=1", "dt=b/hh=2"]),
        ("true", ["dt=a/hh=1", "dt=b/hh=1", "dt=b/hh=2"]),
        ("false", []),
        ("hh IS NULL", []),
    ],
)
def test_where_chooses_partitions(spark: SparkSession, where: str, partitions: list[str]) -> None:
    assert planned(spark, f'where => "{where}"') == partitions


def test_partitions_are_named_as_in_paimon(spark: SparkSession) -> None:
    assert planned(spark, "partitions => 'dt=b,hh=2;dt=a'") == ["dt=a/hh=1", "dt=b/hh=2"]


def test_a_dry_run_does_nothing(spark: SparkSession) -> None:
    def files() -> set[str]:
        return {row[0] for row in spark.sql(f"SELECT input_file_name() FROM {TABLE}").collect()}

    before = files(), spark.table(TABLE).collect()
    (row,) = spark.sql(
        "CALL keyfold.sys.compact('it.upkeep', where => \"dt = 'a'\", dry_run => true)"
    ).collect()
    assert (row.status, row.partition, row.bucket, row.files_before) == (
        "planned",
        "dt=a/hh=1",
        0,
        3,
    )
    assert (row.files_after, row.snapshot_id) == (None, None)
    assert before == (files(), spark.table(TABLE).collect())


def test_a_table_is_named_in_any_way(spark: SparkSession) -> None:
    for name in ("keyfold.it.upkeep", "it.upkeep", "`it`.`upkeep`"):
        rows = spark.sql(f"CALL keyfold.sys.compact('{name}', dry_run => true)").collect()
        assert len(rows) == 3
    session = spark.newSession()
    session.sql("USE keyfold.it")
    assert len(session.sql("CALL sys.compact('upkeep', dry_run => true)").collect()) == 3
    for target in ("copied", "keyfold.it.`copied 2`"):
        session.sql(f"CALL sys.clone('upkeep', '{target}')")
    assert session.table("it.copied").count() == session.table("it.`copied 2`").count() > 0
    for target in ("copied", "`copied 2`"):
        session.sql(f"DROP TABLE keyfold.it.{target}")


@pytest.mark.parametrize(
    "options", ["'target-file-size=1 mb, num-levels=3'", "map('num-levels', 3)"]
)
def test_options_are_text_or_a_map(spark: SparkSession, options: str) -> None:
    assert len(planned(spark, f"options => {options}")) == 3


def test_an_unknown_option_is_refused(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="num-level"):
        planned(spark, "options => 'num-level=3'")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("compact(table => 'it.upkeep', where => 'v = 1')", "it takes dt, hh; found v"),
        ("compact(table => 'it.upkeep', where => 'nope = 1')", "nope"),
        ("compact(table => 'it.upkeep', where => 'dt =')", "'dt ='.*[Ss]yntax error"),
        ("compact(table => 'it.upkeep', where => 'rand() < 1')", "not deterministic"),
        ("compact(table => 'it.upkeep', where => 'dt = (SELECT \"a\")')", "subquery"),
        ("compact(table => 'it.upkeep', where => 'hh % 2 = 0 AND hh')", "BOOLEAN"),
        ("compact(table => 'it.upkeep', partitions => 'day=1')", "day"),
        ("compact(table => 'it.upkeep', compact_strategy => 'half')", "'full' or 'minor'"),
        ("compact(table => 'it.upkeep', order_by => 'k')", "ordered by their key"),
        ("compact(table => 'it.upkeep', order_strategy => 'zorder')", "ordered by their key"),
        ("compact(table => 'it.upkeep', options => 'num-levels')", "expected name=value"),
        ("compact(table => 'it.upkeep', bogus => 1)", "bogus"),
        ("compact()", "table"),
        ("compact(table => NULL)", "table is NULL or empty"),
        ("compact(table => '')", "table is NULL or empty"),
        ("compact('it.upkeep', options => 'merge-engine=first-row')", "for one call"),
        ("compact('it.upkeep', options => map('bucket', 7))", "for one call"),
        ("compact('it.upkeep', max_bytes => -1)", "max_bytes is -1; expected 1 or more"),
        ("expire_snapshots('it.upkeep', max_deletes => 0)", "max_deletes is 0"),
        ("expire_snapshots('it.upkeep', options => 'sequence.field=v')", "for one call"),
        ("compact(table => 'it.nothing')", "cannot be found"),
        ("compact(table => 'spark_catalog.it.t')", "in catalog spark_catalog"),
        ("compress(table => 'it.upkeep')", "no procedure keyfold.sys.compress: keyfold.sys has "),
    ],
)
def test_what_is_wrong_is_said(spark: SparkSession, call: str, said: str) -> None:
    with pytest.raises(AnalysisException, match=f"(?s){said}"):
        spark.sql(f"CALL keyfold.sys.{call}")


def test_a_table_without_partitions_has_no_where(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "k INT")
    with pytest.raises(AnalysisException, match="the table has no partitions; found k"):
        spark.sql(f"CALL keyfold.sys.compact('{name}', where => 'k = 1')")
    assert spark.sql(f"CALL keyfold.sys.compact('{name}')").collect() in (
        [],
        [
            Row(
                *[None] * 10,
                "skipped",
                spark.sql(f"CALL keyfold.sys.compact('{name}')").first()[-1],
            )
        ],
    )


def written(spark: SparkSession, name: str, times: int) -> str:
    """A table that only its CALLs keep in order."""
    create_keyed(spark, name, "k INT, v INT", bucket=1, write_only=True)
    for v in range(times):
        spark.sql(f"INSERT INTO {name} VALUES (1, {v})")
    return name


def test_tables_that_are_named_are_compacted(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = written(spark, fresh_name(), 2).removeprefix("keyfold.")
    call = f"CALL keyfold.sys.compact_database(including_tables => '{name}|nowhere')"
    found = [spark.sql(call).collect() for _ in range(2)]
    assert [[(r.table, r.steps, r.status) for r in rows] for rows in found] == [
        [(name, 1, "committed")],
        [(name, 0, "skipped")],
    ]
    with pytest.raises(AnalysisException, match="expected a regular expression"):
        spark.sql("CALL keyfold.sys.compact_database('[')")


def test_files_get_filters(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = written(spark, fresh_name(), 2)
    columns = {"file-index.bloom-filter.columns": "k,v", "file-index.bloom-filter.k.items": "9"}
    spark.sql(f"ALTER TABLE {name} SET {properties(columns).strip()}")
    call = f"CALL keyfold.sys.rewrite_file_index('{name}')"
    assert [tuple(spark.sql(call).first() or ()) for _ in range(2)] == [(1, 2), (0, 0)]
    spark.sql(f"INSERT INTO {name} VALUES (3, 3)")
    assert tuple(spark.sql(call).first() or ()) == (0, 0)
    assert spark.sql(f"SELECT v FROM {name} WHERE k = 3").collect() == [Row(v=3)]
    assert spark.sql(f"SELECT v FROM {name} WHERE k = 2").collect() == []
    assert spark.sql(f"SELECT v FROM {name} WHERE v = 0").collect() == []


@pytest.mark.parametrize(
    "arguments",
    [
        "retain_max => 2, retain_min => 1",
        "retain_min => 1, options => 'snapshot.num-retained.max=2,snapshot.num-retained.min=1'",
        "retain_min => 2, older_than => current_timestamp() + INTERVAL 1 HOUR",
        "retain_min => 1, older_than => '2999-01-01 00:00:00', max_deletes => 3",
    ],
)
def test_snapshots_expire(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str], arguments: str
) -> None:
    name = written(spark, fresh_name(), 5)
    (row,) = spark.sql(f"CALL keyfold.sys.expire_snapshots('{name}', {arguments})").collect()
    assert row.asDict() == {"deleted_snapshots_count": 3}
    folder = warehouse / "it.db" / name.rpartition(".")[2] / "snapshot"
    assert sorted(path.name for path in folder.glob("snapshot-*")) == ["snapshot-4", "snapshot-5"]
    assert spark.table(name).collect() == [Row(k=1, v=4)]


def test_orphans_are_named_and_then_removed(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = written(spark, fresh_name(), 2)
    bucket = warehouse / "it.db" / name.rpartition(".")[2] / "bucket-0"
    old, young = (bucket / f"data-{uuid.uuid4()}-0.parquet" for _ in range(2))
    for path in (old, young):
        path.write_bytes(b"nobody's")
    days_ago = time.time() - 3 * 86400
    os.utime(old, (days_ago, days_ago))
    (dry,) = spark.sql(f"CALL keyfold.sys.remove_orphan_files('{name}', dry_run => true)").collect()
    assert (dry.deletedFileCount, dry.deletedFileTotalLenInBytes) == (1, len(b"nobody's"))
    assert [Path(path).name for path in dry.files] == [old.name]
    assert old.exists()
    (done,) = spark.sql(f"CALL keyfold.sys.remove_orphan_files('{name}')").collect()
    assert done == dry
    assert (old.exists(), young.exists()) == (False, True)
    call = f"CALL keyfold.sys.remove_orphan_files('{name}', older_than => '2999-01-01 00:00:00')"
    with pytest.raises(AnalysisException, match="older"):
        spark.sql(call)
    assert spark.table(name).collect() == [Row(k=1, v=1)]
