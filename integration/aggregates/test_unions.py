"""Unions of stored bitmaps, sketches and quantile states, and sums of DECIMAL, in GROUP BY: which
operator folds them, and random rows against definitions in Spark's own SQL.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from integration.aggregates.plans import named
from integration.sessions import INTERPRETED, conf

DISTINCT = "DISTINCT "
PYTHON, JVM, SPARK = "FoldGroupsExec", "FoldAggregateExec", "HashAggregateExec"
OPERATORS = {
    "keyfold.bitmap_agg(x)": PYTHON,
    "keyfold.bitmap_agg(CAST(x AS DECIMAL(20, 0)))": PYTHON,
    "keyfold.bitmap_union_int(CAST(x AS DECIMAL(38, 0)))": PYTHON,
    "keyfold.bitmap_union(keyfold.to_bitmap(x))": PYTHON,
    "keyfold.bitmap_union(keyfold.to_bitmap(CAST(x AS DECIMAL(20, 0))))": PYTHON,
    "keyfold.bitmap_union(keyfold.to_bitmap64(x))": PYTHON,
    "keyfold.bitmap_union(keyfold.to_bitmap(t))": PYTHON,
    "keyfold.bitmap_union_count(bm)": PYTHON,
    "keyfold.bitmap_intersect(bm)": PYTHON,
    "keyfold.group_bitmap_xor(bm)": PYTHON,
    "keyfold.hll_union_agg(keyfold.hll_hash(x))": PYTHON,
    "keyfold.hll_union_agg(keyfold.hll_hash(t))": PYTHON,
    "keyfold.hll_union(keyfold.hll_hash(CAST(t AS BINARY)))": PYTHON,
    "keyfold.hll_union_agg(hs)": PYTHON,
    "keyfold.hll_sketch(hs)": PYTHON,
    "keyfold.quantile_union(qs)": PYTHON,
    "keyfold.sum(d)": PYTHON,
    "keyfold.max(x), sum(d), avg(d), min(d), max(d)": PYTHON,
    "keyfold.max(x), sum(CAST(d AS DECIMAL(38, 2)))": JVM,
    "keyfold.bitmap_union(bm), max_by(x, id)": JVM,
    "keyfold.bitmap_union(DISTINCT bm)": PYTHON,
    "keyfold.intersect_count(bm, x, 1, 2)": PYTHON,
    "keyfold.orthogonal_bitmap_intersect(bm, g, 'a', 'b')": PYTHON,
    "ndv_merge(ndv_state(t)), mode_union(mode_state(t))": PYTHON,
    "keyfold.listagg(t) WITHIN GROUP (ORDER BY x)": PYTHON,
    "keyfold.avg_combine(x)": SPARK,
}
NUMBERS = "flatten(collect_list({d}xs){f})"
SORTED = f"array_sort({NUMBERS})"
SHARED = """array_sort(coalesce(aggregate(collect_list({d}xs){f}, CAST(NULL AS ARRAY<BIGINT>),
    (a, b) -> IF(a IS NULL, b, array_intersect(a, b))), array()))"""
ODD = f"""aggregate(array({NUMBERS}), array(), (a, ns) ->
    array_sort(filter(array_distinct(ns), n -> cardinality(filter(ns, m -> m = n)) % 2 = 1)))"""
ODD = ODD.replace("array(),", "CAST(array() AS ARRAY<BIGINT>),")
DIFFERENT = f"cardinality(array_distinct({NUMBERS}))"


def of_value(value: str) -> str:
    """The numbers of the rows of a value of `g`."""
    return f"array_distinct(flatten(collect_list({{d}}IF(g = '{value}', xs, NULL)){{f}}))"


DEFINITIONS = {
    "keyfold.bitmap_to_array(keyfold.bitmap_union({d}bm){f})": (
        f"array_sort(array_distinct({NUMBERS}))"
    ),
    "keyfold.bitmap_union_count({d}bm){f}": DIFFERENT,
    "keyfold.bitmap_to_array(keyfold.bitmap_intersect({d}bm){f})": SHARED,
    "keyfold.bitmap_to_array(keyfold.group_bitmap_xor({d}bm){f})": ODD,
    "keyfold.hll_union_agg({d}hs){f}": DIFFERENT,
    "bigint(hll_sketch_estimate(keyfold.hll_union({d}hs){f}))": DIFFERENT,
    "keyfold.hll_union_agg({d}keyfold.hll_hash(t)){f}": "count(DISTINCT t){f}",
    "keyfold.hll_union_agg({d}keyfold.hll_hash(CAST(t AS BINARY))){f}": "count(DISTINCT t){f}",
    "keyfold.bitmap_to_array(keyfold.bitmap_agg({d}CAST(x AS DECIMAL(20))){f})": (
        "array_sort(collect_set(x){f})"
    ),
    "keyfold.bitmap_to_array(keyfold.bitmap_union({d}keyfold.to_bitmap(x)){f})": (
        "array_sort(collect_set(x){f})"
    ),
    "keyfold.bitmap_to_array(keyfold.bitmap_union({d}keyfold.to_bitmap64(t)){f})": (
        "array_sort(collect_set(x){f})"
    ),
    # Doris weighs both neighbours; Spark since 4.3 their difference (SPARK-57982): the last digit
    "round(keyfold.quantile_percent(keyfold.quantile_union({d}qs){f}, 0.3), 9)": (
        "round(coalesce(percentile({d}x, 0.3){f}, double('NaN')), 9)"
    ),
    "keyfold.intersect_count({d}bm, g, 'a', 'b'){f}": (
        f"cardinality(array_intersect({of_value('a')}, {of_value('b')}))"
    ),
    "keyfold.max(x), sum({d}d){f}": "max(x), sum({d}d){f}",
    "keyfold.max(x), avg(d){f}, min(d), max(d){f}, sum(d)": "max(x), avg(d){f}, min(d), max(d){f}, "
    "sum(d)",
}
ROLL_UP = "SELECT k, g, {v} FROM stored GROUP BY ROLLUP (k, g)"
SHAPES = (
    ("SELECT k, {v} FROM stored GROUP BY k", ("", DISTINCT)),
    (ROLL_UP, ("",)),
    ("SELECT id, {v} FROM stored GROUP BY id", ("",)),
    ("SELECT {v} FROM stored", ("", DISTINCT)),
    ("SELECT {v} FROM stored WHERE id < 0", ("",)),
    ("SELECT k, {v} FROM stored WHERE id < 0 GROUP BY k", ("",)),
)


@pytest.fixture(scope="module")
def stored(spark: SparkSession) -> Iterator[DataFrame]:
    """A view of random rows with states of some numbers each, with NULL and empty ones."""
    draw = random.Random(13)

    def row(number: int) -> tuple[object, ...]:
        count = draw.choice((0, 1, 2, 30))
        own = sorted(draw.sample(range(60), count)) if draw.random() < 0.9 else None
        x = None if draw.random() < 0.1 else draw.randrange(90)
        key = draw.choice((None, *range(4)))
        return number, key, draw.choice((None, "a", "b")), own, x, None if x is None else str(x)

    schema = "id INT, k INT, g STRING, xs ARRAY<BIGINT>, x BIGINT, t STRING"
    rows = spark.createDataFrame([row(number) for number in range(300)], schema)
    rows.createOrReplaceTempView("plain")
    spark.sql("""SELECT id, keyfold.hll_union(keyfold.hll_hash(n)) hs FROM plain
        LATERAL VIEW OUTER explode(xs) AS n GROUP BY id""").createOrReplaceTempView("sketches")
    frame = spark.sql("""SELECT plain.*, keyfold.rb_build(xs) bm,
        CAST(x * 7.25 AS DECIMAL(12, 2)) d, IF(xs IS NULL, NULL, hs) hs,
        keyfold.to_quantile_state(x) qs
        FROM plain JOIN sketches USING (id)""").repartition(3)
    frame = frame.cache()
    frame.createOrReplaceTempView("stored")
    yield frame
    for name in ("stored", "plain", "sketches"):
        spark.catalog.dropTempView(name)
    frame.unpersist()


@pytest.mark.parametrize("call", OPERATORS)
def test_operators(spark: SparkSession, stored: DataFrame, call: str) -> None:
    """Each is folded by one operator, before the shuffle and after it."""
    frame = spark.sql(f"SELECT k, {call} FROM stored GROUP BY k")
    assert len(frame.collect()) == 5
    found = {name: len(named(frame, name)) for name in (PYTHON, JVM, SPARK)}
    if "DISTINCT" in call:
        del found[SPARK]  # makes the values distinct
    assert {name for name, count in found.items() if count} == {OPERATORS[call]}
    assert found[OPERATORS[call]] == 2


def rows(spark: SparkSession, query: str) -> list[str]:
    """The rows as texts that sort."""
    return sorted(str(tuple(row)) for row in spark.sql(query).collect())


def query(shape: str, values: str, distinct: str) -> str:
    """A query of a shape."""
    where = "" if distinct else " FILTER (WHERE id % 3 > 0)"
    return shape.format(v=values.format(d=distinct, f=where))


@pytest.fixture(scope="module")
def defined(spark: SparkSession, stored: DataFrame) -> dict[tuple[str, str], list[Row]]:
    """What Spark answers by the definitions: for each shape the columns of its keys, then a struct
    of the columns of each call.
    """
    values = ", ".join(f"struct({definition})" for definition in DEFINITIONS.values())
    with conf(spark, **INTERPRETED):
        return {
            (shape, distinct): spark.sql(query(shape, values, distinct)).collect()
            for shape, forms in SHAPES
            for distinct in forms
        }


@pytest.mark.parametrize("call", DEFINITIONS)
def test_is_as_defined(
    spark: SparkSession, defined: dict[tuple[str, str], list[Row]], call: str
) -> None:
    """Interpreted, a hundred queries that Spark would compile; `test_operators` compiles."""
    number = list(DEFINITIONS).index(call)
    for (shape, distinct), answers in defined.items():
        ours = query(shape, call, distinct)
        keys = [row[: -len(DEFINITIONS)] for row in answers]
        values = [row[len(row) - len(DEFINITIONS) + number] for row in answers]
        wanted = sorted(str((*k, *v)) for k, v in zip(keys, values, strict=True))
        with conf(spark, **INTERPRETED):
            assert rows(spark, ours) == wanted, ours


def test_distinct_values_of_roll_ups(spark: SparkSession, stored: DataFrame) -> None:
    """Values are made distinct for each set of keys; one query has all calls of one argument."""
    calls = [call for call in DEFINITIONS if "({d}bm)" in call]
    ours, wanted = (
        query(ROLL_UP, ", ".join(asked), DISTINCT)
        for asked in (calls, [DEFINITIONS[call] for call in calls])
    )
    assert len(calls) == 4
    with conf(spark, **INTERPRETED):
        assert rows(spark, ours) == rows(spark, wanted)


def test_wide_bitmaps(spark: SparkSession) -> None:
    """A union of any bitmap of 64 bits has that form, as of the scalar functions of the JVM."""
    source = """(SELECT id % 7 k, CASE WHEN id % 7 < 3 THEN keyfold.to_bitmap(id)
        WHEN id % 7 < 5 THEN keyfold.to_bitmap64(id) ELSE keyfold.to_bitmap(id << 33) END b
        FROM range(0, 1800, 1, 3))"""
    calls = {
        "bitmap_union": "bitmap_or",
        "bitmap_intersect": "bitmap_and",
        "group_bitmap_xor": "bitmap_xor",
    }
    for call, pairwise in calls.items():
        one_by_one = f"""aggregate(collect_list(b), CAST(NULL AS BINARY),
            (a, b) -> IF(a IS NULL, b, keyfold.{pairwise}(a, b)))"""
        found, wanted = (
            {row.k: row.v for row in spark.sql(query).collect()}
            for query in (
                f"SELECT k, hex(keyfold.{call}(b)) v FROM {source} GROUP BY k",
                f"SELECT k, hex({one_by_one}) v FROM {source} GROUP BY k",
            )
        )
        narrow = {key: value for key, value in wanted.items() if key < 3}
        assert {key: found[key] for key in narrow} == narrow
        assert {key: value[:2] for key, value in found.items()} == {
            key: value[:2] for key, value in wanted.items()
        }


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("keyfold.max(x), max_by(x, id)", "Python has no max_by(BIGINT, INT) like Spark's"),
        ("keyfold.max(x), max(CAST(x AS DOUBLE))", "Python has no max(DOUBLE) like Spark's"),
        ("keyfold.max(x), count(DISTINCT x)", "only some functions are DISTINCT"),
    ],
)
def test_explain_says_why(spark: SparkSession, stored: DataFrame, call: str, reason: str) -> None:
    frame = spark.sql(f"SELECT k, {call} FROM stored GROUP BY k")
    frame.collect()
    shown = [node.simpleString(99) for node in named(frame, JVM)]
    assert any(f"groups in the JVM because {reason})" in line for line in shown)


def test_nested_keys(spark: SparkSession, stored: DataFrame) -> None:
    """With NULL, both zeros and NaN in them."""
    zeros = "array(IF(x % 2 = 0, -0.0D, 0.0D), IF(k = 1, NULL, double('NaN')))"
    query = f"""SELECT {zeros} a, struct(g, array(k) AS ks) s, keyfold.max(x), keyfold.count(x)
        FROM stored GROUP BY ALL"""
    frame = spark.sql(query)
    found = frame.collect()
    assert len(named(frame, PYTHON)) == 2
    assert len(found) == spark.sql("SELECT DISTINCT k, g FROM stored").count()
    assert rows(spark, query) == rows(spark, query.replace("keyfold.", ""))


def test_sketches_that_are_not_exact(spark: SparkSession) -> None:
    """Of one sketch the estimate is its own; Spark's sketches of all forms are united."""
    sizes = "SELECT id k, explode(sequence(0, id * id * 700)) n FROM range(9)"
    made = f"""(SELECT k, {{how}} s FROM ({sizes}) GROUP BY k)"""
    hows = [f"hll_sketch_agg(n, {lg})" for lg in (12, 10, 14)]
    for how in ("keyfold.hll_union(keyfold.hll_hash(n))", *hows):
        source = made.format(how=how)
        query = f"""SELECT k, keyfold.hll_union_agg(s) a, round(hll_sketch_estimate(s)) b
            FROM {source} GROUP BY k, s"""
        for row in spark.sql(query).collect():  # those of 2^14 slots are united in fewer
            assert abs(row.a - row.b) <= (0.03 * row.b if "14" in how else 0)
        both = f"""SELECT keyfold.hll_union_agg(s) a,
            hll_sketch_estimate(keyfold.hll_union(s)) b, hll_sketch_estimate(max_by(s, k)) c
            FROM {source}"""
        row = spark.sql(both).first()
        assert row is not None
        assert row.a == row.b
        assert abs(row.a - row.c) <= 0.06 * row.c
