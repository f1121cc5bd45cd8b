"""What Spark's UI shows of scans and writes, as its SQL REST API tells it, and what statements ask
Python.

    python -m integration.planning.ui FOLDER

runs statements in a Spark of its own, whose UI is on, and prints as JSON the figures of each, and
the questions that some ask.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from integration import TOP, sessions
from integration.faults import processes
from integration.planning.plans import settle

TABLE = "keyfold.it.t"
TASKS = 8
SETUP = (
    "CREATE NAMESPACE keyfold.it",
    f"CREATE TABLE {TABLE} (p INT, k INT, v STRING, PRIMARY KEY (p, k) NOT ENFORCED) "
    "PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '1', 'write-only' = 'true')",
    # opening a file costs as much as a split holds: one bucket, one task
    f"CREATE TABLE {TABLE}_wide (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) TBLPROPERTIES "
    f"('bucket' = '{TASKS}', 'write-only' = 'true', 'source.split.open-file-cost' = '128 MB')",
    f"INSERT INTO {TABLE}_wide SELECT id, 'x' FROM range(10000)",
)
# Name: statement. 60 rows of 30 keys; half of them again; another partition.
STATEMENTS = {
    "insert": f"INSERT INTO {TABLE} SELECT 1, id % 30, 'a' FROM range(0, 60, 1, 1)",
    "upsert": f"INSERT INTO {TABLE} SELECT 1, id + 15, 'b' FROM range(30)",
    "other": f"INSERT INTO {TABLE} SELECT 2, id, 'c' FROM range(10)",
    "scan": f"SELECT p, k, v FROM {TABLE} WHERE p = 1",
    "tasks": f"SELECT count(v) FROM {TABLE}_wide",
    "limit": f"SELECT v FROM {TABLE}_wide WHERE v = 'x' LIMIT 3",
    "task": f"SELECT count(v) FROM {TABLE}_wide WHERE k = 1",
}


COUNTING = """
import os
import keyfold.questions.serve as serve
real = serve.named
def named(question, answers):
    with open(os.environ["KEYFOLD_TEST_QUESTIONS"], "a") as file:
        file.write(str(question.get("question")) + "\\n")
    return real(question, answers)
serve.named = named
"""
ASKING = {
    "query": f"SELECT k, v FROM {TABLE}_wide WHERE k < 500 ORDER BY v, k",
    "join": f"SELECT a.v FROM {TABLE}_wide a JOIN {TABLE}_wide b ON a.k = b.k + 1",
    "write": f"INSERT INTO {TABLE}_wide SELECT id, 'y' FROM range(10)",
}


def session(folder: Path) -> SparkSession:
    """One whose UI is on, and whose Python writes the name of each question into a file."""
    (folder / "sitecustomize.py").write_text(COUNTING)
    known = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), known]))
    os.environ["KEYFOLD_TEST_QUESTIONS"] = str(folder / "questions")
    shown = {"spark.ui.enabled": "true", "spark.ui.port": "0"}
    adaptive = {"spark.sql.adaptive.enabled": "true"}  # plans again, and may not ask again
    return sessions.start(folder, **(sessions.INTERPRETED | shown | adaptive))


def questions(spark: SparkSession, folder: Path) -> Iterator[list[str]]:
    """The questions of each statement of `ASKING`."""
    for statement in ASKING.values():
        (folder / "questions").write_text("")
        spark.sql(statement).collect()
        yield (folder / "questions").read_text().split()


def figures(spark: SparkSession) -> dict[str, dict[str, str]]:
    """Figures by statement and by their name in the UI; run in a process of its own."""
    for statement in SETUP:
        spark.sql(statement)
    before = len(executions(spark))
    for statement in STATEMENTS.values():
        spark.sql(statement).collect()
    rows = [of_keyfold(found) for found in executions(spark)[before:]]
    found = [row for row in rows if row]
    assert len(found) == len(STATEMENTS), found
    return dict(zip(STATEMENTS, found, strict=True))


def executions(spark: SparkSession) -> list[dict[str, Any]]:
    """What the API knows, oldest first, once all of it is complete."""
    settle(spark)
    address = spark.sparkContext.uiWebUrl
    name = spark.sparkContext.applicationId
    url = f"{address}/api/v1/applications/{name}/sql?details=true&planDescription=false&length=1000"
    found: list[dict[str, Any]] = []

    def complete() -> bool:
        with urllib.request.urlopen(url) as answer:
            found[:] = json.load(answer)
        return all(execution["status"] == "COMPLETED" for execution in found)

    assert processes.wait_until(complete), found
    return sorted(found, key=lambda execution: int(execution["id"]))


def of_keyfold(execution: dict[str, Any]) -> dict[str, str]:
    """The figures of the node that is a scan or a write of ours."""
    for node in execution["nodes"]:
        shown = {metric["name"]: metric["value"] for metric in node["metrics"]}
        if "peak memory of a worker (most)" in shown:
            return shown
    return {}


def run(folder: Path) -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """The figures, and the questions by statement, from a process of its own."""
    command = [sys.executable, "-m", "integration.planning.ui", str(folder)]
    done = subprocess.run(
        command,
        cwd=TOP,
        capture_output=True,
        text=True,
        timeout=processes.DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown, asked = json.loads(done.stdout.splitlines()[-1])
    return shown, asked


if __name__ == "__main__":
    started = session(Path(sys.argv[1]))
    shown = figures(started)
    asked = dict(zip(ASKING, questions(started, Path(sys.argv[1])), strict=True))
    print(json.dumps([shown, asked]), flush=True)
