"""Workers: freed by what fails, missed loudly when they die, and never left behind by a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.faults import harness, processes
from integration.keyed import create_keyed

WIDE_LENGTH = 32 * 300


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What faults do where a task has one attempt."""
    return harness.run("faults", tmp_path_factory.mktemp("once"), "local[2]")


def test_a_killed_worker_is_an_error_that_says_so(once: Any) -> None:
    killed = once["killed"]
    assert killed["victims"]
    assert "killed by signal 9" in killed["error"]
    assert killed["answer"] is None
    assert killed["count"] == harness.ROWS


def test_a_cancelled_job_frees_its_workers(once: Any) -> None:
    cancelled = once["cancelled"]
    assert cancelled["readers"] > 0
    assert "cancel" in cancelled["error"].lower()
    assert cancelled["freed"]
    assert cancelled["more"] == 0


def test_a_killed_writer_leaves_the_table_as_it_was(once: Any) -> None:
    assert once["writer"]["writers"] > 0
    assert "killed by signal 9" in once["writer"]["error"]
    assert (once["writer"]["more"], once["writer"]["changed"]) == (0, 0)


def test_a_killed_fork_server_is_started_again(once: Any) -> None:
    assert once["server"]["writers"] > 0
    assert "its fork server ended" in once["server"]["error"]
    assert (once["server"]["more"], once["server"]["changed"]) == (0, 0)


def test_too_little_memory_names_the_setting_first(once: Any) -> None:
    capped = once["capped"]
    said = capped["errors"]["96m"].splitlines()[0]
    assert "spark.keyfold.worker.memory" in said
    assert "write-buffer-size" in said
    assert capped["errors"]["much"].startswith("spark.keyfold.worker.memory is 'much'")
    assert capped["more"] == 0


def test_rows_beyond_the_cap_spill(once: Any) -> None:
    assert once["capped"]["spilled"] == harness.SPILLED


def test_nothing_outlives_a_stopped_session(once: Any) -> None:
    assert len(once["workers"]) >= 2
    assert processes.wait_until(lambda: not processes.alive(once["workers"]))


def test_spark_retries_after_a_killed_worker(tmp_path: Path) -> None:
    answer = harness.run("faults", tmp_path, "local[2,4]")
    killed, writer = answer["killed"], answer["writer"]
    assert killed["victims"]
    assert killed["error"] == ""
    assert killed["answer"] == harness.ROWS * WIDE_LENGTH
    assert writer["writers"] > 0
    assert writer["error"] == ""
    assert (writer["more"], writer["changed"]) == (harness.MANY, harness.CHANGED)


def test_nothing_outlives_a_program_that_just_ends(tmp_path: Path) -> None:
    answer = harness.run("linger", tmp_path)
    assert len(answer["workers"]) >= 2
    assert processes.wait_until(lambda: not processes.alive(answer["workers"]))
    assert processes.wait_until(lambda: not Path(answer["directory"]).exists())


def test_workers_spill_where_spark_does(spark: SparkSession, folder: Path) -> None:
    spark.sql("SHOW NAMESPACES IN keyfold").collect()
    (server,) = processes.children(harness.jvm_of(spark)) & harness.children_of(spark)
    environment = Path(f"/proc/{server}/environ").read_text().split("\0")
    (local,) = (e for e in environment if e.startswith("SPARK_LOCAL_DIRS="))
    assert local == f"SPARK_LOCAL_DIRS={folder}/scratch"


def test_workers_are_reused(spark: SparkSession) -> None:
    create_keyed(spark, "keyfold.it.reused", "id INT", key="id")
    spark.sql("INSERT INTO keyfold.it.reused VALUES (1)")
    seen = []
    for _ in range(5):
        spark.sql("SELECT * FROM keyfold.it.reused").collect()
        seen.append(harness.children_of(spark))
    assert len(set.union(*seen)) <= len(seen[0]) + 1, seen
