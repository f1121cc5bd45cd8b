"""GROUP BY by our aggregates against Spark's: `python -m integration.bench.groups`.

A Parquet file of random rows in 10, 100,000 and 4,000,000 groups. Each query of ours runs in turns
with Spark's, so that what else the machine does slows both. The ratio is the median of those of the
pairs, above 1 where ours is the faster one. It writes a section of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

import keyfold
from integration import TOP, sessions
from integration.bench import page
from integration.bench.cells import short, table
from integration.paimon.library import SPARK_JARS, START

ROWS, PIECE, PAIRS = 16_000_000, 1 << 20, 5
GROUPS = {"few": 10, "some": 100_000, "many": 4_000_000}
FEW, BOTH = ("few",), ("few", "some")


@dataclass(frozen=True)
class Pair:
    """A call of ours, Spark's, how many times as fast ours is to be, and where that is asked."""

    name: str
    ours: str
    sparks: str
    goal: float
    keys: tuple[str, ...] = tuple(GROUPS)


QUERIES = (
    Pair("sum", "keyfold.sum(x)", "sum(x)", 1.0),
    Pair("max", "keyfold.max(x)", "max(x)", 1.0),
    Pair("last_value", "keyfold.last_value(x)", "max_by(x, n)", 1.0),
    Pair("listagg", "keyfold.listagg(t)", "listagg(t, ',')", 1.5),
    Pair("mixed", "keyfold.listagg(t), sum(x)", "listagg(t, ','), sum(x)", 1.5),
    Pair("collect", "keyfold.collect(array(x))", "collect_list(x)", 1.5),
    Pair("bitmap", "keyfold.bitmap_agg(y)", "bitmap_construct_agg(y)", 1.5, FEW),
    Pair("hll", "keyfold.hll_union_agg(keyfold.hll_hash(x))", "hll_sketch_agg(x)", 1.5, BOTH),
    Pair("own-scala", "keyfold.farthest(x)", "scala_farthest(x)", 2.0),
    Pair("own-pandas", "keyfold.farthest(x)", "pandas_farthest(x)", 10.0, BOTH),
)


@keyfold.aggregate("BIGINT")
def farthest(best: int, value: int) -> int:
    """The number that is farthest from 0."""
    return value if abs(value) > abs(best) else best


def pandas_farthest(values: pd.Series) -> int:
    """The same of a group at once."""
    return int(values.iloc[values.abs().argmax()])


def filled(folder: Path, rows: int) -> str:
    """A folder of two Parquet files with so many rows."""
    draw = np.random.default_rng(11)
    folder.mkdir()
    for half in range(2):
        with pq.ParquetWriter(folder / f"{half}.parquet", random_rows(draw, 1, rows).schema) as out:
            for start in range(0, rows // 2, PIECE):
                count = min(PIECE, rows // 2 - start)
                out.write_table(random_rows(draw, count, rows), PIECE)
    return str(folder)


def random_rows(draw: np.random.Generator, count: int, rows: int) -> pa.Table:
    """A key for each number of groups, which is that of 16,000,000 rows, numbers and a text."""
    x = draw.integers(0, 1 << 31, count)
    few, *larger = GROUPS.items()
    columns = {name: draw.integers(0, max(most * rows // ROWS, 1), count) for name, most in larger}
    columns[few[0]] = draw.integers(0, few[1], count)
    texts = pa.array(x).cast(pa.string())
    return pa.table(columns | {"x": x, "y": x % 32768, "n": np.arange(count), "t": texts})


def started(folder: Path) -> SparkSession:
    """A session that knows the function of a user in all three forms."""
    classes = folder / "classes"
    classes.mkdir()
    source = Path(__file__).with_name("Farthest.scala")
    command = [*START, "-Xss8m", "-cp", f"{SPARK_JARS}/*", "scala.tools.nsc.Main", "-usejavacp"]
    subprocess.run([*command, "-d", str(classes), str(source)], check=True)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # for functions of pandas
    said = {
        "spark.driver.memory": "4g",
        "spark.driver.extraClassPath": str(classes),
    }
    spark = sessions.start(folder, **sessions.TIMED, **said)
    assert spark._jvm is not None
    spark._jvm.Farthest.register(spark._jsparkSession)
    keyfold.register(spark, farthest)
    spark.udf.register("pandas_farthest", pandas_udf("bigint")(pandas_farthest))
    return spark


def seconds(spark: SparkSession, call: str, key: str) -> float:
    """One run whose rows go nowhere."""
    start = time.perf_counter()
    frame = spark.sql(f"SELECT {key}, {call} v FROM rows GROUP BY {key}")
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def measured(spark: SparkSession, pairs: int, only: set[str]) -> Iterator[list[str]]:
    """The cells of each comparison, which are printed too."""
    for query in QUERIES:
        for key in query.keys if not only or query.name in only else ():
            took = [
                (seconds(spark, query.ours, key), seconds(spark, query.sparks, key))
                for _ in range(pairs + 1)
            ][1:]
            ours, sparks = (statistics.median(pair[side] for pair in took) for side in (0, 1))
            ratio = statistics.median(theirs / own for own, theirs in took)
            met = "met" if ratio >= query.goal else "**not met**"
            cells = [f"`{query.ours}`", f"`{query.sparks}`", f"{GROUPS[key]:,}"]
            cells += [short(ours), short(sparks), f"{ratio:.2f}", f"{query.goal:g}", met]
            print("  ".join(cells), flush=True)
            yield cells


def section(cells: list[list[str]], rows: int, pairs: int) -> str:
    """The part of the page about GROUP BY."""
    heads = ["ours", "Spark's", "groups", "ours, s", "Spark's, s", "x Spark's", "goal", ""]
    fewer = (
        ""
        if rows == ROWS
        else f" There were {ROWS // rows} times fewer rows, and as many times fewer groups but 10."
    )
    return (
        f"{page.GROUPS}{rows:,} rows\n\n{table(heads, cells)}\nEach query of ours ran in turns "
        f"with Spark's, {pairs} times after a first turn that does not count, over Parquet in two "
        "tasks, and its result was thrown away. Seconds are medians. The ratio is the median of "
        "those of the pairs, so that a machine that does other things too slows both sides."
        f"{fewer} `python -m integration.bench.groups` wrote this section.\n"
    )


def main() -> None:
    """Compare, print, write the section."""
    parser = argparse.ArgumentParser(prog="python -m integration.bench.groups")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument(
        "--only", default="", help="names, comma between: the section has these alone"
    )
    parser.add_argument("--docs", type=Path, default=TOP / "docs")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        spark = started(Path(made))
        rows = spark.read.parquet(filled(Path(made) / "rows", said.rows))
        rows.createOrReplaceTempView("rows")
        only = {name for name in said.only.split(",") if name}
        cells = list(measured(spark, said.pairs, only))
        page.put(said.docs, section(cells, said.rows, said.pairs))
        spark.stop()


if __name__ == "__main__":
    main()
