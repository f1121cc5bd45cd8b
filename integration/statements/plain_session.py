"""Statements that change rows. As a program it does them in a session without keyfold's extension,
and what else such a session is asked for: its output is a line of JSON, the answers by name.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
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


def writes(spark: SparkSession, name: str) -> tuple[Callable[[], object], ...]:
    """Some columns and all, in SQL; some of a frame without and with the option for it."""
    frame = spark.createDataFrame([(1, 2)], "k INT, n INT")
    return (
        lambda: spark.sql(f"INSERT INTO {name} (k, n) VALUES (1, 2)"),
        lambda: spark.sql(f"INSERT INTO {name} VALUES (1, 2, 'y')"),
        lambda: frame.writeTo(name).append(),
        lambda: frame.writeTo(name).option("target-columns", "k,n").append(),
    )


def written(spark: SparkSession) -> Iterator[tuple[str, str, list[Any]]]:
    """The engine, the error of each of `writes` and the row then."""
    for engine in ("aggregation", "partial-update", "deduplicate"):
        name = "keyfold.s.some_" + engine.replace("-", "_")
        keys = f"'primary-key' = 'k', 'merge-engine' = '{engine}'"
        spark.sql(f"CREATE TABLE {name} TBLPROPERTIES ({keys}) AS SELECT 1 k, 1 n, 'x' s")
        for write in writes(spark, name):
            error = ""
            try:
                write()
            except PySparkException as refused:
                error = str(refused)
            yield engine, error, [] if error else list(spark.table(name).first())


def functions(spark: SparkSession) -> tuple[list[Any], list[str]]:
    """What functions of the catalog answer, and which of two it lists."""
    calls = "keyfold.sum(n), keyfold.bitmap_union_count(keyfold.sys.to_bitmap(n))"
    found = spark.sql(f"SELECT {calls} FROM VALUES (1), (2) AS t (n)").first()
    listed = {row[0] for row in spark.sql("SHOW USER FUNCTIONS IN keyfold").collect()}
    return list(found), sorted(listed & {"keyfold.sum", "keyfold.to_bitmap"})


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
    session = plain(Path(sys.argv[1]))
    answers = {"statements": [*run(session)], "writes": [*written(session)]}
    print(json.dumps(answers | {"functions": functions(session)}), flush=True)
