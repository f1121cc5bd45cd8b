"""Upserts of parts of all keys into a base table, for any system that lives in Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame

from integration.bench import answers
from integration.bench.cases import upsert
from integration.bench.measure import Result, Times, evict, seconds, warm
from integration.bench.spark import Session


def upserted(
    session: Session,
    apply: Callable[[DataFrame], object],
    table: Callable[[], DataFrame],
    files: Path,
) -> Iterator[Result]:
    """Each part once, cold; the state, compared and read; then the warm turns."""
    settings, shape = session.settings, session.settings.base

    def once(fraction: str, turn: int) -> object:
        return apply(session.few(shape, upsert(fraction), turn % settings.inputs(fraction)))

    cold = {}
    for fraction in settings.fractions:
        evict([settings.input / upsert(fraction), files])
        cold[fraction] = seconds(lambda turn, of=fraction: once(of, turn), 0)
    state = answers.of_frame(table(), shape)
    for fraction in settings.fractions:
        if fraction == settings.fractions[-1]:
            # no answer: how many warm turns there were is each system's own
            yield session.scanned("upsert/scan", shape, table, [files], answer=False)
        with session.peaks() as peaks:
            found = warm(lambda turn, of=fraction: once(of, turn), settings.pace_of_writes)
        rows = settings.changed(fraction)
        made = Times(cold[fraction], found)
        answer = state if fraction == settings.fractions[-1] else None
        yield Result(f"upsert/{fraction}", session.system, made, rows, answer, peaks.memory)
