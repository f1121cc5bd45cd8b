"""Whole sessions killed: one in the middle of a MERGE, and one of two that write the table that
processes of Python write too.
"""

from __future__ import annotations

import datetime
import os
import random
import threading
import time
from pathlib import Path

from pyspark.sql import Row, SparkSession

from integration.faults import doomed, harness, processes
from keyfold.storage.table import Table
from tests.concurrency import jobs, roles, test_killed
from tests.concurrency.processes import Crew
from tests.storage import tables
from tests.storage.snapshots import data_files

SECONDS = float(os.environ.get("KEYFOLD_STRESS_SECONDS", "5"))
PYTHON_WRITERS, OURS, OTHERS = 12, 200, 100


def test_a_session_killed_in_mid_write(spark: SparkSession, tmp_path: Path) -> None:
    """SIGKILL to the JVM while tasks write: nothing is seen of the job, nothing goes on running,
    the sockets and logs of the processes are gone, and its files are orphans.
    """
    with harness.running("writing", tmp_path) as (_, answer):
        assert processes.alive(answer["workers"])
        processes.kill(answer["jvm"])
        assert processes.wait_until(lambda: not processes.alive(answer["workers"]))
    assert processes.wait_until(lambda: not Path(answer["directory"]).exists())
    spark.conf.set("spark.sql.catalog.killed", "keyfold.spark.KeyfoldCatalog")
    spark.conf.set("spark.sql.catalog.killed.warehouse", str(tmp_path / "warehouse"))
    name = "killed.s.wide"
    assert harness.rows_of(spark, name) == answer["rows"]
    assert harness.merged(spark, name) == answer["merged"]
    spark.sql(f"INSERT INTO {name} VALUES (-1, 'x')")
    total = spark.sql(f"SELECT count(*), sum(length(pad)) FROM {name}").first()
    assert total[0] == answer["rows"] + 1
    table = tables.catalog(tmp_path / "warehouse").load_table(["s"], "wide")
    left = data_files(table) - held(table)
    assert left, "the killed writer had written"
    assert orphans(spark, "").files == [], "files younger than a day may be of a job under way"
    time.sleep(1.1)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    listed = orphans(spark, f", older_than => '{now}', dry_run => true")
    assert {Path(path).name for path in listed.files} >= left
    assert data_files(table) - held(table) == left
    removed = orphans(spark, f", older_than => '{now}'")
    assert sorted(removed.files) == sorted(listed.files)
    assert data_files(table) == held(table)
    assert spark.sql(f"SELECT count(*), sum(length(pad)) FROM {name}").first() == total


def held(table: Table) -> set[str]:
    """The data files of all snapshots."""
    kept = [table.snapshots.read(number) for number in table.snapshots.ids()]
    return {file.name for snapshot in kept for file in table.manifests.live(snapshot)}


def orphans(spark: SparkSession, more: str) -> Row:
    (row,) = spark.sql(f"CALL killed.sys.remove_orphan_files(table => 's.wide'{more})").collect()
    return row


def test_writers_of_two_jvms_and_of_python_killed_at_random(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """Twenty: four threads in this session's JVM, four in another that is killed at the end,
    twelve processes of Python; workers of both JVMs are killed meanwhile, and the processes.
    KEYFOLD_STRESS_SECONDS makes it longer.
    """
    found, folder, draw = test_killed.made(tmp_path), str(tmp_path), random.Random(seed)
    test_killed.warm(folder)
    crew, done, threads = Crew(folder), threading.Event(), []
    try:
        with harness.running("writers", tmp_path, str(OTHERS)) as (_, answer):
            threads = doomed.begin(spark, folder, OURS, done)
            begun = processes.wait_until(lambda: all_commit(folder, 1), processes.DEADLINE)
            assert begun, "a JVM never starts"
            for number in range(PYTHON_WRITERS):
                crew.hire(roles.writer, f"writer-{number}")
            crew.hire(roles.compactor, "compactor")
            crew.hire(roles.expirer, "expirer")
            crew.hire(roles.reader, "reader")
            kill_at_random(crew, draw, folder, [answer["jvm"], harness.jvm_of(spark)])
            orphaned = processes.workers(answer["jvm"])
            processes.kill(answer["jvm"])
    finally:
        done.set()
        crew.dismiss()
        for thread in threads:
            thread.join(processes.DEADLINE)
    assert not any(thread.is_alive() for thread in threads)
    assert processes.wait_until(lambda: not processes.alive(orphaned))
    assert processes.wait_until(lambda: running_tasks(spark) == 0)
    test_killed.check(found, folder)
    jobs.compacted(folder)
    test_killed.check(found, folder)
    test_killed.check_disk(found, folder)
    test_killed.check(found, folder)


def kill_at_random(crew: Crew, draw: random.Random, folder: str, jvms: list[int]) -> None:
    """Kill processes of the crew and below the JVMs until the time is over and both JVMs have
    committed.
    """
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or not all_commit(folder, 5):
        assert time.monotonic() < end + processes.DEADLINE, "a JVM's writers never succeed"
        time.sleep(draw.uniform(0.2, 1.2))
        crew.kill_one(draw)
        jvm = draw.choice(jvms)
        born = sorted(processes.workers(jvm) - processes.children(jvm))
        if born and draw.random() < 0.25:
            processes.kill(draw.choice(born))


def all_commit(folder: str, times: int) -> bool:
    """Whether the writers of each JVM have committed so often."""
    writers = [int(key) >> 40 for (key,) in roles.notes(folder, "acknowledged")]
    return all(
        sum(first <= writer < first + doomed.THREADS for writer in writers) >= times
        for first in (OTHERS, OURS)
    )


def running_tasks(spark: SparkSession) -> int:
    """Tasks of the session that run, those of failed jobs too."""
    infos = spark._jsc.sc().statusTracker().getExecutorInfos()
    return sum(info.numRunningTasks() for info in infos)
