"""What the systems that live in Spark share: a session, its input, the query that is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from integration.bench import answers, data
from integration.bench.cases import Settings
from integration.bench.data import Shape
from integration.bench.measure import Peaks, Result, Times, times
from integration.faults.harness import jvm_of


@dataclass(frozen=True)
class Session:
    """A running Spark, and what it is to measure."""

    spark: SparkSession
    settings: Settings
    system: str

    def input(self, shape: Shape, *folders: Path) -> DataFrame:
        """Rows of data.py's; the schema is given, so that no job reads it from files."""
        schema = ", ".join(f"{name} {kind}" for name, kind in shape.columns.items())
        return self.spark.read.schema(schema).parquet(*map(str, folders))

    def runs(self, shape: Shape) -> list[DataFrame]:
        """Each run of a table."""
        return [self.input(shape, path) for path in data.runs(self.settings.input, shape)]

    def few(self, shape: Shape, name: str, number: int) -> DataFrame:
        """An upsert's rows."""
        return self.input(shape, self.settings.input / name / str(number))

    def peaks(self) -> Peaks:
        """Memory of this session."""
        return Peaks(jvm_of(self.spark))

    def scanned(
        self,
        case: str,
        shape: Shape,
        frame: Callable[[], DataFrame],
        files: Iterable[Path],
        rows: int = 0,
        answer: bool = True,
        system: str = "",
    ) -> Result:
        """Time a read of every cell."""
        with self.peaks() as peaks:
            found = times(lambda turn: scan(frame(), shape), self.settings.pace, files=list(files))
        made = answers.of_frame(frame(), shape) if answer else None
        rows = rows or shape.total
        return Result(case, system or self.system, found, rows, made, peaks.memory)


def scan(frame: DataFrame, shape: Shape) -> object:
    """Read every column. `bit_xor` is no aggregate that metadata could answer, so none is."""
    return frame.selectExpr(f"bit_xor({answers.whole(shape)[0]})", *maxima(shape)).first()


def maxima(shape: Shape) -> list[str]:
    """The greatest value of each column."""
    return [f"max({name})" for name in shape.columns]


def looked_up(
    session: Session, table: Callable[[], DataFrame], shape: Shape, files: list[Path], suffix: str
) -> Iterator[Result]:
    """One key, and a thousand in a row, of those that upserts drew from."""
    settings = session.settings
    step = max(shape.total // (settings.lookups + 2), 1)
    pace = settings.pace.__class__(settings.lookups, settings.pace.budget)
    for case, length in (("point", 1), ("range", 1000)):

        def ask(turn: int, length: int = length) -> list[object]:
            first = (turn + 1) * step
            wanted = f"id = {first}" if length == 1 else f"id BETWEEN {first} AND {first + 999}"
            return list(table().where(wanted).collect())

        found: Times = times(ask, pace, files=files)
        answer = answers.of_frame(table().where(f"id BETWEEN {step} AND {step + 999}"), shape)
        yield Result(f"lookup/{case}{suffix}", session.system, found, length, answer)
