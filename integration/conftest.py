"""One Spark session for all integration tests, and what they share to look at it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration import sessions
from integration.paimon import library
from integration.paimon.bench import Bench
from integration.paimon.library import Paimon


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shared session keeps everything."""
    return tmp_path_factory.mktemp("keyfold")


@pytest.fixture(scope="session")
def warehouse(folder: Path) -> Path:
    """The warehouse of the shared session's catalog."""
    return folder / "warehouse"


@pytest.fixture(scope="session")
def spark(folder: Path) -> Iterator[SparkSession]:
    """local[2] with the catalog `keyfold` and the namespace `keyfold.it`."""
    session = sessions.start(folder)
    session.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.it")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def active(request: pytest.FixtureRequest) -> None:
    """The shared session is the JVM's active one, which a test before may have changed."""
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        session._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(
            session._jsparkSession
        )


@pytest.fixture(scope="session")
def paimon() -> Iterator[Paimon]:
    """Paimon's Java library, running."""
    with library.start() as running:
        yield running


@pytest.fixture
def bench(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> Bench:
    """A table that keyfold and Paimon's Java library both use, once it is created."""
    return Bench(spark, paimon, warehouse, fresh_name())


@pytest.fixture
def fresh_name() -> Iterator[Callable[[], str]]:
    """Names of tables that no other test uses, below `keyfold.it`."""
    return lambda: f"keyfold.it.t{next(NUMBERS)}"


NUMBERS = itertools.count()


def pytest_configure() -> None:
    """Every Spark is reached by 127.0.0.1, whatever the machine's name resolves to. Every JVM
    starts fast: those of `spark-sql`, notebooks and executors too, to which nobody passes options.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("JDK_JAVA_OPTIONS", sessions.QUICK_JVM)
