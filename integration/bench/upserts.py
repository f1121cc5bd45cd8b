"""Upserts of parts of all keys into a base table, for any system."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame

from integration.bench import answers, spark
from integration.bench.cases import Settings, upsert
from integration.bench.measure import Peaks, Result, Times, evict, seconds, warm


class Session(Protocol):
    """A running system."""

    @property
    def settings(self) -> Settings:
        """What it is to measure."""

    @property
    def system(self) -> str:
        """Its name."""

    def peaks(self) -> Peaks:
        """Its memory."""


def upserted(
    session: Session,
    once: Callable[[str, int], object],
    state: Callable[[], list[float]],
    read: Callable[[], Result],
    files: Path,
) -> Iterator[Result]:
    """Each part `once`, cold; the state, compared, and a read, which has no answer; then the warm
    turns.
    """
    settings = session.settings
    cold = {}
    for fraction in settings.fractions:
        evict([settings.input / upsert(fraction), files])
        cold[fraction] = seconds(partial(once, fraction), 0)
    answer = state()
    for fraction in settings.fractions:
        is_last = fraction == settings.fractions[-1]
        if is_last:  # how many warm turns there were is each system's own
            yield read()
        with session.peaks() as peaks:
            found = warm(partial(once, fraction), settings.pace_of_writes)
        made, rows = Times(cold[fraction], found), settings.changed(fraction)
        yield Result(
            f"upsert/{fraction}", session.system, made, rows, answer if is_last else None,
            peaks.memory,
        )  # fmt: skip


def in_spark(
    session: spark.Session,
    apply: Callable[[DataFrame], object],
    table: Callable[[], DataFrame],
    files: Path,
) -> Iterator[Result]:
    """The same of a system that lives in Spark."""
    settings, shape = session.settings, session.settings.base
    return upserted(
        session,
        lambda of, turn: apply(session.few(shape, upsert(of), turn % settings.inputs(of))),
        lambda: answers.of_frame(table(), shape),
        lambda: session.scanned("upsert/scan", shape, table, [files], answer=False),
        files,
    )
