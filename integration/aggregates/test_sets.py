"""Bitmaps and HLL sketches of numbers, which Python folds: bitmaps against those that the scalar
functions of the JVM make of lists.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from integration.aggregates.plans import named

ROWS = """(SELECT CAST(pmod(hash(id), 13) AS INT) k, IF(id % 11 = 0, NULL,
    CASE pmod(hash(id, 1), 13) WHEN 0 THEN id - 5 ELSE pmod(hash(id, 2), 60000) END) x
    FROM range(0, 40000, 1, 3))"""
MADE = "keyfold.rb_build(filter(collect_list({x}), n -> n >= 0))"
CALLS = {
    "keyfold.bitmap_agg(x)": MADE.format(x="x"),
    "keyfold.bitmap_union_int(x)": f"keyfold.bitmap_count({MADE.format(x='x')})",
    "keyfold.bitmap_agg(x * 1000000)": MADE.format(x="x * 1000000"),
    "keyfold.bitmap_union_int(x) FILTER (WHERE x > 300)": (
        f"keyfold.bitmap_count({MADE.format(x='IF(x > 300, x, NULL)')})"
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_bitmaps_are_those_of_the_jvm(spark: SparkSession, call: str) -> None:
    frame = spark.sql(f"SELECT k, {call} v FROM {ROWS} GROUP BY k")
    assert len(frame.collect()) == 13
    assert len(named(frame, "FoldGroupsExec")) == 2
    wanted = spark.sql(f"SELECT k, {CALLS[call]} v FROM {ROWS} GROUP BY k")
    if "1000000" in call:  # the JVM numbers containers as they come
        frame, wanted = (
            one.selectExpr("k", "keyfold.bitmap_to_string(v) v") for one in (frame, wanted)
        )
    assert {row.k: row.v for row in frame.collect()} == {row.k: row.v for row in wanted.collect()}


def test_sketches_of_numbers(spark: SparkSession) -> None:
    """As near as Spark's own; Spark reads them. Of few numbers they are exact."""
    calls = """keyfold.hll_union_agg(keyfold.hll_hash(x)) a,
        hll_sketch_estimate(keyfold.hll_union(keyfold.hll_hash(x))) b,
        hll_sketch_estimate(hll_sketch_agg(CAST(x AS BIGINT))) c, count(DISTINCT x) n"""
    for k in ("k", "x % 1000", "k < 100"):
        for row in spark.sql(f"SELECT {calls} FROM {ROWS} GROUP BY {k}").collect():
            assert row.a == row.b
            assert abs(row.a - row.n) <= (0 if row.n < 300 else row.n * 0.06)
            assert abs(row.c - row.n) <= (0 if row.n < 300 else row.n * 0.06)
    frame = spark.sql(
        f"SELECT k, keyfold.hll_union_agg(keyfold.hll_hash(x)) FROM {ROWS} GROUP BY k"
    )
    frame.collect()
    assert len(named(frame, "FoldGroupsExec")) == 2


def test_of_no_rows(spark: SparkSession) -> None:
    """An empty set, whichever operator makes it."""
    calls = """keyfold.bitmap_agg(x) a, keyfold.bitmap_union_int(x) b,
        keyfold.hll_union(keyfold.hll_hash(x)) c, keyfold.hll_union_agg(keyfold.hll_hash(x)) d"""
    for more in ("", ", max_by(x, k) e", ", count(DISTINCT k) e", ", count(*) e"):
        row = spark.sql(f"SELECT {calls}{more} FROM {ROWS} WHERE k > 100").first()
        assert row is not None
        assert (row.a, row.b, row.d) == (bytes((0x3A, 0x30, *[0] * 6)), 0, 0)
        assert row.c == spark.sql("SELECT keyfold.hll_empty()").first()[0]  # type: ignore[index]


def test_beside_others(spark: SparkSession) -> None:
    """In one operator with Spark's own, in Python's or the JVM's, and with DISTINCT."""
    plain = f"SELECT k, keyfold.bitmap_agg(x) a FROM {ROWS} GROUP BY k"
    wanted = {row.k: row.a for row in spark.sql(plain).collect()}
    for more in ("sum(x)", "max_by(x, k)", "count(DISTINCT x)", "keyfold.listagg(string(k))"):
        query = f"SELECT k, keyfold.bitmap_agg(x) a, {more} b FROM {ROWS} GROUP BY k"
        assert {row.k: row.a for row in spark.sql(query).collect()} == wanted, more
