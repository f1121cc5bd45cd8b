"""Paimon's Java reader behind Spark (PaimonSource.scala), on the directories that keyfold wrote: it
answers the query that keyfold answers through Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame

from integration import sessions
from integration.bench import keyfold
from integration.bench.cases import Settings
from integration.bench.measure import Result
from integration.bench.paimon import options_of
from integration.bench.spark import Session
from integration.paimon import library
from integration.planning.plans import plan_of

SYSTEM = "paimon-spark"
SOURCE = "keyfold.integration.PaimonSource"


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """A session with the source and Paimon's library, none of keyfold's code."""
    spark = sessions.builder(
        settings.folder,
        **settings.jvm,
        spark__driver__extraClassPath=f"{library.compiled()}:{library.library()}",
    ).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield Session(spark, settings, SYSTEM)
    spark.stop()


def merges(session: Session) -> Iterator[Result]:
    """The tables that keyfold's session left; where times decide nothing, those of each engine."""
    settings = session.settings
    scratch = settings.folder / "scratch"
    for shape, engine in settings.merged:
        if settings.check and shape != settings.main:
            continue
        table = keyfold.folder(settings, keyfold.merged_table(shape, engine))
        options = {"scratch": str(scratch), **options_of(engine)}

        def frame(options: dict[str, str] = options, table: Path = table) -> DataFrame:
            return session.spark.read.format(SOURCE).options(**options).load(str(table))

        assert "BatchScan" in plan_of(frame()), plan_of(frame())
        yield session.scanned(f"merge/{engine}/{shape.name}", shape, frame, [table])


CASES = (merges,)
