"""Queries with expressions, TPC-H's Q1 and Q6: `python -m integration.bench.tpch [--orders N]`.

`lineitem` as a keyed table in three runs (all rows, then a third of them again, twice), the same
compacted, and a folder of Parquet files of plain Spark. The systems take turns, so that what else
the machine does slows all. It writes a section of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import Row, SparkSession

from integration import TOP, sessions
from integration.bench import page
from integration.bench.cells import short, table
from integration.keyed import create_keyed

ORDERS, TURNS, GOAL = 1_500_000, 5, 1.5  # of scale 1; the goal is to plain Spark
COLUMNS = {
    "l_orderkey": "BIGINT NOT NULL",
    "l_linenumber": "INT NOT NULL",
    "l_quantity": "DECIMAL(15, 2)",
    "l_extendedprice": "DECIMAL(15, 2)",
    "l_discount": "DECIMAL(15, 2)",
    "l_tax": "DECIMAL(15, 2)",
    "l_returnflag": "STRING",
    "l_linestatus": "STRING",
    "l_shipdate": "DATE",
}
# Values are drawn by hashes of the key, in the ranges of the benchmark's own generator.
ROWS = """
WITH keys AS (
  SELECT id AS l_orderkey, explode(sequence(1, 1 + pmod(xxhash64(id, 0), 7))) AS line
  FROM range({orders})
), drawn AS (
  SELECT l_orderkey, CAST(line AS INT) AS l_linenumber,
    pmod(xxhash64(l_orderkey, line, 1), 50) + 1 AS quantity,
    pmod(xxhash64(l_orderkey, line, 2), 100001) + 90000 AS price,
    pmod(xxhash64(l_orderkey, line, 3), 11) AS discount,
    pmod(xxhash64(l_orderkey, line, 4), 9) AS tax,
    date_add(DATE '1992-01-02', CAST(pmod(xxhash64(l_orderkey, line, 5), 2526) AS INT)) AS shipped
  FROM keys
)
SELECT l_orderkey, l_linenumber,
  CAST(quantity AS DECIMAL(15, 2)) AS l_quantity,
  CAST(quantity * price / 100 AS DECIMAL(15, 2)) AS l_extendedprice,
  CAST(discount / 100 AS DECIMAL(15, 2)) AS l_discount,
  CAST(tax / 100 AS DECIMAL(15, 2)) AS l_tax,
  CASE WHEN shipped > DATE '1995-06-17' THEN 'N'
    WHEN xxhash64(l_orderkey, l_linenumber, 6) > 0 THEN 'R' ELSE 'A' END AS l_returnflag,
  IF(shipped > DATE '1995-06-17', 'O', 'F') AS l_linestatus,
  shipped AS l_shipdate
FROM drawn
"""
QUERIES = {
    "Q1": """
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
  sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
  avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
FROM {t} WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "Q6": """
SELECT sum(l_extendedprice * l_discount) FROM {t}
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
}
PLAIN, RUNS, ONE = "plain Spark over Parquet", "keyfold, three runs", "keyfold, compacted"


def filled(spark: SparkSession, folder: Path, orders: int) -> dict[str, str]:
    """What queries read of each form of the table."""
    plain = str(folder / "plain")
    spark.sql(ROWS.format(orders=orders)).repartition(2).write.parquet(plain)
    spark.sql("CREATE NAMESPACE keyfold.tpch")
    names = {RUNS: "keyfold.tpch.runs", ONE: "keyfold.tpch.one"}
    for name in names.values():
        columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
        key = "l_orderkey, l_linenumber"
        create_keyed(spark, name, columns, key, bucket=2, write_only=True)
        rows = spark.read.parquet(plain)
        for run in (rows, *(rows.where(f"pmod(l_orderkey, 3) = {part}") for part in (1, 2))):
            run.writeTo(name).append()
    spark.sql("CALL keyfold.sys.compact(table => 'tpch.one', compact_strategy => 'full')")
    return {PLAIN: f"parquet.`{plain}`", **names}


def turn(spark: SparkSession, query: str) -> tuple[float, list[Row]]:
    """Seconds of a query, and its answer."""
    start = time.perf_counter()
    found = spark.sql(query).collect()
    return time.perf_counter() - start, found


def measured(spark: SparkSession, names: Mapping[str, str], turns: int) -> list[list[str]]:
    """A line for each query and form. Raises AssertionError if answers differ."""
    lines = []
    for query, text in QUERIES.items():
        took: dict[str, list[float]] = {form: [] for form in names}
        answers: dict[str, list[Row]] = {}
        for _ in range(turns + 1):
            for form, name in names.items():
                seconds, answers[form] = turn(spark, text.format(t=name))
                took[form].append(seconds)
        assert all(found == answers[PLAIN] for found in answers.values()), answers
        for form in names:
            pairs = zip(took[PLAIN][1:], took[form][1:], strict=True)
            ratio = statistics.median(plain / own for plain, own in pairs)
            met = "" if form == PLAIN else "met" if ratio >= GOAL else "**not met**"
            goal = "" if form == PLAIN else f"{GOAL:g}"
            seconds = statistics.median(took[form][1:])
            lines.append([query, form, short(seconds), f"{ratio:.2f}", goal, met])
            print("  ".join(lines[-1]), flush=True)
    return lines


def section(lines: list[list[str]], rows: int, turns: int) -> str:
    """The part of the page."""
    heads = ["query", "table", "s", "x plain Spark's", "goal", ""]
    return (
        f"{page.TPCH}{rows:,} rows of `lineitem`\n\n{table(heads, lines)}\nThe three runs are all "
        "rows, then a third of them again, twice. The forms take turns; seconds are medians of "
        f"{turns} turns after one that is not counted, ratios those of the turns. Answers are "
        "equal. Scans fold the rows to groups, expressions included ([how]"
        "(profile.md#queries-with-expressions)). `python -m integration.bench.tpch` wrote this "
        "section.\n"
    )


def main() -> None:
    """Fill, compare, print, write the section."""
    parser = argparse.ArgumentParser(prog="python -m integration.bench.tpch")
    parser.add_argument("--orders", type=int, default=ORDERS, help="of four rows, on average")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--docs", type=Path, default=TOP / "docs")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        spark = sessions.start(Path(made), **sessions.TIMED, spark__driver__memory="4g")
        names = filled(spark, Path(made), said.orders)
        rows = spark.sql(f"SELECT count(*) FROM {names[PLAIN]}").collect()[0][0]
        page.put(said.docs, section(measured(spark, names, said.turns), rows, said.turns))
        spark.stop()


if __name__ == "__main__":
    main()
