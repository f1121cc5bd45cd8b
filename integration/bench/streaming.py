"""Streams into tables of keyfold: how long a micro-batch takes, and rows per second of a large one
beside those of an INSERT.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from integration.bench import data
from integration.bench.cases import Settings
from integration.bench.measure import Result, Times, seconds
from integration.bench.spark import Session


def small(session: Session, table: str, folder: Path) -> Result:
    """Micro-batches of a minute's rows each: the whole of each, by Spark's own clock."""
    settings = session.settings
    minutes = settings.input / "streamed"
    files = max(len(list(minutes.rglob("*.parquet"))) // settings.minutes, 1)
    turns = settings.batches // settings.minutes
    session.spark.conf.set(
        "spark.sql.streaming.numRecentProgressUpdates", str(2 * settings.minutes)
    )
    spent = [
        progress["durationMs"]["triggerExecution"] / 1000
        for turn in range(turns)
        for progress in run(
            source(session, minutes, files), table, folder / str(turn)
        ).recentProgress
        if progress["numInputRows"]
    ]
    times = Times(spent[0], tuple(spent[1:]))
    series = {"batch": list(spent)}
    return Result("stream/small", session.system, times, settings.minute, series=series)


def large(session: Session, streamed: str, inserted: str, folder: Path) -> Iterator[Result]:
    """The rows of a run in one micro-batch, and the same by INSERT: in turns, so that neither has
    the warmer JVM.
    """
    shape = session.settings.main
    rows = next(data.runs(session.settings.input, shape))
    files = len(list(rows.rglob("*.parquet")))

    def stream(turn: int) -> object:
        return run(source(session, rows, files), streamed, folder / f"large-{turn}")

    def insert(_: int) -> object:
        return session.runs(shape)[0].writeTo(inserted).append()

    turns = [(seconds(stream, n), seconds(insert, n)) for n in range(1 + session.settings.repeat)]
    for case, spent in zip(
        ("stream/large", "stream/insert"), zip(*turns, strict=True), strict=True
    ):
        yield Result(case, session.system, Times(spent[0], spent[1:]), shape.rows)


def source(session: Session, folder: Path, files: int) -> DataFrame:
    """A stream of the Parquet files below a folder, so many a micro-batch."""
    columns = session.settings.today.columns
    reader = session.spark.readStream.schema(", ".join(f"{n} {k}" for n, k in columns.items()))
    reader = reader.option("maxFilesPerTrigger", files).option("recursiveFileLookup", "true")
    reader = reader.option("pathGlobFilter", "*.parquet")
    return reader.parquet(str(folder))


def run(frame: DataFrame, table: str, checkpoint: Path) -> StreamingQuery:
    """Write what is there, and end."""
    writer = frame.writeStream.option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).toTable(table)
    query.awaitTermination()
    return query


def shown(small: Result | None, settings: Settings) -> str:
    """A paragraph of the page."""
    if small is None:
        return ""
    took = small.series["batch"][1:]
    tenth = len(took) // 10 + 1
    first, whole, last = (
        f"{statistics.median(of):.2f}" for of in (took[:tenth], took, took[-tenth:])
    )
    into = f"{settings.minute:,} rows into {settings.base.total:,}"
    return (
        f"\n{len(took):,} micro-batches of {into}: {whole} s at the median, {first} s in the first "
        f"tenth of them and {last} s in the last; the longest took {max(took):.2f} s.\n"
    )
