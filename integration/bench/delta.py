"""Delta Lake in Spark: MERGE with deletion vectors, reads of what it leaves, look-ups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame

from integration import sessions
from integration.bench import answers, day, row_changes
from integration.bench.cases import Settings
from integration.bench.data import Shape
from integration.bench.measure import Result, times
from integration.bench.spark import Session, looked_up, scan
from integration.bench.upserts import in_spark
from integration.fetched import fetched

SYSTEM = "delta"


def jars() -> list[Path]:
    """Delta's jars, fetched where they are not there yet."""
    return sorted(fetched("delta", "delta-spark_*.jar").glob("*.jar"))


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """A session with Delta's catalog; as few tasks for its own log as the machine has cores."""
    spark = sessions.builder(
        settings.folder,
        **settings.jvm,
        spark__jars=",".join(map(str, jars())),
        spark__sql__extensions="io.delta.sql.DeltaSparkSessionExtension",
        spark__sql__catalog__spark_catalog="org.apache.spark.sql.delta.catalog.DeltaCatalog",
        spark__databricks__delta__snapshotPartitions="2",
    ).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield Session(spark, settings, SYSTEM)
    spark.stop()


def path(session: Session, name: str) -> Path:
    """Where a table is."""
    return session.settings.folder / "delta" / name


def create(session: Session, name: str, shape: Shape) -> str:
    """A new, empty table with deletion vectors; its identifier in SQL."""
    table = f"delta.`{path(session, name)}`"
    columns = ", ".join(f"{column} {kind}" for column, kind in shape.columns.items())
    session.spark.sql(
        f"CREATE OR REPLACE TABLE {table} ({columns}) USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    return table


def merge(session: Session, table: str, rows: DataFrame) -> None:
    """The upsert that Delta's documents show."""
    rows.createOrReplaceTempView("changed")
    session.spark.sql(
        f"MERGE INTO {table} AS t USING changed AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def filled(session: Session, name: str, shape: Shape) -> str:
    """A table with the rows of a shape of one run, in files sorted by key."""
    table = create(session, name, shape)
    rows = session.runs(shape)[0].repartitionByRange(session.settings.buckets, *shape.keys)
    rows.sortWithinPartitions(*shape.keys).writeTo(table).append()
    return table


def write(session: Session) -> Iterator[Result]:
    """One run into an empty table, in no order."""
    shape = session.settings.main
    rows = session.runs(shape)[0]
    with session.peaks() as peaks:
        found = times(
            lambda turn: rows.writeTo(f"delta.`{path(session, 'written')}`").append(),
            session.settings.pace,
            before=lambda turn: create(session, "written", shape),
            files=[session.settings.input / shape.name / "run0"],
        )
    yield Result("write", SYSTEM, found, shape.rows, memory=peaks.memory)


def lookups(session: Session) -> Iterator[Result]:
    """In sorted files."""
    shape = session.settings.base
    table = filled(session, "base", shape)
    yield from looked_up(
        session, lambda: session.spark.table(table), shape, [path(session, "base")], ""
    )


def upserts(session: Session) -> Iterator[Result]:
    """MERGE into the table that look-ups were made in."""
    table = f"delta.`{path(session, 'base')}`"
    yield from in_spark(
        session,
        lambda rows: merge(session, table, rows),
        lambda: session.spark.table(table),
        path(session, "base"),
    )


def changed_rows(session: Session) -> Iterator[Result]:
    """DELETE, UPDATE and MERGE with deletion vectors."""
    table = filled(session, "changed", session.settings.base)
    yield from row_changes.changed(
        session, table, path(session, "changed"), is_ours=False, takes_subquery=False
    )


def a_day(session: Session) -> Iterator[Result]:
    """A short one."""
    settings, shape = session.settings, session.settings.today
    table = filled(session, "day", shape)

    def read() -> DataFrame:
        return session.spark.table(table)

    yield day.run(
        settings,
        SYSTEM,
        path(session, "day"),
        session.peaks(),
        lambda n: merge(session, table, session.few(shape, "day", n % 50)),
        lambda n: read().where(f"id = {n}").collect(),
        lambda n: scan(read(), shape),
        lambda: answers.of_frame(read(), shape),
    )


CASES = (write, lookups, upserts, changed_rows, a_day)
