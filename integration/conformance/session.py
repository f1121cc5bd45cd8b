"""The Spark session the cases run in: local, UTC, nothing of the user's touched."""

import logging
import os
from pathlib import Path

from pyspark.sql import SparkSession

from keyfold.setup.session import configure

CATALOG = "keyfold"


def start(folder: Path) -> SparkSession:
    """A session with the catalog `keyfold`; the folder takes everything it writes."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # errors are judged
    builder = SparkSession.builder.master("local[2]").appName("keyfold conformance")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
    }.items():
        builder = builder.config(name, value)
    session: SparkSession = configure(
        builder, CATALOG, warehouse=str(folder / "warehouse")
    ).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
