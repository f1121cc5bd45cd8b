"""The figures: write, raw read, merge-on-read, small upsert, first query of a session."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from integration.bench.data import COLUMNS, NAMES, RUNS, UPSERTS, Sizes
from integration.bench.measure import Figure, Peaks, by_turns
from integration.plans import assert_ours
from integration.scenarios import TOP, jvm_of

MAXIMA = ", ".join(f"max({name})" for name in NAMES)


@dataclass(frozen=True)
class Bench:
    """A session, its input, and how often each thing is measured."""

    spark: SparkSession
    folder: Path
    sizes: Sizes
    repeat: int
    buckets: int

    def input(self, name: str) -> DataFrame:
        """One of the input tables of data.py."""
        return self.spark.read.parquet(str(self.folder / "input" / name))

    def create(self, name: str, options: Mapping[str, str] | None = None) -> str:
        """A new, empty table."""
        properties = {"bucket": str(self.buckets), **(options or {})}
        listed = ", ".join(f"'{key}' = '{text}'" for key, text in properties.items())
        self.spark.sql(f"DROP TABLE IF EXISTS keyfold.bench.{name}")
        self.spark.sql(
            f"CREATE TABLE keyfold.bench.{name} ({COLUMNS}, PRIMARY KEY (id) NOT ENFORCED) "
            f"TBLPROPERTIES ({listed})"
        )
        return f"keyfold.bench.{name}"

    def sorted_write(self, rows: DataFrame, name: str) -> str:
        """Plain Spark's way to the same layout: a sorted file per bucket, same codec and level."""
        path = str(self.folder / "plain" / name)
        sorted_rows = rows.repartition(self.buckets, "id").sortWithinPartitions("id")
        sorted_rows.write.mode("overwrite").option("compression", "zstd").option(
            "parquet.compression.codec.zstd.level", "1"
        ).parquet(path)
        return path

    def figure(
        self,
        name: str,
        rows: int,
        goal: float,
        measure: Callable[[], tuple[float, float]],
        absolute: str = "",
    ) -> Figure:
        """Measure, and watch the memory."""
        with Peaks(jvm_of(self.spark)) as peaks:
            ours, plain = measure()
        return Figure(name, rows, ours, plain, goal, absolute, peaks.jvm_mb, peaks.workers_mb)


def write(bench: Bench) -> Figure:
    """One run into an empty table, against the sorted write; both read the same Parquet input."""
    rows = bench.input("run0")
    measured = bench.figure(
        f"write {bench.sizes.rows:,} rows",
        bench.sizes.rows,
        0.7,
        lambda: by_turns(
            lambda turn: rows.writeTo("keyfold.bench.written").append(),
            lambda turn: bench.sorted_write(rows, "written"),
            bench.repeat,
            before=lambda turn: bench.create("written"),
        ),
    )
    count = bench.spark.table("keyfold.bench.written").count()
    assert count == bench.sizes.rows, count
    return measured


def scan(bench: Bench, frame: DataFrame) -> list[object]:
    """Read every column, keep one value of each."""
    return list(frame.selectExpr(*MAXIMA.split(", ")).first() or [])


def raw_read(bench: Bench) -> Figure:
    """One run that nothing overlaps, against the same rows as sorted Parquet."""
    base = bench.input("base")
    name = bench.create("base")
    base.writeTo(name).append()
    plain = bench.spark.read.parquet(bench.sorted_write(base, "base"))
    ours = assert_ours(bench.spark.table(name))
    assert scan(bench, ours) == scan(bench, plain)
    return bench.figure(
        f"raw read {bench.sizes.keys:,} rows",
        bench.sizes.keys,
        1.0,
        lambda: by_turns(
            lambda turn: scan(bench, bench.spark.table(name)),
            lambda turn: scan(bench, plain),
            bench.repeat,
        ),
    )


# Options of the merged table, and what each of its columns must be of the rows of one key.
ENGINES: dict[str, tuple[dict[str, str], str]] = {
    "deduplicate": ({}, "max_by({column}, seq)"),
    "partial-update": ({}, "max_by({column}, seq)"),
    "aggregation": (
        {f"fields.{name}.aggregate-function": "sum" for name in ("a", "b", "e")}
        | {f"fields.{name}.aggregate-function": "max" for name in ("seq", "c", "d")},
        "",
    ),
}


def merge_on_read(engine: str, bench: Bench) -> Figure:
    """Four overlapping runs, against the plain scan of the same input rows."""
    options, truth = ENGINES[engine]
    name = bench.create("runs_" + engine.replace("-", "_"), {"merge-engine": engine, **options})
    paths = []
    for run in range(RUNS):
        rows = bench.input(f"run{run}")
        rows.writeTo(name).append()
        paths.append(bench.sorted_write(rows, f"run{run}"))
    plain = bench.spark.read.parquet(*paths)
    check_merge(bench.spark.table(name), plain, options, truth)
    rows_in = RUNS * bench.sizes.rows
    return bench.figure(
        f"merge-on-read {RUNS} x {bench.sizes.rows:,} rows, {engine}",
        rows_in,
        1.0,
        lambda: by_turns(
            lambda turn: scan(bench, bench.spark.table(name)),
            lambda turn: scan(bench, plain),
            bench.repeat,
        ),
    )


def check_merge(
    merged: DataFrame, plain: DataFrame, functions: dict[str, str], otherwise: str
) -> None:
    """The merged table holds each key once, and what plain Spark makes of its rows."""
    columns = []
    for column in NAMES[1:]:
        function = functions.get(f"fields.{column}.aggregate-function")
        folded = f"{function}({column})" if function else otherwise.format(column=column)
        columns.append(f"{folded} AS {column}")
    sums = ["count(*)", *(f"sum(hash(string({column})))" for column in NAMES)]
    aggregates = [expr(column) for column in columns]
    expected = plain.groupBy("id").agg(*aggregates).selectExpr(*sums).first()
    found = assert_ours(merged).selectExpr(*sums).first()
    assert found == expected, f"{found} is not {expected}"


def small_upsert(bench: Bench) -> Figure:
    """A hundredth of a run into the base table, against writing the same few rows sorted."""
    rows = [bench.input(f"upsert{number}") for number in range(UPSERTS)]
    return bench.figure(
        f"upsert {bench.sizes.upsert:,} into {bench.sizes.keys:,}",
        bench.sizes.upsert,
        0.4,
        lambda: by_turns(
            lambda turn: rows[turn % UPSERTS].writeTo("keyfold.bench.base").append(),
            lambda turn: bench.sorted_write(rows[turn % UPSERTS], "upsert"),
            bench.repeat,
        ),
        "seconds",
    )


def first_query(bench: Bench) -> Figure:
    """From the start of a Python process to its first answer, on few rows."""
    bench.spark.table("keyfold.bench.base").limit(1).collect()
    few = bench.create("few")
    bench.input("upsert0").writeTo(few).append()
    bench.sorted_write(bench.input("upsert0"), "few")

    def turn(kind: str) -> float:
        start = time.perf_counter()
        command = [sys.executable, "-m", "integration.bench.fresh", kind, str(bench.folder)]
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return float(done.stdout.split()[-1]) - start

    times = [(turn("keyfold"), turn("plain")) for _ in range(bench.repeat)]
    ours, plain = (statistics.median(column) for column in zip(*times, strict=True))
    return Figure("first query of a session", 0, ours, plain, 1.0, "later", 0, 0)


FIGURES: dict[str, Callable[[Bench], Figure]] = {
    "write": write,
    "raw": raw_read,
    "merge": partial(merge_on_read, "deduplicate"),
    "partial-update": partial(merge_on_read, "partial-update"),
    "aggregation": partial(merge_on_read, "aggregation"),
    "upsert": small_upsert,
    "first": first_query,
}
