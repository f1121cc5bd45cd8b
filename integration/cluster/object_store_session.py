"""A session on S3 that prints all it can: plans, descriptions, settings, errors, its log at INFO.

Run by test_object_store.py, in a process of its own, whose whole output it reads. Options of the
catalog come from the environment as S3_<name>.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import keyfold
from integration import sessions

CATALOG = "spark.sql.catalog."


def main(folder: Path) -> None:
    """Everything once."""
    options = {n.removeprefix("S3_"): v for n, v in os.environ.items() if n.startswith("S3_")}
    confs = {f"{CATALOG}store.{name}": value for name, value in options.items()}
    elsewhere = {
        **options,
        "s3.endpoint": "http://127.0.0.1:1",
        "s3.session.token": "is-not-shown-either",
    }
    confs |= {f"{CATALOG}wrong.{name}": value for name, value in elsewhere.items()}
    confs |= {f"{CATALOG}{name}": "keyfold.spark.KeyfoldCatalog" for name in ("store", "wrong")}
    builder = sessions.builder(folder)
    builder.config("spark.driver.memory", "1g")
    for name, value in confs.items():
        builder.config(name, value)
    spark = keyfold.configure(builder, warehouse=str(folder / "warehouse")).getOrCreate()
    spark.sparkContext.setLogLevel("INFO")
    spark.sql("CREATE NAMESPACE store.shown")
    spark.sql("CREATE TABLE store.shown.t (k BIGINT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED)")
    spark.sql("INSERT INTO store.shown.t VALUES (1, 1), (2, 2)")
    for statement in (
        "EXPLAIN EXTENDED SELECT * FROM store.shown.t WHERE k = 1",
        "EXPLAIN FORMATTED SELECT SUM(v) FROM store.shown.t",
        "EXPLAIN CODEGEN SELECT SUM(v) FROM store.shown.t",
        "EXPLAIN EXTENDED INSERT INTO store.shown.t VALUES (1, 1)",
        "EXPLAIN EXTENDED DELETE FROM store.shown.t WHERE k = 1",
        "DESCRIBE EXTENDED store.shown.t",
        "DESCRIBE NAMESPACE EXTENDED store.shown",
        "SHOW CREATE TABLE store.shown.t",
        "SHOW TBLPROPERTIES store.shown.t",
        "SELECT * FROM store.shown.`t$options`",
        "SET",
    ):
        for row in spark.sql(statement).collect():
            print(*row)
    for statement in (
        "SELECT * FROM store.shown.absent",
        "INSERT INTO store.shown.t VALUES (1, 'x')",
        "ALTER TABLE store.shown.t RENAME TO shown.u",
        "SELECT * FROM wrong.shown.t",
        "SHOW TABLES IN wrong.shown",
    ):
        try:
            spark.sql(statement).collect()
        except Exception as error:
            print(error)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
