"""What Spark's plans say and do: pushed filters, columnar batches, one snapshot, one question."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours, plan_of, scans
from integration.sessions import conf
from keyfold.bridge.frames import PART_BYTES

TABLE = "keyfold.it.planned"


@pytest.fixture(scope="module", autouse=True)
def table(spark: SparkSession) -> str:
    create_keyed(
        spark, TABLE, "id BIGINT, p INT, v STRING, w DOUBLE", key="p, id", by="p", bucket=4
    )
    for offset in (0, 1000):
        spark.sql(
            f"INSERT INTO {TABLE} SELECT id, CAST(id % 2 AS INT), concat('v', id), id / 2 "
            f"FROM range({offset}, {offset + 1000})"
        )
    return TABLE


def files_read(spark: SparkSession, query: str) -> int:
    """How many data files the one scan of a query reads."""
    (line,) = scans(assert_ours(spark.sql(query)))
    found = re.search(r"(\d+) of \d+ files", line)
    assert found, line
    return int(found[1])


def test_explain_shows_what_was_pushed(spark: SparkSession) -> None:
    line = "\n".join(scans(spark.sql(f"SELECT v FROM {TABLE} WHERE p = 1 AND id = 77 LIMIT 3")))
    assert "keyfold" in line
    assert "77" in line
    assert re.search(r"\bp\b", line)


def test_only_asked_columns_are_read(spark: SparkSession) -> None:
    frame = spark.sql(f"SELECT w FROM {TABLE}")
    line = scans(frame)[0]
    assert "w#" in line
    assert "v#" not in line


def test_batches_go_into_generated_code(spark: SparkSession) -> None:
    plan = plan_of(spark.sql(f"SELECT w + 1 FROM {TABLE} WHERE w > 2"))
    assert re.search(r"\*\(1\) ColumnarToRow\n\s*\+- BatchScan", plan), plan


def test_key_filters_read_fewer_files(spark: SparkSession) -> None:
    everything = files_read(spark, f"SELECT v FROM {TABLE}")
    assert everything >= 8
    assert files_read(spark, f"SELECT v FROM {TABLE} WHERE p = 0") <= everything / 2
    assert files_read(spark, f"SELECT v FROM {TABLE} WHERE p = 0 AND id = 42") == 1
    assert spark.sql(f"SELECT v FROM {TABLE} WHERE p = 0 AND id = 42").first()[0] == "v42"


def test_small_files_of_many_buckets_share_tasks(spark: SparkSession) -> None:
    assert spark.table(TABLE).rdd.getNumPartitions() == 2


def test_statistics_let_spark_broadcast(spark: SparkSession) -> None:
    frame = spark.sql(f"SELECT count(*) FROM {TABLE} a JOIN {TABLE} b USING (p, id)")
    assert "BroadcastHashJoin" in plan_of(frame)
    size = frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()
    assert int(str(size)) > 0


def test_a_self_join_reads_one_snapshot(spark: SparkSession) -> None:
    frame = assert_ours(
        spark.sql(f"SELECT a.v FROM {TABLE} a JOIN {TABLE} b ON a.id = b.id AND a.p = b.p")
    )
    found = {m for line in scans(frame) for m in re.findall(r"snapshot[ =:]*(\d+)", line)}
    assert len(scans(frame)) == 2
    assert len(found) == 1, scans(frame)


def test_a_frame_sees_the_snapshot_of_each_run(spark: SparkSession) -> None:
    create_keyed(spark, "keyfold.it.moving", "id INT", key="id")
    spark.sql("INSERT INTO keyfold.it.moving VALUES (1)")
    assert spark.table("keyfold.it.moving").count() == 1
    spark.sql("INSERT INTO keyfold.it.moving VALUES (2)")
    assert spark.table("keyfold.it.moving").count() == 2


def test_a_plan_of_several_frames(spark: SparkSession) -> None:
    """A split names its partition four times, so that these are longer than a frame."""
    name, letters = "keyfold.it.several_frames", 230
    files = PART_BYTES // (4 * letters) + 20
    create_keyed(spark, name, "p STRING, id BIGINT", key="p, id", by="p")
    long = f"rpad(CAST(id AS STRING), {letters}, '_')"
    spark.sql(f"INSERT INTO {name} SELECT {long}, id FROM range(0, {files}, 1, 1)")
    frame = assert_ours(spark.table(name))
    assert sorted(row.id for row in frame.select("id").collect()) == list(range(files))


def test_tasks_plan_ranges_of_partitions(spark: SparkSession) -> None:
    name, option = "keyfold.it.planned_by_tasks", "keyfold.plan-in-tasks.files"
    create_keyed(spark, name, "p INT, id BIGINT, v STRING", key="p, id", by="p")
    for p in range(6):
        spark.sql(f"INSERT INTO {name} SELECT {p}, id, concat('v', id) FROM range(20)")
    with conf(spark, spark__sql__leafNodeDefaultParallelism=8):
        frame = assert_ours(spark.read.option(option, 1).table(name).where("id < 9"))
        assert "planned by 6 tasks" in plan_of(frame)
    expected = sorted(spark.table(name).where("id < 9").collect())
    assert sorted(frame.collect()) == expected
    assert len(expected) == 54
    assert "planned by" not in plan_of(spark.table(name))
