"""A job in PySpark, Scala and spark-sql on a cluster of real processes, by the recipes of
docs/clusters.md: the same answers, which are those of plain Python.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from integration import TOP
from integration.cluster import cluster_faults, clusters, job_jar, sales
from integration.cluster.clusters import Cluster, Installation
from integration.faults import processes

Told = dict[str, list[dict[str, Any]]]
Confs = Mapping[str, str]
# Which of two executors does what is tried by the job in PySpark and by the faults.
ONE_EXECUTOR = {"spark.cores.max": "1"}
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers whose own Python lacks keyfold."""
    with clusters.standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def environment(wheel_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """One with the wheel in it."""
    return clusters.installed(tmp_path_factory.mktemp("installed"), wheel_file)


def told(folder: Path) -> Told:
    """The answers that a job left, in order."""
    found: Told = {}
    for answer in folder.iterdir():
        parts = sorted(answer.glob("part-*"))
        lines = [line for part in parts for line in part.read_text().splitlines()]
        found[answer.name] = [json.loads(line) for line in lines]
    return found


class Jobs:
    """Submits jobs, each with a warehouse and answers of its own."""

    def __init__(self, cluster: Cluster, environment: Installation) -> None:
        self.cluster, self.environment = cluster, environment

    def run(
        self, folder: Path, program: str, *arguments: str, confs: Confs, archive: str = ""
    ) -> Path:
        """Run one to its end; where its answers are."""
        start = self.environment.command(program, self.cluster, folder / "warehouse", archive)
        given = {**confs, "spark.shop.answers": folder / "answers"}
        start += [f"--conf={name}={value}" for name, value in given.items()]
        self.environment.run(self.cluster, [*start, *arguments], job_jar.JOBS)
        assert_nothing_left(self.cluster)
        return folder / "answers"


def assert_nothing_left(cluster: Cluster) -> None:
    """Executors and workers of an application that has ended go."""
    assert processes.wait_until(lambda: not cluster.left()), cluster.left()


@pytest.fixture(scope="module")
def jobs(cluster: Cluster, environment: Installation) -> Jobs:
    """The cluster and the environment together."""
    return Jobs(cluster, environment)


def test_the_workers_own_python_lacks_keyfold() -> None:
    done = subprocess.run(
        ["python3", "-c", "import keyfold"],
        env=clusters.bare_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No module named 'keyfold'" in done.stderr


def test_pyspark_job(jobs: Jobs, tmp_path: Path) -> None:
    """With code that Spark compiles, which the other jobs here do without."""
    answers = jobs.run(tmp_path, "spark-submit", "shop_job.py", confs=COMPILED)
    assert told(answers) == sales.answers()


def test_sql_script(jobs: Jobs, tmp_path: Path) -> None:
    answers = jobs.run(tmp_path, "spark-sql", "-f", "shop.sql", confs=ONE_EXECUTOR)
    assert told(answers) == sales.answers()


def test_scala_job_with_shipped_wheel(jobs: Jobs, jar: Path, tmp_path: Path) -> None:
    archive = str(tmp_path / "keyfold-env.tgz")
    jobs.environment.keyfold("archive", archive)
    job = ["--class", "keyfold.jobs.Shop", str(jar)]
    answers = jobs.run(tmp_path, "spark-submit", *job, confs=ONE_EXECUTOR, archive=archive)
    assert told(answers) == sales.answers()


@pytest.fixture(scope="module")
def faults(
    cluster: Cluster, environment: Installation, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What cluster_faults.py did and found."""
    folder = tmp_path_factory.mktemp("faults")
    command = [str(environment.python), "-m", "integration.cluster.cluster_faults"]
    printed = environment.run(cluster, [*command, cluster.to_json(), str(folder)], TOP)
    answer: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return answer


@pytest.mark.parametrize(("fault", "inserts"), [("hung", 1), ("killed", 2), ("lost", 3)])
def test_a_fault_in_mid_job_changes_no_row(
    faults: dict[str, Any], fault: str, inserts: int
) -> None:
    """A hung worker's task is done by a speculative attempt; a killed worker's, and those of an
    executor that is lost, are tried again. Each row counts once.
    """
    found = faults[fault]
    assert found["pid"] > 0
    assert found["gone"], "the process of the attempt that was given up still runs"
    each = inserts * cluster_faults.ROWS // cluster_faults.KEYS
    assert found["rows"] == [cluster_faults.KEYS, each, each, 32 * 40]


@pytest.mark.parametrize("statement", ["UPDATE", "MERGE"])
def test_a_fault_amid_changed_rows_changes_each_once(
    faults: dict[str, Any], statement: str
) -> None:
    """The task of the worker, or of the executor, that is lost reads rows or writes them."""
    before = 3 if statement == "MERGE" else 0
    for done, fault in enumerate(("hung, writing", "killed, reading", "lost, writing"), before + 1):
        found = faults[f"{statement}, {fault}"]
        assert found["pid"] > 0, fault
        assert found["gone"], fault
        assert found["rows"] == [cluster_faults.ROWS, done, done, 32 * 40], fault


def test_each_job_is_one_snapshot_and_nothing_is_left(
    faults: dict[str, Any], cluster: Cluster
) -> None:
    assert faults["sums"] == [1, 2, 3]
    assert faults["rows"] == [1, 2, 3, 4, 5, 6, 7]
    assert_nothing_left(cluster)


def test_spark_connect(cluster: Cluster, environment: Installation, tmp_path: Path) -> None:
    with environment.connect_server(cluster, tmp_path / "warehouse", ONE_EXECUTOR) as url:
        command = [str(environment.python), "connect_job.py", url]
        printed = environment.run(cluster, command, job_jar.JOBS)
    answer = json.loads(printed.splitlines()[-1])
    assert answer["class"] == "pyspark.sql.connect.session"
    assert answer["sums"] == [[1, 9, "first"], [2, 18, "other"]]
    assert answer["labels"] == [[1, "M4 x 20"]]
    assert answer["statuses"] == ["committed"]
    assert_nothing_left(cluster)
