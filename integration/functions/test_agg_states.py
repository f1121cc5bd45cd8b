"""Aggregate states in Spark: merged in queries, in tables and in Python, they give what Spark's own
aggregates give of the values, and what folds give, keyfold's own and users'; and what is no state
of a column is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import keyfold
from integration import sessions
from integration.aggregates.plans import named
from integration.functions import state_cases
from integration.functions.state_cases import CASES, FOLDS, OF_SPARK, comparable, listed, results
from integration.keyed import create_keyed
from keyfold.aggregates.states.bound_signatures import parse
from keyfold.aggregates.states.signature import Signature, text_of
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.types.arrow import to_arrow
from tests.aggregates.groups import merging, of_groups

FreshName = Callable[[], str]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> None:
    keyfold.register(spark, state_cases.widest, state_cases.summed)
    spark.sql(state_cases.ROWS).cache().createOrReplaceTempView("state_rows")


@pytest.fixture(scope="module")
def expected(spark: SparkSession, rows: None) -> dict[str, Any]:
    """The results of the values, by `g`."""
    own = f"SELECT g, {listed('{own}')} FROM state_rows GROUP BY g ORDER BY g"
    with sessions.conf(spark, **sessions.INTERPRETED):
        return results(spark, own)


@pytest.mark.usefixtures("interpreted")
def test_states_in_queries_give_what_values_give(
    spark: SparkSession, rows: None, expected: dict[str, Any]
) -> None:
    merged = listed("{x}_merge({x}_state({a}))")
    of_rows = f"SELECT g, {merged} FROM state_rows GROUP BY g ORDER BY g"
    assert results(spark, of_rows) == expected
    groups = f"SELECT g, {listed('{x}_combine({a}) AS c{n}')} FROM state_rows GROUP BY g, part"
    unions = f"SELECT g, {listed('keyfold.{x}_union(c{n}) AS c{n}')} FROM ({groups}) GROUP BY g"
    finals = f"SELECT g, {listed('{x}_finalize(c{n})')} FROM ({unions}) ORDER BY g"
    assert results(spark, finals) == expected


def test_a_state_of_one_row_is_what_the_fold_makes_of_it(spark: SparkSession, rows: None) -> None:
    own = f"SELECT id, {listed('{own}', FOLDS)} FROM state_rows GROUP BY id ORDER BY id"
    finals = listed("{x}_finalize({x}_state({a}))", FOLDS)
    found = results(spark, f"SELECT id, {finals} FROM state_rows ORDER BY id")
    assert found == results(spark, own)


def test_states_of_no_rows_and_of_null(spark: SparkSession, rows: None) -> None:
    none = "FROM state_rows WHERE id < 0"
    finals = listed("{x}_finalize({x}_combine({a}))", FOLDS)
    own = results(spark, f"SELECT {listed('{own}', FOLDS)} {none}")
    assert results(spark, f"SELECT {finals} {none}") == own
    found = spark.sql(
        "SELECT product_merge(s), product_finalize(product_union(s)), product_finalize(first(s)) "
        f"FROM (SELECT product_combine(f) AS s {none})"
    ).first()
    assert found == (None, None, None)


def test_states_of_nothing_go_with_any_constants(spark: SparkSession) -> None:
    nothing, value = "CAST(NULL AS DOUBLE), 0.25D", "7D, 0.75D"
    for name in ("percentile_reservoir", "percentile_approx", "percentile"):
        for first, second in ((nothing, value), (value, nothing)):
            states = f"SELECT {name}_state({first}) AS s UNION ALL SELECT {name}_state({second})"
            assert spark.sql(f"SELECT {name}_merge(s) FROM ({states})").first() == (7.0,)


@pytest.mark.usefixtures("interpreted")
def test_states_in_tables_give_what_values_give(
    spark: SparkSession, rows: None, expected: dict[str, Any], fresh_name: FreshName
) -> None:
    """Those of rows and of groups, which one table merges and a second one rolls up."""
    columns = ", ".join(f"c{n} BINARY" for n in range(len(CASES)))
    folds = {f"c{n}": "agg_state" for n in range(len(CASES))}
    declared = {
        f"fields.c{n}.agg-state": f"{x}({kinds})".replace("'", "\\'")
        for n, (x, _, kinds, _) in enumerate(CASES)
    }
    parts, total = (
        create_keyed(
            spark,
            fresh_name(),
            f"{keys.replace(',', ' INT,')} INT, {columns}",
            keys,
            folds=folds,
            given=declared,
            merge_engine="aggregation",
            write_only=True,
        )
        for keys in ("g, part", "g")
    )
    states, made = listed("{x}_state({a})"), listed("{x}_combine({a})")
    for records in (
        f"{states} FROM state_rows WHERE id < 20",
        f"{made} FROM state_rows WHERE id >= 20 GROUP BY g, part",
    ):
        spark.sql(f"INSERT INTO {parts} SELECT g, part, {records}")
    unions = listed("keyfold.{x}_union(c{n})")
    spark.sql(f"INSERT INTO {total} SELECT g, {unions} FROM {parts} GROUP BY g")
    finals = listed("{x}_finalize(c{n})")
    assert results(spark, f"SELECT g, {finals} FROM {total} ORDER BY g") == expected
    spark.sql(f"CALL keyfold.sys.compact('{parts}')")
    merged = f"SELECT g, {listed('{x}_merge(c{n})')} FROM {parts} GROUP BY g ORDER BY g"
    assert results(spark, merged) == expected
    settled = [(n, case) for n, case in enumerate(CASES) if case[0] not in state_cases.ORDERED]
    merged = ", ".join(f"{case[0]}_merge(c{n})" for n, case in settled)
    own = ", ".join(case[3] for _, case in settled)
    assert results(spark, f"SELECT {merged} FROM {total}") == (
        results(spark, f"SELECT {own} FROM state_rows")
    )
    comments = [row.comment for row in spark.sql(f"DESCRIBE {parts}").collect()]
    assert "AGG_STATE<collect(ARRAY<INT>, distinct => 'true')>" in comments
    distinct = next(n for n, case in enumerate(CASES) if "distinct" in case[2])
    with pytest.raises(PySparkException) as refused:
        spark.sql(
            f"INSERT INTO {total} (g, c{distinct - 1}) SELECT 1, collect_state(array(1), true)"
        )
    assert "a state of collect(ARRAY<INT>,distinct => 'true') can't be cast" in str(refused.value)


def opened(found: Signature, state: bytes) -> list[Any]:
    text = text_of(state)
    assert text is not None
    assert text.partition(";")[0] == found.text
    payload = pa.array([state[5 + len(text.encode()) :]], pa.binary())
    columns = decode(payload, [to_arrow(kind) for kind in found.fields])
    return [comparable(column.to_pylist()[0]) for column in columns]


def test_python_and_spark_merge_states_to_the_same_bytes(spark: SparkSession, rows: None) -> None:
    """By code that Spark compiles, which the tests above do without."""
    states = listed("{x}_state({a}) AS c{n}", OF_SPARK)
    made = spark.sql(f"SELECT {states} FROM state_rows ORDER BY id").toArrow()
    unions = listed("{x}_union({x}_state({a}))", OF_SPARK)
    spark_s = spark.sql(f"SELECT {unions} FROM (SELECT * FROM state_rows ORDER BY id)").first()
    assert spark_s is not None
    for place, (name, _, kinds, _) in enumerate(OF_SPARK):
        found = parse(f"{name}({kinds})")
        own = of_groups(merging(found), made.column(place).combine_chunks())[0].as_py()
        theirs = bytes(spark_s[place])
        if found.function.kind != "sketch":  # whose bytes are in no order
            assert opened(found, own) == opened(found, theirs), found.text
        if found.function.fold in ("sum", "min", "max", "max_by", "bit_or", "first"):
            assert own == theirs, found.text


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ("1", "cast"),
        ("X'4B5301'", "can't be cast to AGG_STATE<max_by(INT NOT NULL, INT)>"),
        (
            "max_state(1)",
            "a state of max(INT) can't be cast to AGG_STATE<max_by(INT NOT NULL, INT)>",
        ),
        ("max_by_combine(1.5, 2)", "a state of max_by(DECIMAL(2,1),INT) can't be cast"),
        ("max_by_state(CAST(NULL AS INT), 2)", "an argument of max_by_state is NULL"),
    ],
)
def test_what_is_no_state_of_the_column_is_refused(
    spark: SparkSession, doris_table: str, values: str, words: str
) -> None:
    with pytest.raises(PySparkException) as refused:
        spark.sql(f"INSERT INTO {doris_table} SELECT 1, {values}")
    assert words in str(refused.value)


@pytest.fixture(scope="module")
def doris_table(spark: SparkSession) -> str:
    spark.sql(
        "CREATE TABLE keyfold.it.states_of_doris "
        "(k INT, v agg_state<max_by(int not null, int)> GENERIC) "
        "AGGREGATE KEY(k) DISTRIBUTED BY HASH(k) BUCKETS 1"
    )
    return "keyfold.it.states_of_doris"


def test_describe_says_what_a_column_holds(spark: SparkSession, doris_table: str) -> None:
    for extended in ("", "EXTENDED "):
        lines = spark.sql(f"DESCRIBE {extended}{doris_table}").collect()
        assert ("v", "binary", "AGG_STATE<max_by(INT NOT NULL, INT)>") in [
            tuple(line) for line in lines
        ]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sum_merge(id)", "sum_merge takes a state"),
        ("sum_merge(X'00')", "it is not known of which aggregate"),
        ("avg_finalize(sum_state(id))", "requires a state of avg, but got a state of sum(BIGINT)"),
        ("sum_merge(DISTINCT sum_state(id))", "DISTINCT"),
        ("sum_state(rand())", "deterministic"),
        ("sum_foreach(array(id))", "sum_foreach is not supported"),
        ("sum_state('a')", "takes one number, found (STRING)"),
        ("widest_merge(summed_state(id))", "requires a state of widest, but got a state of summed"),
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


def test_states_keep_their_signature_on_the_way(spark: SparkSession, rows: None) -> None:
    spark.sql(
        "SELECT g, sum_union(sum_state(i)) AS s FROM state_rows GROUP BY g"
    ).createOrReplaceTempView("states_of_sum")
    total = spark.sql("SELECT sum(i) FROM state_rows").first()
    for source in (
        "states_of_sum",
        "(SELECT s FROM states_of_sum WHERE g < 1 "
        "UNION ALL SELECT s FROM states_of_sum WHERE g >= 1)",
        "(SELECT sum_union(s) OVER (PARTITION BY g) AS s FROM states_of_sum)",
    ):
        assert spark.sql(f"SELECT sum_merge(s) FROM {source}").first() == total
    filtered = "sum_merge(s) FILTER (WHERE g = 1), sum_merge(coalesce(s, s)) FILTER (WHERE g <> 1)"
    parts = spark.sql(f"SELECT {filtered} FROM states_of_sum").first()
    assert parts is not None
    assert total is not None
    assert sum(parts) == total[0]


def test_states_of_rows(spark: SparkSession) -> None:
    """`count_state()` counts each row, as `count(*)` does."""
    for call in ("", "*", "1"):
        found = spark.sql(
            f"SELECT count_merge(count_state({call})), count_merge(s) FROM range(5), "
            f"(SELECT count_combine({call}) AS s FROM range(7))"
        )
        assert tuple(found.first()) == (5, 35)
    with pytest.raises(keyfold.TableError, match="sum_state takes one number"):
        spark.sql("SELECT sum_state()")


def tuples(spark: SparkSession, query: str) -> list[str]:
    return sorted(str(tuple(row)) for row in spark.sql(query).collect())


def test_python_folds_them(spark: SparkSession, rows: None) -> None:
    """In the operator that has the keys too, beside Spark's own and folds."""
    for call in (
        "ndv_merge(ndv_state(s))",
        "percentile_cont_union(percentile_state(d, 0.5D))",
        "mode_merge(mode_state(s)), count(*), keyfold.product(l)",
        "product_merge(product_state(l)), product_combine(l)",
    ):
        frame = spark.sql(f"SELECT g, {call} FROM state_rows GROUP BY g")
        frame.collect()
        assert len(named(frame, "FoldGroupsExec")) == 2, call
        assert not named(frame, "ObjectHashAggregateExec")


def test_rows_with_results_of_states_stay_where_they_are(spark: SparkSession, rows: None) -> None:
    """Groups of the same keys above them need no second shuffle."""
    modes = "SELECT g, mode_finalize(mode_combine(s)) AS m FROM state_rows GROUP BY g"
    frame = spark.sql(f"SELECT g, count(*) FROM ({modes}) WHERE m <> 'w' GROUP BY g")
    assert len(named(frame, "StateRowsExec")) == len(named(frame, "ShuffleExchangeExec")) == 1
    assert sorted(map(tuple, frame.collect())) == [(0, 1), (1, 1), (2, 1)]


def test_results_of_states_anywhere(spark: SparkSession, rows: None) -> None:
    """In keys, conditions and arguments, of a group's state and of a row's; NULL of NULL."""
    states = (
        "(SELECT g, part, mode_combine(s) AS m, ndv_combine(s) AS n FROM state_rows GROUP BY ALL)"
    )
    plain = (
        "(SELECT g, part, mode(s, true) AS m, count(DISTINCT s) AS n FROM state_rows GROUP BY ALL)"
    )
    for query in (
        "SELECT g, {m}, max({n}) FROM {t} GROUP BY g, {m}",
        "SELECT {m}, sum({n}) + 1 FROM {t} WHERE {n} > 1 GROUP BY 1 HAVING max({n}) > 2",
        "SELECT l.g, r.part FROM {t} l JOIN (SELECT part FROM {t}) r ON {n} = r.part",
        "SELECT g, {n} FROM {t} WHERE EXISTS (SELECT 1 FROM {t} o WHERE o.part = {n})",
        "SELECT g, part, {n} FROM {t} ORDER BY {n}, g, part LIMIT 3",
        "SELECT g, sum({n}) OVER (PARTITION BY g ORDER BY {n}, part) FROM {t}",
        "SELECT g, explode(array({n})) FROM {t}",
    ):
        finals = {"m": "mode_finalize(m)", "n": "ndv_finalize(n)", "t": states}
        wanted = tuples(spark, query.format(m="m", n="n", t=plain))
        assert tuples(spark, query.format(**finals)) == wanted, query
    groups = (
        "g, mode_finalize(mode_union(mode_state(s))) AS m, ndv_finalize(ndv_combine(s)) + g AS n"
    )
    own = "g, mode(s, true) AS m, count(DISTINCT s) + g AS n"
    made = tuples(spark, f"SELECT {groups} FROM state_rows GROUP BY g ORDER BY n, g")
    assert made == tuples(spark, f"SELECT {own} FROM state_rows GROUP BY g ORDER BY n, g")
    states = "SELECT s FROM range(1) LEFT JOIN (SELECT 5 AS n, ndv_state(7) AS s) ON n = id"
    nothing = spark.sql(f"SELECT ndv_finalize(s), ndv_merge(s) FROM ({states}) GROUP BY 1")
    assert nothing.first() == (None, 0)
