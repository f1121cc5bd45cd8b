"""Spark sessions as the integration tests, the demo and the bench start them.

One place says how: UI off, UTC, few shuffle partitions, all files in one folder of the caller's.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import keyfold
from integration import QUIET, TOP
from tests.option_names import setting_names

# A JVM that starts fast and stays small, with room for the code and classes of a thousand queries,
# and for young objects, so that it seldom collects garbage. A session whose times decide has Java's
# own choices.
QUICK = (
    "-XX:+UseSerialGC -XX:NewRatio=1 -XX:MetaspaceSize=256m -XX:TieredStopAtLevel=1 "
    "-XX:ReservedCodeCacheSize=256m -XX:-UsePerfData"
)
CLASSES = TOP / "build" / "spark.jsa"  # made by `integration.class_archive`
SHARED = f" -XX:SharedArchiveFile={CLASSES} -Xlog:disable -Xlog:all=error:stderr"
QUICK_JVM = QUICK + (SHARED if CLASSES.exists() else "")
LOGGING = f"-Dlog4j2.configurationFile=file:{QUIET}"
# Delta Lake's jar (gradle.properties) is for one version of Spark, and that is in its name.
HAS_DELTA = pyspark.__version__.startswith("4.2.")
TIMED = {"spark.driver.extraJavaOptions": LOGGING}
# Spark compiles each query, in a quarter of the time of a test that has many small ones.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
# An application of two executors begins when both are there.
BOTH_EXECUTORS = {
    "spark.cores.max": "2",
    "spark.executor.memory": "512m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
}


def settings(folder: Path) -> dict[str, str]:
    """What any session here is started with; `folder` takes Spark's own warehouse and scratch."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.local.dir": str(folder / "scratch"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{QUICK_JVM} {LOGGING}",
    }


@contextmanager
def conf(spark: SparkSession, **values: object) -> Iterator[None]:
    """Settings within a block, which are then as they were before; `__` is a dot."""
    texts = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in values.items()}
    wanted = setting_names(texts)
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def interpret(session: SparkSession) -> SparkSession:
    """The session, which evaluates its queries without compiling them: a new session of the shared
    one has none of its settings.
    """
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    return session


def builder(folder: Path, master: str = "local[2]", **extra: str) -> SparkSession.Builder:
    """A builder of plain Spark; names in `extra` are conf names with `__` for each dot."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("SQLQueryContextLogger").setLevel(
        logging.CRITICAL
    )  # errors are raised anyway
    made: SparkSession.Builder = SparkSession.builder.master(master).appName("keyfold")
    named = setting_names(extra)
    for name, value in (settings(folder) | named).items():
        made = made.config(name, value)
    return made


def start(folder: Path, master: str = "local[2]", **extra: str) -> SparkSession:
    """A session with the catalog `keyfold`, whose warehouse is `folder`/warehouse."""
    made = keyfold.configure(builder(folder, master, **extra), warehouse=str(folder / "warehouse"))
    session = made.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
