"""A program for spark-submit: functions of its own, registered and in modules that were shipped.

Prints one line of JSON: what each table holds, the processes that read it, and errors.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

import keyfold

WEIGHT = 3


@keyfold.aggregate("BIGINT")
def weighted_max(best: int, value: int) -> int:
    """Registered: a global of this program is part of it."""
    return max(best, value) if WEIGHT == 3 else 0


@keyfold.aggregate.combine()
def sorted_words(values: list[str]) -> str:
    """Registered, plain Python."""
    return " ".join(sorted({word for value in values for word in value.split()}))


def table(name: str, function: str, kind: str) -> str:
    """The statement that makes a table of a key and one value."""
    return (
        f"CREATE TABLE keyfold.c.{name} (id BIGINT, v {kind}, PRIMARY KEY (id) NOT ENFORCED) "
        "TBLPROPERTIES ('merge-engine' = 'aggregation', "
        f"'fields.v.aggregate-function' = '{function}')"
    )


def error_of(spark: SparkSession, statement: str) -> str:
    """What a statement fails with."""
    try:
        spark.sql(statement).collect()
    except Exception as error:  # the test reads it
        return str(error)
    return ""


def main() -> None:
    """Make, fill and read a table for each way a function comes, and call it in a query."""
    spark = keyfold.configure(SparkSession.builder).getOrCreate()
    spark.sql("CREATE NAMESPACE keyfold.c")
    unknown = error_of(spark, table("early", "weighted_max", "BIGINT"))
    keyfold.register(spark, weighted_max, sorted_words)
    rows = "FROM range(0, 4000, 1, 4) LATERAL VIEW explode(array(1, 2, 3)) AS n"
    found = {}
    for name, kind, value in (
        ("weighted_max", "BIGINT", "id * n"),
        ("sorted_words", "STRING", "CAST(n AS STRING)"),
        ("shipped_min", "BIGINT", "id * n"),
        ("late_sum", "BIGINT", "n"),
    ):
        if name == "late_sum":
            spark.sparkContext.addPyFile(sys.argv[1])
            spark.conf.set("spark.keyfold.modules", "shipped_functions,late_functions")
        spark.sql(table(name, name, kind))
        for _ in range(2):
            spark.sql(f"INSERT INTO keyfold.c.{name} SELECT id, {value} {rows}")
        held = spark.table(f"keyfold.c.{name}").where("id IN (7, 3999)").orderBy("id").collect()
        processes = spark.sql(
            f"SELECT DISTINCT reflect('java.lang.ProcessHandle', 'current') FROM keyfold.c.{name} "
            "WHERE v IS NOT NULL"
        ).count()
        twice = rows.replace("1, 2, 3", "1, 2, 3, 1, 2, 3")
        asked = spark.sql(
            f"SELECT id, keyfold.{name}({value}) AS v {twice} WHERE id IN (7, 3999) "
            "GROUP BY id ORDER BY id"
        ).collect()
        found[name] = {
            "rows": [row.v for row in held],
            "query": [row.v for row in asked],
            "processes": processes,
        }
    later = spark.newSession()
    missing = [error_of(later, f"SELECT v FROM keyfold.c.{name}") for name in found]
    print("answer: " + json.dumps({"found": found, "unknown": unknown, "missing": missing}))


if __name__ == "__main__":
    main()
