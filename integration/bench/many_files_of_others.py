"""Tables of many files in other systems: python -m integration.bench.many_files_of_others

Paimon's Java library opens copies of the tables of `many_files`. Delta's table has as many files in
partitions of as many, by a log of one commit with an action for each; none of them exists. Plans
open no file. Each system is a process of its own, which is asked for each step twice.
--files takes other numbers of files than 10,000 and 100,000.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import keyfold
from integration import sessions
from integration.bench import delta, many_files, page
from integration.bench.cells import short, table
from integration.paimon import library
from tests.storage import tables

SIZES = (10_000, 100_000)
STEPS = ("plan of one partition", "plan of everything", "one row written and committed")
SYSTEMS = ("keyfold", "Paimon's Java library 1.4.2", "Delta 4.4 in Spark")
ABOUT = """\
`python -m integration.bench.many_files_of_others` wrote this section. keyfold (from Python) and
Paimon's Java library plan and write the same tables, those of the section before; Delta's have as
many files, in a log of one commit. The first call in a process / the next, in seconds of processor
of the whole process, JIT compilers included; one run, beside other work. A plan of Paimon's is its
splits, one of Delta's the names of files, and one of keyfold's what its tasks are made of."""
OWN = -1  # the partition that is written to
Step = Callable[[], Any]


def used(process: int) -> float:
    """The seconds of processor that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(process: int, steps: dict[str, Step], expected: dict[str, int]) -> dict[str, Any]:
    """The seconds of processor of two calls of each step."""
    found: dict[str, Any] = {}
    for name, step in steps.items():
        found[name] = []
        for _ in range(2):
            before = used(process)
            answer = step()
            found[name].append(used(process) - before)
            assert name not in expected or answer == expected[name], (name, answer)
    return found


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


def of_size(files: int) -> list[dict[str, Any]]:
    """The figures of each system."""
    with tempfile.TemporaryDirectory() as made:
        ours, theirs = Path(made, "ours"), Path(made, "theirs")
        many_files.fill(tables.table(ours, many_files.new_table()), files)
        shutil.copytree(ours, theirs)
        with multiprocessing.get_context("spawn").Pool(1) as process:
            of_ours = process.apply(of_keyfold, (ours, files))
        return [of_ours, of_paimon(theirs, files), of_delta(Path(made), files)]


def section(results: dict[int, list[dict[str, Any]]]) -> str:
    """The section of the page."""
    heads = ["", *(f"{files:,} files: {system}" for files in results for system in SYSTEMS)]
    rows = [
        [step, *(" / ".join(map(short, of[step])) for each in results.values() for of in each)]
        for step in STEPS
    ]
    return f"{page.OTHERS}plans and commits\n\n{ABOUT}\n\n{table(heads, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=SIZES, help="sizes of tables")
    parser.add_argument(
        "--docs", type=Path, help="the folder of the page to write; else it is shown"
    )
    asked = parser.parse_args()
    text = section({files: of_size(files) for files in asked.files})
    print(text) if asked.docs is None else page.put(asked.docs, text)


if __name__ == "__main__":
    main()
