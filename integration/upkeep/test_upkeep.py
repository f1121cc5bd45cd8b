"""Compaction, expiry and orphan removal by CALL, beside a job that writes all the while."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from integration.faults.processes import PATIENCE
from integration.keyed import create_keyed
from integration.planning.plans import assert_ours

COMMITS = 25


def test_procedures_beside_a_writer(
    spark: SparkSession, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "k INT, n BIGINT",
        merge_engine="aggregation",
        bucket=1,
        write_only=True,
        folds={"n": "sum"},
    )
    statuses: set[str] = set()

    def write() -> int:
        """At least so many commits, and on until one compaction was committed beside them."""
        commits, end = 0, time.monotonic() + PATIENCE
        while commits < COMMITS or ("committed" not in statuses and time.monotonic() < end):
            spark.sql(f"INSERT INTO {name} SELECT id % 10, 1 FROM range(20)")
            commits += 1
        return commits

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        while not writer.done():
            call = f"CALL keyfold.sys.compact(table => '{name}', compact_strategy => 'full')"
            statuses |= {row.status for row in spark.sql(call).collect()}
            spark.sql(f"CALL keyfold.sys.expire_snapshots(table => '{name}', retain_max => 8)")
        commits = writer.result()
    assert "committed" in statuses
    assert statuses <= {"committed", "conflict", "skipped"}
    counted = assert_ours(spark.sql(f"SELECT k, n FROM {name} ORDER BY k")).collect()
    assert [tuple(row) for row in counted] == [(k, 2 * commits) for k in range(10)]
    spark.sql(f"CALL keyfold.sys.expire_snapshots(table => '{name}', retain_max => 1)").collect()
    folder = warehouse / "it.db" / name.rsplit(".", 1)[1]
    assert len(list((folder / "snapshot").glob("snapshot-*"))) == 1
    (listed,) = spark.sql(
        f"CALL keyfold.sys.remove_orphan_files(table => '{name}', dry_run => true)"
    ).collect()
    assert (listed.deletedFileCount, listed.files) == (0, [])
    assert spark.table(name).count() == 10
