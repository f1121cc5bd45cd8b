"""A session on object stores that prints all it can: plans, descriptions, settings, errors, its log
at INFO.

Run by test_object_store.py, in a process of its own, whose whole output it reads. The environment
has the options of a catalog on each store.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import keyfold
from integration import sessions
from integration.keyed import create_keyed
from tests.stores import kinds

CATALOG = "spark.sql.catalog."
STORES = "KEYFOLD_TEST_STORES"
NOWHERE = "http://127.0.0.1:1"


def main(folder: Path) -> None:
    """Everything once."""
    stores: dict[str, dict[str, str]] = json.loads(os.environ[STORES])
    wrong = {f"wrong_{kind}": kinds.at(stores[kind], NOWHERE) for kind in stores}
    wrong["wrong_s3"]["s3.session.token"] = "is-not-shown-either"
    builder = sessions.builder(folder)
    builder.config("spark.driver.memory", "1g")
    builder.config("spark.redaction.regex", "(?i)secret|password|token|access[.-]key|account.key")
    for name, options in (stores | wrong).items():
        builder.config(f"{CATALOG}{name}", "keyfold.spark.KeyfoldCatalog")
        for option, value in options.items():
            builder.config(f"{CATALOG}{name}.{option}", value)
    spark = keyfold.configure(builder, warehouse=str(folder / "warehouse")).getOrCreate()
    spark.sparkContext.setLogLevel("INFO")
    for kind in stores:
        show(spark, kind)
    spark.stop()


def show(spark: SparkSession, store: str) -> None:
    """Everything once in one store."""
    spark.sql(f"CREATE NAMESPACE {store}.shown")
    create_keyed(spark, f"{store}.shown.t", "k BIGINT, v BIGINT")
    spark.sql(f"INSERT INTO {store}.shown.t VALUES (1, 1), (2, 2)")
    for statement in (
        f"EXPLAIN EXTENDED SELECT * FROM {store}.shown.t WHERE k = 1",
        f"EXPLAIN FORMATTED SELECT SUM(v) FROM {store}.shown.t",
        f"EXPLAIN CODEGEN SELECT SUM(v) FROM {store}.shown.t",
        f"EXPLAIN EXTENDED INSERT INTO {store}.shown.t VALUES (1, 1)",
        f"EXPLAIN EXTENDED DELETE FROM {store}.shown.t WHERE k = 1",
        f"DESCRIBE EXTENDED {store}.shown.t",
        f"DESCRIBE NAMESPACE EXTENDED {store}.shown",
        f"SHOW CREATE TABLE {store}.shown.t",
        f"SHOW TBLPROPERTIES {store}.shown.t",
        f"SELECT * FROM {store}.shown.`t$options`",
        "SET",
    ):
        for row in spark.sql(statement).collect():
            print(*row)
    for statement in (
        f"SELECT * FROM {store}.shown.absent",
        f"INSERT INTO {store}.shown.t VALUES (1, 'x')",
        f"ALTER TABLE {store}.shown.t RENAME TO shown.u",
        f"SELECT * FROM wrong_{store}.shown.t",
        f"SHOW TABLES IN wrong_{store}.shown",
    ):
        try:
            spark.sql(statement).collect()
        except Exception as error:
            print(error)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
