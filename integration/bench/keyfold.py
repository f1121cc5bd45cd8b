"""keyfold, through Spark. Tables that Paimon reads afterwards stay in the session's warehouse."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame

from integration import sessions
from integration.bench import (
    answers,
    changelogs,
    day,
    fresh,
    joins,
    partitions,
    row_changes,
    streaming,
)
from integration.bench.cases import ENGINES, Settings, upsert
from integration.bench.data import Shape
from integration.bench.measure import Pace, Result, size, times
from integration.bench.spark import Session, looked_up, scan
from integration.bench.upserts import in_spark
from integration.keyed import create_keyed
from integration.planning.plans import assert_ours, rows_of_tasks

SYSTEM = "keyfold"
RUNS_STAY = {"write-only": "true"}
KEPT = {"snapshot.num-retained.min": "5", "snapshot.num-retained.max": "20"}
PLAN_BUCKETS, PLAN_COMMITS = 20, 100
COMPACTED = ("deduplicate", "aggregation")


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """A session with the catalog."""
    spark = sessions.start(settings.folder, **settings.jvm)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS keyfold.bench")
    yield Session(spark, settings, SYSTEM)
    spark.stop()


def folder(settings: Settings, table: str) -> Path:
    """Where a table is."""
    return settings.folder / "warehouse" / "bench.db" / table


def merged_table(shape: Shape, engine: str) -> str:
    """The name of the table that keeps a shape's runs; Paimon's reader opens it too."""
    return f"{shape.name}_{engine}".replace("-", "_")


def create(session: Session, name: str, shape: Shape, options: Mapping[str, str]) -> str:
    """A new, empty table."""
    columns = ", ".join(f"{column} {kind}" for column, kind in shape.columns.items())
    given = {"bucket": str(session.settings.buckets), **options}
    table = f"keyfold.bench.{name}"
    session.spark.sql(f"DROP TABLE IF EXISTS {table}")
    create_keyed(session.spark, table, columns, ", ".join(shape.keys), given=given)
    return table


def filled(session: Session, shape: Shape, engine: str) -> str:
    """A table that holds a shape's runs, not compacted."""
    name = merged_table(shape, engine)
    table = create(session, name, shape, {**ENGINES[engine], **RUNS_STAY})
    for run in session.runs(shape):
        run.writeTo(table).append()
    return table


def write(session: Session) -> Iterator[Result]:
    """One run into an empty table, compaction as it is by default."""
    shape = session.settings.main
    rows = session.runs(shape)[0]
    create(session, "empty", shape, {})  # Paimon's writer gets a copy of it
    with session.peaks() as peaks:
        found = times(
            lambda turn: rows.writeTo("keyfold.bench.written").append(),
            session.settings.pace,
            before=lambda turn: create(session, "written", shape, {}),
            files=[session.settings.input / shape.name / "run0"],
        )
    made = session.spark.table("keyfold.bench.written").count()
    assert made == shape.rows, made
    yield Result("write", SYSTEM, found, shape.rows, memory=peaks.memory)


def merges(session: Session) -> Iterator[Result]:
    """Merge-on-read: the main workload under each engine, then what varies."""
    settings = session.settings
    for shape, engine in settings.merged:
        table = filled(session, shape, engine)
        assert_ours(session.spark.table(table))
        yield session.scanned(
            f"merge/{engine}/{shape.name}",
            shape,
            lambda table=table: session.spark.table(table),
            [folder(settings, merged_table(shape, engine))],
        )


def compaction(session: Session) -> Iterator[Result]:
    """All runs into one; each turn on a copy of the table's folder. Then reads of the last copy."""
    settings, shape = session.settings, session.settings.main
    for engine in COMPACTED:
        copy = f"compacted_{engine}"

        def copied(turn: int, engine: str = engine, copy: str = copy) -> None:
            recopied(folder(settings, merged_table(shape, engine)), folder(settings, copy))

        def compact(turn: int, copy: str = copy) -> None:
            call = f"sys.compact(table => 'bench.{copy}', compact_strategy => 'full')"
            steps = session.spark.sql(f"CALL keyfold.{call}").collect()
            assert steps, "nothing was compacted"
            assert {step.status for step in steps} == {"committed"}, steps

        pace = Pace(min(settings.repeat, 3), settings.budget)
        with session.peaks() as peaks:
            found = times(compact, pace, before=copied, files=[folder(settings, copy)])
        name = f"keyfold.bench.{copy}"
        rows = int(answers.of_frame(session.spark.table(name), shape)[0])
        result = Result(f"compact/{engine}", SYSTEM, found, shape.total, memory=peaks.memory)
        read = session.scanned(
            f"compacted/{engine}",
            shape,
            lambda name=name: session.spark.table(name),
            [folder(settings, copy)],
            rows=rows,
        )
        yield Result(**{**vars(result), "answer": read.answer})
        yield read


def recopied(source: Path, target: Path) -> None:
    """The same files in another folder, in place of what was there."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def upserts(session: Session) -> Iterator[Result]:
    """Parts of all keys into the base table: each once cold, the answer, then the warm turns."""
    shape = session.settings.base
    table = create(session, "upserted", shape, {})
    session.runs(shape)[0].writeTo(table).append()
    yield from in_spark(
        session,
        lambda rows: rows.writeTo(table).append(),
        lambda: session.spark.table(table),
        folder(session.settings, "upserted"),
    )


def changed_rows(session: Session) -> Iterator[Result]:
    """DELETE, UPDATE and MERGE, with the options that a table has by default."""
    shape = session.settings.base
    table = create(session, "changed", shape, {})
    session.runs(shape)[0].writeTo(table).append()
    files = folder(session.settings, "changed")
    yield from row_changes.changed(session, table, files, is_ours=True)


def lookups(session: Session) -> Iterator[Result]:
    """By key, in one run and in four."""
    settings = session.settings
    for shape, suffix in ((settings.base, ""), (settings.main, ", 4 runs")):
        name = "base" if shape == settings.base else merged_table(shape, "deduplicate")
        if shape == settings.base:
            table = create(session, name, shape, RUNS_STAY)
            session.runs(shape)[0].writeTo(table).append()
        yield from looked_up(
            session,
            lambda name=name: session.spark.table(f"keyfold.bench.{name}"),
            shape,
            [folder(settings, name)],
            suffix,
        )


def lookup_joins(session: Session) -> Iterator[Result]:
    """Random keys, joined with every key in one run, and with four runs."""
    for shape in joins.shapes(session.settings):
        name = f"joined_{shape.runs}"
        table = create(session, name, shape, RUNS_STAY)
        for run in session.runs(shape):
            run.writeTo(table).append()
        yield from joins.joined(session, shape, table, folder(session.settings, name))


def a_day(session: Session) -> Iterator[Result]:
    """500 commits into a table with default compaction and snapshots that expire."""
    settings, shape = session.settings, session.settings.today
    table = create(session, "day", shape, KEPT)
    session.runs(shape)[0].writeTo(table).append()
    recopied(folder(settings, "day"), folder(settings, "morning"))  # Paimon's day begins with it

    def read() -> DataFrame:
        return session.spark.table(table)

    yield day.run(
        settings,
        SYSTEM,
        folder(settings, "day"),
        session.peaks(),
        lambda n: session.few(shape, "day", n % 50).writeTo(table).append(),
        lambda n: read().where(f"id = {n}").collect(),
        lambda n: scan(read(), shape),
        lambda: answers.of_frame(read(), shape),
    )


def streams(session: Session) -> Iterator[Result]:
    """Large micro-batches into tables of their own, small ones into the base table."""
    settings = session.settings
    options = {"large": RUNS_STAY, "inserted": RUNS_STAY, "streamed": KEPT}
    names = {name: create(session, name, settings.base, options[name]) for name in options}
    checkpoints = settings.folder / "checkpoints"
    yield from streaming.large(session, names["large"], names["inserted"], checkpoints)
    session.runs(settings.base)[0].writeTo(names["streamed"]).append()
    yield streaming.small(session, names["streamed"], checkpoints)


def changes(session: Session) -> Iterator[Result]:
    """What a commit changed that wrote one row in a hundred; no producer wrote it ahead."""
    settings, shape = session.settings, session.settings.base
    table = create(session, "changed", shape, RUNS_STAY)
    session.runs(shape)[0].writeTo(table).append()
    session.few(shape, upsert("1 %"), 0).writeTo(table).append()
    query = f"SELECT * FROM {table} CHANGES FROM VERSION 2"

    def read(_: int) -> object:
        return scan(session.spark.sql(query), shape)

    with session.peaks() as peaks:
        found = times(read, settings.pace, files=[folder(settings, "changed")])
    rows = settings.changed("1 %")
    yield Result("changes/1 %", SYSTEM, found, rows, memory=peaks.memory)


def buckets(session: Session) -> Iterator[Result]:
    """How rows spread over tasks, and what writing and reading cost, by the number of buckets."""
    settings = session.settings
    shape = Shape(4, settings.rows)
    rows = session.runs(shape)[0].where(f"id < {settings.rows}")
    for count in settings.spread:
        options = {"bucket": str(count), **RUNS_STAY}
        name = create(session, "spread", shape, options)
        loads: list[int] = []

        def append(turn: int, count: int = count, loads: list[int] = loads) -> None:
            session.spark.sparkContext.setJobGroup(f"buckets-{count}-{turn}", "")
            rows.writeTo("keyfold.bench.spread").append()
            loads[:] = rows_of_tasks(session.spark, f"buckets-{count}-{turn}")

        pace = Pace(min(settings.repeat, 3), settings.budget)
        made = times(append, pace, before=lambda t, o=options: create(session, "spread", shape, o))
        busy = [load for load in loads if load]
        notes = {"most": max(busy) * len(busy) / sum(busy)}
        written = settings.rows // 2
        yield Result(f"buckets/{count}/write", SYSTEM, made, written, notes=notes)
        read = times(lambda turn, name=name: scan(session.spark.table(name), shape), pace)
        yield Result(f"buckets/{count}/read", SYSTEM, read, written)


def planning(session: Session) -> Iterator[Result]:
    """How long a query is planned over many commits of twenty files each."""
    commits = PLAN_COMMITS if session.settings.repeat > 1 else 2
    shape = Shape(1, PLAN_BUCKETS * 20, width=2)
    table = create(session, "many", shape, {"bucket": str(PLAN_BUCKETS), **RUNS_STAY})
    for number in range(commits):
        rows = f"SELECT id, {number} FROM range({shape.rows})"
        session.spark.sql(f"INSERT INTO {table} {rows}")
    notes = {"files": commits * PLAN_BUCKETS, "disk": size(folder(session.settings, "many"))}
    for name, condition in (("all", ""), ("one key", " WHERE id = 7")):
        query = f"SELECT * FROM {table}{condition}"
        found = times(
            lambda turn, q=query: session.spark.sql(q).rdd.getNumPartitions(),
            session.settings.pace,
        )
        yield Result(f"planning/{name}", SYSTEM, found, notes=notes)


def producers(session: Session) -> Iterator[Result]:
    """Changelog files, beside the same work without them."""
    settings = session.settings
    yield from changelogs.measured(
        session,
        lambda name, options: create(session, name, settings.base, options),
        lambda name: folder(settings, name),
        recopied,
    )


def many_partitions(session: Session) -> Iterator[Result]:
    """A table whose files are many and small, with the options it has by default."""
    table = "keyfold.bench.parts"
    create = (
        f"CREATE TABLE {table} ({partitions.COLUMNS}, PRIMARY KEY (id, p) NOT ENFORCED) "
        "PARTITIONED BY (p)"
    )
    drop = f"DROP TABLE IF EXISTS {table}"
    yield from partitions.measured(session, table, create, lambda: session.spark.sql(drop))


def first(session: Session) -> Iterator[Result]:
    """From the start of a process to its first answer."""
    table = merged_table(session.settings.few, "deduplicate")
    yield fresh.measured(session.settings, SYSTEM, f"keyfold.bench.{table}")


CASES = (
    write,
    merges,
    compaction,
    upserts,
    changed_rows,
    lookups,
    lookup_joins,
    a_day,
    streams,
    changes,
    buckets,
    many_partitions,
    producers,
    planning,
    first,
)
