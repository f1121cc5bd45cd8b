"""States of keyfold's own aggregates and of users' in Spark: they give what the aggregates give of
the values, in queries, tables, roll-ups and compacted tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import keyfold

FreshName = Callable[[], str]


@keyfold.aggregate("BIGINT")
def widest(best: int, value: int) -> int:
    """the number that is farthest from 0"""
    return value if abs(value) > abs(best) else best


@keyfold.aggregate("BIGINT", identity=0)
def squares(total: int, value: int) -> int:
    """the sum of what is there, each value doubled once"""
    return total + value


# The function, its arguments, and the signature of its states.
CASES = (
    ("product", "f", "product(double)"),
    ("collect", "a", "collect(array<int>)"),
    ("collect", "a, distinct => true", "collect(array<int>, distinct => 'true')"),
    ("merge_map", "m", "merge_map(map<int, string>)"),
    ("last_non_null_value", "s", "last_non_null_value(string)"),
    ("first_non_null_value", "r", "first_non_null_value(struct<a: int, b: string>)"),
    ("widest", "l", "widest(bigint)"),
    ("squares", "l", "squares(bigint)"),
    ("rbm32", "b", "rbm32(binary)"),
)
ROWS = """
SELECT id, CAST(id % 3 AS INT) AS g, CAST(id % 4 AS INT) AS part, if(id % 5 = 0, 2.0D, 1.0D) AS f,
  if(id % 7 = 0, NULL, array(CAST(id % 2 AS INT), CAST(id % 2 AS INT), 5)) AS a,
  map(CAST(id % 5 AS INT), concat('w', id % 5)) AS m,
  if(id % 4 = 1, NULL, concat('s', id % 3)) AS s,
  named_struct('a', CAST(id % 3 AS INT), 'b', 'x') AS r, id * 91 % 13 - 6 AS l,
  keyfold.to_bitmap(CAST(id % 11 AS INT)) AS b
FROM range(48)
"""


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> None:
    keyfold.register(spark, widest, squares)
    spark.sql(ROWS).cache().createOrReplaceTempView("fold_rows")


def listed(form: str) -> str:
    return ", ".join(form.format(x=x, a=args, n=n) for n, (x, args, _) in enumerate(CASES))


def results(spark: SparkSession, sql: str) -> list[list[Any]]:
    def settled(value: Any) -> Any:
        return sorted(map(str, value)) if isinstance(value, list) else value

    return [[settled(value) for value in row] for row in spark.sql(sql).collect()]


def expected(spark: SparkSession, keys: str = "g") -> list[list[Any]]:
    calls = listed("keyfold.{x}({a})")
    group = f"GROUP BY {keys} ORDER BY {keys}" if keys else ""
    return results(spark, f"SELECT {keys}{',' if keys else ''} {calls} FROM fold_rows {group}")


def test_states_in_queries(spark: SparkSession, rows: None) -> None:
    merged = listed("{x}_merge({x}_state({a}))")
    assert results(spark, f"SELECT g, {merged} FROM fold_rows GROUP BY g ORDER BY g") == (
        expected(spark)
    )
    groups = f"SELECT g, {listed('{x}_combine({a}) AS c{n}')} FROM fold_rows GROUP BY g, part"
    unions = f"SELECT g, {listed('keyfold.{x}_union(c{n}) AS c{n}')} FROM ({groups}) GROUP BY g"
    finals = f"SELECT g, {listed('{x}_finalize(c{n})')} FROM ({unions}) ORDER BY g"
    assert results(spark, finals) == expected(spark)


def test_a_state_of_one_row_is_what_the_fold_makes_of_it(spark: SparkSession, rows: None) -> None:
    own = results(spark, f"SELECT id, {listed('keyfold.{x}({a})')} FROM fold_rows GROUP BY id")
    states = results(spark, f"SELECT id, {listed('{x}_finalize({x}_state({a}))')} FROM fold_rows")
    assert sorted(states) == sorted(own)


def test_states_of_no_rows_and_of_null(spark: SparkSession, rows: None) -> None:
    none = "FROM fold_rows WHERE id < 0"
    assert results(spark, f"SELECT {listed('{x}_finalize({x}_combine({a}))')} {none}") == (
        results(spark, f"SELECT {listed('keyfold.{x}({a})')} {none}")
    )
    found = spark.sql(
        "SELECT product_merge(s), product_finalize(product_union(s)), product_finalize(first(s)) "
        "FROM (SELECT product_combine(f) AS s FROM fold_rows WHERE id < 0)"
    ).first()
    assert found == (None, None, None)


def test_states_in_tables(spark: SparkSession, rows: None, fresh_name: FreshName) -> None:
    daily, total = fresh_name(), fresh_name()
    columns = ", ".join(f"c{n} BINARY" for n in range(len(CASES)))
    functions = ", ".join(
        f"'fields.c{n}.aggregate-function' = 'agg_state', 'fields.c{n}.agg-state' = "
        + '"'
        + kinds
        + '"'
        for n, (_, _, kinds) in enumerate(CASES)
    )
    for name, keys in ((daily, "g INT, part INT"), (total, "g INT")):
        key = "g, part" if "part" in keys else "g"
        spark.sql(
            f"CREATE TABLE {name} ({keys}, {columns}, PRIMARY KEY ({key}) NOT ENFORCED) "
            f"TBLPROPERTIES ('merge-engine' = 'aggregation', 'write-only' = 'true', {functions})"
        )
    states, made = listed("{x}_state({a})"), listed("{x}_combine({a})")
    spark.sql(f"INSERT INTO {daily} SELECT g, part, {states} FROM fold_rows WHERE id < 20")
    spark.sql(
        f"INSERT INTO {daily} SELECT g, part, {made} FROM fold_rows WHERE id >= 20 GROUP BY g, part"
    )
    read = f"SELECT g, part, {listed('{x}_finalize(c{n})')} FROM {daily} ORDER BY g, part"
    wanted = expected(spark, "g, part")
    assert results(spark, read) == wanted
    spark.sql(f"CALL keyfold.sys.compact('{daily}')")
    assert results(spark, read) == wanted
    spark.sql(
        f"INSERT INTO {total} SELECT g, {listed('keyfold.{x}_union(c{n})')} FROM {daily} GROUP BY g"
    )
    assert results(
        spark, f"SELECT g, {listed('{x}_finalize(c{n})')} FROM {total} ORDER BY g"
    ) == expected(spark)
    unordered = [n for n, (name, *_) in enumerate(CASES) if "_value" not in name]
    (merged,) = results(spark, f"SELECT {listed('{x}_merge(c{n})')} FROM {total}")
    (wanted_total,) = expected(spark, "")
    assert [merged[n] for n in unordered] == [wanted_total[n] for n in unordered]
    comments = [row.comment for row in spark.sql(f"DESCRIBE {daily}").collect()]
    assert "AGG_STATE<collect(ARRAY<INT>, distinct => 'true')>" in comments
    with pytest.raises(PySparkException) as refused:
        spark.sql(f"INSERT INTO {total} (g, c1) SELECT 1, collect_state(array(1), true)")
    assert "a state of collect(ARRAY<INT>,distinct => 'true') can't be cast" in str(refused.value)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            "widest_merge(squares_state(id))",
            "requires a state of widest, but got a state of sq",
        ),
        ("collect_state(array(id), id)", "argument 2 is an option, which is a constant"),
        ("collect_state(array(id), sorted => true)", "option sorted is unknown"),
        ("product_state('a')", "product"),
        ("product_state(sum(id))", "product_state of an aggregate is not supported"),
        ("sum_state(x => id)", "sum_state has no named arguments"),
    ],
)
def test_wrong_calls_are_refused(spark: SparkSession, rows: None, query: str, words: str) -> None:
    with pytest.raises(PySparkException) as refused:
        spark.sql(f"SELECT {query} FROM range(2)").collect()
    assert words in str(refused.value)
