"""pypaimon and pypaimon-rust on the same directories: one merges row by row in Python and gets the
small table, the other in Rust and gets the large ones too, of engines whose level 0 it shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

from integration.bench import answers, keyfold
from integration.bench.cases import Settings
from integration.bench.data import Shape
from integration.bench.measure import Pace, Peaks, Result, Times, evict, warm
from tests import readers

ENGINES = ("deduplicate", "partial-update", "aggregation")


@dataclass(frozen=True)
class Session:
    """One of the two, in the process that answers tests too."""

    settings: Settings
    system: str
    question: str

    def merged(self, shape: Shape, engine: str, *, answer: bool) -> Result:
        """A table, once and once again; that process says how many seconds it took."""
        settings, name = self.settings, keyfold.merged_table(shape, engine)
        warehouse, table = settings.folder / "warehouse", f"bench.{name}"
        named = {"catalog": readers.options(warehouse), "table": table}
        touch = partial(readers.ask, "touch", reader=self.question, **named)
        with Peaks(readers.program().process.pid) as peaks:
            evict([keyfold.folder(settings, name)])
            cold = touch()
            pace = Pace(min(settings.repeat, 3), settings.budget)
            found = Times(cold, warm(lambda _: touch(), pace))
        made = None
        if answer:
            made = answers.of_table(readers.READERS[self.system](warehouse, table), shape)
        case = f"merge/{engine}/{shape.name}"
        return Result(case, self.system, found, shape.total, made, peaks.memory)


@contextmanager
def start(settings: Settings, system: str) -> Iterator[Session]:
    """Its process starts with the first question."""
    yield Session(settings, system, readers.READERS[system].__name__)


def small(session: Session) -> Iterator[Result]:
    """What plain Python can merge and check."""
    yield session.merged(session.settings.few, "deduplicate", answer=True)


def merges(session: Session) -> Iterator[Result]:
    """The main workload."""
    for engine in ENGINES:
        yield session.merged(session.settings.main, engine, answer=False)


SYSTEMS = {
    name: SimpleNamespace(start=partial(start, system=name), CASES=cases)
    for name, cases in (("pypaimon", (small,)), ("pypaimon-rust", (small, merges)))
}
