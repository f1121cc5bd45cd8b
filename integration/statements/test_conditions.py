"""Random conditions, nested as deep as SQL allows, over partition, key and value columns that hold
NULL: SELECT, DELETE and an overwrite by condition take the rows that are true for plain Spark, or
say which conditions they don't take.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.functions import expr

from integration.planning.plans import plan_of

COLUMNS = "p INT, k BIGINT, f BOOLEAN, v INT, s STRING"
VALUES: dict[str, Sequence[str]] = {
    "p": ("NULL", "1", "2", "3"),
    "k": ("NULL", "1L", "2L", "3L", "4L"),
    "f": ("NULL", "TRUE", "FALSE"),
    "v": ("NULL", "1", "2"),
    "s": ("NULL", "''", "'a'", "'b'"),
}
KEY = ("p", "k", "f")
ROWS = ", ".join(
    f"({p}, {k}, {f}, {VALUES['v'][n % 3]}, {VALUES['s'][n % 4]})"
    for n, (p, k, f) in enumerate(
        (p, k, f) for p in VALUES["p"] for k in VALUES["k"] for f in VALUES["f"]
    )
)
# Each failed once, or is one that Spark's optimizer does not make another of.
NAMED = [
    "(k = 1) = (p = 1)",
    "(k IN (1, NULL)) IS NULL",
    "(k IN (1, NULL)) IS NOT NULL",
    "(k = 1) <=> (p = 1)",
    "NOT ((k = 1) <> (p = 2))",
    "(k < 3) < (p < 3)",
    "f = (k = 1)",
    "(p = 1) = (p IN (1, NULL))",
    "((p IN (2, NULL)) IS NULL) AND k = 1",
]
DECIDED = ["NOT (k = 1 OR p IN (2, NULL))", "p <=> NULL AND f IS NOT NULL AND k <> 2"]
# Of a constant NULL inside of a condition, by whatever source is read.
SPARKS_OWN = "V2ExpressionBuilder.generateExpression"


def leaf(draw: random.Random, columns: Sequence[str]) -> str:
    name = draw.choice(columns)
    one, other = draw.choices(VALUES[name], k=2)
    if draw.random() < 0.2:
        return draw.choice([f"{name} IS NULL", f"{name} IS NOT NULL"])
    if draw.random() < 0.3:
        return f"{name} IN ({one}, {other})"
    if name == "f" and draw.random() < 0.4:
        return "f"
    if name == "s" and draw.random() < 0.4:
        return "s LIKE 'a%'"
    return f"{name} {draw.choice(['=', '<>', '<', '<=', '>', '>=', '<=>'])} {one}"


def condition(draw: random.Random, columns: Sequence[str], depth: int) -> str:
    if depth == 0:
        return leaf(draw, columns)
    one, other = (condition(draw, columns, depth - draw.choice([1, depth])) for _ in range(2))
    forms = (
        f"NOT ({one})",
        f"({one}) IS NULL",
        f"({one}) IS NOT NULL",
        f"({one}) IN (TRUE, NULL)",
        f"CASE WHEN {one} THEN {other} END",
        f"coalesce({one}, {other})",
        *(f"({one}) {op} ({other})" for op in ("AND", "OR", "AND", "OR")),
        *(f"({one}) {op} ({other})" for op in ("=", "<>", "<=>", "<", ">=")),
    )
    return draw.choice(forms)


@pytest.fixture
def draw(seed: int, request: pytest.FixtureRequest) -> random.Random:
    return random.Random(f"{seed} {request.node.name}")


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> str:
    """Every row of ROWS, in our table and in the view `every_row`, Spark's own."""
    name = "keyfold.it.conditions"
    spark.sql(
        f"CREATE TABLE {name} ({COLUMNS}) PARTITIONED BY (p) TBLPROPERTIES "
        "('primary-key' = 'p,k,f', 'primary-key.nullable' = 'true', 'bucket' = '2')"
    )
    spark.sql(f"INSERT INTO {name} VALUES {ROWS}")
    names = [name.split()[0] for name in COLUMNS.split(", ")]
    spark.sql(f"SELECT * FROM VALUES {ROWS} AS t({', '.join(names)})").createOrReplaceTempView(
        "every_row"
    )
    return name


def truths(spark: SparkSession, conditions: Sequence[str]) -> list[tuple[Row, list[Any]]]:
    """Each row of Spark's own, and what each condition is for it."""
    rows = spark.table("every_row")
    found = rows.select("*", *(expr(c).alias(f"c{n}") for n, c in enumerate(conditions))).collect()
    return [(Row(*row[:5]), list(row[5:])) for row in found]


def shown(rows: Sequence[Any]) -> list[str]:
    return sorted(str(tuple(row)) for row in rows)


def test_rows_that_are_read_are_plain_sparks(
    spark: SparkSession, table: str, draw: random.Random
) -> None:
    conditions = NAMED + [condition(draw, tuple(VALUES), 3) for _ in range(60)]
    found = truths(spark, conditions)
    plans = set()
    for n, wanted in enumerate(conditions):
        ours = spark.sql(f"SELECT * FROM {table} WHERE {wanted}")
        if not took(lambda q=ours: plans.add("Filter (" in plan_of(q)), SPARKS_OWN):
            continue
        assert shown(ours.collect()) == shown([row for row, are in found if are[n]]), wanted
    assert plans == {True, False}  # some are left to Spark, some are not


def test_partitions_that_are_replaced_are_plain_sparks(
    spark: SparkSession, table: str, draw: random.Random
) -> None:
    conditions = ["p = 1", NAMED[7], *(condition(draw, ("p",), 2) for _ in range(12))]
    found = truths(spark, conditions)
    nothing, replaced = spark.table("every_row").where("FALSE"), 0
    for n, wanted in enumerate(conditions):
        left = [row for row, are in found if not are[n]]
        write = nothing.writeTo(table)
        if took(lambda w=write, c=wanted: w.overwrite(expr(c)), "whole partitions|be decided"):
            replaced += 1
            assert shown(spark.table(table).collect()) == shown(left), wanted
            spark.sql(f"INSERT INTO {table} SELECT * FROM every_row")
        assert spark.table(table).count() == len(found)
    assert replaced > 0


def took(statement: Callable[[], Any], refusal: str) -> bool:
    """Whether the statement was done; else it was refused so, or failed an assertion of Spark's."""
    try:
        statement()
    except (PySparkException, Py4JJavaError) as error:
        if not any(part in str(error) for part in (*refusal.split("|"), SPARKS_OWN)):
            raise
        return False
    return True
