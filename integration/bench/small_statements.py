"""What small statements through Spark take, and how much of it is Spark's own:
python -m integration.bench.small_statements

In one session, in turns: a query of Spark without a table, a write to nothing, a metadata table,
whose rows come from the driver's process without a Spark job, a look-up by key, and an upsert of
0.01 % of a table of two buckets. Milliseconds of the clock, and of processor: of the JVM, of the
driver's process and of workers. Other work on the machine slows all of them, so the ratio of a
statement to Spark's own in the same turn says more than milliseconds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import median

from pyspark.sql import DataFrame, SparkSession

from integration import sessions
from integration.bench.cells import table
from integration.bench.processor_time import used
from integration.faults import processes
from integration.faults.harness import jvm_of
from integration.keyed import create_keyed

NAME = "keyfold.bench.small"
COLUMNS = "id BIGINT, seq BIGINT, a BIGINT, b BIGINT, c DOUBLE, d STRING, e INT"
VALUES = (
    "{seq} AS seq, id * 7 AS a, id * 11 AS b, id / 3 AS c, lpad(id, 10, '0') AS d, "
    "CAST(id % 1000 AS INT) AS e"
)
QUERY, NOTHING, LOOK_UP, UPSERT = "query of Spark", "write to nothing", "look-up", "upsert"
NO_JOB = "metadata table, without a job"
BESIDE = {NO_JOB: QUERY, LOOK_UP: QUERY, UPSERT: NOTHING}  # what Spark takes by itself
PARTS = ("clock", "JVM", "driver's process", "workers")
Took = dict[str, float]


def measured(spark: SparkSession, rows: int, turns: int, warm: int) -> dict[str, list[Took]]:
    """The milliseconds of each statement in each turn."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.bench")
    create_keyed(spark, NAME, COLUMNS, key="id", bucket=2)
    spark.sql(f"INSERT INTO {NAME} SELECT id, {VALUES.format(seq=0)} FROM range({rows})")
    few, draw = max(rows // 10_000, 1), Random(7)
    jvm = jvm_of(spark)
    (server,) = processes.children(jvm) & processes.workers(jvm)
    driver = min(processes.children(server))

    def changed(turn: int) -> DataFrame:
        keys = f"SELECT pmod(xxhash64(id, {turn}), {rows}) AS id FROM range(0, {few}, 1, 2)"
        return spark.sql(f"SELECT id, {VALUES.format(seq=turn)} FROM ({keys})")

    def query(turn: int) -> object:
        return spark.range(turn, turn + 1, 1, 1).where(f"id = {turn}").collect()

    def nothing(turn: int) -> object:
        return changed(turn).write.format("noop").mode("append").save()

    def look_up(_: int) -> object:
        found = spark.sql(f"SELECT * FROM {NAME} WHERE id = {draw.randrange(rows)}").collect()
        assert len(found) == 1
        return found

    def no_job(_: int) -> object:
        return spark.sql("SELECT * FROM keyfold.bench.`small$options`").collect()

    def upsert(turn: int) -> object:
        return changed(turn).writeTo(NAME).append()

    def spent() -> Took:
        workers = processes.children(server) - {driver}
        seconds = (time.perf_counter(), used(jvm), used(driver), sum(map(used, workers)))
        return dict(zip(PARTS, seconds, strict=True))

    steps: Mapping[str, Callable[[int], object]] = {
        QUERY: query,
        NO_JOB: no_job,
        NOTHING: nothing,
        LOOK_UP: look_up,
        UPSERT: upsert,
    }
    found: dict[str, list[Took]] = {name: [] for name in steps}
    for turn in range(warm + turns):
        for name, step in steps.items():
            before = spent()
            step(turn)
            after = spent()
            if turn >= warm:
                found[name].append({part: 1000 * (after[part] - before[part]) for part in PARTS})
    return found


def shown(found: Mapping[str, Sequence[Took]]) -> str:
    """Least and median milliseconds of the clock, means of processor, and median ratios of turns:
    a processor's time comes in hundredths of a second.
    """
    heads = ["", "least, ms", "median, ms", *(f"{part}, ms of processor" for part in PARTS[1:])]
    rows = []
    for name, took in found.items():
        clock = [one["clock"] for one in took]
        means = (sum(one[part] for one in took) / len(took) for part in PARTS[1:])
        cells = [min(clock), median(clock), *means]
        beside = [one["clock"] for one in found[BESIDE[name]]] if name in BESIDE else clock
        ratio = median(own / other for own, other in zip(clock, beside, strict=True))
        rows.append([name, *(f"{cell:.1f}" for cell in cells), f"{ratio:.2f}"])
    return table([*heads, "ratio to Spark alone"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000, help="rows of the table")
    parser.add_argument("--turns", type=int, default=60, help="turns that count")
    parser.add_argument("--warm", type=int, default=30, help="turns before them")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = sessions.start(Path(folder), **sessions.TIMED)
        print(shown(measured(spark, asked.rows, asked.turns, asked.warm)))
        spark.stop()


if __name__ == "__main__":
    main()
