"""The statements of documents.sql, run in order: each as it is printed, or refused by name.

    -- block: name     begins a document's example; its tables are its own
    -- rows: (1, 'x')  the rows that the SELECT above it gives, in any order; null is NULL
    -- refused: name   the statement above it is refused, by an error that holds this text, and the
                       rest of its block is left out; if the block has rows, it may run, too

Other statements must run, and other comments say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from integration import sessions
from integration.conformance.report import FAILED, PASSED, REFUSED, Result

DOCUMENTS = Path(__file__).with_suffix(".sql")
_STATEMENT = r"(?!\s|--)(?:'[^']*'|\"[^\"]*\"|[^;'\"])+;"
_PART = re.compile(rf"\s*(?:--\s*(rows|refused):(.*)|--.*|({_STATEMENT}))")


@dataclass(frozen=True)
class Printed:
    """One statement, and what the comments below it say."""

    sql: str
    rows: str | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Block:
    """The statements of one example."""

    name: str
    statements: tuple[Printed, ...]

    @property
    def may_run(self) -> bool:
        """Whether a statement that may be refused may run, too."""
        return any(statement.rows is not None for statement in self.statements)


def read(path: Path) -> Iterator[Block]:
    """The blocks of a file."""
    for text in re.split(r"^-- block:", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, _, body = text.partition("\n")
        found: list[Printed] = []
        for directive, said, sql in _PART.findall(body):
            if sql:
                found.append(Printed(sql.strip().removesuffix(";")))
            elif directive == "rows":
                found[-1] = Printed(found[-1].sql, said.strip(), found[-1].refused)
            elif directive == "refused":
                found[-1] = Printed(found[-1].sql, found[-1].rows, said.strip())
        yield Block(name.strip(), tuple(found))


def results(path: Path, spark: SparkSession, namespace: str) -> Iterator[Result]:
    """The end of each statement; its detail is what it gave, or why it was refused."""
    session = sessions.interpret(spark.newSession())
    session.conf.set("spark.sql.timeType.enabled", "true")
    session.sql(f"CREATE NAMESPACE {namespace}")
    session.sql(f"USE {namespace}")
    for block in read(path):
        for number, statement in enumerate(block.statements, start=1):
            status, detail = _end(statement, session, may_run=block.may_run)
            about = " ".join(statement.sql.split())
            yield Result(path.name, f"{block.name}:{number}", about, status, detail)
            if detail.startswith("refused"):
                break


def _end(statement: Printed, session: SparkSession, *, may_run: bool) -> tuple[str, str]:
    try:
        found = [shown(tuple(row)) for row in session.sql(statement.sql).collect()]
    except PySparkException as error:
        words = str(error).partition("\n\nJVM stacktrace")[0]
        is_named = statement.refused is not None and statement.refused in words
        return (REFUSED if is_named else FAILED), f"refused: {words}"
    if statement.refused is not None and not may_run:
        return FAILED, f"ran; expected an error that holds {statement.refused}"
    if statement.rows is not None and sorted(found) != sorted(_tuples(statement.rows)):
        return FAILED, f"expected {statement.rows}, found {', '.join(found)}"
    return PASSED, ", ".join(found) or "ran"


def shown(cell: Any) -> str:
    """A value as documents.sql writes it."""
    if isinstance(cell, tuple):
        return f"({', '.join(map(shown, cell))})"
    if cell is None or isinstance(cell, bool):
        return {None: "null", True: "true", False: "false"}[cell]
    return f"'{cell}'" if isinstance(cell, str) else str(cell)


def _tuples(rows: str) -> list[str]:
    return re.findall(r"\((?:'[^']*'|\([^)]*\)|[^()'])*\)", rows)
