"""The demo's last chapter: the tables of the others, opened by Python alone. Polars joins them,
keys are looked up, and Spark sees what is upserted.

Each step has its counterpart over the raw flights, which plain Spark answers.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from integration.demo import tables
from keyfold.tables.table import Table

HOME = "HNL"
FERRIED = datetime.datetime(2014, 1, 1, 6)

MAKERS_EXPECTED = tables.QUESTIONS["who made what flew last"].format(aircraft="expected_aircraft")

UNITED_EXPECTED = """
SELECT latest.* FROM planes LEFT JOIN expected_aircraft AS latest ON latest.tailnum = planes.tailnum
WHERE planes.tailnum LIKE '%UA' ORDER BY planes.tailnum
"""

AFTER_FERRIES = "SELECT * FROM {aircraft} ORDER BY tailnum"
AFTER_FERRIES_EXPECTED = f"""
SELECT tailnum, carrier, IF(carrier = 'HA', 9999, flight) AS flight,
       IF(carrier = 'HA', dest, origin) AS origin, IF(carrier = 'HA', '{HOME}', dest) AS dest,
       IF(carrier = 'HA', TIMESTAMP_NTZ'{FERRIED}', departure) AS departure,
       IF(carrier = 'HA', 0, arrival_delay) AS arrival_delay
FROM expected_aircraft ORDER BY tailnum
"""


def makers(aircraft: Table, planes: Path) -> list[Any]:
    """How many aircraft of each maker flew, and when the last of them did, by a join of Polars."""
    flown = aircraft.scan(["tailnum", "departure"]).to_polars()
    made = pl.read_parquet(planes, columns=["tailnum", "manufacturer"])
    by_maker = flown.join(made, on="tailnum").group_by("manufacturer")
    found = by_maker.agg(pl.len().alias("aircraft"), pl.max("departure"))
    return found.sort("aircraft", "manufacturer", descending=[True, False]).rows()


def united(aircraft: Table, planes: Path) -> list[Any]:
    """The latest flights of United's aircraft, looked up by key; NULLs where one did not fly."""
    known = pl.read_parquet(planes, columns=["tailnum"])
    keys = known.filter(pl.col("tailnum").str.ends_with("UA")).sort("tailnum")
    found = aircraft.get_many(pa.table(keys))
    return [tuple(row.values()) for row in found.to_pylist()]


# By label: what Python does, and the text for plain Spark.
QUESTIONS = {
    "who made what flew last, by Polars": (makers, MAKERS_EXPECTED),
    "United's aircraft by key": (united, UNITED_EXPECTED),
}


def ferry_home(aircraft: Table) -> int:
    """Upsert that the aircraft of Hawaiian Airlines fly home empty; how many there are."""
    away = aircraft.scan(where="carrier = 'HA'").to_polars()
    flights = away.with_columns(
        flight=pl.lit(9999, pl.Int32),
        origin=pl.col("dest"),
        dest=pl.lit(HOME),
        departure=pl.lit(FERRIED),
        arrival_delay=pl.lit(0, pl.Int32),
    )
    aircraft.upsert(flights)
    return flights.height
