"""What scans do in Spark's place: conditions over keys, LIMIT, COUNT, MIN and MAX; and that answers
are plain Spark's on random tables.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from integration.keyed import create_keyed
from integration.planning.plans import assert_ours, plan_of, scans

pytestmark = pytest.mark.usefixtures("interpreted")
COLUMNS = "p INT, id BIGINT, s STRING, f DOUBLE, n DECIMAL(12, 2), t TIMESTAMP, kind STRING"
READ = "p, id, s, f, n, t"
TURNS = int(os.environ.get("KEYFOLD_TURNS", "2"))  # tables


def scan(frame: DataFrame) -> str:
    (line,) = scans(assert_ours(frame))
    return line


def row(draw: random.Random, low: int) -> tuple[Any, ...]:
    number = draw.randrange(low, low + 300)
    return (
        draw.randrange(3),
        number,
        draw.choice([None, "", "a", "b" * 30, "ключ"]),
        draw.choice([None, 0.0, -0.0, 1.5, float("nan"), float("inf"), -2.0]),
        draw.choice([None, f"{draw.randrange(1000)}.25"]),
        f"2026-01-{draw.randrange(1, 28):02d} 00:00:00.5",
        "-D" if draw.random() < 0.1 else "+I",
    )


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"DOUBLE('{value}')"
    return f"'{value}'" if isinstance(value, str) else str(value)


@pytest.fixture(scope="module", params=range(TURNS))
def tables(spark: SparkSession, request: pytest.FixtureRequest, seed: int) -> str:
    """A table of ours after random upserts and deletes; `plain` is the same in Spark's own."""
    draw = random.Random(f"{seed} {request.param}")
    name = f"keyfold.it.pushed{request.param}"
    create_keyed(
        spark,
        name,
        COLUMNS,
        key="p, id",
        by="p",
        bucket=(3, 1)[request.param % 2],
        rowkind__field="kind",
        write_only=request.param % 4 in (0, 3),
    )
    model: dict[tuple[int, int], tuple[Any, ...]] = {}
    for job in range(5):
        low = 0 if draw.random() < 0.5 else 1000 * (job + 1)
        rows = {found[:2]: found for found in (row(draw, low) for _ in range(200))}
        values = ", ".join(
            f"({p}, {i}, {literal(s)}, {literal(f)}, {n or 'NULL'}, TIMESTAMP {literal(t)}, "
            f"{literal(k)})"
            for p, i, s, f, n, t, k in rows.values()
        )
        spark.sql(f"INSERT INTO {name} VALUES {values}")
        model |= rows
    left = [found for found in model.values() if found[-1] == "+I"]
    values = ", ".join(
        f"({p}, {i}L, {literal(s)}, {literal(f)}, CAST({n or 'NULL'} AS DECIMAL(12, 2)), "
        f"TIMESTAMP {literal(t)})"
        for p, i, s, f, n, t, _ in left
    )
    plain = spark.sql(f"SELECT * FROM VALUES {values} AS v({READ})")
    plain.localCheckpoint().createOrReplaceTempView("plain")  # else each query reads all values
    return name


CONDITIONS = [
    "TRUE",
    "p = 1",
    "p IN (0, 2) AND id < 150",
    "id = 77",
    "id IN (5, 6, 7, 1100, 2050)",
    "id BETWEEN 100 AND 1200 AND NOT (id = 150 OR p = 2)",
    "f > 1",
    "f = 0.0D",
    "NOT (f <= 1) AND id > 20",
    "s IS NULL OR s LIKE 'b%'",
    "s <> 'a' AND n >= 100",
    "n = 500.25 OR t < TIMESTAMP '2026-01-05 00:00:00'",
    "f <=> DOUBLE('NaN')",
    "id + 1 = 78",
]
QUERIES = [
    f"SELECT {READ} FROM {{t}} WHERE {{c}}",
    "SELECT count(*), min(id), max(id), min(n), max(t), min(s), max(s) FROM {t} WHERE {c}",
    "SELECT p, count(*), max(n) FROM {t} WHERE {c} GROUP BY p",
    "SELECT count(id), count(s), min(f), max(f), count(DISTINCT p) FROM {t} WHERE {c}",
    "SELECT count(*) FROM (SELECT id FROM {t} WHERE {c} LIMIT 7)",
]


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(str(tuple(found)).replace("-0.0", "0.0") for found in frame.collect())


@pytest.mark.parametrize("condition", CONDITIONS)
def test_answers_are_plain_sparks(spark: SparkSession, tables: str, condition: str) -> None:
    for query in QUERIES:
        ours = spark.sql(query.format(t=tables, c=condition))
        theirs = spark.sql(query.format(t="plain", c=condition))
        assert rows_of(ours) == rows_of(theirs), query


@pytest.fixture(scope="module")
def plain(spark: SparkSession) -> str:
    """Four files that don't overlap, a bucket each partition; no deletes."""
    name = "keyfold.it.summed"
    create_keyed(spark, name, "p INT, id BIGINT, v DOUBLE, s STRING", key="p, id", by="p", bucket=1)
    spark.sql(f"INSERT INTO {name} SELECT id % 4, id, id / 2, 'x' FROM range(4000)")
    return name


def test_conditions_over_keys_are_not_checked_again(spark: SparkSession, plain: str) -> None:
    found = spark.sql(f"SELECT v FROM {plain} WHERE p = 1 AND id IN (1, 5, 400)")
    assert "Filter (" not in plan_of(found)
    assert rows_of(found) == ["(0.5,)", "(2.5,)"]
    by_value = spark.sql(f"SELECT id FROM {plain} WHERE v = 7.5")
    assert "Filter (" in plan_of(by_value)


@pytest.mark.parametrize(
    ("functions", "shown"),
    [
        ("count(*)", "[COUNT(*)]"),
        ("count(id), min(id), max(s)", "[COUNT(*), MIN(id), MAX(s)]"),
        ("p, count(*)", "[COUNT(*)], PushedGroupBy: [p]"),
    ],
)
def test_summaries_take_the_place_of_rows(
    spark: SparkSession, plain: str, functions: str, shown: str
) -> None:
    by = " GROUP BY p" if functions.startswith("p") else ""
    assert f"PushedAggregation: {shown}" in scan(spark.sql(f"SELECT {functions} FROM {plain}{by}"))


def test_limit_goes_past_conditions_over_keys(spark: SparkSession, plain: str) -> None:
    found = spark.sql(f"SELECT id FROM {plain} WHERE p = 1 AND id > 100 LIMIT 3")
    assert "limit 3" in scan(found)
    assert len(found.collect()) == 3


def test_offsets_and_samples_are_of_merged_rows(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """Both are Spark's own; for LIMIT with OFFSET as many rows are read as both say."""
    name, total = fresh_name(), 400
    create_keyed(spark, name, "id BIGINT, v BIGINT", key="id", bucket=2, write_only=True)
    for start in (0, 100):
        spark.sql(f"INSERT INTO {name} SELECT id, id + {start} FROM range({start}, {total})")
    every = {(row.id, row.v) for row in spark.table(name).collect()}
    assert every == {(k, k + 100 * (k >= 100)) for k in range(total)}
    for sql, pushed, count in (
        ("LIMIT 3 OFFSET 4", "limit 7", 3),
        ("TABLESAMPLE (5 ROWS)", "limit 5", 5),
        ("TABLESAMPLE (100 PERCENT)", "", total),
        (f"OFFSET {total - 2}", "", 2),
        (f"LIMIT 9 OFFSET {total - 2}", "limit", 2),
    ):
        found = spark.sql(f"SELECT id, v FROM {name} {sql}")
        assert pushed in scan(found)
        rows = {(row.id, row.v) for row in found.collect()}
        assert len(rows) == count
        assert rows <= every
    sample = f"{name} TABLESAMPLE (50 PERCENT) REPEATABLE (1)"
    assert 0 < spark.sql(f"SELECT count(*) AS c FROM {sample}").collect()[0].c < total
    assert {(row.id, row.v) for row in spark.sql(f"SELECT * FROM {sample}").collect()} < every
    found = spark.sql(f"SELECT id FROM {name} ORDER BY id LIMIT 3 OFFSET 4").collect()
    assert [row.id for row in found] == [4, 5, 6]


def test_one_bucket_is_read_by_all_cores(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name = fresh_name()
    create_keyed(
        spark,
        name,
        "id BIGINT, v DOUBLE",
        key="id",
        bucket=1,
        source__split__open_file_cost="100 kb",
    )
    for seed in (1, 2):
        spark.sql(f"INSERT INTO {name} SELECT id, rand({seed}) FROM range(200000)")
    assert spark.table(name).rdd.getNumPartitions() == 2
    assert spark.sql(f"SELECT count(*) FROM {name}").first()[0] == 200_000
    assert spark.sql(f"SELECT count(DISTINCT id) FROM {name} WHERE v >= 0").first()[0] == 200_000
    assert spark.sql(f"SELECT * FROM {name} WHERE id = 5").rdd.getNumPartitions() == 1


def test_text_of_no_characters_is_not_taken_for_another(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """Bytes that are no UTF-8 would become U+FFFD on their way, which is a key of this table."""
    name, condition = fresh_name(), "k = CAST(X'FF' AS STRING)"
    create_keyed(spark, name, "k STRING")
    spark.sql(f"INSERT INTO {name} VALUES ('\ufffd')")
    assert spark.sql(f"SELECT * FROM {name} WHERE {condition}").collect() == []
    spark.sql(f"DELETE FROM {name} WHERE {condition}")
    assert spark.table(name).count() == 1
