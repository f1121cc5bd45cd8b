"""SQL functions over bitmaps, sketches and quantile states: values, NULLs and bad input by table,
then every place where an aggregate may stand. Expectations are Doris' (its regression tests).
"""

from __future__ import annotations

import math

import pytest
from pyspark.errors import AnalysisException, SparkRuntimeException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from integration.docs import functions_table
from integration.keyed import create_keyed

# Without a prefix: those that Spark has not.
SCALARS = {
    "hex(to_bitmap(1))": "3A3000000100000000000000100000000100",
    "hex(keyfold.to_bitmap64(-1))": "00",
    "bitmap_to_string(to_bitmap(-1))": "",
    "bitmap_to_string(to_bitmap(NULL))": "",
    "bitmap_to_string(to_bitmap('x'))": "",
    "bitmap_to_string(to_bitmap(' 12 '))": "12",
    "bitmap_to_string(to_bitmap(18446744073709551615))": "18446744073709551615",
    "bitmap_to_string(to_bitmap(18446744073709551616))": "",
    "bitmap_to_string(to_bitmap64(CAST(7 AS TINYINT)))": "7",
    "bitmap_to_string(bitmap_from_string('0, 1, 2'))": "0,1,2",
    "bitmap_to_string(bitmap_from_string(''))": "",
    "bitmap_from_string('-1, 0, 1, 2')": None,
    "bitmap_from_string('a')": None,
    "bitmap_from_string('18446744073709551616')": None,
    "bitmap_from_string(NULL)": None,
    "bitmap_to_array(bitmap_from_array(array(1, 0, 434543)))": [0, 1, 434543],
    "bitmap_from_array(array(1, 0, NULL, 434543))": None,
    "bitmap_to_array(rb_build(array(1, 0, NULL, 434543)))": [0, 1, 434543],
    "rb_build(array(1, NULL, -1))": None,
    "keyfold.bitmap_count(bitmap_from_array(array()))": 0,
    "bitmap_to_string(bitmap_from_array(array(18446744073709551615BD)))": "18446744073709551615",
    "bitmap_from_array(array(1, -1))": None,
    "bitmap_from_array(NULL)": None,
    "bitmap_to_array(bitmap_empty())": [],
    "bitmap_to_string(bitmap_hash('hello'))": "1321743225",
    "bitmap_to_string(bitmap_hash64('hello'))": "15231136565543391023",
    "keyfold.bitmap_count(bitmap_hash(''))": 1,
    "keyfold.bitmap_count(bitmap_hash(NULL))": 0,
    "keyfold.bitmap_count(bitmap_hash64(NULL))": 0,
    "keyfold.bitmap_count(NULL)": 0,
    "bitmap_to_string(NULL)": None,
    "bitmap_to_array(NULL)": None,
    "bitmap_contains(to_bitmap(1), 2)": False,
    "bitmap_contains(to_bitmap(1), 1)": True,
    "bitmap_contains(to_bitmap(1), 4294967297)": False,
    "bitmap_contains(to_bitmap(1), -1)": False,
    "bitmap_contains(to_bitmap(18446744073709551615), 18446744073709551615)": True,
    "bitmap_contains(NULL, 1)": None,
    "bitmap_contains(to_bitmap(1), NULL)": None,
    "bitmap_min(bitmap_from_string('9,7'))": 7,
    "bitmap_max(bitmap_from_string('1,9999999999'))": 9999999999,
    "bitmap_max(bitmap_empty())": None,
    "bitmap_min(NULL)": None,
    "bitmap_to_string(bitmap_and(bitmap_from_string('1,2,3'), bitmap_from_string('1,2'), "
    "bitmap_from_string('1,2,3,4,5')))": "1,2",
    "bitmap_to_string(bitmap_and(to_bitmap(1), to_bitmap(1), bitmap_empty(), to_bitmap(1)))": "",
    "bitmap_and(to_bitmap(1), to_bitmap(1), NULL)": None,
    "bitmap_to_string(bitmap_or(to_bitmap(1), to_bitmap(2), to_bitmap(10), to_bitmap(0), NULL))": (
        "0,1,2,10"
    ),
    "bitmap_or(NULL, NULL)": None,
    "bitmap_to_string(bitmap_xor(bitmap_from_string('2,3'), bitmap_from_string('1,2,3,4'), "
    "bitmap_from_string('3,4,5')))": "1,3,5",
    "bitmap_xor(to_bitmap(1), NULL)": None,
    "bitmap_to_string(bitmap_not(bitmap_from_string('2,3,5'), bitmap_from_string('1,2')))": "3,5",
    "bitmap_and_not(to_bitmap(1), NULL)": None,
    "bitmap_and_count(bitmap_from_string('1,2,3'), bitmap_from_string('3,4,5'))": 1,
    "bitmap_and_count(to_bitmap(1), NULL)": 0,
    "bitmap_or_count(bitmap_from_string('1,2,3'), bitmap_from_string('3,4,5'), to_bitmap(100), "
    "NULL)": 6,
    "bitmap_or_count(NULL, NULL)": 0,
    "bitmap_xor_count(bitmap_from_string('1,2,3'), bitmap_from_string('3,4,5'))": 4,
    "bitmap_xor_count(to_bitmap(1), to_bitmap(2), NULL)": 0,
    "bitmap_and_not_count(bitmap_from_string('1,2,3'), bitmap_from_string('3,4,5'))": 2,
    "bitmap_and_not_count(to_bitmap(1), NULL)": 0,
    "bitmap_has_any(bitmap_from_string('1,2'), bitmap_from_string('2,3'))": True,
    "bitmap_has_any(to_bitmap(1), to_bitmap64(2))": False,
    "bitmap_has_all(bitmap_from_string('0, 1, 2'), bitmap_from_string('1, 2'))": True,
    "bitmap_has_all(bitmap_empty(), bitmap_from_string('1, 2'))": False,
    "bitmap_has_all(NULL, bitmap_empty())": None,
    "bitmap_to_string(bitmap_subset_in_range(bitmap_from_string('1,2,3,4,5'), 2, 3))": "2",
    "bitmap_to_array(bitmap_subset_in_range(bitmap_from_string('1,9999999999'), 2, 10000000000))": [
        9999999999
    ],
    "bitmap_subset_in_range(to_bitmap(1), 3, 3)": None,
    "bitmap_to_string(bitmap_subset_limit(bitmap_from_string('1,2,3,4,5'), 4, 3))": "4,5",
    "bitmap_subset_limit(to_bitmap(1), -1, 3)": None,
    "bitmap_to_string(sub_bitmap(bitmap_from_string('1,0,1,2,3,1,5'), 0, 3))": "0,1,2",
    "bitmap_to_string(sub_bitmap(bitmap_from_string('1,0,1,2,3,1,5'), -3, 2))": "2,3",
    "sub_bitmap(to_bitmap(1), 1, 1)": None,
    "sub_bitmap(to_bitmap(1), 0, 0)": None,
    "hll_cardinality(hll_hash('a'))": 1,
    "hll_cardinality(hll_hash(''))": 1,
    "hll_cardinality(hll_hash(NULL))": 0,
    "hll_cardinality(hll_empty())": 0,
    "hll_cardinality(NULL)": 0,
    "hll_sketch_estimate(keyfold.hll_hash(X'01'))": 1,
    "quantile_percent(to_quantile_state(3), 0.5)": 3.0,
    "quantile_percent(to_quantile_state(3.5, 4096), 1)": 3.5,
    "quantile_percent(to_quantile_state(3, 7), 0)": 3.0,
    "isnan(quantile_percent(to_quantile_state(NULL), 0.5))": True,
    "isnan(percentile_approx_raw(percentile_empty(), 0.5))": True,
    "quantile_percent(NULL, 0.5)": None,
    "quantile_percent(percentile_hash(1), NULL)": None,
}
REFUSED = {
    "to_bitmap(1.5)": ("to_bitmap", "whole number", "DECIMAL(2,1)"),
    "keyfold.to_bitmap(1, 2)": ("to_bitmap", "found (INT, INT)"),
    "keyfold.bitmap_or(to_bitmap(1))": ("bitmap_or", "found (BINARY)"),
    "bitmap_contains(to_bitmap(1), 'a')": ("bitmap_contains", "STRING"),
    "keyfold.bitmap_count(5)": ("BINARY", "INT"),
    "hll_hash(1.5)": ("hll_hash", "DECIMAL(2,1)"),
    "keyfold.intersect_count(X'00', 1)": ("intersect_count", "found (BINARY, INT)"),
    "keyfold.nothing(1)": ("keyfold", "nothing"),
}
FAILS = {
    "keyfold.bitmap_count(X'0102')": ("bitmap_count", "not a bitmap", "2 bytes X'0102'"),
    "keyfold.bitmap_count(X'')": ("bitmap_count", "not a bitmap", "0 bytes"),
    "bitmap_union(CAST('text of no use' AS BINARY))": (
        "bitmap_union",
        "not a bitmap",
        "14 bytes",
    ),
    "bitmap_to_array(to_bitmap(18446744073709551615))": ("bitmap_to_array", "exceeds BIGINT"),
    "bitmap_max(to_bitmap(9223372036854775808))": ("bitmap_max", "9223372036854775808"),
    "hll_cardinality(X'00')": ("hll_cardinality", "not an HLL sketch", "X'00'"),
    # a list of 255 items, a set in 2^30 places, and 2^31 centroids, in a few bytes
    f"hll_cardinality(X'0201070c0308ff00{'00' * 1020}')": ("not an HLL sketch", "of 255 items"),
    "hll_cardinality(X'0301070c1e00000101000000')": ("hll_cardinality", "not an HLL sketch"),
    "quantile_percent(X'01000801020114000800000000000080000000000000', 0.5)": (
        "quantile_percent",
        "2147483648 centroids",
    ),
    "quantile_percent(X'0200', 0.5)": ("quantile_percent", "version 2"),
    "quantile_percent(percentile_hash(1), 1.5)": ("quantile_percent", "1.5", "from 0 to 1"),
}


def one(spark: SparkSession, sql: str) -> object:
    """The only value of a query of one row."""
    return spark.sql(sql).collect()[0][0]


def test_scalars(spark: SparkSession) -> None:
    wrong = {}
    for expression, expected in SCALARS.items():
        found = one(spark, f"SELECT {expression}")
        if found != expected or type(found) is not type(expected):
            wrong[expression] = found
    assert not wrong


def test_scalars_over_rows(spark: SparkSession) -> None:
    """A constant is folded by the interpreter; over a column the same runs as generated code."""
    rows = [Row(n=n, t=None if n is None else str(n)) for n in (None, 0, 7, 2**40, -3)]
    frame = spark.createDataFrame(rows, "n BIGINT, t STRING").repartition(2)
    found = frame.selectExpr(
        "n",
        "bitmap_to_string(to_bitmap(n)) = bitmap_to_string(to_bitmap(t)) AS same",
        "keyfold.bitmap_count(to_bitmap64(n)) AS count",
        "bitmap_to_string(bitmap_or(to_bitmap(n), to_bitmap(1))) AS united",
        "bitmap_contains(to_bitmap(7), n) AS has",
        "quantile_percent(to_quantile_state(n), 0.5) AS middle",
        "hll_cardinality(hll_hash(n)) AS seen",
    )
    by_number = {row.n: tuple(row)[1:] for row in found.collect()}
    assert math.isnan(by_number[None][4])
    assert by_number[None][:4] + by_number[None][5:] == (True, 0, "1", None, 0)
    assert by_number[0] == (True, 1, "0,1", False, 0.0, 1)
    assert by_number[7] == (True, 1, "1,7", True, 7.0, 1)
    assert by_number[2**40] == (True, 1, "1,1099511627776", False, 2.0**40, 1)
    assert by_number[-3] == (True, 0, "1", False, -3.0, 1)


@pytest.mark.parametrize("expression", REFUSED)
def test_refused(spark: SparkSession, expression: str) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.sql(f"SELECT {expression}")
    assert [part for part in REFUSED[expression] if part not in str(caught.value)] == []


@pytest.mark.parametrize("expression", FAILS)
def test_bad_values_fail(spark: SparkSession, expression: str) -> None:
    with pytest.raises(SparkRuntimeException) as caught:
        spark.sql(f"SELECT {expression}").collect()
    assert [part for part in FAILS[expression] if part not in str(caught.value)] == []


def test_groups_of_several_partitions(spark: SparkSession) -> None:
    """300 groups over 4 partitions: partial aggregation, which sorts from 128 groups on."""
    found = spark.sql(
        "SELECT id % 300 AS g, bitmap_to_string(bitmap_union(to_bitmap(id % 7))) AS s, "
        "bitmap_union_count(to_bitmap64(id)) AS n, bitmap_union_int(id % 11) AS i, "
        "keyfold.hll_union_agg(hll_hash(id)) AS h, "
        "quantile_percent(quantile_union(to_quantile_state(id)), 0.5) AS q "
        "FROM range(0, 6000, 1, 4) GROUP BY id % 300"
    )
    assert found.count() == 300
    for row in found.collect():
        ids = range(row.g, 6000, 300)
        assert row.s == ",".join(map(str, sorted({i % 7 for i in ids})))
        assert (row.n, row.i, row.h) == (20, len({i % 11 for i in ids}), 20)
        assert row.q == (ids[9] + ids[10]) / 2


def test_quantiles_beyond_2048(spark: SparkSession) -> None:
    state = "quantile_union(to_quantile_state(id % 1000, 4096))"
    for rank in (0.0, 0.1, 0.5, 0.9, 1.0):
        sql = f"SELECT quantile_percent({state}, {rank}) FROM range(0, 100000, 1, 3)"
        assert one(spark, sql) == pytest.approx(999 * rank, abs=2)


def test_distinct_and_filter(spark: SparkSession) -> None:
    found = spark.sql(
        "SELECT id % 2 AS g, bitmap_union_count(DISTINCT to_bitmap(id % 4)) AS d, "
        "bitmap_to_string(bitmap_union(to_bitmap(id)) FILTER (WHERE id > 5)) AS f, "
        "bitmap_union_count(to_bitmap(id)) FILTER (WHERE id < 0) AS none, count(DISTINCT id) AS n "
        "FROM range(0, 10, 1, 3) GROUP BY id % 2 ORDER BY g"
    ).collect()
    assert [tuple(row) for row in found] == [(0, 2, "6,8", 0, 5), (1, 2, "7,9", 0, 5)]


def test_windows(spark: SparkSession) -> None:
    found = spark.sql(
        "SELECT id, bitmap_to_string(bitmap_union(to_bitmap(id)) OVER (ORDER BY id "
        "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)) AS sliding, "
        "bitmap_union_count(to_bitmap(id)) OVER (ORDER BY id) AS growing, "
        "bitmap_to_string(bitmap_intersect(bitmap_from_array(array(id, 9))) OVER (ORDER BY id)), "
        "intersect_count(to_bitmap(1), id, 0, 1) OVER (ORDER BY id) AS shared, "
        "quantile_percent(quantile_union(to_quantile_state(id)) OVER (ORDER BY id), 1) AS top, "
        "keyfold.hll_union_agg(hll_hash(id)) OVER "
        "(ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS seen FROM range(4)"
    ).collect()
    assert [tuple(row) for row in found] == [
        (0, "0,1", 1, "0,9", 0, 0.0, 1),
        (1, "0,1,2", 2, "9", 1, 1.0, 2),
        (2, "1,2,3", 3, "9", 1, 2.0, 2),
        (3, "2,3", 4, "9", 1, 3.0, 2),
    ]


def test_over_nothing_and_over_nulls(spark: SparkSession) -> None:
    aggregates = (
        "bitmap_to_string(bitmap_union(b)), bitmap_to_string(bitmap_intersect(b)), "
        "bitmap_union_count(b), bitmap_to_string(keyfold.bitmap_agg(n)), bitmap_union_int(n), "
        "intersect_count(b, n, 1, 2), hll_cardinality(keyfold.hll_union(b)), "
        "keyfold.hll_union_agg(b), isnan(quantile_percent(quantile_union(b), 0.5))"
    )
    nothing = ("", "", 0, "", 0, 0, 0, 0, True)
    source = "SELECT CAST(NULL AS BINARY) AS b, CAST(NULL AS BIGINT) AS n FROM range"
    for rows in (0, 3):
        found = spark.sql(f"SELECT {aggregates} FROM ({source}({rows}))").collect()
        assert tuple(found[0]) == nothing


def test_intersect_count(spark: SparkSession) -> None:
    spark.createDataFrame(
        [("a", "1,2"), ("b", "2,3"), ("d", "1,2,3,4,5"), ("c", "1,2,3"), (None, "9"), ("a", None)],
        "k STRING, s STRING",
    ).repartition(3).createOrReplaceTempView("intersected")
    call = "intersect_count(bitmap_from_string(s), k, {}) FROM intersected"
    assert one(spark, f"SELECT {call.format(repr('c') + ', ' + repr('d'))}") == 3
    assert one(spark, f"SELECT {call.format(repr('a') + ', ' + repr('b'))}") == 1
    assert one(spark, f"SELECT {call.format(repr('a') + ', ' + repr('z'))}") == 0
    both = "orthogonal_bitmap_intersect(bitmap_from_string(s), k, 'a', 'c')"
    assert one(spark, f"SELECT bitmap_to_string({both}) FROM intersected") == "1,2"


def test_sparks_own_keep_their_meaning(spark: SparkSession) -> None:
    assert one(spark, "SELECT bitmap_count(X'FF01')") == 9  # set bits, not a Roaring bitmap
    both = "hll_union(hll_sketch_agg(1), hll_sketch_agg(2))"  # of two sketches, not an aggregate
    assert one(spark, f"SELECT hll_sketch_estimate({both})") == 2
    sketch = "(SELECT hll_sketch_agg(id) AS s FROM range(3))"
    assert one(spark, f"SELECT hll_sketch_estimate(hll_union_agg(s)) FROM {sketch}") == 3
    usage = [row[0] for row in spark.sql("DESCRIBE FUNCTION bitmap_count").collect()]
    assert "Class: org.apache.spark.sql.catalyst.expressions.BitmapCount" in usage


def test_a_users_function_comes_first(spark: SparkSession) -> None:
    session = spark.newSession()
    session.sql("CREATE TEMPORARY FUNCTION rb_or(a INT) RETURNS INT RETURN a + 1")
    session.udf.register("to_bitmap", lambda value: f"<{value}>", "string")
    assert one(session, "SELECT rb_or(1)") == 2
    assert one(session, "SELECT to_bitmap(3)") == "<3>"
    ours = "keyfold.rb_or(keyfold.to_bitmap(1), keyfold.to_bitmap(2))"
    assert one(session, f"SELECT bitmap_to_string({ours})") == "1,2"
    assert one(spark, "SELECT bitmap_to_string(to_bitmap(3))") == "3"


def test_a_permanent_function_comes_first(spark: SparkSession) -> None:
    session = spark.newSession()
    session.sql("CREATE FUNCTION rb_xor(a INT) RETURNS INT RETURN a + 1")
    assert one(session, "SELECT rb_xor(1)") == 2
    session.sql("USE keyfold.it")
    assert one(session, "SELECT bitmap_to_string(rb_xor(to_bitmap(1), to_bitmap(2)))") == "1,2"
    session.sql("DROP FUNCTION spark_catalog.default.rb_xor")


def test_dataframes(spark: SparkSession) -> None:
    frame = spark.range(0, 20, 1, 3)
    bitmap = F.call_function("keyfold.to_bitmap", F.col("id"))
    by_call = frame.groupBy((F.col("id") % 2).alias("g")).agg(
        F.call_function("keyfold.bitmap_union", bitmap).alias("b")
    )
    shown = by_call.orderBy("g").select(F.expr("bitmap_to_array(b)")).collect()
    assert [row[0] for row in shown] == [list(range(0, 20, 2)), list(range(1, 20, 2))]
    window = Window.orderBy("id").rowsBetween(Window.unboundedPreceding, 0)
    count = F.call_function("keyfold.sys.bitmap_union_count", bitmap).over(window)
    assert [row[0] for row in frame.select(count).collect()] == list(range(1, 21))


def test_scala(spark: SparkSession) -> None:
    """The Dataset API of the JVM, as a Scala job calls it."""
    functions, sequence = spark._jvm.org.apache.spark.sql.functions, spark._jvm.PythonUtils.toSeq
    bitmap = functions.expr("keyfold.to_bitmap(id % 5)")
    united = functions.call_function("keyfold.bitmap_union_count", sequence([bitmap]))
    frame = spark._jsparkSession.range(100)
    assert frame.agg(united, sequence([])).first().getLong(0) == 5


def test_one_expression(spark: SparkSession) -> None:
    """Two calls of a function on one column are one expression to GROUP BY."""
    found = spark.sql(
        "SELECT bitmap_to_string(to_bitmap(id % 2)), count(*) FROM range(10) "
        "GROUP BY to_bitmap(id % 2)"
    )
    assert sorted(tuple(row) for row in found.collect()) == [("0", 5), ("1", 5)]


def test_generated_code(spark: SparkSession) -> None:
    plan = one(spark, "EXPLAIN SELECT keyfold.bitmap_count(keyfold.to_bitmap(id)) FROM range(10)")
    assert "*(1) Project" in str(plan)


def test_a_table_of_bitmaps(spark: SparkSession) -> None:
    create_keyed(
        spark,
        "keyfold.it.visits",
        "page STRING, users BINARY",
        key="page",
        merge_engine="aggregation",
        folds={"users": "rbm64"},
    )
    spark.sql("INSERT INTO keyfold.it.visits VALUES ('a', to_bitmap(1)), ('b', to_bitmap64(1))")
    spark.sql("INSERT INTO keyfold.it.visits VALUES ('a', to_bitmap(4294967296)), ('b', NULL)")
    rows = spark.sql("SELECT page, bitmap_to_array(users) FROM keyfold.it.visits ORDER BY page")
    assert [tuple(row) for row in rows.collect()] == [("a", [1, 4294967296]), ("b", [1])]


def test_listed_and_described(spark: SparkSession) -> None:
    listed = functions_table.names(spark)
    assert {"to_bitmap", "bitmap_count", "hll_union", "rb_build_agg"} <= set(listed)
    assert not [name for name in listed if name.startswith("keyfold_slot")]
    said = functions_table.described(spark, "sys.rb_or")
    assert said["Usage"] == "bitmap_or(bitmap, bitmap, …) -> bitmap"
    with pytest.raises(AnalysisException, match="nothing"):
        spark.sql("DESCRIBE FUNCTION keyfold.nothing")
    usage = [row[0] for row in spark.sql("DESCRIBE FUNCTION bitmap_union").collect()]
    assert any("the union of a group's bitmaps" in line for line in usage)


def test_the_document_is_current(spark: SparkSession) -> None:
    text = functions_table.DOCUMENT.read_text(encoding="utf-8")
    current = functions_table.document(text, functions_table.table(spark))
    assert text == current, "run: python -m integration.docs.functions_table"
