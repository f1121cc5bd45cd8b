"""The demo's job in PySpark, for spark-submit with --py-files tables.py.

Where its data are and its answers go is said by the confs spark.demo.data and spark.demo.answers.
"""

from __future__ import annotations

import re
from pathlib import Path

import tables
from pyspark.sql import SparkSession

import keyfold

MONTHS = (1, 2)
FOLDER = Path(__file__).parent
COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
}


def run(spark: SparkSession, script: str) -> None:
    """A script that the other forms of this job run too."""
    for statement in re.split(r";\s*\n", (FOLDER / script).read_text()):
        if statement.strip():
            spark.sql(statement)


def departures(month: int) -> list[str]:
    """The feeds of a month, in the order they arrive in."""
    return [
        tables.WEATHER_RECORDS.format(month=month, hours=0),
        tables.PLANE_RECORDS.format(month=month, register=1 + month % 2),
        tables.FLIGHT_RECORDS.format(month=month),
        tables.PLANE_RECORDS.format(month=month, register=2 - month % 2),
        tables.WEATHER_RECORDS.format(month=month, hours=3),
    ]


def feeds() -> dict[str, list[str]]:
    """What is inserted into each table."""
    carrier_days = [
        tables.CARRIER_DAY_RECORDS.format(month=month, origin=origin)
        for month in MONTHS
        for origin in ("EWR", "JFK", "LGA")
    ]
    return {
        "carrier_days": carrier_days,
        "aircraft": [tables.AIRCRAFT_RECORDS.format(month=month) for month in reversed(MONTHS)],
        "departures": [records for month in MONTHS for records in departures(month)],
        "airports": [tables.AIRPORT_RECORDS.format(month=month) for month in MONTHS],
    }


def main() -> None:
    """Fold and ask."""
    spark = keyfold.configure(SparkSession.builder.appName("demo in PySpark")).getOrCreate()
    run(spark, "views.sql")
    run(spark, "tables.sql")
    for table, records in feeds().items():
        if table == "airports":  # GROUP BY, and the questions: as users run them
            for name, value in COMPILED.items():
                spark.conf.set(name, value)
        for feed in records:
            spark.sql(f"INSERT INTO keyfold.demo.{table} {feed}")
    run(spark, "questions.sql")
    spark.stop()


if __name__ == "__main__":
    main()
