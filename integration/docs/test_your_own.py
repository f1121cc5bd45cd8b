"""docs/your-own.md: its blocks run in order through Spark, and print what it shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration.docs.pages import DOCS
from integration.faults.processes import wait_until
from integration.keyed import create_keyed
from tests import readers

PAGE = DOCS / "your-own.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def page(spark: SparkSession) -> list[tuple[str, str]]:
    """What each block printed, and what is shown after it."""
    space: dict[str, object] = {"__name__": "__main__"}
    found: list[tuple[str, str]] = []
    text = PAGE.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if block[1] == "text":
            found[-1] = (found[-1][0], block[2])
            continue
        lines = "\n" * text.count("\n", 0, block.start(2))  # lines in errors are the page's
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(lines + block[2], str(PAGE), "exec"), space)
        found.append((printed.getvalue(), ""))
    return found


def test_every_block_prints_what_the_page_shows(page: list[tuple[str, str]]) -> None:
    assert sum(bool(shown) for _, shown in page) == 5
    for printed, shown in page:
        if shown:
            assert printed.strip() == shown.strip()


def test_a_session_that_lacks_the_function_is_told(
    page: list[tuple[str, str]], spark: SparkSession
) -> None:
    other = spark.newSession()
    rows = {"names": "(1, 'Bo')", "documents": "(1, 9L, false, 'new')"}
    for table, name in (("names", "longest"), ("documents", "newest_unflagged")):
        with pytest.raises(PySparkException) as read:
            other.table(f"keyfold.own.{table}").collect()
        with pytest.raises(PySparkException) as written:
            other.sql(f"INSERT INTO keyfold.own.{table} VALUES {rows[table]}")
        for error in (read, written):
            for words in (
                name,
                f"keyfold.own.{table}",
                "spark.keyfold.modules",
                "keyfold.register",
            ):
                assert words in str(error.value)
    assert {row.id for row in other.table("keyfold.own.names").select("id").collect()} == {1, 2}
    with pytest.raises(PySparkException, match="'longest'"):
        create_keyed(
            other,
            "keyfold.own.unknown",
            "id INT, v STRING",
            key="id",
            merge_engine="aggregation",
            folds={"v": "longest"},
        )


@pytest.mark.parametrize("table", ["names", "documents"])
def test_pypaimon_refuses_such_a_table(
    page: list[tuple[str, str]], warehouse: Path, table: str
) -> None:
    with pytest.raises(readers.Refused, match=r"^(ValueError|NotImplementedError|KeyError):"):
        readers.read(warehouse, f"own.{table}")


def test_a_write_that_failed_leaves_nothing(
    page: list[tuple[str, str]], spark: SparkSession, warehouse: Path
) -> None:
    place = warehouse / "own.db" / "ratios"
    spark.sql("INSERT INTO keyfold.own.ratios VALUES (8, 1)")
    kept = sorted(path for path in place.rglob("*") if path.is_file())
    # One key is one task. Of others Spark forgets what they wrote if they end after the failure.
    with pytest.raises(PySparkException, match="ZeroDivisionError"):
        spark.sql("INSERT INTO keyfold.own.ratios VALUES (8, 0), (8, 0)")
    assert wait_until(lambda: sorted(p for p in place.rglob("*") if p.is_file()) == kept)
    assert [tuple(row) for row in spark.table("keyfold.own.ratios").collect()] == [(8, 1)]
    spark.sql("TRUNCATE TABLE keyfold.own.ratios")


def test_an_error_names_the_line_of_the_page(
    page: list[tuple[str, str]], spark: SparkSession
) -> None:
    line = PAGE.read_text(encoding="utf-8").splitlines().index("    return left // right") + 1
    spark.sql("INSERT INTO keyfold.own.ratios VALUES (7, 6)")
    spark.sql("INSERT INTO keyfold.own.ratios VALUES (7, 0)")
    words = rf"table keyfold\.own\.ratios, column v, key \(id = 7\): .*your-own\.md, line {line}: Z"
    with pytest.raises(PySparkException, match=words):
        spark.table("keyfold.own.ratios").collect()
    spark.sql("TRUNCATE TABLE keyfold.own.ratios")
