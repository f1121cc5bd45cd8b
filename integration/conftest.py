"""One Spark session for all integration tests, and what they share to look at it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration import TOP, sessions
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


class Evaluation:
    """How the shared session evaluates the queries of a folder: where statements are tried, and
    not how queries run, it interprets them.
    """

    INTERPRETED = (
        "changes",
        "conformance",
        "docs",
        "faults",
        "history",
        "paimon",
        "statements",
        "streams",
        "upkeep",
    )
    folder = ""
    session: SparkSession | None = None

    @classmethod
    def of(cls, folder: str) -> None:
        """Evaluate as the tests of this folder want it."""
        if cls.session is not None and folder != cls.folder:
            for name, value in sessions.INTERPRETED.items():
                if folder in cls.INTERPRETED:
                    cls.session.conf.set(name, value)
                else:
                    cls.session.conf.unset(name)
        cls.folder = folder


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures of a test."""
    Evaluation.of(item.path.relative_to(TOP / "integration").parts[0])


@pytest.fixture(scope="session")
def spark(folder: Path) -> Iterator[SparkSession]:
    """local[2] with the catalog `keyfold` and the namespace `keyfold.it`."""
    Evaluation.session = session = sessions.start(folder)
    now, Evaluation.folder = Evaluation.folder, ""
    Evaluation.of(now)
    session.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.it")
    yield session
    Evaluation.session = None
    session.stop()


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """A test is about what many queries answer: Spark does not compile them, though it compiles
    those of other tests of the folder.
    """
    with sessions.conf(spark, **sessions.INTERPRETED):
        yield


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


@pytest.fixture
def has_times(spark: SparkSession) -> Iterator[None]:
    """Spark 4.2 has TIME behind a setting."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    yield
    spark.conf.unset("spark.sql.timeType.enabled")


def pytest_configure() -> None:
    """Every Spark is reached by 127.0.0.1, whatever the machine's name resolves to. Every JVM
    starts fast: those of `spark-sql`, notebooks and executors too, to which nobody passes options.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("JDK_JAVA_OPTIONS", sessions.QUICK_JVM)
