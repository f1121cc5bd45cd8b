"""What the suite is held against: each goal, what was measured, whether it is met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from integration.bench.cases import ENGINES, Settings
from integration.bench.figures import Figures
from integration.bench.row_changes import DELETE, INSERT, MERGE, READ, UPDATE, WHERE

WORKER_MB = 512
PAIRS = (
    ("keyfold in Spark to Paimon's Java reader in Spark", "keyfold", "paimon-spark"),
    ("keyfold's reader to Paimon's, no Spark in either", "reader", "paimon"),
    ("keyfold in Spark to Paimon's reader without Spark (unlike)", "keyfold", "paimon"),
)


READER = {"deduplicate": 0.5, "partial-update": 0.5, "aggregation": 0.6}  # seconds


@dataclass(frozen=True)
class Goal:
    """`value` must be at least, or at most, `limit`; None was not measured."""

    what: str
    limit: float
    unit: str
    value: float | None
    most: bool = False

    @property
    def met(self) -> bool:
        """Whether it is; what was not measured is not."""
        if self.value is None:
            return False
        return self.value <= self.limit if self.most else self.value >= self.limit

    def cells(self) -> list[str]:
        """A line of the table."""
        sign = "≤" if self.most else "≥"
        goal = f"{sign} {self.limit:g} {self.unit}"
        found = "not measured" if self.value is None else f"{self.value:.2f} {self.unit}"
        if self.value is not None and self.unit in ("ms", "MB"):
            found = f"{self.value:.0f} {self.unit}"
        return [self.what, goal, found, "met" if self.met else "**not met**"]


def goals(figures: Figures, settings: Settings) -> list[Goal]:
    """All of them, in the issue's order."""
    found = (
        merging(figures, settings),
        reading(figures, settings),
        writing(figures),
        changing(figures),
        telling(figures),
        smaller(figures),
    )
    return [goal for some in found for goal in some]


def merging(figures: Figures, settings: Settings) -> Iterator[Goal]:
    """Merge-on-read of the main workload, and how it holds with more runs."""
    main = settings.main.name
    for engine in ENGINES:
        case = f"merge/{engine}/{main}"
        scan = figures.ratio(case, "plain", f"scan/{main}")
        yield Goal(f"merge-on-read, 4 runs, `{engine}`, to Spark's scan", 1.2, "x", scan)
        for words, ours, theirs in PAIRS:
            ratio = figures.ratio(case, theirs, ours=ours)
            yield Goal(f"the same, `{engine}`: {words}", 2.0, "x", ratio)
    shapes = settings.sweeps["runs"]
    rates = {
        runs: figures.rate(f"merge/deduplicate/{shapes[runs].name}", "keyfold")
        for runs in ("4", "32")
        if runs in shapes
    }
    four, many = rates.get("4"), rates.get("32")
    held = many / four if many and four else None
    yield Goal("rate at 32 runs to that at 4 runs, same rows", 0.6, "x", held)


def reading(figures: Figures, settings: Settings) -> Iterator[Goal]:
    """Tables whose runs overlap little, wide ones, compacted ones, and the reader alone."""
    half = settings.sweeps["overlap"]["half"].name
    ratio = figures.ratio(f"merge/deduplicate/{half}", "plain", f"scan/{half}")
    yield Goal("runs that overlap by half, to Spark's scan", 1.3, "x", ratio)
    for width, limit in (("50", 0.45), ("200", 0.8)):
        wide = settings.sweeps["width"].get(width)
        took = figures.seconds(f"merge/deduplicate/{wide.name}", "keyfold") if wide else None
        yield Goal(f"read of 4 runs of {width} columns", limit, "s", took, most=True)
    case = "compacted/deduplicate"
    yield Goal(
        "read after full compaction, to Spark's scan", 1.2, "x", figures.ratio(case, "plain")
    )
    yield Goal("the same", 1.0, "s", figures.seconds(case, "keyfold"), most=True)
    for engine, limit in READER.items():
        took = figures.seconds(f"merge/{engine}/{settings.main.name}", "reader")
        yield Goal(f"keyfold's reader alone, 4 runs, `{engine}`", limit, "s", took, most=True)


def writing(figures: Figures) -> Iterator[Goal]:
    """Writes, compaction, upserts."""
    yield Goal(
        "bulk write, to Spark's sorted Parquet write", 1.0, "x", figures.ratio("write", "plain")
    )
    yield Goal("bulk write", 2.6, "s", figures.seconds("write", "keyfold"), most=True)
    for engine in ("deduplicate", "aggregation"):
        java = figures.ratio(f"compact/{engine}", "paimon")
        yield Goal(f"full compaction, to Paimon's Java library, `{engine}`", 2.0, "x", java)
    yield Goal("upsert of 1 %, to Delta's MERGE", 15.0, "x", figures.ratio("upsert/1 %", "delta"))
    yield Goal("upsert of 1 %", 0.4, "s", figures.seconds("upsert/1 %", "keyfold"), most=True)
    least = figures.seconds("upsert/0.01 %", "keyfold")
    yield Goal("upsert of 0.01 %", 0.25, "s", least, most=True)
    changed = figures.seconds("changes/1 %", "keyfold")
    yield Goal("changes of a commit of 1 %", 1.0, "s", changed, most=True)
    batch = figures.seconds("stream/small", "keyfold")
    yield Goal("micro-batch of a stream, small", 0.5, "s", batch, most=True)
    stream, insert = (figures.seconds(f"stream/{of}", "keyfold") for of in ("large", "insert"))
    held = insert / stream if stream and insert else None
    yield Goal("large micro-batch of a stream, to INSERT", 0.9, "x", held)


def changing(figures: Figures) -> Iterator[Goal]:
    """Statements that change rows."""
    merge, insert = (figures.seconds(f"rows/{name}", "keyfold") for name in (MERGE, INSERT))
    ratio = merge / insert if merge and insert else None
    yield Goal("MERGE of 1 %, to an INSERT of the same rows", 1.3, "x", ratio, most=True)
    yield Goal("the same, to Delta's", 15.0, "x", figures.ratio(f"rows/{MERGE}", "delta"))
    yield Goal(WHERE, 0.8, "s", figures.seconds(f"rows/{WHERE}", "keyfold"), most=True)
    update, read = (figures.seconds(case, "keyfold") for case in (f"rows/{UPDATE}", READ))
    more = update - read if update and read else None
    yield Goal(f"{UPDATE}, beyond a scan of its columns", 0.3, "s", more, most=True)
    yield Goal(DELETE, 0.4, "s", figures.seconds(f"rows/{DELETE}", "keyfold"), most=True)


def telling(figures: Figures) -> Iterator[Goal]:
    """Changelog files, to the same work without them."""
    for what, producer, limit in (
        ("write", "input", 1.3),
        ("compaction", "full-compaction", 1.25),
        ("both", "lookup", 1.6),
    ):
        own, without = (
            figures.seconds(f"changelog/{what}/{name}", "keyfold") for name in (producer, "none")
        )
        words = "write and compaction" if what == "both" else what
        cost = own / without if own and without else None
        yield Goal(f"{words} with changelog-producer = {producer}", limit, "x", cost, most=True)


def smaller(figures: Figures) -> Iterator[Goal]:
    """Look-ups, the start, and memory."""
    point = figures.seconds("lookup/point", "keyfold")
    yield Goal("point look-up by key, warm", 60, "ms", point and point * 1000, most=True)
    ours, plain = (figures.seconds("first", system) for system in ("keyfold", "plain"))
    more = ours - plain if ours and plain else None
    yield Goal("first query of a new process, beyond plain Spark's", 0.5, "s", more, most=True)
    peaks = [
        result.memory["worker"]
        for (_, system), result in figures.results.items()
        if system == "keyfold" and result.memory
    ]
    largest = float(max(peaks)) if peaks else None
    yield Goal("largest worker, all cases", WORKER_MB, "MB", largest, most=True)
