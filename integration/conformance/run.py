"""One case in Spark: CREATE, the commits, the query; then what came of it against what is right."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from integration.conformance import changes, compare, functions, lookups, values, words
from integration.conformance.case import (
    PHASES,
    Case,
    Commit,
    Compaction,
    Elements,
    Estimates,
    Expectation,
    Insert,
    Numbered,
    Refusal,
    Rows,
    Statement,
)
from integration.conformance.session import CATALOG
from keyfold.dialects import statement
from keyfold.types import arrow as arrow_types
from keyfold.types import spark as spark_types
from keyfold.wire.layout import quoted

# Messages of keyfold where a case expects rows, with the reason.
DECISIONS = {
    # The others wrap around, keep too many digits or give NULL.
    r"the (?:sum|product) for key \(.*\) does not fit .*no stored row is lost": (
        "values beyond the column's type (overflow is refused, never silent)"
    ),
    r"(\w+)_foreach is not supported: use \1 of exploded arrays": (
        "functions of arrays by position (docs/states.md)"
    ),
}

# What a step of a compaction ends as, where it did not fail.
DONE = {"committed", "nothing", "skipped"}

ESTIMATE = {"hll_sketch": "hll_sketch_estimate", "theta_sketch": "theta_sketch_estimate"}


@dataclass(frozen=True)
class Refused:
    """Spark or keyfold refused something."""

    phase: str
    message: str
    is_syntax: bool


class RefusedByName(Exception):
    """The case expects rows of what keyfold has decided to refuse, by a message that names it."""


def verdict(case: Case, spark: SparkSession, namespace: str) -> str | None:
    """What is wrong with the case, None where it passes; the table is `t` of a fresh namespace.

    RefusedByName where rows are expected of what one of the `DECISIONS` refuses.
    """
    outcome = run(case, spark, namespace)
    expects_rows = not any(isinstance(expected, Refusal) for expected in case.accepted)
    if isinstance(outcome, Refused) and expects_rows:
        for words_of, reason in DECISIONS.items():
            if re.search(words_of, outcome.message):
                raise RefusedByName(reason)
    wrong = [judged(case, expectation, outcome) for expectation in case.accepted]
    if wrong and None not in wrong:
        return "\n  or: ".join(text for text in wrong if text)
    if isinstance(outcome, Refused):
        return (
            None if wrong else f"expected changes\n  found    error at {outcome.phase}: {outcome}"
        )
    missing = None if case.inserts else lookups.wrong(case, spark, namespace)
    if missing is not None or case.changes is None:
        return missing
    table = spark.read.option("computeUpdates", "true").changes("t").toArrow()
    return changes.difference(case, case.changes, table)


def judged(case: Case, expectation: Expectation, outcome: pa.Table | Refused) -> str | None:
    """Why the outcome is not the expected one, None where it is."""
    if isinstance(expectation, Refusal):
        wanted = f"expected at {expectation.phase}: {expectation.text}\n  found    "
        if not isinstance(outcome, Refused):
            return wanted + compare.shown(compare.cells(outcome, [False] * outcome.num_columns))
        found = f"at {outcome.phase}: {outcome.message}"
        if outcome.is_syntax:
            return f"{wanted}a syntax error, which proves nothing: {found}"
        if PHASES.index(outcome.phase) > PHASES.index(expectation.phase):
            return f"{wanted}a later error {found}"
        missing = words.difference(case, expectation, outcome.message)
        return missing and f"{wanted}{found}\n  missing  {missing}"
    if isinstance(outcome, Refused):
        rows = expectation if isinstance(expectation, Numbered) else compare.shown(expectation.rows)
        return f"expected {rows}\n  found    error at {outcome.phase}: {outcome.message}"
    if isinstance(expectation, Rows):
        return compare.rows(expectation, outcome)
    if isinstance(expectation, Elements):
        return compare.elements(expectation, outcome)
    if isinstance(expectation, Numbered):
        return compare.numbered(expectation, outcome)
    return compare.estimates(expectation, outcome)


def run(case: Case, spark: SparkSession, namespace: str) -> pa.Table | Refused:
    """The result of the case's query, or what was refused on the way.

    A compaction that fails leaves the table as it is: an error of the read, where the read has none
    of its own.
    """
    spark.sql(f"CREATE NAMESPACE {namespace}")
    spark.sql(f"USE {namespace}")
    phase = "create"
    try:
        spark.sql(case.create)
        phase = "write"
        failures = [failure for commit in case.commits for failure in write(spark, case, commit)]
        if case.inserts:  # what is expected is the table after them
            wrong = lookups.wrong(case, spark, namespace)
            if wrong is not None:
                return Refused(phase, wrong, False)
        phase = "read"
        rows = spark.sql(in_spark(spark, query(case))).toArrow()
        return Refused(phase, f"compaction: {failures[0]}", False) if failures else rows
    except (PySparkException, Py4JJavaError) as error:
        return Refused(phase, words.message(str(error)), isinstance(error, ParseException))


def in_spark(spark: SparkSession, text: str) -> str:
    """SQL of a case, whose functions are the catalog's."""
    return functions.qualified(text, functions.own(spark, CATALOG), CATALOG)


def query(case: Case) -> str:
    """The statement whose rows are compared."""
    first = case.accepted[0] if case.accepted else None
    if isinstance(first, Estimates):
        names = compare.column_names(first.rows)
        calls = [f"{ESTIMATE[case.functions[n]]}({quoted(n)}) AS {n}" for n in names]
        return f"SELECT {', '.join(calls)} FROM t"
    names = [name for name, _ in case.columns]
    if isinstance(first, Elements):
        names = compare.column_names(first.rows)
    return case.query or f"SELECT {statement.names(names)} FROM t"


def write(spark: SparkSession, case: Case, commit: Commit) -> list[str]:
    """One commit; why a compaction failed."""
    if isinstance(commit, Compaction):
        return compact(spark)
    if isinstance(commit, Statement):
        spark.sql(in_spark(spark, commit.text))
    elif commit.rows and commit.is_sql:
        spark.sql(in_spark(spark, f"INSERT INTO t {inline(spark, case, commit)}"))
    elif commit.rows:
        _append(spark.sql(inline(spark, case, commit)), spark.table("t").columns, commit)
    return []


def compact(spark: SparkSession) -> list[str]:
    """Merge all files of the table `t`; the messages of steps that failed."""
    steps = spark.sql(f"CALL {CATALOG}.sys.compact('t')").collect()
    return [str(step["message"]) for step in steps if step["status"] not in DONE]


def _append(rows: DataFrame, names: Sequence[str], insert: Insert) -> None:
    writer = rows.toDF(*names).writeTo("t")
    if insert.targets is not None:
        writer = writer.option("target-columns", ",".join(insert.targets))
    if insert.merge_mode is not None:
        writer = writer.option("merge_mode", insert.merge_mode)
    writer.append()


def inline(spark: SparkSession, case: Case, insert: Insert) -> str:
    """The rows of an INSERT as VALUES of the table's types."""
    fields = [
        (
            field.name,
            arrow_types.to_arrow(spark_types.from_spark(field.dataType.jsonValue())),
            field,
        )
        for field in spark.table("t").schema.fields
    ]
    rows = []
    for row in insert.rows:
        cells = [
            _cell(cell, kind, field.dataType.simpleString(), case.functions.get(name, ""))
            for cell, (name, kind, field) in zip(row, fields, strict=True)
        ]
        rows.append(f"({', '.join(cells)})")
    return f"VALUES {', '.join(rows)}"


def _cell(cell: Any, kind: pa.DataType, type_name: str, function: str) -> str:
    if isinstance(cell, dict) and "sql" in cell:
        return str(cell["sql"])
    if isinstance(cell, dict) and cell.get("default") is True:
        return "DEFAULT"
    if isinstance(cell, int) and kind == pa.binary():  # a case of a value that is refused
        return str(cell)
    return f"CAST({values.literal(cell, kind, function)} AS {type_name})"
