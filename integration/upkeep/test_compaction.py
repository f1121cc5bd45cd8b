"""Compaction through Spark: after writes and by CALL, for every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from integration.keyed import create_keyed
from integration.paimon import stored
from integration.planning.plans import settle

# Options of each engine; then the rows of the n-th INSERT: key, value, a text that may be NULL.
ENGINES = {
    "deduplicate": "",
    "first-row": "'merge-engine' = 'first-row'",
    "versioned": "'table.merge-engine' = 'versioned', "
    "'table.merge-engine.versioned.ver-column' = 'v'",
    "partial-update": "'merge-engine' = 'partial-update', 'fields.v.sequence-group' = 'w'",
    "aggregation": "'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum', "
    "'fields.w.aggregate-function' = 'listagg'",
}
ROWS = (
    "SELECT CAST(id % 7 AS INT), CAST((id * 31 + {n} * 17) % 11 AS BIGINT), "
    "IF((id + {n}) % 3 = 0, NULL, concat(id, '-', {n})) FROM range({n}, {n} + 5)"
)
JOBS = 11
TRIGGER, TOP = 5, 5


def create(
    spark: SparkSession,
    name: str,
    *options: str,
    columns: str = "v BIGINT, w STRING",
    buckets: int = 1,
) -> str:
    """A table with the key k."""
    given = ", ".join([f"'bucket' = '{buckets}'", *filter(None, options)])
    spark.sql(
        f"CREATE TABLE {name} (k INT, {columns}, PRIMARY KEY (k) NOT ENFORCED) "
        f"TBLPROPERTIES ({given})"
    )
    return name


def levels(warehouse: Path, name: str) -> dict[int, int]:
    """Live files by level."""
    return stored.describe(warehouse, name.removeprefix("keyfold.")).levels


def rows(spark: SparkSession, name: str) -> list[Row]:
    return sorted(spark.table(name).collect())


def compact(spark: SparkSession, name: str, arguments: str = "") -> list[Row]:
    """The steps of a CALL."""
    return spark.sql(f"CALL keyfold.sys.compact(table => '{name}' {arguments})").collect()


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_stay_bounded_and_rows_the_same(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str], engine: str
) -> None:
    name = create(spark, fresh_name(), ENGINES[engine])
    never = create(spark, fresh_name(), ENGINES[engine], "'write-only' = 'true'")
    for n in range(JOBS):
        for table in (name, never):
            spark.sql(f"INSERT INTO {table} {ROWS.format(n=n)}")
        assert rows(spark, name) == rows(spark, never)
    folder = warehouse / "it.db" / name.rpartition(".")[2] / "snapshot"
    kinds = ["COMPACT" in path.read_text() for path in folder.glob("snapshot-*")]
    assert sum(kinds) >= 1
    assert sum(levels(warehouse, name).values()) <= TRIGGER
    if engine == "first-row":
        assert 0 not in levels(warehouse, name)
    before = rows(spark, name)
    for table in (name, never):
        compact(spark, table)
        assert set(levels(warehouse, table)) == {TOP}
        assert rows(spark, table) == before
    spark.sql(f"INSERT INTO {name} {ROWS.format(n=JOBS)}")
    spark.sql(f"INSERT INTO {never} {ROWS.format(n=JOBS)}")
    assert rows(spark, name) == rows(spark, never)


def test_all_buckets_of_a_compaction_are_one_commit(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), buckets=4)
    insert = "SELECT CAST(id AS INT), id, 'x' FROM range(40)"
    for _ in range(JOBS):
        spark.sql(f"INSERT INTO {name} {insert}")
    folder = warehouse / "it.db" / name.rpartition(".")[2]
    texts = [path.read_text() for path in folder.glob("snapshot/snapshot-*")]
    compactions = sum("COMPACT" in text for text in texts)
    assert 1 <= compactions <= JOBS // (TRIGGER - 1) + 1
    assert len(texts) == JOBS + compactions
    steps = compact(spark, name)
    assert [step.status for step in steps] == ["committed"] * 4
    assert {step.snapshot_id for step in steps} == {len(texts) + 1}
    assert len(list(folder.glob("manifest/manifest-list-*"))) == 2 * (len(texts) + 1)


def test_write_only_tables_are_left_alone(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), "'write-only' = 'true'")
    for n in range(9):
        spark.sql(f"INSERT INTO {name} {ROWS.format(n=n)}")
    assert levels(warehouse, name) == {0: 9}
    (step,) = compact(spark, name)
    assert (step.status, step.files_before, step.files_after) == ("committed", 9, 1)
    assert (step.rows_before, step.rows_after) == (45, spark.table(name).count())
    assert (step.partition, step.bucket, step.level) == (None, 0, TOP)
    assert [again.status for again in compact(spark, name)] == ["skipped"]


def test_minor_waits_until_runs_are_due(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), "'write-only' = 'true'")
    for n in range(TRIGGER):
        (step,) = (
            compact(spark, name, ", compact_strategy => 'minor'") if n else [Row(status="skipped")]
        )
        assert step.status == "skipped"
        spark.sql(f"INSERT INTO {name} {ROWS.format(n=n)}")
    (step,) = compact(spark, name, ", compact_strategy => 'minor'")
    assert step.status == "committed"
    assert 0 not in levels(warehouse, name)
    spark.sql(f"INSERT INTO {name} {ROWS.format(n=9)}")
    spark.sql(f"INSERT INTO {name} {ROWS.format(n=10)}")
    asked = ", compact_strategy => 'minor', options => 'num-sorted-run.compaction-trigger=2'"
    assert [step.status for step in compact(spark, name, asked)] == ["committed"]


def test_partitions_and_bytes_bound_the_work(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(spark, name, "p INT, k INT", key="p, k", by="p", bucket=1, write_only=True)
    for n in range(3):
        spark.sql(f"INSERT INTO {name} SELECT CAST(id % 4 AS INT), {n} FROM range(8)")
    before = rows(spark, name)
    (step,) = compact(spark, name, ", partitions => 'p=2'")
    assert (step.partition, step.status) == ("p=2", "committed")
    done = compact(spark, name, ", where => 'p IN (1, 2)'")
    assert [(step.partition, step.status) for step in done] == [("p=1", "committed")]
    size = sum(step.bytes_before for step in compact(spark, name, ", dry_run => true"))
    part = compact(spark, name, f", max_bytes => {size - 1}")
    assert [step.status for step in part] == ["committed"]
    rest = compact(spark, name)
    assert [step.status for step in rest] == ["committed"]
    assert {part[0].partition, rest[0].partition} == {"p=0", "p=3"}
    assert rows(spark, name) == before


def test_partitions_are_shown_as_they_are_named(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(
        spark, name, "p STRING, d DATE, k INT", key="p, d, k", by="p, d", bucket=1, write_only=True
    )
    for k in (1, 2):
        spark.sql(f"INSERT INTO {name} VALUES ('it''s', DATE '2024-01-31', {k})")
    (step,) = compact(spark, name, ", dry_run => true")
    assert step.partition == "p=it's/d=2024-01-31"
    again = step.partition.replace("'", "''").replace("/", ",")
    (step,) = compact(spark, name, f", partitions => '{again}'")
    assert step.status == "committed"
    rows = [*compact(spark, name, ", partitions => 'p=none'")]
    reason = "no partition that holds rows is among those asked for"
    assert [row.message for row in rows] == [reason]


def test_a_bucket_is_cut_into_tasks_and_the_job_says_what_it_is(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), "'write-only' = 'true'", columns="w STRING")
    for n in range(2):
        values = f"sha2(CAST(id * 2 + {n} AS STRING), 512)"
        spark.sql(f"INSERT INTO {name} SELECT CAST(id AS INT), {values} FROM range(300000)")
    context = spark.sparkContext
    context.setJobGroup("compaction", "mine")
    try:
        (step,) = compact(spark, name)
        assert context.getLocalProperty("spark.job.description") == "mine"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    assert (step.status, step.rows_before, step.rows_after) == ("committed", 600_000, 300_000)
    settle(spark)
    (job,) = context.statusTracker().getJobIdsForGroup("compaction")
    (stage,) = context.statusTracker().getJobInfo(job).stageIds
    assert context.statusTracker().getStageInfo(stage).numTasks >= 2
    described = spark._jsc.sc().statusStore().job(job).description().get()
    assert described.startswith(f"keyfold: compact {name}: 1 step, 2 tasks"), described
    assert set(levels(warehouse, name)) == {TOP}
    one = spark.sql(
        f"SELECT count(*), sum(CAST(w = sha2(CAST(k * 2 + 1 AS STRING), 512) AS INT)) FROM {name}"
    )
    assert tuple(one.first()) == (300_000, 300_000)


def test_a_step_that_fails_ends_alone_and_no_write(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "p INT, k INT, v TINYINT",
        key="p, k",
        by="p",
        bucket=1,
        merge_engine="aggregation",
        folds={"v": "sum"},
    )
    for _ in range(TRIGGER + 1):
        spark.sql(f"INSERT INTO {name} VALUES (1, 1, 100Y), (2, 1, 1Y)")
    by_partition = {step.partition: step for step in compact(spark, name)}
    assert by_partition["p=1"].status == "failed"
    assert "no stored row is lost" in by_partition["p=1"].message
    assert by_partition.get("p=2", Row(status="committed")).status == "committed"
    assert tuple(spark.sql(f"SELECT v FROM {name} WHERE p = 2").first()) == (TRIGGER + 1,)
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN v TYPE BIGINT")
    assert [step.status for step in compact(spark, name, ", partitions => 'p=1'")] == ["committed"]
    assert spark.sql(f"SELECT v FROM {name} WHERE p = 1").first()[0] == 100 * (TRIGGER + 1)


def test_overwriting_is_followed_by_compaction(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = create(spark, fresh_name(), ENGINES["first-row"])
    spark.sql(f"INSERT INTO {name} {ROWS.format(n=1)}")
    spark.sql(f"INSERT OVERWRITE {name} {ROWS.format(n=2)}")
    assert levels(warehouse, name) == {TOP: 1}
    assert spark.table(name).count() == 5


def test_inserts_from_the_table_itself(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    name = create(spark, fresh_name(), ENGINES["aggregation"])
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 'a')")
    for _ in range(9):
        spark.sql(f"INSERT INTO {name} SELECT k, v, NULL FROM {name}")
    assert rows(spark, name) == [Row(k=1, v=512, w="a")]
