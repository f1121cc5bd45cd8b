"""keyfold from Python, in one process without Spark: what Paimon's library is compared with where
it works alone too. Tables are those that keyfold's session left, or copies of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

import keyfold
from integration.bench import answers
from integration.bench import keyfold as in_spark
from integration.bench.cases import Settings, upsert
from integration.bench.data import Shape
from integration.bench.measure import Pace, Peaks, Result, times
from integration.bench.upserts import upserted
from keyfold import Catalog, Table

SYSTEM = "python"


@dataclass(frozen=True)
class Session:
    """The catalog of the tables."""

    catalog: Catalog
    settings: Settings
    system: str = SYSTEM

    def table(self, name: str) -> Table:
        """One of the warehouse's."""
        return self.catalog.table(f"bench.{name}")

    def folder(self, name: str) -> Path:
        """Where a table is."""
        return in_spark.folder(self.settings, name)

    def rows(self, *folders: str) -> pa.Table:
        """Some of the input."""
        return parquet.read_table(self.settings.input.joinpath(*folders))

    def copied(self, source: str, name: str) -> Table:
        """A table of keyfold's session under another name, which is compacted as it is written."""
        in_spark.recopied(self.folder(source), self.folder(name))
        copy = self.table(name)
        copy.alter(options={"write-only": "false"})
        return copy

    def peaks(self) -> Peaks:
        """Memory of this process."""
        return Peaks(os.getpid())

    def answer(self, table: Table) -> list[float]:
        """Sums over the merged rows."""
        return answers.checked(table.scan().to_batches())

    def scanned(self, case: str, name: str, rows: int) -> Result:
        """Time a read of every cell."""
        table = self.table(name)
        with self.peaks() as peaks:
            found = times(
                lambda turn: answers.greatest(table.scan().to_batches()),
                self.settings.pace,
                files=[self.folder(name)],
            )
        answer = self.answer(table)
        return Result(case, SYSTEM, found, rows or int(answer[0]), answer, peaks.memory)


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """No process beside this one."""
    yield Session(keyfold.connect(settings.folder / "warehouse"), settings)


def write(session: Session) -> Iterator[Result]:
    """One run into a copy of an empty table."""
    settings, shape = session.settings, session.settings.main

    def append(turn: int) -> None:
        session.table(f"python_written_{turn}").upsert(session.rows(shape.name, "run0"))

    with session.peaks() as peaks:
        found = times(
            append,
            settings.pace,
            before=lambda turn: session.copied("empty", f"python_written_{turn}"),
            files=[settings.input / shape.name / "run0"],
        )
    yield Result("write", SYSTEM, found, shape.rows, memory=peaks.memory)


def compaction(session: Session) -> Iterator[Result]:
    """Full, each turn on a copy of the table; then reads of the last copy."""
    settings, shape = session.settings, session.settings.main
    pace = Pace(min(settings.repeat, 3), settings.budget)
    for engine in in_spark.COMPACTED:
        source = in_spark.merged_table(shape, engine)
        copies = [f"python_{source}_{turn}" for turn in range(pace.repeat + 1)]

        def copied(turn: int, source: str = source, copies: Sequence[str] = copies) -> None:
            session.copied(source, copies[turn])

        def compact(turn: int, copies: Sequence[str] = copies) -> None:
            assert session.table(copies[turn]).compact().num_rows, "nothing was compacted"

        with session.peaks() as peaks:
            found = times(compact, pace, before=copied, files=[session.folder(copies[0])])
        read = session.scanned(f"compacted/{engine}", copies[len(found.warm)], 0)
        for copy in copies:
            shutil.rmtree(session.folder(copy), ignore_errors=True)
        yield Result(
            f"compact/{engine}", SYSTEM, found, shape.total, read.answer, memory=peaks.memory
        )
        yield read


def upserts(session: Session) -> Iterator[Result]:
    """Into a copy of the base table, compacted as it is written."""
    settings, name = session.settings, "python_upserted"
    table = session.copied("base", name)

    def once(fraction: str, turn: int) -> object:
        number = turn % settings.inputs(fraction)
        return table.upsert(session.rows(upsert(fraction), str(number)))

    return upserted(
        session,
        once,
        lambda: session.answer(table),
        lambda: replace(session.scanned("upsert/scan", name, settings.base.total), answer=None),
        session.folder(name),
    )


def lookups(session: Session) -> Iterator[Result]:
    """By key, in one run and in four."""
    settings = session.settings
    pace = Pace(settings.lookups, settings.budget)
    for shape, suffix in ((settings.base, ""), (settings.main, ", 4 runs")):
        name = in_spark.merged_table(shape, "deduplicate") if suffix else "base"
        yield from looked_up(session, name, shape, suffix, pace)


def looked_up(
    session: Session, name: str, shape: Shape, suffix: str, pace: Pace
) -> Iterator[Result]:
    """One key, and a thousand in a row."""
    step = max(shape.total // (session.settings.lookups + 2), 1)
    table, files = session.table(name), [session.folder(name)]

    def between(first: int) -> pa.Table:
        return table.scan(where=f"id BETWEEN {first} AND {first + 999}").to_arrow()

    answer = answers.of_table(between(step), shape)
    point = times(lambda turn: table.get({"id": (turn + 1) * step}), pace, files=files)
    yield Result(f"lookup/point{suffix}", SYSTEM, point, 1, answer)
    many = times(lambda turn: between((turn + 1) * step), pace, files=files)
    yield Result(f"lookup/range{suffix}", SYSTEM, many, 1000, answer)


CASES = (write, compaction, upserts, lookups)
