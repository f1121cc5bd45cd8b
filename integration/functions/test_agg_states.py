"""Aggregate states in Spark: merged in queries, in tables and in Python, they give what Spark's own
aggregates give of the values; and what is no state of a column is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import keyfold
from integration.aggregates.plans import named
from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Fold, Inputs
from keyfold.aggregates.results import column_result
from keyfold.aggregates.states.bound_signatures import parse
from keyfold.aggregates.states.signature import Signature, text_of
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic

FreshName = Callable[[], str]
NUMBERS = (
    *("sum", "avg", "min", "max", "count", "median", "collect_list", "collect_set"),
    *("var_pop", "var_samp", "stddev_pop", "stddev_samp", "skewness", "kurtosis"),
)
PAIRS = (
    *("covar_pop", "covar_samp", "corr", "regr_r2", "regr_slope", "regr_intercept"),
    *("regr_sxx", "regr_syy", "regr_sxy", "regr_avgx", "regr_avgy", "regr_count"),
)
# The call of a function, its signature's types, and Spark's expression of the same result.
CASES: list[tuple[str, str, str, str]] = [
    *((name, "i", "int", f"{name}(i)") for name in NUMBERS),
    *((name, "d", "double", f"{name}(d)") for name in ("sum", "avg", "min", "max", "kurtosis")),
    *((name, "m", "decimal(12, 2)", f"{name}(m)") for name in ("sum", "avg", "min", "max")),
    *((name, "s", "string", f"{name}(s)") for name in ("min", "max", "count", "collect_set")),
    *((name, "l", "bigint", f"{name}(l)") for name in ("bit_and", "bit_or", "bit_xor", "sum")),
    *((name, "b", "boolean", f"{name}(b)") for name in ("bool_and", "bool_or")),
    *((name, "g", "int", f"{name}(g)") for name in ("first", "last", "any_value")),
    *((name, "s, id", "string, bigint", f"{name}(s, id)") for name in ("max_by", "min_by")),
    *((name, "d, i", "double, double", f"{name}(d, i)") for name in PAIRS),
    ("sum0", "i", "int", "coalesce(sum(i), 0)"),
    ("variance", "i", "double", "var_pop(i)"),
    ("ndv", "s", "string", "count(DISTINCT s)"),
    ("mode", "s", "string", "mode(s, true)"),
    ("group_concat", "s, '-'", "string", "array_join(collect_list(s), '-')"),
    ("array_agg", "t", "date", "collect_list(struct(t)).t"),
    ("percentile_cont", "i, 0.25", "double", "percentile(i, 0.25)"),
    ("percentile_reservoir", "d, 0.5", "double", "percentile(d, 0.5)"),
    ("collect_list", "struct(i, s)", "struct<i: int, s: string>", "collect_list(struct(i, s))"),
    ("bitmap_union_int", "l", "bigint", "count(DISTINCT l)"),
]
# -7 is no number of a bitmap, so `l` has none; ids are not NULL.
ROWS = """
SELECT id, CAST(id % 3 AS INT) AS g, CAST(id % 4 AS INT) AS part,
  CAST(if(id % 7 = 0, NULL, id * 37 % 11) AS INT) AS i, if(id % 5 = 0, NULL, id * 1.25D) AS d,
  CAST(if(id % 6 = 0, NULL, id * 0.75) AS DECIMAL(12, 2)) AS m, id * 91 % 13 AS l,
  if(id % 4 = 1, NULL, concat('w', id % 9)) AS s, if(id % 5 = 3, NULL, id % 2 = 0) AS b,
  if(id % 3 = 2, NULL, date_add(DATE '2026-01-01', CAST(id AS INT))) AS t
FROM range(48)
"""


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> None:
    spark.sql(ROWS).cache().createOrReplaceTempView("state_rows")


def comparable(value: Any) -> Any:
    """A result, in which the order of a list or of joined texts does not matter."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else pytest.approx(value, rel=1e-9, abs=1e-9)
    if isinstance(value, list):
        return sorted(map(str, value))
    return sorted(value.split("-")) if isinstance(value, str) and "-" in value else value


def results(spark: SparkSession, sql: str) -> dict[str, Any]:
    """The values by row and place, so that a failure shows what differs."""
    rows = spark.sql(sql).collect()
    return {
        f"row {at}, {place}": comparable(value)
        for at, row in enumerate(rows)
        for place, value in enumerate(row)
    }


def listed(form: str) -> str:
    return ", ".join(form.format(x=x, a=args, n=n) for n, (x, args, _, _) in enumerate(CASES))


@pytest.mark.usefixtures("interpreted")
def test_states_in_queries_give_what_spark_gives(spark: SparkSession, rows: None) -> None:
    expected = results(
        spark,
        f"SELECT g, {', '.join(own for *_, own in CASES)} FROM state_rows GROUP BY g ORDER BY g",
    )
    of_rows = (
        f"SELECT g, {listed('{x}_merge({x}_state({a}))')} FROM state_rows GROUP BY g ORDER BY g"
    )
    groups = f"SELECT g, {listed('{x}_combine({a}) AS c{n}')} FROM state_rows GROUP BY g, part"
    unions = f"SELECT g, {listed('{x}_union(c{n}) AS c{n}')} FROM ({groups}) GROUP BY g"
    assert results(spark, of_rows) == expected
    assert results(
        spark, f"SELECT g, {listed('{x}_finalize(c{n})')} FROM ({unions}) ORDER BY g"
    ) == (expected)


def test_states_of_nothing_go_with_any_constants(spark: SparkSession) -> None:
    nothing, value = "CAST(NULL AS DOUBLE), 0.25D", "7D, 0.75D"
    for name in ("percentile_reservoir", "percentile_approx", "percentile"):
        for first, second in ((nothing, value), (value, nothing)):
            states = f"SELECT {name}_state({first}) AS s UNION ALL SELECT {name}_state({second})"
            assert spark.sql(f"SELECT {name}_merge(s) FROM ({states})").first() == (7.0,)


@pytest.mark.usefixtures("interpreted")
def test_states_in_tables_give_what_spark_gives(
    spark: SparkSession, rows: None, fresh_name: FreshName
) -> None:
    table = fresh_name()
    columns = ", ".join(f"c{n} BINARY" for n in range(len(CASES)))
    functions = ", ".join(
        f"'fields.c{n}.aggregate-function' = 'agg_state', 'fields.c{n}.agg-state' = '{x}({kinds})'"
        for n, (x, _, kinds, _) in enumerate(CASES)
    )
    spark.sql(
        f"CREATE TABLE {table} (g INT, {columns}, PRIMARY KEY (g) NOT ENFORCED) "
        f"TBLPROPERTIES ('merge-engine' = 'aggregation', 'write-only' = 'true', {functions})"
    )
    states = listed("{x}_state({a})")
    for condition in ("part < 2", "part = 2", "part = 3"):
        spark.sql(f"INSERT INTO {table} SELECT g, {states} FROM state_rows WHERE {condition}")
    own = ", ".join(own for *_, own in CASES)
    expected = results(spark, f"SELECT g, {own} FROM state_rows GROUP BY g ORDER BY g")
    read = f"SELECT g, {listed('{x}_finalize(c{n})')} FROM {table} ORDER BY g"
    assert results(spark, read) == expected
    spark.sql(f"CALL keyfold.sys.compact('{table}')")
    assert results(spark, read) == expected
    settled = [n for n, case in enumerate(CASES) if case[0] not in ("first", "last", "any_value")]
    merged = ", ".join(f"{CASES[n][0]}_merge(c{n})" for n in settled)
    own = ", ".join(CASES[n][3] for n in settled)
    assert results(spark, f"SELECT {merged} FROM {table}") == (
        results(spark, f"SELECT {own} FROM state_rows")
    )


def opened(found: Signature, state: bytes) -> list[Any]:
    text = text_of(state)
    assert text is not None
    assert text.partition(";")[0] == found.text
    payload = pa.array([state[5 + len(text.encode()) :]], pa.binary())
    columns = decode(payload, [to_arrow(kind) for kind in found.fields])
    return [comparable(column.to_pylist()[0]) for column in columns]


def test_python_and_spark_merge_states_to_the_same_bytes(spark: SparkSession, rows: None) -> None:
    """By code that Spark compiles, which the tests above do without."""
    made = spark.sql(
        f"SELECT {listed('{x}_state({a}) AS c{n}')} FROM state_rows ORDER BY id"
    ).toArrow()
    unions = (
        f"SELECT {listed('{x}_union({x}_state({a}))')} FROM (SELECT * FROM state_rows ORDER BY id)"
    )
    spark_s = spark.sql(unions).first()
    assert spark_s is not None
    agg_state, count = aggregates()["agg_state"], made.num_rows
    assert agg_state.bind is not None
    for place, (name, _, kinds, _) in enumerate(CASES):
        found = parse(f"{name}({kinds})")
        bound = agg_state.bind({"agg-state": found}, Atomic("BYTES"))
        assert isinstance(bound, Fold)
        inputs = Inputs(
            made.column(place).combine_chunks(),
            np.ones(count, np.int8),
            np.arange(count),
            np.array([0, count]),
        )
        own = column_result(bound, inputs).array.to_pylist()[0]
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
    ],
)
def test_wrong_calls_are_refused(spark: SparkSession, query: str, words: str) -> None:
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
