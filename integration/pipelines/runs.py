"""Pipelines of docs/pipelines.md as Spark's own program runs them, in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession

from integration.docs.pages import DOCS
from integration.faults.processes import DEADLINE

BLOCK = re.compile(r"^```(yaml|python|sql)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLI = Path(pyspark.__file__).parent / "pipelines" / "cli.py"
HAS_FLOWS_IN_SQL = not pyspark.__version__.startswith("4.2.")
Event = dict[str, Any]


def blocks(language: str) -> list[str]:
    """The page's blocks of a language."""
    page = (DOCS / "pipelines.md").read_text(encoding="utf-8")
    return [text for found, text in BLOCK.findall(page) if found == language]


@contextmanager
def connect_server(spark: SparkSession) -> Iterator[str]:
    """The address of a Spark Connect server in the JVM of a session."""
    service = "org.apache.spark.sql.connect.service.SparkConnectService$"
    connect = spark._jvm.java.lang.Class.forName(service).getField("MODULE$").get(None)
    context = spark.sparkContext._jsc.sc()
    context.conf().set("spark.connect.grpc.binding.port", "0")
    connect.start(context)
    yield f"sc://127.0.0.1:{connect.localPort()}"
    default = getattr(connect, "stop$default$1")
    connect.stop(default(), default())


@pytest.fixture(scope="module")
def server(spark: SparkSession) -> Iterator[str]:
    """That of the shared session."""
    with connect_server(spark) as address:
        yield address


class Pipeline:
    """The page's specification in a folder, for a namespace, with the events that are read."""

    def __init__(self, folder: Path, server: str, namespace: str) -> None:
        self.folder, self.server = folder, server
        self.batches = 0
        said = {"storage": (folder / "storage").as_uri(), "database": namespace}
        (spec,) = blocks("yaml")
        for name, value in said.items():
            spec = re.sub(rf"^{name}: .*$", f"{name}: {value}", spec, flags=re.MULTILINE)
        (folder / "transformations").mkdir()
        (folder / "events").mkdir()
        (folder / "spark-pipeline.yml").write_text(spec)

    def define(self, file: str, text: str) -> None:
        """A file of definitions."""
        (self.folder / "transformations" / file).write_text(text)

    def drop(self, file: str) -> None:
        """Takes a file of definitions out: the tables stay as they are."""
        (self.folder / "transformations" / file).unlink()

    def add(self, events: Sequence[Event]) -> None:
        self.batches += 1
        lines = "".join(json.dumps(event) + "\n" for event in events)
        (self.folder / "events" / f"{self.batches}.json").write_text(lines)

    def run(self, *arguments: str) -> None:
        """In a process of its own, as `spark-pipelines run` starts it."""
        done = subprocess.run(
            [sys.executable, str(CLI), "run", *arguments],
            cwd=self.folder,
            env={**os.environ, "SPARK_REMOTE": self.server},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Run is COMPLETED" in done.stdout + done.stderr


def plans(spark: SparkSession) -> dict[int, str]:
    """The physical plans of the last statements by their number, of whatever session. Spark forgets
    the oldest ones.
    """
    found = spark._jsparkSession.sharedState().statusStore().executionsList()
    kept = [found.apply(place) for place in range(found.size())]
    return {one.executionId(): one.physicalPlanDescription() for one in kept}


def nodes(spark: SparkSession, after: int) -> list[tuple[str, dict[str, str]]]:
    """The nodes in the plans of later statements: what each is, and its figures in the UI."""
    store = spark._jsparkSession.sharedState().statusStore()
    found = []
    for number in (number for number in plans(spark) if number > after):
        values = store.executionMetrics(number)
        every = store.planGraph(number).allNodes()
        for node in (every.apply(place) for place in range(every.size())):
            named = {}
            for place in range(node.metrics().size()):
                metric = node.metrics().apply(place)
                value = values.get(metric.accumulatorId())
                named[metric.name()] = value.get() if value.isDefined() else ""
            found.append((node.desc(), named))
    return found
