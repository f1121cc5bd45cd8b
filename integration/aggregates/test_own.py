"""A session's own functions in queries: names, options, failures and cancelled queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import keyfold
from integration.faults import processes
from keyfold import functions


@keyfold.aggregate("BIGINT")
def farthest(best: int, value: int) -> int:
    """The number that is farthest from 0."""
    return value if abs(value) > abs(best) else best


@keyfold.aggregate.combine()
def never_thirteen(values: list[int]) -> int:
    """The sum; 13 is refused."""
    if 13 in values:
        raise ValueError("thirteen")
    return sum(values)


@keyfold.aggregate.combine()
def slowly(files: list[str]) -> str:
    """Makes a file and takes its time."""
    Path(files[0]).touch()
    time.sleep(0.2)
    return files[0]


@pytest.fixture(scope="module")
def registered(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with the functions above."""
    keyfold.register(spark, farthest, never_thirteen, slowly)
    yield spark
    for name in ("farthest", "never_thirteen", "slowly"):
        spark.conf.unset(f"spark.keyfold.registered.{name}")


@pytest.mark.parametrize("name", ["farthest", "keyfold.farthest", "keyfold.FARTHEST"])
def test_is_called_by_name(registered: SparkSession, name: str) -> None:
    query = f"SELECT id % 300 k, {name}(if(id % 2 = 0, id, -id)) f FROM range(3000) GROUP BY 1"
    found = {row.k: row.f for row in registered.sql(query).collect()}
    assert found == {k: (2700 + k) * (1 if k % 2 == 0 else -1) for k in range(300)}


@pytest.mark.parametrize(
    "more",
    ["", ", max_by(id, id)", " WITHIN GROUP (ORDER BY id)", " WITHIN GROUP (ORDER BY id), max(id)"],
)
def test_failure_names_the_group(registered: SparkSession, more: str) -> None:
    rows = "FROM (SELECT *, id % 5 a, concat('x', id % 7) b FROM range(100))"
    with pytest.raises(Exception, match=r"never_thirteen[\s\S]*thirteen") as failed:
        registered.sql(f"SELECT a, b, never_thirteen(id){more} {rows} GROUP BY a, b").collect()
    assert "function keyfold.never_thirteen, group (a = 3, b = x6): " in str(failed.value)
    with pytest.raises(Exception, match=r"keyfold.never_thirteen, all rows: .*thirteen"):
        registered.sql(f"SELECT never_thirteen(id){more} {rows}").collect()


def test_overflow_names_the_group(spark: SparkSession) -> None:
    query = "SELECT k, keyfold.sum(CAST(100 AS TINYINT)) FROM VALUES ('p'), ('p') t (k) GROUP BY k"
    with pytest.raises(Exception, match=r"keyfold.sum.*group \(k = p\).*does not fit TINYINT"):
        spark.sql(query).collect()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("keyfold.listagg(s, s)", "argument 2 is .*s; expected a constant"),
        ("keyfold.listagg(s, delimiter => s)", "delimiter is .*s; expected a constant"),
        ("keyfold.listagg(s, delimeter => ';')", "keyfold.listagg.*delimeter"),
        ("keyfold.sum()", "keyfold.sum: there is no column"),
        ("keyfold.sum(s, s)", "keyfold.sum: expected one column, found 2"),
        ("keyfold.sum(s)", "keyfold.sum.*STRING"),
        ("keyfold.summ(s)", "summ"),
        (
            "keyfold.listagg(DISTINCT s) WITHIN GROUP (ORDER BY length(s))",
            "DISTINCT.*expected ORDER BY t.s",
        ),
        (
            "keyfold.listagg(s) WITHIN GROUP (ORDER BY INTERVAL '1' DAY)",
            "keyfold.listagg WITHIN GROUP .*type INTERVAL DAY is not supported there",
        ),
        ("keyfold.max(s) IGNORE NULLS", "IGNORE NULLS"),
    ],
)
def test_refusals_name_the_function(spark: SparkSession, call: str, words: str) -> None:
    with pytest.raises(Exception, match=words):
        spark.sql(f"SELECT {call} FROM VALUES ('a') AS t (s)").collect()


def test_observed_metrics_are_refused(spark: SparkSession) -> None:
    words = "function keyfold.sum in observed metrics is not supported"
    with pytest.raises(Exception, match=words):
        spark.range(3).observe("seen", functions.sum("id")).collect()


def test_options_by_place_and_by_name(spark: SparkSession) -> None:
    calls = "keyfold.listagg(s, ';'), keyfold.listagg(delimiter => '|', column => s)"
    query = f"SELECT {calls} FROM VALUES ('a'), (NULL), ('b') AS t (s)"
    row = spark.sql(query).first()
    assert row is not None
    assert [sorted(text) for text in row] == [[";", "a", "b"], ["a", "b", "|"]]


def test_cancelled_query_ends(registered: SparkSession, tmp_path: Path) -> None:
    """It is cancelled within the function, and has a minute of it before it."""
    failures: list[str] = []
    met = tmp_path / "met"

    def run() -> None:
        registered.sparkContext.setJobGroup("slow", "a query to stop")
        try:
            call = f"keyfold.slowly(concat('{met}', if(id < 0, 'x', '')))"
            registered.sql(f"SELECT id % 500, {call} FROM range(1000) GROUP BY 1").collect()
        except Exception as error:  # the test reads it
            failures.append(str(error))

    running = threading.Thread(target=run, daemon=True)
    running.start()
    assert processes.wait_until(lambda: met.exists() or not running.is_alive())
    assert met.exists(), failures
    registered.sparkContext.cancelJobGroup("slow")
    running.join(20)
    assert not running.is_alive()
    assert "cancelled" in failures[0]
