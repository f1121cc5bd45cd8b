"""What grows with the number of commits: python -m integration.bench.growth --commits 10000

One session upserts into a table whose keys stay the same, with default options but for how long
snapshots are kept: an hour's commits by default, which nothing shorter than hours would show to
level off. Every figure is a line in a file as soon as it is there, so that a run that is stopped
still has its page: --figures FILE writes that alone. The section of docs/benchmarks.md stays where
`make bench` writes the page anew.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from pyspark.sql import SparkSession

from integration import TOP, sessions
from integration.bench import charts, page
from integration.bench.cells import short, table
from integration.bench.measure import MB, seconds, size
from integration.bench.report import percentile
from integration.faults import processes
from integration.faults.harness import jvm_of
from integration.keyed import create_keyed

TABLE = "keyfold.bench.growth"
SCHEMA = "id BIGINT, seq BIGINT, a BIGINT, d STRING"
INPUTS = 50  # different ones, over and over
SAMPLE = 50  # commits from one look at files and processes to the next
SHOWN = 1000  # commits of a line of the page


@dataclass(frozen=True)
class Sample:
    """How things stand after a commit: files below the table's folder, MB of disk and of resident
    memory; `workers` and `largest` of those that run tasks, `heap` what Java's holds after a
    collection, 0 where none was asked for.
    """

    commit: int
    seconds: list[float]  # of the commits since the sample before
    snapshots: int
    manifests: int
    data_files: int
    disk: float
    jvm: float
    heap: float
    server: float
    driver: float
    workers: int
    largest: float


@dataclass(frozen=True)
class Run:
    """A session that commits, and its processes that stay."""

    spark: SparkSession
    folder: Path
    server: int
    driver: int

    def samples(self, commits: int) -> Iterator[Sample]:
        """Commit so often, looking at everything now and then."""
        took: list[float] = []
        for number in range(1, commits + 1):
            took.append(seconds(self.commit, number))
            if number % SAMPLE == 0 or number == commits:
                yield self.look(number, took)
                took = []

    def commit(self, number: int) -> None:
        """One upsert, with the compaction that follows it."""
        rows = self.spark.read.schema(SCHEMA).parquet(
            str(self.folder / "in" / f"{number % INPUTS}")
        )
        rows.writeTo(TABLE).append()

    def look(self, number: int, took: list[float]) -> Sample:
        """All figures of now."""
        jvm, where = jvm_of(self.spark), self.folder / "warehouse" / "bench.db" / "growth"
        workers = processes.children(self.server) - {self.driver}
        return Sample(
            number,
            took,
            len(list(where.glob("snapshot/snapshot-*"))),
            len(list(where.glob("manifest/*"))),
            len(list(where.glob("bucket-*/*"))),
            size(where) / 1e6,
            resident(jvm),
            self.heap() if number % (10 * SAMPLE) == 0 else 0.0,
            resident(self.server),
            resident(self.driver),
            len(workers),
            max(map(resident, workers), default=0.0),
        )

    def heap(self) -> float:
        """MB that are reachable in the JVM."""
        java = self.spark._jvm
        java.System.gc()
        runtime = java.Runtime.getRuntime()
        return float(runtime.totalMemory() - runtime.freeMemory()) / MB


def resident(pid: int) -> float:
    """MB of a process that are in memory; 0 if it is gone."""
    try:
        pages = (processes.PROC / str(pid) / "statm").read_text().split()[1]
    except OSError:
        return 0.0
    return int(pages) * processes.PAGE / MB


def inputs(folder: Path, keys: int, rows: int) -> None:
    """Files of rows with keys drawn at random."""
    drawn = np.random.default_rng(2013)
    for number in range(INPUTS):
        ids = drawn.integers(0, keys, rows)
        made = pa.table(
            {
                "id": ids,
                "seq": np.full(rows, number),
                "a": drawn.integers(0, 1 << 40, rows),
                "d": [f"{value:010d}" for value in drawn.integers(0, 10**10, rows)],
            }
        )
        (folder / "in" / f"{number}").mkdir(parents=True)
        pq.write_table(made, folder / "in" / f"{number}" / "rows.parquet")


def started(folder: Path, keys: int, retained: str) -> Run:
    """A session and a table that holds every key."""
    spark = sessions.start(folder, **sessions.TIMED)
    spark.sql("CREATE NAMESPACE keyfold.bench")
    create_keyed(spark, TABLE, SCHEMA, key="id", bucket=2, snapshot__time_retained=retained)
    (server,) = processes.children(jvm_of(spark)) & processes.workers(jvm_of(spark))
    (driver,) = processes.children(server)
    spark.sql(f"INSERT INTO {TABLE} SELECT id, 0, id, lpad(id, 10, '0') FROM range({keys})")
    return Run(spark, folder, server, driver)


def measured(said: argparse.Namespace, folder: Path) -> None:
    """Run, each sample a line of the file of figures."""
    inputs(folder, said.keys, said.rows)
    run = started(folder, said.keys, said.retained)
    began = time.monotonic()
    with said.figures.open("w", encoding="utf-8") as out:
        for sample in run.samples(said.commits):
            out.write(json.dumps(asdict(sample)) + "\n")
            out.flush()
            print(f"{sample.commit:>7} commits {time.monotonic() - began:9.0f} s", flush=True)
    run.spark.stop()


def section(found: list[Sample], said: argparse.Namespace, docs: Path) -> str:
    """The part of the page about growth, its chart drawn."""
    draw(found, docs / "benchmarks-growth.png")
    heads = ["commits", "p50, s", "p99, s", "snapshots", "manifests and lists", "data files"]
    heads += ["disk, MB", "JVM, MB", "its heap", "fork server", "driver process", "largest worker"]
    title = f"{found[-1].commit:,} commits of {said.rows:,} rows into {said.keys:,} keys"
    return (
        f"{page.GROWTH}{title}\n\n![What a long job leaves and takes](benchmarks-growth.png)\n\n"
        + table(heads, list(rows(found)))
        + "\nTimes are those of the commits since the line above, with their compactions. All "
        "else is measured at that commit; memory is resident memory. Every option has its "
        f"default, except two buckets and `snapshot.time-retained` = `{said.retained}` (default: "
        "an hour). The number of files follows the number of commits in that time. A commit "
        "leaves one snapshot, and so does the compaction that follows most commits, each with two "
        "manifest lists and a manifest. The JVM has Spark's default heap of a gigabyte; `its heap` "
        "is the reachable part after a collection, in which Spark keeps the last thousand jobs "
        "and queries and the listing of each input that is read. "
        f"`python -m integration.bench.growth` wrote this section{said.note}.\n"
    )


def rows(found: list[Sample]) -> Iterator[list[str]]:
    """A line for each thousand commits, and the rest."""
    for start in range(0, len(found), SHOWN // SAMPLE):
        part = found[start : start + SHOWN // SAMPLE]
        last = part[-1]
        took = [one for sample in part for one in sample.seconds]
        heap = [sample.heap for sample in part if sample.heap]
        counts = (last.snapshots, last.manifests, last.data_files)
        megabytes = (last.disk, last.jvm, heap[-1] if heap else 0.0)
        megabytes += (last.server, last.driver, last.largest)
        times = (statistics.median(took), percentile(took, 0.99))
        yield [
            f"{last.commit:,}",
            *map(short, times),
            *(f"{count:,}" for count in counts),
            *(f"{value:.0f}" if value else "-" for value in megabytes),
        ]


def draw(found: list[Sample], path: Path) -> None:
    """Seconds of a commit, files, memory."""
    figure, (top, files, memory) = plt.subplots(
        3, 1, figsize=(9.6, 7.0), sharex=True, layout="constrained"
    )
    at = [sample.commit for sample in found]
    top.set_title("A long job: time of a commit, files, memory", loc="left", fontsize=11)
    for part, style in ((0.5, "-"), (0.99, ":")):
        took = [percentile(sample.seconds, part) for sample in found]
        color = charts.COLORS["keyfold"]
        top.plot(at, took, style, color=color, label=f"p{part * 100:.0f}")
    for name, color in (("snapshots", "keyfold"), ("manifests", "delta"), ("data_files", "paimon")):
        counts = [getattr(sample, name) for sample in found]
        files.plot(at, counts, color=charts.COLORS[color], label=name.replace("_", " "))
    for name, label, color in (
        ("jvm", "JVM", "plain"),
        ("driver", "driver process", "delta"),
        ("largest", "largest worker", "keyfold"),
        ("server", "fork server", "paimon"),
    ):
        held = [getattr(sample, name) for sample in found]
        memory.plot(at, held, color=charts.COLORS[color], label=label)
    for axes, label in ((top, "seconds"), (files, "files"), (memory, "MB resident")):
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        charts.beside(axes)
        axes.spines[["top", "right"]].set_visible(False)
    memory.set_xlabel("commits")
    figure.savefig(path, dpi=110, metadata={"Software": ""})
    plt.close(figure)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m integration.bench.growth", description=__doc__)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=500, help="of a commit")
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--retained", default="10 min", help="snapshot.time-retained of the table")
    parser.add_argument("--figures", type=Path, default=Path("growth.jsonl"))
    parser.add_argument("--only-page", action="store_true", help="of the figures that are there")
    parser.add_argument("--note", default="", help="what the page says of the machine")
    parser.add_argument("--docs", type=Path, default=TOP / "docs")
    return parser.parse_args()


def main() -> None:
    """Measure, unless the figures are there, and put the section into the page."""
    said = arguments()
    if not said.only_page:
        with tempfile.TemporaryDirectory(prefix="keyfold-growth-") as scratch:
            measured(said, Path(scratch))
    lines = said.figures.read_text(encoding="utf-8").splitlines()
    found = [Sample(**json.loads(line)) for line in lines]
    page.put(said.docs, section(found, said, said.docs))


if __name__ == "__main__":
    main()
