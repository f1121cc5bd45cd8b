"""Joins of random keys with a table: looked up, and by Spark's own joins, which scan it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from integration.bench.cases import Settings
from integration.bench.cells import cell, table
from integration.bench.data import Shape
from integration.bench.figures import Figures
from integration.bench.measure import Result, times
from integration.bench.spark import Session, scan

KEYS = (1_000, 100_000)
LOOKUP = "look-up"
HINTS = {LOOKUP: "LOOKUP(t)", "broadcast": "BROADCAST(o)", "sort-merge": "MERGE(t)"}


def case(runs: int, count: int, how: str) -> str:
    """The name of a result."""
    return f"join/{runs}/{count}/{how}"


def shapes(settings: Settings) -> tuple[Shape, Shape]:
    """Those of the tables: every key once, and twice as many rows of them in four runs."""
    return settings.base, settings.main


def joined(session: Session, shape: Shape, table: str, files: Path) -> Iterator[Result]:
    """Each number of keys by each join, other keys in each turn; in the end one answer for all."""
    spark, drawn = session.spark, session.settings.base.total
    for count in KEYS:
        answers = []
        for how, hint in HINTS.items():

            def run(turn: int, hint: str = hint, count: int = count) -> object:
                keys = f"SELECT pmod(xxhash64(id, {turn}), {drawn}) AS id FROM range({count})"
                query = f"SELECT /*+ {hint} */ t.* FROM ({keys}) AS o JOIN {table} AS t USING (id)"
                return scan(spark.sql(query), shape)

            with session.peaks() as peaks:
                found = times(run, session.settings.pace, files=[files])
            answers.append(run(0))
            name = case(shape.runs, count, how)
            yield Result(name, session.system, found, count, memory=peaks.memory)
        assert answers[1:] == answers[:-1], answers


def section(figures: Figures, settings: Settings) -> str:
    """Few rows with a large table."""
    rows = [
        [
            f"{shape.total:,} rows in {shape.runs} run{'s' * (shape.runs > 1)}, {count:,} keys",
            *(
                cell(figures.get(case(shape.runs, count, how), "keyfold"), settings.repeat)
                for how in HINTS
            ),
        ]
        for shape in shapes(settings)
        for count in KEYS
    ]
    return (
        "## Joins of random keys\n\n"
        + table(["", *(f"{how}, s" for how in HINTS)], rows)
        + f"\nThe keys are drawn of {settings.base.total:,}. The hint `LOOKUP` stands beside "
        "Spark's own joins of the same table; all columns are read.\n"
    )
