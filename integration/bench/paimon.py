"""Paimon's Java library on the directories that keyfold wrote.

Two threads, each with buckets of its own, do what two tasks of a Spark job would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from integration.bench import day, keyfold
from integration.bench.cases import Settings, upsert
from integration.bench.measure import Pace, Peaks, Result, times
from integration.bench.upserts import upserted
from integration.paimon import library
from integration.paimon.library import Paimon

SYSTEM = "paimon"
TASKS = 2
FLAGS = ("-Xmx4g",)
WRITE_ONLY = {"write-only": "true"}
COMPACTING = {"write-only": "false"}


@dataclass(frozen=True)
class Session:
    """The running library."""

    paimon: Paimon
    settings: Settings
    system: str = SYSTEM

    def ask(self, do: str, table: str, options: Mapping[str, str], **more: Any) -> Any:
        """One request about a table of keyfold's warehouse."""
        folder = keyfold.folder(self.settings, table)
        return self.paimon.ask(do, folder, options, tasks=TASKS, **more)

    def peaks(self) -> Peaks:
        """Memory of the library's JVM."""
        return Peaks(self.paimon.pid)

    def answer(self, table: str, options: Mapping[str, str]) -> list[float]:
        """Sums over the merged rows."""
        return [float(number) for number in self.ask("answer", table, options)["numbers"]]

    def scanned(
        self, case: str, table: str, rows: int, options: Mapping[str, str] | None = None
    ) -> Result:
        """Time a read of every cell."""
        given = options or {}
        with self.peaks() as peaks:
            found = times(
                lambda turn: self.ask("scan", table, given),
                self.settings.pace,
                files=[keyfold.folder(self.settings, table)],
            )
        answer = self.answer(table, given)
        return Result(case, SYSTEM, found, rows or int(answer[0]), answer, peaks.memory)

    def copy(self, source: str, target: str) -> None:
        """A table of keyfold's as it is now, under another name."""
        where = self.settings
        keyfold.recopied(keyfold.folder(where, source), keyfold.folder(where, target))


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """The library in a JVM as large as Spark's."""
    with library.start(FLAGS) as paimon:
        yield Session(paimon, settings)


def options_of(engine: str) -> dict[str, str]:
    """What a read of all rows of such a table is asked with."""
    # first-row hides level 0 from batch jobs, not from compactions
    return {"batch-scan-mode": "compact"} if engine == "first-row" else {}


def records(session: Session, folder: str, name: str) -> str:
    """A file of rows to write."""
    return str(session.settings.input / folder / f"{name}.records")


def merges(session: Session) -> Iterator[Result]:
    """The tables that keyfold's session left."""
    for shape, engine in session.settings.merged:
        table = keyfold.merged_table(shape, engine)
        options = options_of(engine)
        yield session.scanned(f"merge/{engine}/{shape.name}", table, shape.total, options)


def write(session: Session) -> Iterator[Result]:
    """One run into a copy of an empty table."""
    settings, shape = session.settings, session.settings.main
    few = Pace(min(settings.repeat, 2), settings.budget)

    def emptied(turn: int) -> None:
        session.copy("empty", "paimon_written")

    with session.peaks() as peaks:
        found = times(
            lambda turn: session.ask(
                "append", "paimon_written", WRITE_ONLY, file=records(session, shape.name, "run0")
            ),
            few,
            before=emptied,
        )
    yield Result("write", SYSTEM, found, shape.rows, memory=peaks.memory)


def compaction(session: Session) -> Iterator[Result]:
    """Full, each turn on a copy of the table; then reads of the last copy."""
    settings, shape = session.settings, session.settings.main
    pace = Pace(min(settings.repeat, 3), settings.budget)
    for engine in keyfold.COMPACTED:
        table, copy = keyfold.merged_table(shape, engine), f"paimon_compacted_{engine}"
        with session.peaks() as peaks:
            found = times(
                lambda turn, copy=copy: session.ask("rewrite", copy, COMPACTING),
                pace,
                before=lambda turn, table=table, copy=copy: session.copy(table, copy),
                files=[keyfold.folder(settings, copy)],
            )
        read = session.scanned(f"compacted/{engine}", copy, 0)
        yield Result(
            f"compact/{engine}", SYSTEM, found, shape.total, read.answer, memory=peaks.memory
        )
        yield read


def upserts(session: Session) -> Iterator[Result]:
    """Into a copy of the base table, the library's own compaction on."""
    settings, table = session.settings, "paimon_upserted"
    session.copy("base", table)

    def once(fraction: str, turn: int) -> object:
        number = turn % settings.inputs(fraction)
        file = records(session, upsert(fraction), str(number))
        return session.ask("append", table, COMPACTING, file=file)

    return upserted(
        session,
        once,
        lambda: session.answer(table, {}),
        lambda: replace(session.scanned("upsert/scan", table, settings.base.total), answer=None),
        keyfold.folder(settings, table),
    )


def lookups(session: Session) -> Iterator[Result]:
    """By key, in one run and in four."""
    settings = session.settings
    pace = Pace(settings.lookups, settings.budget)
    for shape, suffix in ((settings.base, ""), (settings.main, ", 4 runs")):
        name = keyfold.merged_table(shape, "deduplicate") if suffix else "base"
        step = max(shape.total // (settings.lookups + 2), 1)
        for case, length in (("point", 1), ("range", 1000)):

            def ask(turn: int, length: int = length, name: str = name, step: int = step) -> Any:
                first = (turn + 1) * step
                to = first + length - 1
                return session.ask("range", name, {}, column="id", **{"from": first, "to": to})

            found = times(ask, pace, files=[keyfold.folder(settings, name)])
            answer = [float(n) for n in ask(0, 1000)["numbers"]]
            yield Result(f"lookup/{case}{suffix}", SYSTEM, found, length, answer)


def a_day(session: Session) -> Iterator[Result]:
    """As keyfold's, by the library's writer and its compaction."""
    settings = session.settings
    session.copy("morning", "paimon_day")

    def range_of(first: int) -> Any:
        bounds = {"from": first, "to": first}
        return session.ask("range", "paimon_day", {}, column="id", **bounds)

    yield day.run(
        settings,
        SYSTEM,
        keyfold.folder(settings, "paimon_day"),
        session.peaks(),
        lambda n: session.ask(
            "append", "paimon_day", COMPACTING, file=records(session, "day", str(n % 50))
        ),
        range_of,
        lambda n: session.ask("scan", "paimon_day", {}),
        lambda: session.answer("paimon_day", {}),
    )


CASES = (merges, write, compaction, upserts, lookups, a_day)
