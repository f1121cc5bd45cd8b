"""Joins of random keys with a table: looked up, and by Spark's own joins, which scan it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from integration.bench.measure import Result, times
from integration.bench.spark import Session, scan

KEYS = (1_000, 100_000)
LOOKUP = "look-up"
HINTS = {LOOKUP: "LOOKUP(t)", "broadcast": "BROADCAST(o)", "sort-merge": "MERGE(t)"}


def case(count: int, how: str) -> str:
    """The name of a result."""
    return f"join/{count}/{how}"


def joined(session: Session, table: str, files: Path) -> Iterator[Result]:
    """Each number of keys by each join, other keys in each turn; in the end one answer for all."""
    shape, spark = session.settings.base, session.spark
    for count in KEYS:
        answers = []
        for how, hint in HINTS.items():

            def run(turn: int, hint: str = hint, count: int = count) -> object:
                keys = f"SELECT pmod(xxhash64(id, {turn}), {shape.total}) AS id FROM range({count})"
                query = f"SELECT /*+ {hint} */ t.* FROM ({keys}) AS o JOIN {table} AS t USING (id)"
                return scan(spark.sql(query), shape)

            with session.peaks() as peaks:
                found = times(run, session.settings.pace, files=[files])
            answers.append(run(0))
            yield Result(case(count, how), session.system, found, count, memory=peaks.memory)
        assert answers[1:] == answers[:-1], answers
