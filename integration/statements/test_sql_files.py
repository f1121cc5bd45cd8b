"""Every file of statements/sql on keyfold and on plain Spark Parquet tables: the same answers.

The format of the files is described in sql_file.py; adding a case is adding a file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from integration import sessions
from integration.planning.plans import assert_ours
from integration.statements.sql_file import Statement, parse

FILES = sorted((Path(__file__).parent / "sql").glob("*.sql"))


COMPILED = ("types_variant",)  # Spark's casts of VARIANT are compiled, or fail


def start(spark: SparkSession, catalog: str, name: str) -> SparkSession:
    """A session of its own, whose current namespace is empty and named as the file."""
    session = spark.newSession()
    if name.removeprefix("sql_") not in COMPILED:
        sessions.interpret(session)
    session.sql(f"DROP NAMESPACE IF EXISTS {catalog}.{name} CASCADE")
    session.sql(f"CREATE NAMESPACE {catalog}.{name}")
    session.sql(f"USE {catalog}.{name}")
    return session


def answer(frame: DataFrame, *, ordered: bool) -> list[str]:
    """Rows as text, sorted unless their order counts; column names first."""
    rows = [repr(tuple(row)) for row in frame.collect()]
    return [repr(frame.columns), *(rows if ordered else sorted(rows))]


def expect_error(session: SparkSession, statement: Statement) -> None:
    """The statement fails, on the driver or in a task, and the message names what it should."""
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        session.sql(statement.text).collect()
    message = str(caught.value)
    missing = [part for part in statement.fragments if part.lower() not in message.lower()]
    assert not missing, f"line {statement.line}: {missing} not in:\n{message[:2000]}"


def expect_text(session: SparkSession, statement: Statement) -> None:
    """The printed rows hold each fragment."""
    rows = session.sql(statement.text).collect()
    text = "\n".join(" | ".join(str(value) for value in row) for row in rows)
    missing = [part for part in statement.fragments if part not in text]
    assert not missing, f"line {statement.line}: {missing} not in:\n{text}"


def compare(ours: SparkSession, plain: SparkSession, statement: Statement, other: str) -> None:
    """One query on both."""
    ordered = "ordered" in statement.argument
    frame = ours.sql(statement.text)
    if "any" not in statement.argument:
        assert_ours(frame)
    found = answer(frame, ordered=ordered)
    expected = answer(plain.sql(other), ordered=ordered)
    assert found == expected, f"line {statement.line}: {statement.text}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_sql_file(spark: SparkSession, path: Path) -> None:
    ours = start(spark, "keyfold", f"sql_{path.stem}")
    plain = start(spark, "spark_catalog", f"sql_{path.stem}")
    steps = parse(path)
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if step.directive == "error":
            expect_error(ours, step)
        elif step.directive == "holds":
            expect_text(ours, step)
        elif step.directive == "query":
            other = following if following and following.directive == "against" else step
            compare(ours, plain, step, other.for_spark)
        elif step.directive != "against":
            run(ours, plain, step)


def run(ours: SparkSession, plain: SparkSession, step: Statement) -> None:
    """A statement that changes something, on the sides it is for."""
    if step.directive != "spark":
        ours.sql(step.text)
    if step.directive != "keyfold":
        plain.sql(step.for_spark)


def test_there_are_files() -> None:
    assert len(FILES) >= 10
    assert all(
        any(step.directive in ("query", "error", "holds") for step in parse(p)) for p in FILES
    )
