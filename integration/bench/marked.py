"""Deletion vectors beside the merge that they save, a section of docs/benchmarks.md:

python -m integration.bench.marked            16 million rows, twenty minutes of one core
python -m integration.bench.marked --smoke    tiny tables

Four jobs write runs whose keys overlap, from Python and with one thread, into tables with vectors
and without; Paimon's Java library reads the same directories, and writes tables of its own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import keyfold
from integration.bench import page
from integration.bench.cells import short, table, times
from integration.bench.data import RECORD
from integration.bench.datapath import COLUMNS, rows
from integration.paimon import library
from integration.paimon.library import Paimon
from keyfold import Table
from keyfold.kernels import jit
from keyfold.wire.specs import ORDINAL

ROWS, SMALL, ROUNDS = 16_000_000, 8_000, 2
FLAGS = ("-Xmx2500m",)
VECTORS = {"deletion-vectors.enabled": "true"}
MERGED, WHOLE = "merge of 4 runs", "one run, compacted"
FORMS: dict[str, dict[str, str]] = {
    MERGED: {},
    "vectors of 32 bits": VECTORS,
    "vectors of 64 bits": VECTORS | {"deletion-vectors.bitmap64": "true"},
    WHOLE: {},
}
SHAPES = {"four of 25 %": (0.25,) * 4, "one of 97 %, three of 1 %": (0.97, 0.01, 0.01, 0.01)}
READS = ("every cell", "1 %, anywhere", "1 %, side by side")
ABOUT = """\
`python -m integration.bench.marked` wrote this section. Rows have seven columns, and come in four
jobs; the keys of a job are drawn from half as many as there are rows in all. Vectors mark rows that
later jobs have again. Three reads: every cell, and those of 1 % of the rows by a condition on a
column of values, which lie anywhere or side by side. Seconds of processor, of one thread and
without Spark: the best of {rounds} reads, or all four jobs together; in brackets as a part of what
the same system takes for the merge, or for jobs without vectors. What Java takes has its JIT
compiler and collector in it. Its writer is given a fortieth of the rows."""
CLOCK = os.sysconf("SC_CLK_TCK")
Clock = Callable[[], float]


@dataclass
class Figures:
    """The seconds of each form, as the systems read it, and of writes without vectors and with."""

    read: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    write: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Data:
    """The rows of jobs of these sizes."""

    sizes: tuple[int, ...]

    @property
    def keys(self) -> int:
        """The number that keys are below."""
        return sum(self.sizes) // 2

    @property
    def bounds(self) -> tuple[tuple[str, int], ...]:
        """The conditions of the reads of 1 % of the rows: a column and its least value."""
        return ("a", int((1 << 40) * 0.99)), ("b", int(self.keys * 0.99))

    @property
    def conditions(self) -> tuple[str | None, ...]:
        """Those of all reads."""
        return None, *(f"{column} >= {least}" for column, least in self.bounds)

    def job(self, number: int) -> pa.Table:
        """Its rows, whose column b goes with the key."""
        draw, size = np.random.default_rng(number), self.sizes[number]
        ids = pa.array(draw.integers(0, self.keys, size))
        found = rows(size, number).drop([ORDINAL])
        for column in ("id", "b"):
            found = found.set_column(found.schema.get_field_index(column), column, ids)
        return found


def process_clock(pid: int) -> Clock:
    """The processor time of another process."""

    def read() -> float:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / CLOCK

    return read


def best(clock: Clock, work: Callable[[], int], expected: int) -> float:
    """The seconds of the best round, each of which must find so many rows; one more goes before."""
    found = []
    for _ in range(ROUNDS + 1):
        began = clock()
        assert work() == expected
        found.append(clock() - began)
    return min(found[1:])


def made(folder: Path, name: str, options: dict[str, str]) -> Table:
    """An empty table of one bucket."""
    catalog = keyfold.connect(folder, threads=1)
    return catalog.create_table(name, COLUMNS, ["id"], [], {"bucket": "1"} | options)


def drained(found: Table, where: str | None) -> int:
    return sum(batch.num_rows for batch in found.scan(where=where).to_batches())


def place(folder: Path, name: str) -> Path:
    return folder / "default.db" / name


def by_keyfold(folder: Path, data: Data, figures: Figures) -> list[int]:
    """Fill the tables, and read them; the number of rows of each read."""
    tables = {form: made(folder, f"t{n}", o) for n, (form, o) in enumerate(FORMS.items())}
    took = dict.fromkeys(FORMS, 0.0)
    for number in range(len(data.sizes)):
        given = data.job(number)
        for form, one in tables.items():
            began = time.process_time()
            one.upsert(given)
            took[form] += time.process_time() - began
    figures.write["keyfold"] = [took[MERGED], *(took[f] for f in FORMS if FORMS[f])]
    tables[WHOLE].compact()
    expected = [drained(tables[MERGED], where) for where in data.conditions]
    for form, one in tables.items():
        figures.read[form] = {
            "keyfold": [
                best(time.process_time, partial(drained, one, where), count)
                for where, count in zip(data.conditions, expected, strict=True)
            ]
        }
    return expected


def by_java(
    folder: Path, data: Data, figures: Figures, paimon: Paimon, expected: Sequence[int]
) -> None:
    """Read keyfold's tables, and write others."""
    clock = process_clock(paimon.pid)
    asked: list[tuple[str, dict[str, Any]]] = [("scan", {})]
    asked += [("range", {"column": c, "from": n, "to": 1 << 41}) for c, n in data.bounds]
    for number, form in enumerate(FORMS):
        at = place(folder, f"t{number}")

        def read(do: str, more: dict[str, Any], at: Path = at) -> int:
            return int(paimon.ask(do, at, {}, tasks=1, **more)["rows"])

        figures.read[form]["Java"] = [
            best(clock, partial(read, do, more), count)
            for (do, more), count in zip(asked, expected, strict=True)
        ]
    figures.write["Java"] = []
    few = Data(tuple(max(size // 40, 1) for size in data.sizes))
    files = [record_file(folder, few, job) for job in range(len(few.sizes))]
    for number, form in enumerate(f for f in FORMS if f != WHOLE):
        made(folder, f"java{number}", FORMS[form])
        began = clock()
        for file in files:
            paimon.ask("append", place(folder, f"java{number}"), {}, tasks=1, file=str(file))
        figures.write["Java"].append(clock() - began)


def record_file(folder: Path, data: Data, job: int) -> Path:
    """The rows of a job, as Java's writer reads them."""
    given = data.job(job)
    cells = np.empty(len(given), RECORD)
    for name in given.schema.names:
        cells[name] = given[name].to_numpy()
    path = folder / f"job{job}.records"
    cells.tofile(path)
    return path


def section(found: Mapping[str, Figures], count: int) -> str:
    """The section of the page."""
    systems = ("keyfold", "Java")
    heads = [f"{system}: {what}" for what in READS for system in systems]

    def shown(seconds: float, of: float) -> str:
        return f"{short(seconds)} ({times(seconds / of if of else None)})"

    parts = [f"{page.VECTORS}{count:,} rows\n\n{ABOUT.format(rounds=ROUNDS)}\n"]
    for shape, figures in found.items():
        before = figures.read[MERGED]
        lines = [
            [form, *(shown(of[s][n], before[s][n]) for n in range(len(READS)) for s in systems)]
            for form, of in figures.read.items()
        ]
        parts.append(table([f"jobs: {shape}", *heads], lines))
    lines = [
        [f"{system}, {shape}", *(shown(one, seconds[0]) for one in seconds)]
        for shape, figures in found.items()
        for system, seconds in figures.write.items()
    ]
    kinds = ("without vectors", *(form for form in FORMS if FORMS[form]))
    return "\n".join([*parts, table(["writes", *kinds], lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="of the four jobs")
    parser.add_argument("--smoke", action="store_true", help="tiny tables")
    parser.add_argument("--docs", type=Path, help="the folder of the page; else it is shown")
    asked = parser.parse_args()
    count = asked.rows or (SMALL if asked.smoke else ROWS)
    pa.set_cpu_count(1)
    jit.warm()
    found = {shape: Figures() for shape in SHAPES}
    with library.start(FLAGS) as paimon:
        for shape, figures in found.items():
            data = Data(tuple(int(count * part) for part in SHAPES[shape]))
            with tempfile.TemporaryDirectory() as scratch:
                expected = by_keyfold(Path(scratch), data, figures)
                by_java(Path(scratch), data, figures, paimon, expected)
    text = section(found, count)
    print(text) if asked.docs is None else page.put(asked.docs, text)


if __name__ == "__main__":
    main()
