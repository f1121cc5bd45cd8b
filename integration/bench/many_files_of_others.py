"""Tables of many files in other systems: python -m integration.bench.many_files_of_others

Paimon's Java library opens copies of the tables of `many_files`. Delta's table has as many files in
partitions of as many, by a log of one commit with an action for each; Iceberg's are appended by its
Java library, where `make build/iceberg/.installed` made the Spark that it needs. None of the files
exists. Plans open no file. Each system is a process of its own, which is asked for each step twice.
--files takes other numbers of files than 10,000 and 100,000.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import keyfold
from integration import TOP, pictures, sessions
from integration.bench import charts, delta, iceberg, many_files, page
from integration.bench.cells import short, table
from integration.bench.processor_time import measured
from integration.paimon import library
from tests.storage import tables

SIZES = (10_000, 100_000)
STEPS = ("plan of one partition", "plan of everything", "one row written and committed")
SYSTEMS = {
    "keyfold": "keyfold",
    "paimon": "Paimon's Java library 1.4.2",
    "delta": "Delta 4.4 in Spark",
    "iceberg": "Iceberg 1.12's Java library",
}
ABOUT = """\
`python -m integration.bench.many_files_of_others` wrote this section. keyfold (from Python) and
Paimon's Java library plan and write the same tables, those of the section before; Delta's and
Iceberg's have as many files, in one commit. The first call in a process / the next, in seconds of
processor of the whole process, JIT compilers included; one run. A plan of Paimon's is
its splits, one of Delta's the names of files, one of Iceberg's its tasks of files, and one of
keyfold's what its tasks are made of. Iceberg runs in a Spark of its own, which writes its row, as
Delta's does."""
CHART = "benchmarks-files.png"
OWN = -1  # the partition that is written to


def expected(files: int) -> dict[str, int]:
    """The files of each plan."""
    return dict(zip(STEPS, (many_files.BUCKETS, files), strict=False))


def of_keyfold(warehouse: Path, files: int) -> dict[str, Any]:
    """In this process, which has begun with the first plan; its kernels are compiled."""
    found = keyfold.connect(str(warehouse)).table("default.t")
    row = {name: OWN if name == "p" else 1 for name in ("p", "k", *many_files.COLUMNS)}
    half = files // many_files.BUCKETS // 2

    def planned(where: str | None) -> int:
        current = keyfold.connect(str(warehouse)).table("default.t")
        return int(current.scan(["k", "a"], where=where).explain()["files"])

    steps = (lambda: planned(f"p = {half}"), lambda: planned(None), lambda: found.upsert([row]))
    return measured(os.getpid(), dict(zip(STEPS, steps, strict=True)), expected(files))


def of_paimon(warehouse: Path, files: int) -> dict[str, Any]:
    """In a JVM that begins with the first plan."""
    folder = warehouse / "default.db" / "t"
    half = files // many_files.BUCKETS // 2
    with library.start(("-Xmx4g",)) as paimon:

        def planned(**where: Any) -> int:
            return int(paimon.ask("plan", folder, {}, tasks=1, **where)["files"])

        def written() -> None:
            paimon.write(folder, [["+I", OWN, 1, *(1 for _ in many_files.COLUMNS)]])

        one = {"column": "p", "from": half, "to": half}
        steps = (lambda: planned(**one), planned, written)
        return measured(paimon.pid, dict(zip(STEPS, steps, strict=True)), expected(files))


def of_delta(folder: Path, files: int) -> dict[str, Any]:
    """In a session of Spark's, which is started before."""
    path = folder / "delta"
    log = path / "_delta_log" / f"{0:020}.json"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"{json.dumps(action)}\n" for action in _actions(files)))
    spark = sessions.builder(
        folder / "session",
        spark__jars=",".join(map(str, delta.jars())),
        spark__sql__extensions="io.delta.sql.DeltaSparkSessionExtension",
        spark__sql__catalog__spark_catalog="org.apache.spark.sql.delta.catalog.DeltaCatalog",
        spark__databricks__delta__snapshotPartitions="2",
    ).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(10).count()
    half = files // many_files.BUCKETS // 2
    row = spark.sql("SELECT " + ", ".join(f"{OWN}L AS {name}" for name in _columns()))

    def planned(where: str) -> int:
        frame = spark.read.format("delta").load(str(path)).where(where)
        return len(frame.inputFiles())

    def written() -> None:
        row.write.format("delta").mode("append").save(str(path))

    steps = (lambda: planned(f"p = {half}"), lambda: planned("true"), written)
    found = measured(_process(spark), dict(zip(STEPS, steps, strict=True)), expected(files))
    spark.stop()
    return found


def of_iceberg(folder: Path, files: int) -> dict[str, Any] | None:
    """In a JVM of its own environment; None if that is not there."""
    if not iceberg.is_installed():
        return None
    asked = {"steps": STEPS, "of_partition": many_files.BUCKETS, "columns": _columns()}
    paths = {"PYTHONPATH": os.pathsep.join((str(TOP / "python"), str(TOP)))}
    module = "integration.bench.many_files_in_iceberg"
    done = subprocess.run(
        [str(iceberg.PYTHON), "-m", module, str(folder), str(files), json.dumps(asked)],
        cwd=TOP,
        env=os.environ | paths,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _process(spark: SparkSession) -> int:
    assert spark._jvm is not None
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())


def _columns() -> tuple[str, ...]:
    return ("p", "k", *many_files.COLUMNS)


def _actions(files: int) -> Iterator[dict[str, Any]]:
    """Those of the table's first commit."""
    draw = Random(7)
    fields = [
        {"name": name, "type": "long", "nullable": True, "metadata": {}} for name in _columns()
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    yield {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    yield {
        "metaData": {
            "id": str(uuid.UUID(int=draw.getrandbits(128))),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": ["p"],
            "configuration": {},
        }
    }
    names = _columns()[1:]
    for number in range(files):
        low = draw.getrandbits(40)
        statistics = {
            "numRecords": 10,
            "minValues": dict.fromkeys(names, low),
            "maxValues": dict.fromkeys(names, low + 1000),
            "nullCount": dict.fromkeys(names, 0),
        }
        p = number // many_files.BUCKETS
        yield {
            "add": {
                "path": f"p={p}/part-{number:05}-{uuid.UUID(int=draw.getrandbits(128))}.parquet",
                "partitionValues": {"p": str(p)},
                "size": draw.randrange(1 << 26),
                "modificationTime": 1_700_000_000_000,
                "dataChange": True,
                "stats": json.dumps(statistics),
            }
        }


def of_size(files: int) -> dict[str, dict[str, Any]]:
    """The figures of each system."""
    with tempfile.TemporaryDirectory() as made:
        ours, theirs, in_iceberg = (Path(made, name) for name in ("ours", "theirs", "iceberg"))
        many_files.fill(tables.table(ours, many_files.new_table()), files)
        shutil.copytree(ours, theirs)
        in_iceberg.mkdir()
        with multiprocessing.get_context("spawn").Pool(1) as process:
            of_ours = process.apply(of_keyfold, (ours, files))
        found = {"keyfold": of_ours, "paimon": of_paimon(theirs, files)}
        found["delta"] = of_delta(Path(made), files)
        found["iceberg"] = of_iceberg(in_iceberg, files)
    return {system: figures for system, figures in found.items() if figures is not None}


def section(results: dict[int, dict[str, dict[str, Any]]]) -> str:
    """The section of the page, with a column for each system that was measured at any size."""
    systems = [system for system in SYSTEMS if any(system in of for of in results.values())]
    rows = [
        [f"{files:,} files: {step}", *(_cell(of.get(system), step) for system in systems)]
        for files, of in results.items()
        for step in STEPS
    ]
    lines = table(["", *map(SYSTEMS.__getitem__, systems)], rows)
    picture = f"![Plans and commits of systems in a table of many files]({CHART})"
    return f"{page.OTHERS}plans and commits\n\n{picture}\n\n{ABOUT}\n\n{lines}"


def _cell(took: dict[str, Any] | None, step: str) -> str:
    return "-" if took is None else " / ".join(map(short, took[step]))


def chart(results: dict[int, dict[str, dict[str, Any]]]) -> Any:
    """The later call of each step in the largest table, on a logarithmic scale."""
    files, of = max(results.items())
    title = (
        f"Seconds of processor in a table of {files:,} files, not the first time: less is better"
    )
    figure, ax = charts.plain(title, "seconds, logarithmic")
    columns = {system: [took[step][-1] for step in STEPS] for system, took in of.items()}
    charts.bars(ax, STEPS, columns, SYSTEMS, shown=short)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:g}")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=SIZES, help="sizes of tables")
    parser.add_argument(
        "--docs", type=Path, help="the folder of the page to write; else it is shown"
    )
    asked = parser.parse_args()
    results = {files: of_size(files) for files in asked.files}
    text = section(results)
    if asked.docs is None:
        print(text)
    else:
        pictures.save(partial(chart, results), asked.docs / CHART)
        page.put(asked.docs, text)


if __name__ == "__main__":
    main()
