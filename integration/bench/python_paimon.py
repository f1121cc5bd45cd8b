"""pypaimon, which merges row by row in Python: small tables, the same directories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from integration.bench import answers, keyfold
from integration.bench.cases import Settings
from integration.bench.measure import Pace, Peaks, Result, times
from integration.paimon import stored

SYSTEM = "pypaimon"


@dataclass(frozen=True)
class Session:
    """This process."""

    settings: Settings
    system: str = SYSTEM


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """Nothing to start."""
    yield Session(settings)


def merges(session: Session) -> Iterator[Result]:
    """The small table, once and once again."""
    settings, shape = session.settings, session.settings.few
    name = keyfold.merged_table(shape, "deduplicate")
    tables: list[pa.Table] = []

    def read(turn: int) -> None:
        found = stored.rows(settings.folder / "warehouse", f"bench.{name}")
        for column in found.columns:
            pc.max(column)
        tables[:] = [found]

    with Peaks(os.getpid()) as peaks:
        pace = Pace(min(settings.repeat, 3), settings.budget)
        found = times(read, pace, files=[keyfold.folder(settings, name)])
    answer = answers.of_table(tables[0], shape)
    yield Result(
        f"merge/deduplicate/{shape.name}", SYSTEM, found, shape.total, answer, peaks.memory
    )


CASES = (merges,)
