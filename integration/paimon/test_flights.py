"""The demo's flights by turns of Spark and Paimon's Java library, into tables that the latter made
with its defaults: dynamic buckets, and deletion vectors in one. The answers are plain Spark's.

The whole year by hand: KEYFOLD_FLIGHTS=12,31 (months, and days of each).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import keyfold
from integration.demo import flights, tables
from integration.paimon import library
from integration.paimon.library import Paimon
from integration.paimon.sides import Shape, schema
from tests.write.buckets import check_once

MONTHS, DAYS = map(int, os.environ.get("KEYFOLD_FLIGHTS", "2,1").split(","))
TIME = "TIMESTAMP(6)"
AIRCRAFT = {"tailnum": "STRING", "carrier": "STRING", "flight": "INT", "origin": "STRING"}
AIRCRAFT |= {"dest": "STRING", "departure": TIME, "arrival_delay": "INT"}
CARRIER_DAYS = {"carrier": "STRING", "day": "DATE", "flights": "BIGINT", "cancelled": "BIGINT"}
CARRIER_DAYS |= {"delayed": "BIGINT", "miles": "BIGINT", "worst_delay": "INT"}
CARRIER_DAYS |= {"first_departure": TIME, "last_departure": TIME}
CARRIER_DAYS |= {"last_flight": "INT", "last_aircraft": "STRING"}
SUMS = ("flights", "cancelled", "delayed", "miles")


@pytest.fixture(scope="module")
def views(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataFrame]:
    """The views of the demo, with the flights of some days."""
    folder = tmp_path_factory.mktemp("flights")
    flights.convert(folder)
    every = flights.register(spark, folder, MONTHS)
    some = every.where(f"day(day) <= {DAYS}").cache()
    some.createOrReplaceTempView("flights")
    yield some
    some.unpersist()
    every.unpersist()


class Flown:
    """A table that Paimon's Java library makes, and that both fill by turns."""

    def __init__(self, spark: SparkSession, paimon: Paimon, warehouse: Path, name: str) -> None:
        self.spark, self.paimon, self.name = spark, paimon, name
        self.folder = warehouse / "it.db" / name.split(".")[-1]
        self.turns = itertools.cycle((self.by_java, self.by_spark))

    def made(self, shape: Shape) -> None:
        """Make it."""
        self.paimon.create(self.folder, schema(shape))

    def by_java(self, records: DataFrame) -> None:
        """A job of Paimon's."""
        rows = [library.row("+I", *row) for row in records.collect()]
        self.paimon.write(self.folder, rows)

    def by_spark(self, records: DataFrame) -> None:
        """An INSERT of keyfold."""
        records.writeTo(self.name).append()

    def check(self, expected: str) -> None:
        """Both show what plain Spark answers."""
        wanted = self.spark.sql(expected).cache()
        found = self.spark.table(self.name)
        assert wanted.count() == found.count() > 10
        assert wanted.exceptAll(found).isEmpty()
        assert found.exceptAll(wanted).isEmpty()
        rows = [library.row("+I", *row)[1:] for row in found.collect()]
        assert sorted(self.paimon.read(self.folder).rows, key=repr) == sorted(rows, key=repr)
        wanted.unpersist()


@pytest.mark.usefixtures("views")
def test_carriers_a_day(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    table = Flown(spark, paimon, warehouse, fresh_name())
    options = {"merge-engine": "aggregation", "sequence.field": "last_departure,last_flight"}
    functions = dict.fromkeys(SUMS, "sum")
    functions |= {"worst_delay": "max", "first_departure": "min"}
    functions |= {"last_aircraft": "last_non_null_value"}
    options |= {f"fields.{name}.aggregate-function": of for name, of in functions.items()}
    table.made(Shape("", CARRIER_DAYS, ("carrier", "day"), (), options))
    for month in range(1, MONTHS + 1):
        for origin in ("EWR", "JFK", "LGA"):
            records = tables.CARRIER_DAY_RECORDS.format(month=month, origin=origin)
            next(table.turns)(spark.sql(records))
    table.check(tables.CARRIER_DAYS_EXPECTED)
    found = keyfold.connect(warehouse).table(f"it.{table.folder.name}")._load()
    assert found.options.is_dynamic
    assert check_once(found)


@pytest.mark.usefixtures("views")
def test_aircraft_with_deletion_vectors(
    spark: SparkSession, paimon: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    table = Flown(spark, paimon, warehouse, fresh_name())
    options = {"deletion-vectors.enabled": "true", "sequence.field": "departure"}
    table.made(Shape("", AIRCRAFT, ("tailnum",), (), options))
    months = [month for month in tables.AIRCRAFT_MONTHS if month <= MONTHS]
    for month in [*months, *months[:1]]:
        next(table.turns)(spark.sql(tables.AIRCRAFT_RECORDS.format(month=month)))
    paimon.compact(table.folder, full=False)
    table.check(tables.AIRCRAFT_EXPECTED)
