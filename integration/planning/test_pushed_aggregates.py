"""Functions that scans fold in Spark's place: answers are plain Spark's, on random tables of every
engine, with the push-down on and off, in ANSI mode and without; and what EXPLAIN says of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession

import keyfold
from integration.keyed import create_keyed
from integration.planning.plans import assert_ours, plan_of, scan_figures, scans
from integration.sessions import conf

pytestmark = pytest.mark.usefixtures("interpreted")
VALUES = {
    "i": "INT", "l": "BIGINT", "y": "TINYINT", "n": "DECIMAL(6, 2)", "w": "DECIMAL(38, 4)",
    "f": "FLOAT", "g": "DOUBLE", "s": "STRING", "c": "CHAR(4)", "b": "BOOLEAN", "d": "DATE",
    "t": "TIMESTAMP", "u": "TIMESTAMP_NTZ", "x": "BINARY", "a": "ARRAY<INT>",
}  # fmt: skip
ENGINES = {
    "deduplicate": {},
    "aggregation": {
        "i": "sum", "l": "max", "y": "min", "n": "sum", "w": "max", "f": "max", "g": "sum",
        "s": "min", "b": "bool_or", "d": "min", "t": "max",
    },
}  # fmt: skip
OFF = "keyfold.aggregate-push-down"


def literal(kind: str, draw: random.Random) -> str:
    if draw.random() < 0.2:
        return "NULL"
    number = draw.randrange(-9, 9)
    whole = {
        "STRING": draw.choice(["''", "'a'", "'b '", "'ключ'"]),
        "CHAR(4)": draw.choice(["''", "'a'", "'b '"]),
        "BOOLEAN": str(number > 0),
        "DATE": f"DATE'2026-01-{10 + number:02d}'",
        "TIMESTAMP": f"TIMESTAMP'2026-01-{10 + number:02d} 00:00:00.5'",
        "TIMESTAMP_NTZ": f"TIMESTAMP_NTZ'0001-01-{10 + number:02d} 00:00:00'",
        "BINARY": f"X'{abs(number):02X}FF'",
        "ARRAY<INT>": f"array({number})",
        "FLOAT": draw.choice(
            [f"FLOAT('{number}.5')", "FLOAT('NaN')", "FLOAT('-0.0')", "FLOAT('0')"]
        ),
        "DOUBLE": draw.choice(
            [f"DOUBLE('{number}.25')", "DOUBLE('NaN')", "DOUBLE('-0.0')", "DOUBLE('0')"]
        ),
    }
    return whole.get(kind, f"CAST({number} AS {kind})")


@pytest.fixture(scope="module", params=ENGINES)
def table(spark: SparkSession, request: pytest.FixtureRequest, seed: int) -> str:
    """A table after random upserts; the view `plain` has its rows in Spark's own."""
    draw, engine = random.Random(f"{seed} {request.param}"), request.param
    name = f"keyfold.it.grouped_{engine.replace('-', '_')}"
    options = {"bucket": 2, "merge_engine": engine, "write_only": True}
    columns = ", ".join(f"{column} {kind}" for column, kind in VALUES.items())
    folds = ENGINES[engine]
    create_keyed(spark, name, f"p INT, k INT, {columns}", "p, k", "p", folds=folds, **options)
    for _ in range(3):
        keys = {(draw.randrange(2), draw.randrange(40)) for _ in range(50)}
        rows = ", ".join(
            f"({p}, {k}, {', '.join(literal(kind, draw) for kind in VALUES.values())})"
            for p, k in sorted(keys)
        )
        spark.sql(f"INSERT INTO {name} VALUES {rows}")
    stored = spark.table(name)
    rows = spark.createDataFrame(stored.collect(), stored.schema)
    rows.createOrReplaceTempView("plain")
    return name


EVERY = ["i", "l", "y", "n", "w", "f", "g", "s", "b", "d", "t", "u", "x"]
NUMBERS = ["i", "l", "y", "n", "w", "f", "g"]
QUERIES = [
    f"SELECT {', '.join(f'count({c}), min({c}), max({c})' for c in EVERY)} FROM {{t}}",
    f"SELECT {', '.join(f'sum({c})' for c in NUMBERS)}, count(a), count(c) FROM {{t}}",
    "SELECT avg(i), avg(y), avg(n), avg(f), avg(g) FROM {t}",
    "SELECT avg(l), avg(w), sum(i) FROM {t}",
    "SELECT p, sum(i), max(l), min(s), count(*) FROM {t} GROUP BY p",
    "SELECT p, k, sum(i), max(f) FROM {t} GROUP BY p, k",
    "SELECT s, b, count(*), sum(n), max(t) FROM {t} GROUP BY s, b",
    "SELECT f, g, count(*), avg(i) FROM {t} GROUP BY f, g",
    "SELECT d, t, u, x, n, sum(l) FROM {t} GROUP BY d, t, u, x, n",
    "SELECT DISTINCT y, w FROM {t}",
    "SELECT i, max(l) FROM {t} GROUP BY i ORDER BY i LIMIT 3",
    "SELECT c, count(*) FROM {t} GROUP BY c",
    "SELECT sum(i), max(l), count(*) FROM {t} WHERE k < 20 AND p = 1",
    "SELECT sum(i), max(l) FROM {t} WHERE i > 0",
    "SELECT p, sum(DISTINCT i), count(DISTINCT s) FROM {t} GROUP BY p",
    "SELECT sum(i) FILTER (WHERE k > 3), sum(i + 1), max(upper(s)) FROM {t}",
    "SELECT i + 1, count(*) FROM {t} GROUP BY i + 1",
    "SELECT year(d), substring(s, 1, 1), max(l) FROM {t} GROUP BY year(d), substring(s, 1, 1)",
    "SELECT p, k, sum(l) FROM {t} GROUP BY p, k WITH ROLLUP",
    "SELECT p, sum(i) AS v FROM {t} GROUP BY p HAVING sum(i) > 0",
    "SELECT sum(i), count(l), min(k), max(s) FROM {t} WHERE k > 1000",
    "SELECT p, sum(i) FROM {t} WHERE k > 1000 GROUP BY p",
    "SELECT s, sum(i * 2 + y), sum(n * (1 - n)), sum(n * (1 - n) * (1 + i)), sum(l * i), avg(n) "
    "FROM {t} GROUP BY s",
    "SELECT sum(1 - n), sum(l - k) + 1, sum(CAST(y AS DECIMAL(12, 3)) * n), avg(i) FROM {t} "
    "WHERE i > 0 AND (d < DATE'2026-01-12' OR s IN ('a', 'b ') OR p = 1)",
    "SELECT p, t, sum(K * I), max(l), count(*) FROM {t} WHERE NOT b AND N <= 3 GROUP BY p, t",
    "SELECT q, sum(v), max(o) FROM (SELECT s AS q, n * k AS v, l AS o FROM {t} WHERE y IS NOT NULL "
    "AND g > 0 AND p = 0) GROUP BY q",
    "SELECT sum(i * i), sum(w * i), sum(g * i), sum(-i) FROM {t} WHERE f < 3 OR i > 100",
    "SELECT count(*), sum(i) FROM {t} WHERE i > 5 OR x IN (X'01FF', NULL)",
]
# What our own functions need in place of it: Spark's functions of the same result.
OWN = [
    ("keyfold.sum(l), keyfold.max(s), keyfold.min(d) FROM {t}", True),
    ("p, keyfold.sum(w), keyfold.max(g), count(*), sum(i), max(t) FROM {t} GROUP BY p", True),
    ("s, b, keyfold.bool_or(b), keyfold.min(x), count(i) FROM {t} GROUP BY s, b", True),
    ("array_sort(keyfold.collect(a)), array_sort(keyfold.collect(a, true)) FROM {t}", True),
    ("p, k, keyfold.product(y), keyfold.last_non_null_value(s) FROM {t} GROUP BY p, k", True),
    ("d, cap(l), cap(l) + keyfold.max(l) AS m FROM {t} WHERE k < 20 AND p = 1 GROUP BY d", True),
    ("keyfold.product(n), cap(l), count(*), count(i) FROM {t} WHERE k > 1000", True),
    ("p, keyfold.max(l) FROM {t} GROUP BY p HAVING keyfold.max(l) > 0", True),
    ("q, keyfold.max(v) FROM (SELECT p AS q, l AS v FROM {t}) GROUP BY q", True),
    ("CAST(s AS STRING) AS q, keyfold.sum(CAST(l AS BIGINT)) FROM {t} GROUP BY q", True),
    ("q, sum(v), count(*) FROM (SELECT CAST(p AS INT) AS q, l AS v FROM {t}) GROUP BY q", True),
    ("year(d), keyfold.max(l) FROM {t} GROUP BY year(d)", False),
    ("k, keyfold.sum(l), sum(i * k), avg(g) FROM {t} WHERE i > 0 GROUP BY k", True),
    ("s, keyfold.max(l), sum(n), sum(n) + 1 FROM {t} GROUP BY s", True),
    ("k, keyfold.sum(l) FROM {t} WHERE f > 0 GROUP BY k", False),
    ("k, keyfold.sum(DISTINCT l) FROM {t} GROUP BY k", False),
    ("p, keyfold.sum(l) FILTER (WHERE k > 3) FROM {t} GROUP BY p", False),
    ("k, keyfold.sum(l + 1) FROM {t} GROUP BY k", False),
    ("keyfold.count(s), keyfold.sum(l) FROM {t}", False),
    ("keyfold.sum(l), avg(g), bit_xor(i) FROM {t}", False),
]


@keyfold.aggregate("BIGINT", identity=0)
def cap(total: int, value: int) -> int:
    """the sum of what is positive"""
    return total + max(value, 0)


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(str(tuple(found)).replace("-0.0", "0.0") for found in frame.collect())


def test_answers_are_plain_sparks(spark: SparkSession, table: str) -> None:
    with conf(spark, spark__sql__ansi__enabled=str("aggregation" in table).lower()):
        for query in QUERIES:
            ours = rows_of(spark.sql(query.format(t=table)))
            assert ours == rows_of(spark.sql(query.format(t="plain"))), query


@pytest.mark.parametrize("engine", ENGINES)
def test_altered_tables_and_older_ones(
    spark: SparkSession, fresh_name: Callable[[], str], seed: int, engine: str
) -> None:
    """Files of several schemas, with deletes, and the table as a tag has it."""
    draw, name = random.Random(f"{seed} altered {engine}"), fresh_name()
    folds = {"i": "sum", "l": "max"} if engine == "aggregation" else {}
    options = {"bucket": 2, "merge_engine": engine, "write_only": True}
    columns = "p INT, k INT, i INT, l BIGINT, n DECIMAL(6, 2)"
    create_keyed(spark, name, columns, "p, k", "p", folds=folds, **options)

    def write(kinds: list[str]) -> None:
        keys = sorted({(draw.randrange(2), draw.randrange(40)) for _ in range(40)})
        rows = (f"({p}, {k}, {', '.join(literal(kind, draw) for kind in kinds)})" for p, k in keys)
        spark.sql(f"INSERT INTO {name} VALUES {', '.join(rows)}")

    write(["INT", "BIGINT", "DECIMAL(6, 2)"])
    write(["INT", "BIGINT", "DECIMAL(6, 2)"])
    spark.sql(f"CALL keyfold.sys.create_tag('{name}', 'before')")
    spark.sql(f"DELETE FROM {name} WHERE k % 5 = {draw.randrange(5)}")
    for change in (
        "ALTER COLUMN i TYPE BIGINT",
        "RENAME COLUMN i TO j",
        "ALTER COLUMN n TYPE DECIMAL(12, 2)",
        "ADD COLUMN e INT DEFAULT 7",
    ):
        spark.sql(f"ALTER TABLE {name} {change}")
    write(["BIGINT", "BIGINT", "DECIMAL(12, 2)", "INT"])
    for source, columns in ((f"{name} VERSION AS OF 'before'", "iln"), (name, "jlne")):
        stored = spark.sql(f"SELECT * FROM {source}")
        spark.createDataFrame(stored.collect(), stored.schema).createOrReplaceTempView("copied")
        calls = ", ".join(f"count({c}), sum({c}), min({c}), max({c})" for c in columns)
        for query in (
            f"SELECT {calls} FROM {{t}}",
            f"SELECT p, k, {calls} FROM {{t}} WHERE k > 9 GROUP BY p, k",
            f"SELECT {columns[-1]}, {calls} FROM {{t}} GROUP BY {columns[-1]}",
            "SELECT p, keyfold.max(l), count(*) FROM {t} WHERE p = 1 GROUP BY p",
        ):
            ours = spark.sql(query.format(t=source))
            assert "PushedAggregation: [" in plan_of(ours), query
            assert rows_of(ours) == rows_of(spark.sql(query.format(t="copied"))), query


def test_scans_fold_functions_of_ours(spark: SparkSession, table: str) -> None:
    keyfold.register(spark, cap)
    for query, is_pushed in OWN:
        frame = spark.sql(f"SELECT {query.format(t=table)}")
        unpushed = query.format(t=f"{table} WITH (`{OFF}` = 'false')")
        off = spark.sql(f"SELECT {unpushed}")
        assert ("PushedAggregation: [" in plan_of(frame)) == is_pushed, (query, plan_of(frame))
        assert "PushedAggregation" not in plan_of(off)
        assert rows_of(frame) == rows_of(off), query


def test_a_sum_of_ours_that_does_not_fit_names_the_group(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    name, most = fresh_name(), 2**63 - 1
    create_keyed(spark, name, "k INT, g INT, l BIGINT")
    spark.sql(f"INSERT INTO {name} VALUES (1, 7, {most}), (2, 7, {most}), (3, 8, 1)")
    frame = spark.sql(f"SELECT g, keyfold.sum(l) FROM {name} GROUP BY g")
    assert "PushedAggregation: [keyfold.sum(l)], PushedGroupBy: [g]" in plan_of(frame)
    with pytest.raises(Exception, match=r"group \(g = 7\): the sum"):
        frame.collect()


def test_an_option_of_the_read_leaves_all_to_spark(spark: SparkSession, table: str) -> None:
    query = "SELECT p, sum(i), max(l), min(s) FROM {t} GROUP BY p"
    off = spark.sql(query.format(t=f"{table} WITH (`{OFF}` = 'false')"))
    assert "PushedAggregation" not in plan_of(off)
    assert rows_of(off) == rows_of(spark.sql(query.format(t=table)))


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("sum(i), max(l), min(k) FROM {t}", "[SUM(i), MAX(l), MIN(k)], without merge"),
        ("p, k, sum(n) FROM {t} GROUP BY p, k", "[SUM(n)], PushedGroupBy: [p, k], without merge"),
        ("max(b), min(y) FROM {t} WHERE k > 7", "[MAX(b), MIN(y)], without merge"),
        ("s, avg(i) FROM {t} GROUP BY s", "[SUM(i), COUNT(i)], PushedGroupBy: [s]"),
        ("max(i) FROM {t}", "[MAX(i)]"),
        ("sum(g) FROM {t}", "[SUM(g)]"),
        ("sum(i), count(*) FROM {t}", "[SUM(i), COUNT(*)]"),
        ("avg(l) FROM {t}", None),
        ("avg(w) FROM {t}", None),
        ("max(c) FROM {t}", None),
        ("count(_bucket), max(_bucket) FROM {t}", None),
        ("sum(i + 1) FROM {t}", "[SUM(i + 1)]"),
        ("k, sum(n * (1 - N)) FROM {t} GROUP BY k", "[SUM(n * (1 - n))], PushedGroupBy: [k]"),
        ("avg(i), count(*) FROM {t} WHERE s > 'a'", "[SUM(i), COUNT(i), COUNT(*)]"),
        ("sum(n), max(n) FROM {t} WHERE i > 0", "[SUM(n), MAX(n)]"),
        ("avg(n) FROM {t} WHERE i > 0", None),
        ("sum(w + 1), sum(i) FROM {t}", None),
        ("sum(CASE WHEN k > 3 THEN i ELSE 0 END) FROM {t}", None),
        ("sum(i) FROM {t} WHERE i + k > 3", None),
        ("i % 2, count(*) FROM {t} GROUP BY i % 2", None),
        ("max(l) FROM {t} WHERE i > 0", "[MAX(l)]"),
        ("max(l) FROM {t} WHERE g > 0", None),
        ("count(DISTINCT i), sum(i) FROM {t}", None),
        ("bit_xor(i), sum(i) FROM {t}", None),
        ("sum(CAST(y AS BIGINT)) FROM {t}", "[SUM(CAST(y AS BIGINT))]"),
    ],
)
def test_plans_say_what_scans_fold(
    spark: SparkSession, table: str, query: str, shown: str | None
) -> None:
    (line,) = scans(assert_ours(spark.sql(f"SELECT {query.format(t=table)}")))
    if shown is None:
        assert "PushedAggregation" not in line
    else:
        found = line.split("PushedAggregation: ")[1]
        assert found.startswith(shown.removesuffix(", without merge")), line
        is_unmerged = "without merge" in shown and "aggregation" in table
        assert ("without merge" in found) == is_unmerged, line


def test_sums_overflow_as_sparks(spark: SparkSession, fresh_name: Callable[[], str]) -> None:
    """An overflow of integers is an error, or wraps around; that of decimals an error, or NULL."""
    name, most = fresh_name(), 2**63 - 1
    create_keyed(spark, name, "k INT, l BIGINT, n DECIMAL(38, 0), m DECIMAL(4, 2)", bucket=1)
    nines = "9" * 38
    rows = ", ".join(f"({k}, {most}, {nines}BD, 99.99BD)" for k in range(20))
    spark.sql(f"INSERT INTO {name} VALUES {rows}")

    def sums(column: str, more: str = "") -> list[Any]:
        frame = spark.sql(f"SELECT sum({column}){more} FROM {name}")
        assert "PushedAggregation" in plan_of(frame)
        return list(frame.first() or [])

    with conf(spark, spark__sql__ansi__enabled="false"):
        assert sums("l") == [(20 * most + 2**63) % 2**64 - 2**63]
        assert sums("n") == [None]
        assert [str(found) for found in sums("m", ", count(m), avg(m)")] == [
            "1999.80",
            "20",
            "99.990000",
        ]
    with conf(spark, spark__sql__ansi__enabled="true"):
        for column in ("l", "n"):
            with pytest.raises(ArithmeticException, match=r"(?i)overflow|cannot be represented"):
                sums(column)
            assert spark.sql(f"SELECT try_sum({column}) FROM {name}").first()[0] is None
        assert str(sums("m")[0]) == "1999.80"


def test_expressions_that_do_not_fit_are_sparks(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """Results beyond 64 bits, and those that Spark fails at, or makes NULL, are its own."""
    name = fresh_name()
    create_keyed(spark, name, "k INT, g INT, a DECIMAL(18, 0), l BIGINT, i INT", bucket=1)
    nines = "9" * 18
    rows = ", ".join(f"({k}, {k % 3}, {nines}BD, {2**63 - 1 - k}, {2**31 - 1})" for k in range(9))
    spark.sql(f"INSERT INTO {name} VALUES {rows}, (10, 3, 5, 7, -2), (11, 4, NULL, NULL, NULL)")

    def outcome(query: str) -> tuple[Any, ...]:
        try:
            return tuple(rows_of(spark.sql(query)))
        except ArithmeticException as error:
            where = [part.fragment() for part in error.getQueryContext()]
            return error.getCondition(), error.getMessageParameters(), where

    failed = 0
    for ansi in ("true", "false"):
        with conf(spark, spark__sql__ansi__enabled=ansi):
            for made in ("a * a * (a + 1)", "l + i", "i * i", "a * i * 0.1BD"):
                query = f"SELECT g, sum({made}), count(*), max(l) FROM {name} GROUP BY g"
                assert "PushedAggregation: [SUM(" in plan_of(spark.sql(query)), query
                off = outcome(query.replace(name, f"{name} WITH (`{OFF}` = 'false')"))
                assert outcome(query) == off, query
                failed += len(off) == 3
    assert failed == 3


def test_groups_are_written_where_no_null_may_be(spark: SparkSession, table: str) -> None:
    """Spark forgets that a group of a key, or a count, is never NULL."""
    copy = "keyfold.it.groups_written"
    spark.sql(f"DROP TABLE IF EXISTS {copy}")
    groups = f"SELECT k, count(*) AS n FROM {table} GROUP BY k"
    expected = sorted(spark.sql(groups.replace(table, "plain")).collect())
    spark.sql(f"CREATE TABLE {copy} TBLPROPERTIES ('primary-key' = 'k') AS {groups}")
    assert sorted(spark.table(copy).collect()) == expected
    spark.sql(f"INSERT OVERWRITE {copy} {groups} HAVING k > 3 ORDER BY k")
    spark.sql(f"INSERT INTO {copy} SELECT max(k) + 1000, count(*) FROM {table}")
    kept = [row for row in expected if row.k > 3]
    last = (max(row.k for row in expected) + 1000, sum(row.n for row in expected))
    assert sorted(map(tuple, spark.table(copy).collect())) == [*map(tuple, kept), last]


def test_figures_say_what_was_read_and_sent(spark: SparkSession, table: str) -> None:
    frame = spark.sql(f"SELECT p, count(*), max(u) FROM {table} GROUP BY p")
    frame.collect()
    (metrics,) = scan_figures(frame)
    assert metrics["groups"] == 2 == metrics["numOutputRows"]
    assert metrics["rows_out"] == spark.table(table).count() < metrics["rows_in"]
