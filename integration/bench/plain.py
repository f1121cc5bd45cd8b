"""Plain Spark on Parquet: scans, the sorted write, and the window function that users write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, Window
from pyspark.sql.functions import col, expr, row_number

from integration import sessions
from integration.bench import answers, fresh, partitions
from integration.bench.cases import ENGINES, Settings
from integration.bench.data import Shape
from integration.bench.measure import Result, times
from integration.bench.spark import Session, looked_up
from integration.planning.plans import plan_of

SYSTEM, WINDOW, TRUTH = "plain", "window", "truth"


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """A session without extensions."""
    spark = sessions.builder(settings.folder, **settings.jvm).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield Session(spark, settings, SYSTEM)
    spark.stop()


def path(session: Session, name: str) -> Path:
    """A folder of Parquet files."""
    return session.settings.folder / "plain" / name


def sorted_write(session: Session, rows: DataFrame, shape: Shape, to: Path) -> Path:
    """Spark's way to the layout of a keyfold run: a sorted file a bucket, same codec and level."""
    ordered = rows.repartition(session.settings.buckets, *shape.keys)
    ordered.sortWithinPartitions(*shape.keys).write.mode("overwrite").option(
        "compression", "zstd"
    ).option("parquet.compression.codec.zstd.level", "1").parquet(str(to))
    return to


def newest(rows: DataFrame, shape: Shape) -> DataFrame:
    """What users write by hand: the last row of each key."""
    window = Window.partitionBy(*shape.keys).orderBy(col("seq").desc())
    ranked = rows.withColumn("nth", row_number().over(window))
    return ranked.where("nth = 1").select(*shape.columns)


def truth(rows: DataFrame, shape: Shape, engine: str) -> DataFrame:
    """What an engine makes of rows, by Spark's own aggregates."""
    if engine == "aggregation":
        options = ENGINES[engine]
        folds = {n: options.get(f"fields.{n}.aggregate-function") for n in shape.columns}
        made = [expr(f"{fold}({name}) AS {name}") for name, fold in folds.items() if fold]
        return rows.groupBy(*shape.keys).agg(*made).select(*shape.columns)
    by = "min_by" if engine == "first-row" else "max_by"
    others = [name for name in shape.columns if name not in shape.keys]
    made = [expr(f"{by}({name}, seq) AS {name}") for name in others]
    return rows.groupBy(*shape.keys).agg(*made).select(*shape.columns)


def write(session: Session) -> Iterator[Result]:
    """One run, sorted."""
    shape = session.settings.main
    rows = session.runs(shape)[0]
    with session.peaks() as peaks:
        found = times(
            lambda turn: sorted_write(session, rows, shape, path(session, "written")),
            session.settings.pace,
            files=[session.settings.input / shape.name / "run0"],
        )
    yield Result("write", SYSTEM, found, shape.rows, memory=peaks.memory)


def scans(session: Session) -> Iterator[Result]:
    """Each table's runs as sorted Parquet files, all rows of them; the truth where it is wanted."""
    settings = session.settings
    for shape in dict.fromkeys([settings.main, settings.few, *settings.swept]):
        folders = []
        for number, run in enumerate(session.runs(shape)):
            to = path(session, f"{shape.name}-{number}")
            folders.append(sorted_write(session, run, shape, to))
        frame = session.input(shape, *folders)
        yield session.scanned(
            f"scan/{shape.name}", shape, lambda frame=frame: frame, folders, answer=False
        )
        engines = ENGINES if shape == settings.main else ["deduplicate"]
        for engine in engines if settings.check else []:
            made = answers.of_frame(truth(frame, shape, engine), shape)
            yield Result(f"merge/{engine}/{shape.name}", TRUTH, None, answer=made)


def windows(session: Session) -> Iterator[Result]:
    """Merge-on-read by hand; its result is kept, as sorted Parquet, and answers for itself."""
    for shape in (session.settings.main, session.settings.few):
        folders = [path(session, f"{shape.name}-{run}") for run in range(shape.runs)]
        frame = session.input(shape, *folders)
        yield session.scanned(
            f"merge/deduplicate/{shape.name}",
            shape,
            lambda frame=frame, shape=shape: newest(frame, shape),
            folders,
            answer=shape == session.settings.few or session.settings.check,
            system=WINDOW,
        )
    main = session.settings.main
    frame = session.input(main, *(path(session, f"{main.name}-{run}") for run in range(main.runs)))
    folded = sorted_write(session, newest(frame, main), main, path(session, "folded"))
    rows = session.input(main, folded)
    count = rows.count()
    yield session.scanned("compacted/deduplicate", main, lambda: rows, [folded], rows=count)


def lookups(session: Session) -> Iterator[Result]:
    """In sorted files, where Spark skips row groups by their statistics."""
    shape = session.settings.base
    base = sorted_write(session, session.runs(shape)[0], shape, path(session, "base"))
    table = session.input(shape, base)
    assert "PushedFilters: [IsNotNull(id)" in plan_of(table.where("id = 1"))
    yield from looked_up(session, lambda: table, shape, [base], "")


def upserts(session: Session) -> Iterator[Result]:
    """The least that any system has to do: write the changed rows, sorted."""
    shape = session.settings.base
    rows = [session.few(shape, "upsert_1", number) for number in range(6)]
    found = times(
        lambda turn: sorted_write(session, rows[turn % 6], shape, path(session, "upsert")),
        session.settings.pace,
    )
    yield Result("changed rows/1 %", SYSTEM, found, shape.total // 100)


def many_partitions(session: Session) -> Iterator[Result]:
    """A partitioned table of Spark's own."""
    create = f"CREATE TABLE parts ({partitions.COLUMNS}) USING parquet PARTITIONED BY (p)"
    drop = "DROP TABLE IF EXISTS parts"
    yield from partitions.measured(session, "parts", create, lambda: session.spark.sql(drop))


def first(session: Session) -> Iterator[Result]:
    """From the start of a process to its first answer."""
    folder = path(session, f"{session.settings.few.name}-0")
    yield fresh.measured(session.settings, SYSTEM, f"parquet.`{folder}`")


CASES = (write, scans, windows, lookups, upserts, many_partitions, first)
