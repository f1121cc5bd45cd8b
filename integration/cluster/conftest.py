"""What the tests of clusters and of the wheel share."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from integration import TOP
from integration.cluster import job_jar
from integration.release import packages
from keyfold.wire.version import package_version

# The jar is compiled against the oldest Spark alone; newer ones run that of the checkout.
COMPILES = pyspark.__version__.startswith("4.2.")
JAR = TOP / "python/keyfold/jars" / f"keyfold-{package_version()}.jar"


def once(of: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> Path:
    """A folder of that name and what is built in it: one process of a run builds it, others wait
    for it.
    """
    own = of.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with folder.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            build(folder)
    return folder


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of this checkout in which nothing was built."""
    jar_of = None if COMPILES else JAR
    built = once(tmp_path_factory, "wheel", lambda folder: packages.build(folder, jar_of))
    (wheel,) = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Scala jobs."""
    built = once(tmp_path_factory, "jobs", lambda folder: job_jar.build(folder / "jobs.jar"))
    return built / "jobs.jar"
