"""Where the time of a read goes: `python -m integration.bench.profile [rows] [folder]`.

Tables of four runs of so many rows (4,000,000 unless said), whose keys overlap at random, are
written without Spark and read by two processes, as in readers.py. First medians of whole reads,
then one read of each with stopwatches: the processor's seconds of each piece, the mean of both
processes. With a folder the tables stay there and are read again by the next run.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import keyfold
from integration.bench import data, readers
from integration.bench.cases import ENGINES, Settings, full
from integration.bench.cells import short, table
from integration.bench.keyfold import RUNS_STAY, merged_table
from integration.bench.stopwatch import PIECES

NAMES = ("deduplicate", "partial-update", "aggregation")
TURNS = 7


def make(settings: Settings) -> None:
    """The tables, unless they are there."""
    catalog, shape = keyfold.connect(str(settings.folder / "warehouse")), settings.main
    if "bench" in catalog.namespaces():
        return
    catalog.create_namespace("bench")
    for engine in NAMES:
        catalog.create_table(
            f"bench.{merged_table(shape, engine)}",
            shape.columns,
            primary_key=shape.keys,
            options={**ENGINES[engine], **RUNS_STAY, "bucket": str(settings.buckets)},
        )
    for run in range(shape.runs):
        random = data.random_of(settings.seed, shape, run)
        rows = data.batch(shape, data.drawn(shape, run, random), run * shape.rows, random)
        for engine in NAMES:
            catalog.table(f"bench.{merged_table(shape, engine)}").upsert(rows)


def whole(session: readers.Session, engine: str) -> float:
    """The median of some reads, after one that warms up."""
    name, found = merged_table(session.settings.main, engine), []
    for _ in range(TURNS + 1):
        begun = time.perf_counter()
        session.ask("scan", name, session.settings.main)
        found.append(time.perf_counter() - begun)
    return statistics.median(found[1:])


def pieces(session: readers.Session, engine: str) -> list[float]:
    """The mean seconds of each piece in the processes, of the rest, and of all."""
    name, shape = merged_table(session.settings.main, engine), session.settings.main
    turns = [session.ask("profile", name, shape) for _ in range(3)]
    *parts, total = min(turns, key=lambda turn: turn[-1])
    return [part / readers.TASKS for part in (*parts, total - sum(parts), total)]


def shown(session: readers.Session) -> str:
    """Both tables, as Markdown."""
    medians = [(engine, f"{short(whole(session, engine))} s") for engine in NAMES]
    columns = [pieces(session, engine) for engine in NAMES]
    labels = [*PIECES, "Python between these", "all, with stopwatches"]
    lines = [
        (label, *(f"{seconds:.3f}" for seconds in row))
        for label, *row in zip(labels, *columns, strict=True)
    ]
    return f"{table(('engine', 'a read'), medians)}\n{table(('seconds', *NAMES), lines)}"


@contextmanager
def place() -> Iterator[Path]:
    """The folder of the tables."""
    if len(sys.argv) > 2:
        yield Path(sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def main() -> None:
    """Make the tables, print the figures."""
    with place() as folder:
        settings = full(folder)
        if len(sys.argv) > 1:
            settings = replace(settings, rows=int(sys.argv[1]))
        make(settings)
        with readers.start(settings) as session:
            print(shown(session))


if __name__ == "__main__":
    main()
