"""Figures of tables from Python, a section of docs/benchmarks.md:

python -m integration.bench.without_spark            8 million rows, five minutes of two cores
python -m integration.bench.without_spark --smoke    every case once on tiny tables

keyfold reads and writes a table of four runs; pypaimon and pypaimon-rust read the same directory,
deltalake has a table of the same rows. The systems of a case take turns, each in a process of its
own, whose peak memory is that of the case. A turn before the first one warms up.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from integration import TOP
from integration.bench import page
from integration.bench.cells import short, table
from integration.bench.without_spark.serve import AT_ONCE, FEW_ROWS
from integration.docs import pages
from tests.readers import PYTHON

OURS = [sys.executable, "-m"]
THEIRS = [str(PYTHON), str(Path(__file__).with_name("by_others.py"))]
READER = "its reader of the benchmarks"
MODULES = {
    "keyfold": "integration.bench.without_spark.by_keyfold",
    READER: "integration.bench.without_spark.by_reader",
}
UPSERTED, MANY, ROWS, TURNS = 40_000, 100_000, 8_000_000, 5
UPSERTS, FILES, OF_FILE = 20, 2048, 8
ABOUT = """\
`python -m integration.bench.without_spark` wrote this section{asked}. Rows have five columns
(`BIGINT` key, `INT`, `DOUBLE`, `STRING`, `BIGINT`). keyfold's table has four runs with a quarter of
the keys each. pypaimon and pypaimon-rust read the same directory, deltalake has a table of the same
rows, which it need not merge: its writes do that work. Scans touch every cell. The update adds to
one column where another has one of ten values, the merge does so by 1 % of the keys. Small upserts
go into tables of their own, with the options that these have by default; many small files into 8
partitions of 256 buckets of a new table. The reader of the benchmarks has two processes. keyfold's
`get` is asked for 2,000 random keys in a turn. The systems of a case take turns, each in a process
of its own; medians of {turns} turns (¹ one turn) after one that is not counted."""


@dataclass
class System:
    """One system in one case; `keys` are those of a turn, 0 for none."""

    name: str
    case: str
    keys: int = 0
    most: int = 0  # turns, if a turn takes too long for all
    turns: list[dict[str, float]] = field(default_factory=list)

    def start(self, folder: Path, rows: int) -> subprocess.Popen[str]:
        """Its process."""
        is_delta = self.case.startswith("delta_")
        path = folder / "default.db" / ("delta" if is_delta else "table")
        module = MODULES.get(self.name)
        program = [*OURS, module] if module else THEIRS
        command = [*program, self.case, str(path), str(rows), str(self.keys)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(TOP / "python"), str(TOP)))}
        if not module:
            environment.pop("PYTHONPATH")
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=TOP, stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def median(self, name: str) -> float:
        """Of the turns after the first."""
        return statistics.median(turn[name] for turn in self.turns[1:] or self.turns)


def makers(rows: int) -> list[System]:
    """Those that make the tables."""
    beside = System("keyfold", "make_beside", rows)
    return [System("keyfold", "make", rows), System("deltalake", "delta_make", rows), beside]


def cases(rows: int) -> dict[str, list[System]]:
    """The systems of each case."""
    upserts, files = min(UPSERTS, rows // 1000), min(FILES, rows // 100)
    return {
        "all rows, by batches": [
            System("keyfold", "scan"),
            System(READER, "reader_scan"),
            System("pypaimon-rust", "rust_scan"),
            System("pypaimon", "paimon_scan", most=1),
            System("deltalake", "delta_scan"),
        ],
        "all rows in one Arrow table": [
            System("keyfold", "to_arrow"),
            System("deltalake", "delta_to_arrow"),
        ],
        "all rows, compacted, by batches": [
            System("keyfold", "scan_compacted"),
            System("deltalake", "delta_scan"),
        ],
        "all rows, compacted, in one Arrow table": [
            System("keyfold", "to_arrow_compacted"),
            System("deltalake", "delta_to_arrow"),
        ],
        "a key of one run": [
            System("keyfold", "get", 2000),
            System("pypaimon", "paimon_get", 1),
            System("deltalake", "delta_get", 3),
        ],
        "a key of all four runs": [System("keyfold", "get_held", 2000)],
        f"{MANY:,} keys at once": [
            System("keyfold", "get_many", MANY),
            System("deltalake", "delta_get_many", MANY),
        ],
        f"{MANY:,} keys at once, on one core": [System("keyfold", "get_many_on_one_core", MANY)],
        f"upsert of {UPSERTED:,} rows": [
            System("keyfold", "upsert", UPSERTED),
            System("deltalake", "delta_upsert", UPSERTED),
        ],
        f"{upserts} upserts of {AT_ONCE} rows into {FEW_ROWS:,}": [
            System("keyfold", "upsert_few", upserts * AT_ONCE),
            System("deltalake", "delta_upsert_few", upserts * AT_ONCE),
        ],
        f"{files:,} files of {OF_FILE} rows in one commit": [
            System("keyfold", "many_files", files * OF_FILE),
            System("pypaimon", "paimon_many_files", files * OF_FILE, most=2),
        ],
        "update of 1 %, by a value": [
            System("keyfold", "update", rows // 100),
            System("deltalake", "delta_update", rows // 100),
        ],
        "merge of 1 %": [
            System("keyfold", "merge", rows // 100),
            System("deltalake", "delta_merge", rows // 100),
        ],
    }


def taken(systems: Sequence[System], folder: Path, rows: int, turns: int) -> None:
    """The systems take their turns."""
    processes = [system.start(folder, rows) for system in systems]
    for turn in range(turns):
        for system, process in zip(systems, processes, strict=True):
            if system.most and turn >= system.most:
                continue
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{turn}\n")
            process.stdin.flush()
            system.turns.append(json.loads(process.stdout.readline()))
    for process in processes:
        process.communicate()


def shown(found: dict[str, list[System]]) -> str:
    """The figures as a table of Markdown."""
    lines = []
    for case, systems in found.items():
        first = systems[0]
        for system in systems:
            turn, used = system.median("seconds"), short(system.median("cpu"))
            count = system.keys if "get" in system.case else 0
            rate = f"{count / turn:,.0f}" if count else ""
            own = first.median("seconds") / max(first.keys, 1)
            ratio = f"{turn / max(system.keys, 1) / own:.2f}"
            peak = f"{system.turns[-1]['peak_mb']:,.0f}"
            few = "¹" if system.most == 1 else ""
            if system.name == READER:  # others than this process did the work
                used = peak = ""
            lines.append((case, system.name, f"{short(turn)}{few}", used, rate, ratio, peak))
            case = ""
    heads = ("", "", "s", "of processor", "keys/s", "in keyfold's time", "peak memory, MB")
    return table(heads, lines)


def section(found: dict[str, list[System]], rows: int, turns: int, asked: Sequence[str]) -> str:
    """The part of the page."""
    words = f" with `{' '.join(asked)}`" if asked else ""
    about = ABOUT.format(asked=words, turns=turns)
    return f"{page.PYTHON}{rows:,} rows\n\n{shown(found)}\n{about}\n"


def main() -> None:
    """Make the tables, run the cases, put the figures into the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--smoke", action="store_true", help="2,000 rows, each case once")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--turns", type=int, help="after one that is not counted")
    parser.add_argument("--only", default="", help="cases whose name has this; printed alone")
    parser.add_argument("--docs", type=Path, default=pages.DOCS, help="where the report is")
    said = parser.parse_args()
    rows = said.rows or (2_000 if said.smoke else ROWS)
    turns = TURNS if said.turns is None else said.turns
    with tempfile.TemporaryDirectory(prefix="keyfold-bench-") as name:
        folder, made = Path(name), makers(rows)
        for system in made:  # one after another
            taken([system], folder, rows, 1)
        found = {n: systems for n, systems in cases(rows).items() if said.only in n}
        for systems in found.values():
            taken(systems, folder, rows, 1 if said.smoke else 1 + turns)
    check(found, rows)
    found = {f"{rows:,} rows written, in four commits": made[:2]} | found
    text = section(found, rows, turns, sys.argv[1:] if said.rows or said.turns else ())
    print(text)
    if not said.only:
        page.put(said.docs, text)


def check(found: dict[str, list[System]], rows: int) -> None:
    """Every system found what was asked for; random keys repeat."""
    for name, systems in found.items():
        for system in systems:
            for turn in system.turns:
                asked = system.keys or rows
                is_drawn = system.keys in (UPSERTED, MANY, rows // 100)
                least = min(asked, rows) * 0.6 if is_drawn else asked
                assert least <= turn["rows"] <= asked, (name, system.name, turn["rows"], asked)


if __name__ == "__main__":
    main()
