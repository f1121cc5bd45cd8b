"""Statements that change rows of a table, beside an INSERT of as many, in any Spark system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import DataFrame

from integration.bench import answers
from integration.bench.cases import FRACTIONS, upsert
from integration.bench.measure import Result, Step, in_turns, times
from integration.bench.spark import Session

KEYS = 1_000
MERGE, WHERE, UPDATE = "MERGE of 1 %", "MERGE with a condition, 0.1 %", "UPDATE of 1 %"
DELETE, INSERT = f"DELETE of {KEYS:,} keys", "INSERT of 1 %"
SCAN, READ = "rows/scan before them", "rows/scan of the columns of UPDATE"
STATEMENTS = (INSERT, MERGE, WHERE, UPDATE, DELETE)


def changed(
    session: Session, table: str, files: Path, *, is_ours: bool, takes_subquery: bool = True
) -> Iterator[Result]:
    """Each statement, cold and warm; the last one with what the table then holds. A system whose
    DELETE takes no subquery deletes by MERGE. INSERT and MERGE of ours, which are compared, take
    turns.
    """
    settings, shape = session.settings, session.settings.base
    spark, total = session.spark, settings.base.total

    def given(turn: int, part: str = "1 %") -> DataFrame:
        """Rows of random keys, of the least input that has as many."""
        enough = [name for name in settings.fractions if FRACTIONS[name] >= FRACTIONS[part]]
        least = min(enough, key=lambda name: FRACTIONS[name])
        rows = session.few(shape, upsert(least), turn % settings.inputs(least))
        return rows if least == part else rows.limit(max(int(total * FRACTIONS[part]), 1))

    def insert(turn: int) -> object:
        return given(turn).writeTo(table).append()

    def merge(turn: int) -> object:
        return merged(turn, "1 %", "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")

    def where(turn: int) -> object:
        return merged(
            turn + 1, "0.1 %", "WHEN MATCHED AND t.a <> s.a THEN UPDATE SET b = t.b + s.b"
        )

    def merged(turn: int, part: str, clauses: str) -> object:
        given(turn, part).createOrReplaceTempView("changed")
        return spark.sql(f"MERGE INTO {table} AS t USING changed AS s ON t.id = s.id {clauses}")

    def update(turn: int) -> object:
        least = 10 * turn % 1000  # of the thousand values of e
        return spark.sql(f"UPDATE {table} SET b = b + 1 WHERE e BETWEEN {least} AND {least + 9}")

    def read(_: int) -> object:
        return spark.table(table).selectExpr("bit_xor(xxhash64(id, b, e))").first()

    def delete(turn: int) -> object:
        keys = f"SELECT pmod(xxhash64(id, {turn}), {total}) AS id FROM range({KEYS})"
        if takes_subquery:
            return spark.sql(f"DELETE FROM {table} WHERE id IN ({keys})")
        on = "ON t.id = s.id WHEN MATCHED THEN DELETE"
        return spark.sql(f"MERGE INTO {table} AS t USING ({keys}) AS s {on}")

    yield session.scanned(SCAN, shape, lambda: spark.table(table), [files], answer=False)
    if is_ours:
        yield from _in_turns(session, {INSERT: insert, MERGE: merge}, files)
    steps = {WHERE: where, UPDATE: update, DELETE: delete}
    for name, step in steps.items() if is_ours else {MERGE: merge, **steps}.items():
        if name == UPDATE:
            found = times(read, settings.pace, files=[files])
            yield Result(READ, session.system, found, shape.total)
        with session.peaks() as peaks:
            found = times(step, settings.pace_of_writes, files=[files])
        alike = name == DELETE and not settings.timed  # the number of warm turns is each one's own
        answer = answers.of_frame(spark.table(table), shape) if alike else None
        case = f"rows/{name}"
        yield Result(case, session.system, found, 0, answer, peaks.memory)


def _in_turns(session: Session, steps: Mapping[str, Step], files: Path) -> Iterator[Result]:
    """Statements that are compared with each other."""
    with session.peaks() as peaks:
        each = in_turns(steps, session.settings.pace_of_writes, [files])
    for name, found in each.items():
        yield Result(f"rows/{name}", session.system, found, 0, None, peaks.memory)
