"""Figures of tables from Python: python -m integration.bench.without_spark --rows 8000000

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
from integration.bench.cells import table
from tests.readers import PYTHON

OURS = [sys.executable, "-m", "integration.bench.without_spark.by_keyfold"]
THEIRS = [str(PYTHON), str(Path(__file__).with_name("by_others.py"))]
UPSERTED, MANY = 40_000, 100_000


@dataclass
class System:
    """One system in one case; `keys` are those of a turn, 0 for none."""

    name: str
    case: str
    keys: int = 0
    turns: list[dict[str, float]] = field(default_factory=list)

    def start(self, folder: Path, rows: int) -> subprocess.Popen[str]:
        """Its process."""
        is_delta = self.case.startswith("delta_")
        path = folder / "default.db" / ("delta" if is_delta else "table")
        program = OURS if self.name == "keyfold" else THEIRS
        command = [*program, self.case, str(path), str(rows), str(self.keys)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(TOP / "python"), str(TOP)))}
        if program is THEIRS:
            environment.pop("PYTHONPATH")
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=TOP, stdin=pipe, stdout=pipe, text=True, env=environment
        )

    def median(self, name: str) -> float:
        """Of the turns after the first."""
        return statistics.median(turn[name] for turn in self.turns[1:] or self.turns)


def cases(rows: int) -> dict[str, list[System]]:
    """The systems of each case."""
    return {
        f"all {rows:,} rows, by batches": [
            System("keyfold", "scan"),
            System("pypaimon-rust", "rust_scan"),
            System("deltalake", "delta_scan"),
        ],
        f"all {rows:,} rows in one Arrow table": [
            System("keyfold", "to_arrow"),
            System("deltalake", "delta_to_arrow"),
        ],
        "keys one by one": [
            System("keyfold", "get", 2000),
            System("pypaimon", "paimon_get", 1),
            System("deltalake", "delta_get", 3),
        ],
        f"{MANY:,} keys at once": [
            System("keyfold", "get_many", MANY),
            System("deltalake", "delta_get_many", MANY),
        ],
        f"upsert of {UPSERTED:,} rows": [
            System("keyfold", "upsert", UPSERTED),
            System("deltalake", "delta_upsert", UPSERTED),
        ],
    }


def taken(systems: Sequence[System], folder: Path, rows: int, turns: int) -> None:
    """The systems take their turns."""
    processes = [system.start(folder, rows) for system in systems]
    for turn in range(turns):
        for system, process in zip(systems, processes, strict=True):
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
        for system in systems:
            count, first = max(system.keys, 1), systems[0]
            seconds, used = (system.median(name) / count for name in ("seconds", "cpu"))
            times = [
                f"{one / (first.median(name) / max(first.keys, 1)):.1f}"
                for name, one in (("seconds", seconds), ("cpu", used))
            ]
            turn, peak = system.median("seconds"), system.turns[-1]["peak_mb"]
            line = (case, system.name, f"{count:,}", f"{turn:.3f} s", *times, f"{peak:,.0f} MB")
            lines.append(line)
    heads = ("case", "system", "keys", "median", "times keyfold's", "of processor", "peak memory")
    return table(heads, lines)


def main() -> None:
    """Make the tables, run the cases, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--turns", type=int, default=6, help="the first one is not counted")
    parser.add_argument("--only", default="", help="cases whose name has this")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), asked.rows
        makers = [System("keyfold", "make", rows), System("deltalake", "delta_make", rows)]
        taken(makers, folder, rows, 1)
        found = {n: systems for n, systems in cases(rows).items() if asked.only in n}
        for systems in found.values():
            taken(systems, folder, rows, asked.turns)
        print(shown({"the table made": makers} | found))


if __name__ == "__main__":
    main()
