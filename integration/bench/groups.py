"""GROUP BY by our aggregates against Spark's own: `python -m integration.bench.groups [rows]`.

A Parquet file of random rows (16,000,000 unless said) in 10, 100,000 and 4,000,000 groups. Each
query of ours runs in turns with Spark's, so that what else the machine does slows both; the ratio
is the median of those of the pairs, above 1 where ours is the faster one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from integration import sessions

ROWS, PIECE, PAIRS = 16_000_000, 1 << 20, 5
GROUPS = {"few": 10, "some": 100_000, "many": 4_000_000}
# Ours, Spark's, and how many times as fast as that ours is to be.
QUERIES = {
    "sum": ("keyfold.sum(x)", "sum(x)", 0.7),
    "max": ("keyfold.max(x)", "max(x)", 0.7),
    "last_value": ("keyfold.last_value(x)", "max_by(x, n)", 0.7),
    "listagg": ("keyfold.listagg(t)", "listagg(t, ',')", 1.5),
    "collect": ("keyfold.collect(array(x))", "collect_list(x)", 1.5),
}


def filled(folder: Path, rows: int) -> str:
    """A folder of two Parquet files with so many rows."""
    draw = np.random.default_rng(11)
    folder.mkdir()
    for half in range(2):
        with pq.ParquetWriter(folder / f"{half}.parquet", table(draw, 1, rows).schema) as out:
            for start in range(0, rows // 2, PIECE):
                out.write_table(table(draw, min(PIECE, rows // 2 - start), rows), PIECE)
    return str(folder)


def table(draw: np.random.Generator, count: int, rows: int) -> pa.Table:
    """Random rows: a key for each number of groups, numbers and a text."""
    x = draw.integers(0, 1 << 31, count)
    columns = {
        name: draw.integers(0, most * rows // ROWS + 1, count) for name, most in GROUPS.items()
    }
    columns["few"] = draw.integers(0, GROUPS["few"], count)
    return pa.table(columns | {"x": x, "n": np.arange(count), "t": pa.array(x).cast(pa.string())})


def seconds(spark: SparkSession, call: str, key: str) -> float:
    """One run whose rows go nowhere."""
    start = time.perf_counter()
    frame = spark.sql(f"SELECT {key}, {call} v FROM rows GROUP BY {key}")
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def main(rows: int, only: list[str]) -> None:
    """Print every comparison."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        spark = sessions.start(folder, spark__driver__memory="4g", **sessions.TIMED)
        spark.read.parquet(filled(folder / "rows", rows)).createOrReplaceTempView("rows")
        for name, (ours, sparks, goal) in QUERIES.items():
            for key in GROUPS:
                if only and name not in only:
                    continue
                pairs = [
                    (seconds(spark, ours, key), seconds(spark, sparks, key))
                    for _ in range(PAIRS + 1)
                ][1:]
                a, b = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
                ratio = statistics.median(theirs / own for own, theirs in pairs)
                print(f"{name:12} {key:6} {a:8.2f} {b:8.2f} {ratio:6.2f} (goal {goal})", flush=True)
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, sys.argv[2:])
