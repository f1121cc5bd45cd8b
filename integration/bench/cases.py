"""What is measured, in which sizes: one place that sessions, report and goals take names from."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from integration import sessions
from integration.bench.data import Shape
from integration.bench.measure import Pace

HEAP = "4g"
FRACTIONS = {"0.01 %": 0.0001, "0.1 %": 0.001, "1 %": 0.01, "10 %": 0.1, "100 %": 1.0}
TUPLES = ("runs", "widths", "fractions", "spread")
FEW = 6  # different inputs of a small upsert
OVERLAPS = ("none", "1 %", "half", "full")
SUMS = {f"fields.{name}.aggregate-function": "sum" for name in ("a", "b", "e")}
MAXIMA = {f"fields.{name}.aggregate-function": "max" for name in ("seq", "c", "d")}
ENGINES = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", **SUMS, **MAXIMA},
    "first-row": {"merge-engine": "first-row"},
    "versioned": {
        "table.merge-engine": "versioned",
        "table.merge-engine.versioned.ver-column": "seq",
    },
}


@dataclass(frozen=True)
class Settings:
    """Sizes and repeats of one run of the suite, and where it works."""

    folder: Path
    rows: int  # of each of four runs; twice as many keys, of which the base table holds all
    sweep: int  # rows of all runs of a table that runs, overlap, keys and widths are varied in
    small: int  # rows of each of four runs that pypaimon gets
    day: int  # rows that a day begins with
    minute: int  # rows of a commit of the day
    minutes: int  # different inputs of the day and of a stream, over and over
    commits: dict[str, int]  # of the day, for each system
    batches: int  # small ones of a stream
    runs: tuple[int, ...]
    widths: tuple[int, ...]
    fractions: tuple[str, ...]  # of FRACTIONS
    spread: tuple[int, ...]  # numbers of buckets
    partitions: int  # that few rows are written into
    timed: bool  # whether times decide anything
    repeat: int
    budget: float
    lookups: int
    check: bool  # whether plain Spark answers every merge too
    buckets: int
    seed: int

    @property
    def base(self) -> Shape:
        """Every key once: what is upserted and looked up in."""
        return Shape(1, 2 * self.rows)

    @property
    def main(self) -> Shape:
        """The workload of the design's speed section."""
        return Shape(4, self.rows)

    @property
    def few(self) -> Shape:
        """What fits row-by-row readers."""
        return Shape(4, self.small)

    @property
    def today(self) -> Shape:
        """What the day begins with."""
        return Shape(1, self.day)

    @property
    def sweeps(self) -> dict[str, dict[str, Shape]]:
        """By what is varied."""
        four = Shape(4, self.sweep // 4)
        return {
            "runs": {str(n): Shape(n, self.sweep // n) for n in self.runs},
            "overlap": {of: replace(four, overlap=of) for of in OVERLAPS},
            "key": {key: replace(four, key=key) for key in ("BIGINT", "STRING", "INT, STRING")},
            "width": {
                str(w): replace(four, width=w, rows=min(four.rows, four.rows * 7 // w))
                for w in self.widths
            },
        }

    @property
    def swept(self) -> list[Shape]:
        """All shapes of sweeps, once each."""
        return list(dict.fromkeys(s for sweep in self.sweeps.values() for s in sweep.values()))

    @property
    def merged(self) -> list[tuple[Shape, str]]:
        """All tables that are merged as they are read, and the engine of each."""
        wanted = [(self.main, engine) for engine in ENGINES]
        wanted += [(shape, "deduplicate") for shape in (self.few, *self.swept)]
        return list(dict.fromkeys(wanted))

    @property
    def upserts(self) -> list[tuple[Shape, list[tuple[str, int, int]]]]:
        """Inputs of upserts and of the day, into which table: name, number, rows."""
        few = [
            (upsert(name), number, self.changed(name))
            for name in self.fractions
            for number in range(self.inputs(name))
        ]
        streamed, day = (
            [(name, number, self.minute) for number in range(self.minutes)]
            for name in ("streamed", "day")
        )
        return [(self.base, few + streamed), (self.today, day)]

    def changed(self, fraction: str) -> int:
        """Rows of an upsert."""
        return max(int(self.base.total * FRACTIONS[fraction]), 1)

    def inputs(self, fraction: str) -> int:
        """How many different inputs an upsert has."""
        return FEW if FRACTIONS[fraction] <= 0.01 else 1

    def commits_of(self, system: str) -> int:
        """How long the day of a system is."""
        return self.commits[system]

    @property
    def input(self) -> Path:
        """Where data.py wrote to."""
        return self.folder / "input"

    @property
    def jvm(self) -> dict[str, str]:
        """Confs of a session: its heap, and Java's own choices if times decide."""
        more = sessions.TIMED if self.timed else sessions.INTERPRETED
        return {"spark.driver.memory": HEAP, **more}

    @property
    def pace(self) -> Pace:
        """How often each thing is measured."""
        return Pace(self.repeat, self.budget)

    @property
    def pace_of_writes(self) -> Pace:
        """The same for statements that change rows: compactions follow some of their turns."""
        return Pace(3 * self.repeat, self.budget)

    def to_json(self) -> dict[str, Any]:
        """For a session's process."""
        return {**asdict(self), "folder": str(self.folder)}


def from_json(given: dict[str, Any]) -> Settings:
    """What to_json wrote."""
    tuples = {name: tuple(given[name]) for name in TUPLES}
    return Settings(**{**given, **tuples, "folder": Path(given["folder"])})


def upsert(fraction: str) -> str:
    """The folder of an upsert's inputs."""
    return "upsert_" + fraction.removesuffix(" %").replace(".", "_")


def full(folder: Path) -> Settings:
    """About 20 minutes of two cores."""
    return Settings(
        folder,
        rows=4_000_000,
        sweep=1_600_000,
        small=50_000,
        day=2_000_000,
        minute=2_000,
        minutes=50,
        commits={"keyfold": 500, "delta": 10, "paimon": 100},
        batches=1000,
        runs=(1, 2, 4, 8, 16, 32, 64),
        widths=(2, 7, 20, 50, 200),
        fractions=tuple(FRACTIONS),
        spread=(1, 2, 4, 8, 16),
        partitions=500,
        timed=True,
        repeat=5,
        budget=3.0,
        lookups=20,
        check=False,
        buckets=2,
        seed=2013,
    )


def smoke(folder: Path) -> Settings:
    """Seconds: everything once, answers compared with plain Spark's too."""
    return replace(
        full(folder),
        rows=2_000,
        sweep=2_000,
        small=200,
        day=500,
        minute=20,
        minutes=4,
        commits={"keyfold": 4, "delta": 2, "paimon": 4},
        batches=4,
        runs=(1, 4),
        widths=(2, 9),
        fractions=("1 %", "100 %"),
        spread=(1, 3),
        partitions=5,
        timed=False,
        repeat=0,
        lookups=1,
        check=True,
    )
