"""What all tests of the client have: a program of the JVM, and the catalog as Python has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.client.jvm import Program
from keyfold import Catalog


@pytest.fixture(scope="module")
def program(spark: SparkSession) -> Program:
    return Program(spark)


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, warehouse: Path) -> Catalog:
    """The catalog of the session, opened by this process."""
    return keyfold.connect(warehouse, threads=1)


@pytest.fixture
def name(fresh_name: Callable[[], str]) -> str:
    return fresh_name()


@pytest.fixture(autouse=True, scope="module")
def cleared(spark: SparkSession) -> Iterator[None]:
    yield
    for table in spark.sql("SHOW TABLES IN keyfold.it LIKE 'c_only|refused'").collect():
        spark.sql(f"DROP TABLE keyfold.it.{table.tableName}")
