"""Few rows into many partitions: what a file costs, not what a row does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from integration.bench.measure import Pace, Result, Times, seconds, times
from integration.bench.spark import Session

ROWS = 40  # of a partition, over all its buckets
COLUMNS = "id BIGINT, v DOUBLE, s STRING, p INT"  # Spark's own tables have partitions last
QUERY = "SELECT count(*), bit_xor(id), max(v), max(length(s)), count(DISTINCT p) FROM "


def rows(session: Session) -> str:
    """The query whose rows are written."""
    count = session.settings.partitions
    return (
        f"SELECT id, id * 1.5D AS v, concat('s', id) AS s, CAST(id % {count} AS INT) AS p "
        f"FROM range({ROWS * count})"
    )


def measured(
    session: Session, table: str, create: str, drop: Callable[[], object]
) -> Iterator[Result]:
    """One INSERT into an empty table, a read of every cell, and DROP TABLE."""
    spark, count = session.spark, session.settings.partitions

    def emptied(turn: int) -> None:
        drop()
        spark.sql(create)

    pace = Pace(min(session.settings.repeat, 3), session.settings.budget)
    insert = f"INSERT INTO {table} {rows(session)}"
    wrote = times(lambda turn: spark.sql(insert), pace, before=emptied)
    yield Result("partitions/write", session.system, wrote, ROWS * count)
    read = times(lambda turn: spark.sql(QUERY + table).first(), pace)
    answer = [float(value) for value in spark.sql(QUERY + table).first() or ()]
    yield Result("partitions/read", session.system, read, ROWS * count, answer)
    gone = Times(seconds(lambda turn: drop(), 0), ())
    yield Result("partitions/drop", session.system, gone)
