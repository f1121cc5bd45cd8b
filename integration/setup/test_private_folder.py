"""The folder of the fork server's socket: never where another user could put another one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def temporary(spark: SparkSession) -> Iterator[Path]:
    """What the JVM takes for its folder of temporary files; its path is short, as a socket's is."""
    system = jvm(spark).java.lang.System
    with tempfile.TemporaryDirectory(prefix="kf", dir="/tmp") as folder:
        before = system.setProperty("java.io.tmpdir", folder)
        yield Path(folder)
        system.setProperty("java.io.tmpdir", before)


def jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._gateway.jvm  # type: ignore[union-attr]


def created(spark: SparkSession) -> Path:
    made = jvm(spark).keyfold.spark.processes.PrivateFolder.create("keyfold-tried")
    path = Path(str(made))
    path.rmdir()
    return path


def test_below_a_folder_that_others_may_write(spark: SparkSession, temporary: Path) -> None:
    (temporary / "own").mkdir()
    jvm(spark).java.lang.System.setProperty("java.io.tmpdir", str(temporary / "own"))
    assert created(spark) == temporary / "own" / "keyfold-tried"
    temporary.chmod(0o777)
    assert created(spark) == Path("/tmp/keyfold-tried")
    temporary.chmod(0o1777)
    assert created(spark) == temporary / "own" / "keyfold-tried"
    assert not [*Path("/tmp").glob("keyfold-tried"), *(temporary / "own").iterdir()]


def test_a_missing_one_or_a_long_path(spark: SparkSession, temporary: Path) -> None:
    jvm(spark).java.lang.System.setProperty("java.io.tmpdir", str(temporary / "missing"))
    assert created(spark) == Path("/tmp/keyfold-tried")
    long = temporary / ("long" * 20)
    long.mkdir()
    jvm(spark).java.lang.System.setProperty("java.io.tmpdir", str(long))
    assert created(spark) == Path("/tmp/keyfold-tried")
    assert not list(long.iterdir())
