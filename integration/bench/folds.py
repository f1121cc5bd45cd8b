"""Aggregates folded by the scan, against Spark's own: `python -m integration.bench.folds [rows]`.

The greatest value of every column of four runs of so many rows (4,000,000 unless said), by each
engine, with the push-down and without it, in turns; then groups of few and of many. Seconds of the
clock, and of processor time of the JVM and of all its workers: the least of some turns. The last
column is what is left of the time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

from integration import sessions
from integration.bench import data
from integration.bench.cases import ENGINES
from integration.bench.data import Shape
from integration.bench.spark import maxima
from integration.faults.harness import jvm_of
from integration.faults.processes import PROC, TICKS, descendants
from integration.keyed import create_keyed

TURNS, SEED = 4, 7
OFF = "WITH (`keyfold.aggregate-push-down` = 'false')"


def filled(spark: SparkSession, folder: Path, shape: Shape, engine: str) -> str:
    """A table that holds the runs of a shape, not compacted."""
    table = f"keyfold.bench.{engine.replace('-', '_')}"
    columns = ", ".join(f"{column} {kind}" for column, kind in shape.columns.items())
    options = {**ENGINES[engine], "bucket": "4", "write-only": "true"}
    create_keyed(spark, table, columns, "id", given=options)
    for run in data.runs(folder, shape):
        spark.read.parquet(str(run)).writeTo(table).append()
    return table


def processor_seconds(jvm: int) -> float:
    """What the JVM and its workers, those that ended included, have taken."""
    ticks = 0
    for pid in (jvm, *descendants(jvm)):
        try:
            fields = (PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS


def turn(spark: SparkSession, query: str) -> tuple[float, float]:
    """Seconds of the clock and of processors that a query takes."""
    jvm = jvm_of(spark)
    clock, processor = time.perf_counter(), processor_seconds(jvm)
    spark.sql(query).collect()
    return time.perf_counter() - clock, processor_seconds(jvm) - processor


def compared(spark: SparkSession, label: str, query: str, table: str) -> None:
    """Print the least times with the push-down and without it."""
    plain, pushed = query.format(t=f"{table} {OFF}"), query.format(t=table)
    pairs = [(turn(spark, plain), turn(spark, pushed)) for _ in range(TURNS + 1)][1:]
    least = [[min(pair[side][of] for pair in pairs) for side in (0, 1)] for of in (0, 1)]
    shown = "".join(f"{a:9.2f} {b:9.2f} {b / a:6.2f}" for a, b in least)
    print(f"{label:34}{shown}", flush=True)


def main(rows: int) -> None:
    """Print every comparison."""
    shape = Shape(4, rows)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for run in range(shape.runs):
            data.make_run(folder / "input", SEED, False, (shape, run))
        spark = sessions.start(folder, spark__driver__memory="4g")
        spark.sql("CREATE NAMESPACE keyfold.bench")
        print(f"{'':34}{'s off':>9} {'s':>9} {'':6}{'cpu off':>9} {'cpu':>9}")
        queries = {
            "max(every column)": f"SELECT {', '.join(maxima(shape))} FROM {{t}}",
            "sum, avg, count": "SELECT sum(a), avg(e), count(d) FROM {t}",
            "1,000 groups": "SELECT e, count(*), sum(a) FROM {t} GROUP BY e",
            "many groups": "SELECT b, count(*), max(a) FROM {t} GROUP BY b",
        }
        for engine in ENGINES:
            table = filled(spark, folder / "input", shape, engine)
            few = queries if engine == "deduplicate" else ("max(every column)",)
            for label in few:
                compared(spark, f"{engine}, {label}", queries[label], table)
            if engine == "aggregation":
                own = "SELECT sum(a), sum(b), max(seq), max(c), max(d) FROM {t}"
                compared(spark, f"{engine}, without merge", own, table)
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000)
