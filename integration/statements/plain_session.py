"""Statements that change rows. As a program it does them in a session without keyfold's extension:
its output is a line of JSON for each statement, with what it was refused for, and the rows then.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import keyfold
from integration import sessions

KEY = "PRIMARY KEY (k) NOT ENFORCED"
# The name of each table, its columns and options. `s` is what some of them order their records by.
TABLES = {
    "sequence": (f"k INT, v INT, s INT, {KEY}", "'sequence.field' = 's'"),
    "deduplicate": (f"k INT, v INT, s INT, {KEY}", ""),
    "padded": (f"k INT, v INT, s INT, c CHAR(3), {KEY}", ""),
}
SOURCE = "(SELECT * FROM VALUES (2, 22, 2), (7, 77, 7) AS v(k, v, s))"
MATCHED = "WHEN MATCHED THEN UPDATE SET v = u.v"
ADDED = "WHEN NOT MATCHED THEN INSERT (k, v, s) VALUES (u.k, u.v, u.s)"
ALL = "DELETE FROM {t}"
SOME = (
    "DELETE FROM {t} WHERE v = 30 AND s < 9",
    ALL,
    "DELETE FROM {t} WHERE 1 = 1",
)
STATEMENTS = (
    "UPDATE {t} SET k = k + 10 WHERE k = 4",
    f"MERGE INTO {{t}} t USING {SOURCE} u ON t.k = u.k {MATCHED} {ADDED}",
    f"MERGE INTO {{t}} t USING {SOURCE} u ON t.k = u.k "
    "WHEN NOT MATCHED BY SOURCE AND t.k = 5 THEN DELETE",
    *SOME,
)


def answered(spark: SparkSession, sql: str) -> str:
    """What a statement was refused for, empty if it was done."""
    try:
        spark.sql(sql).collect()
    except Exception as error:  # the test reads it
        return str(error)
    return ""


def run(spark: SparkSession) -> Iterator[tuple[str, str, str, list[Any]]]:
    """The table, each statement, what it was refused for, and the rows then."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.s")
    for name, (columns, options) in TABLES.items():
        table = f"keyfold.s.{name}"
        properties = ", ".join(filter(None, ["'bucket' = '1'", options]))
        spark.sql(f"CREATE TABLE {table} ({columns}) TBLPROPERTIES ({properties})")
        pad = ", 'x'" if "CHAR" in columns else ""
        rows = ", ".join(f"({k}, {10 * k}, {k}{pad})" for k in range(1, 7))
        spark.sql(f"INSERT INTO {table} VALUES {rows}")
        for sql in STATEMENTS if name == "sequence" else SOME:
            refused = answered(spark, sql.format(t=table))
            left = spark.sql(f"SELECT * FROM {table}").collect()
            found = sorted([list(row) for row in left], key=str)
            yield name, sql, refused, found


def plain(folder: Path) -> SparkSession:
    """A session with the catalog, and without the extension."""
    confs = sessions.INTERPRETED | {"spark.jars": str(keyfold.jar_path())}
    made = sessions.builder(folder, **confs)
    made = made.config("spark.sql.catalog.keyfold", "keyfold.spark.KeyfoldCatalog")
    for name in ("spark.keyfold.python", "spark.keyfold.driver.python"):
        made = made.config(name, sys.executable)
    made = made.config("spark.sql.catalog.keyfold.warehouse", str(folder / "warehouse"))
    return made.getOrCreate()


if __name__ == "__main__":
    for done in run(plain(Path(sys.argv[1]))):
        print(json.dumps(done), flush=True)
