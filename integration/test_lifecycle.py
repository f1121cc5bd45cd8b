"""Workers: freed by what fails, missed loudly when they die, and never left behind by a JVM."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration import processes, scenarios

WIDE_LENGTH = 32 * 300


def test_a_killed_worker_is_an_error_that_says_so(tmp_path: Path) -> None:
    answer = scenarios.run("killed_worker", tmp_path, "local[2]")
    assert answer["victims"]
    assert "killed by signal 9" in answer["error"]
    assert answer["answer"] is None
    assert answer["count"] == 20_000


def test_spark_retries_after_a_killed_worker(tmp_path: Path) -> None:
    answer = scenarios.run("killed_worker", tmp_path, "local[2,4]")
    assert answer["victims"]
    assert answer["error"] == ""
    assert answer["answer"] == 20_000 * WIDE_LENGTH


def test_a_cancelled_job_frees_its_workers(tmp_path: Path) -> None:
    answer = scenarios.run("cancelled", tmp_path)
    assert answer["readers"] > 0
    assert "cancel" in answer["error"].lower()
    assert answer["freed"]
    assert answer["count"] == 20_000


@pytest.mark.parametrize("ending", ["stop", "exit"])
def test_nothing_outlives_the_session(tmp_path: Path, ending: str) -> None:
    answer = scenarios.run("linger", tmp_path, ending)
    assert len(answer["workers"]) >= 2
    assert processes.wait_until(lambda: not processes.alive(answer["workers"]))


def test_nothing_outlives_a_killed_jvm(tmp_path: Path) -> None:
    with subprocess.Popen(
        scenarios.command("linger", tmp_path, "wait"),
        cwd=scenarios.TOP,
        env=scenarios.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith(scenarios.ANSWER))
        answer = json.loads(line.removeprefix(scenarios.ANSWER))
        assert len(processes.alive(answer["workers"])) >= 2
        processes.kill(answer["jvm"])
        gone = processes.wait_until(lambda: not processes.alive(answer["workers"]))
        process.kill()
    assert gone


def test_workers_are_reused(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE keyfold.it.reused (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO keyfold.it.reused VALUES (1)")
    seen = []
    for _ in range(5):
        spark.sql("SELECT * FROM keyfold.it.reused").collect()
        seen.append(scenarios.children_of(spark))
    assert len(set.union(*seen)) <= len(seen[0]) + 1, seen
