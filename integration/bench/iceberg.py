"""Iceberg in a Spark of its own, of the version that it is made for: row changes merge-on-read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from integration import TOP, sessions
from integration.bench import row_changes
from integration.bench.cases import Settings
from integration.bench.data import Shape
from integration.bench.measure import Result
from integration.bench.spark import Session
from integration.fetched import fetched

SYSTEM = "iceberg"
HOME = TOP / "build" / "iceberg"  # `make build/iceberg/.installed` makes it
PYTHON = HOME / "bin" / "python"
MERGE_ON_READ = ", ".join(
    f"'write.{statement}.mode' = 'merge-on-read'" for statement in ("delete", "update", "merge")
)


def is_installed() -> bool:
    """Whether its environment is whole."""
    return (HOME / ".installed").exists()


@contextmanager
def start(settings: Settings) -> Iterator[Session]:
    """A session with a catalog of Iceberg's that keeps its tables in a folder."""
    (jar,) = fetched("iceberg", "iceberg-spark-runtime-*.jar").glob("*.jar")
    spark = sessions.builder(
        settings.folder,
        **settings.jvm,
        spark__jars=str(jar),
        spark__sql__extensions=(
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        spark__sql__catalog__iceberg="org.apache.iceberg.spark.SparkCatalog",
        spark__sql__catalog__iceberg__type="hadoop",
        spark__sql__catalog__iceberg__warehouse=str(settings.folder / "iceberg"),
    ).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    yield Session(spark, settings, SYSTEM)
    spark.stop()


def filled(session: Session, name: str, shape: Shape) -> tuple[str, Path]:
    """A table with the rows of a shape of one run, in files sorted by key: its identifier in SQL
    and where it is. Format 3 marks rows as deleted by deletion vectors.
    """
    table = f"iceberg.bench.{name}"
    columns = ", ".join(f"{column} {kind}" for column, kind in shape.columns.items())
    session.spark.sql(
        f"CREATE TABLE {table} ({columns}) USING iceberg "
        f"TBLPROPERTIES ('format-version' = '3', {MERGE_ON_READ})"
    )
    rows = session.runs(shape)[0].repartitionByRange(session.settings.buckets, *shape.keys)
    rows.sortWithinPartitions(*shape.keys).writeTo(table).append()
    return table, session.settings.folder / "iceberg" / "bench" / name


def changed_rows(session: Session) -> Iterator[Result]:
    """DELETE, UPDATE and MERGE with deletion vectors."""
    table, files = filled(session, "changed", session.settings.base)
    yield from row_changes.changed(session, table, files, is_ours=False)


CASES = (changed_rows,)
