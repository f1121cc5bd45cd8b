"""The demo's tables, filled with its flights by turns of Spark and Paimon's Java library, by which
they are made with its defaults: dynamic buckets, deletion vectors in one. The answers are plain
Spark's.

The whole year by hand: KEYFOLD_FLIGHTS=12,31 (months, and days of each).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

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
DEPARTURES = {"day": "DATE", "carrier": "STRING", "flight": "INT", "origin": "STRING"}
DEPARTURES |= {"reported": TIME, "departure": TIME, "dest": "STRING", "tailnum": "STRING"}
DEPARTURES |= {"delay": "INT", "register": "INT", "manufacturer": "STRING", "model": "STRING"}
DEPARTURES |= {"seats": "INT", "observed": TIME, "temperature": "DOUBLE", "gust": "DOUBLE"}
DEPARTURES |= {"worst_sight": "DOUBLE"}
AIRPORTS = {"airport": "STRING", "flights": "BIGINT", "aircraft": "BYTES", "destinations": "STRING"}
WHOLE_YEAR = (*library.START[1:], "-Xmx2500m")


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


@pytest.fixture(scope="module")
def airline(paimon: Paimon) -> Iterator[Paimon]:
    """Paimon's library, which holds the rows of more than some days if need be."""
    if MONTHS * DAYS < 31:
        yield paimon
        return
    with library.start(WHOLE_YEAR) as large:
        yield large


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

    def filled(self, records: str) -> DataFrame:
        """The records of some columns, named before their SELECT, with NULL in the others."""
        names, select = records.strip()[1:].split(")", 1)
        given = self.spark.sql(select).toDF(*names.replace("\n", "").split(", "))
        columns = self.spark.table(self.name).schema
        return given.select(
            [
                f.col(one.name)
                if one.name in given.columns
                else f.lit(None).cast(one.dataType).alias(one.name)
                for one in columns
            ]
        )

    def check(self, expected: str, asked: str = "SELECT * FROM {name}", least: int = 10) -> None:
        """Both show what plain Spark answers, and no key is in two buckets."""
        wanted = self.spark.sql(expected).cache()
        found = self.spark.sql(asked.format(name=self.name))
        assert wanted.count() == found.count() > least
        assert wanted.exceptAll(found).isEmpty()
        assert found.exceptAll(wanted).isEmpty()
        rows = [library.row("+I", *row)[1:] for row in self.spark.table(self.name).collect()]
        assert sorted(self.paimon.read(self.folder).rows, key=repr) == sorted(rows, key=repr)
        wanted.unpersist()
        table = keyfold.connect(self.folder.parent.parent).table(f"it.{self.folder.name}")._load()
        assert table.options.is_dynamic
        if not table.options.has_vectors:
            assert check_once(table)


@pytest.mark.usefixtures("views")
def test_carriers_a_day(
    spark: SparkSession, airline: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    table = Flown(spark, airline, warehouse, fresh_name())
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


@pytest.mark.usefixtures("views")
def test_aircraft_with_deletion_vectors(
    spark: SparkSession, airline: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    table = Flown(spark, airline, warehouse, fresh_name())
    options = {"deletion-vectors.enabled": "true", "sequence.field": "departure"}
    table.made(Shape("", AIRCRAFT, ("tailnum",), (), options))
    months = [month for month in tables.AIRCRAFT_MONTHS if month <= MONTHS]
    for month in [*months, *months[:1]]:
        next(table.turns)(spark.sql(tables.AIRCRAFT_RECORDS.format(month=month)))
    airline.compact(table.folder, full=False)
    table.check(tables.AIRCRAFT_EXPECTED)


@pytest.mark.usefixtures("views")
def test_departures(
    spark: SparkSession, airline: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    """What is known of a flight comes in several turns, of each month in another order of sides."""
    table = Flown(spark, airline, warehouse, fresh_name())
    options = {"merge-engine": "partial-update"}
    options |= {"fields.reported.sequence-group": "departure,dest,tailnum,delay"}
    options |= {"fields.register.sequence-group": "manufacturer,model,seats"}
    options |= {"fields.observed.sequence-group": "temperature,gust,worst_sight"}
    options |= {"fields.worst_sight.aggregate-function": "min"}
    table.made(Shape("", DEPARTURES, ("day", "carrier", "flight", "origin"), (), options))
    for month in range(1, MONTHS + 1):
        for records in (
            tables.WEATHER_RECORDS.format(month=month, hours=0),
            tables.PLANE_RECORDS.format(month=month, register=1 + month % 2),
            tables.FLIGHT_RECORDS.format(month=month),
            tables.PLANE_RECORDS.format(month=month, register=2 - month % 2),
            tables.WEATHER_RECORDS.format(month=month, hours=3),
        ):
            next(table.turns)(table.filled(records))
    table.check(tables.DEPARTURES_EXPECTED)


@pytest.mark.usefixtures("views")
def test_airports(
    spark: SparkSession, airline: Paimon, warehouse: Path, fresh_name: Callable[[], str]
) -> None:
    table = Flown(spark, airline, warehouse, fresh_name())
    functions = {"flights": "sum", "aircraft": "rbm32", "destinations": "listagg"}
    options = {f"fields.{name}.aggregate-function": of for name, of in functions.items()}
    options |= {"merge-engine": "aggregation", "fields.destinations.distinct": "true"}
    table.made(Shape("", AIRPORTS, ("airport",), (), options))
    for month in range(1, MONTHS + 1):
        next(table.turns)(spark.sql(tables.AIRPORT_RECORDS.format(month=month)).toDF(*AIRPORTS))
    table.check(tables.AIRPORTS_EXPECTED, tables.AIRPORTS_ASKED, least=2)
