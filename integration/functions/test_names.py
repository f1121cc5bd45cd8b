"""Result columns, plans and errors show a function by the name it was called by, as they show
Spark's own: `bitmap_count(bitmap_agg(k))`, not the classes that compute it.
"""

from __future__ import annotations

import re

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from integration.docs import functions_table
from keyfold.aggregates.declaration import Aggregate
from keyfold.group_by.bound import functions

# What Spark's wrappers and ours are called.
INNER = re.compile(r"invoke|v2agg|declared|foldfunction|staticinvoke|runtimereplaceable", re.I)
# Columns by the words of DESCRIBE FUNCTION for arguments.
COLUMNS = {
    "bitmap": "b",
    "HLL": "h",
    "quantile state": "q",
    "whole number": "n",
    "whole number or STRING": "n",
    "whole number, STRING or BINARY": "s",
    "BIGINT": "n",
    "DOUBLE": "d",
    "STRING": "s",
    "ARRAY<whole number>": "a",
    "column": "s",
    "value": "'x'",
}
TYPES = {
    "n": "BIGINT",
    "b": "BINARY",
    "h": "BINARY",
    "q": "BINARY",
    "d": "DOUBLE",
    "s": "STRING",
    "a": "ARRAY<BIGINT>",
    "f": "BOOLEAN",
    "m": "MAP<STRING, BIGINT>",
    "r": "ARRAY<STRUCT<k: INT, v: INT>>",
    "t": "MAP<STRING, STRUCT<v: INT, ts: STRING>>",
}
# Options that an aggregate can't do without.
NEEDS = {"nested_partial_update": ", nested_key => 'k'"}
VIEW = "named_functions"


@pytest.fixture(scope="module", autouse=True)
def view(spark: SparkSession) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    spark.createDataFrame([], columns).createOrReplaceTempView(VIEW)


def arguments(usage: str) -> list[str]:
    """Columns for what a usage such as `f(bitmap, BIGINT) -> BOOLEAN` names."""
    words = usage[usage.index("(") + 1 : usage.index(") ->")].replace(", …", "")
    found = []
    while words:
        word = max((one for one in COLUMNS if words.startswith(one)), key=len)
        found.append(COLUMNS[word])
        words = words[len(word) :].removeprefix("[, compression]").removeprefix(", ")
    return found


def names(spark: SparkSession, *calls: str) -> list[str]:
    return spark.sql(f"SELECT {', '.join(calls)} FROM {VIEW}").columns


def test_all_declared_functions(spark: SparkSession) -> None:
    """In full and in short, if nobody else has the short name; in a view and in its plan."""
    builtin = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    known = functions_table.names(spark)
    assert len(known) > 50
    for name in known:
        columns = arguments(functions_table.described(spark, name)["Usage"])
        shown = f"{name}({', '.join(columns)})".replace("'x'", "x")
        own = f"{name}({', '.join(columns)})"
        calls = [f"keyfold.{own}", f"keyfold.sys.{own}", *([own] if name not in builtin else [])]
        frame = spark.sql(f"SELECT {', '.join(calls)} FROM {VIEW}")
        assert frame.columns == [shown] * len(calls)
        analyzed = frame._jdf.queryExecution().analyzed().toString()
        assert not INNER.search(analyzed), analyzed


def column_of(spark: SparkSession, one: Aggregate) -> str:
    """The first column that an aggregate takes."""
    for column in TYPES:
        try:
            names(spark, f"keyfold.{one.name}({column}{NEEDS.get(one.name, '')})")
        except PySparkException:
            continue
        return column
    raise AssertionError(f"no column for {one.name}")


def test_all_aggregates(spark: SparkSession) -> None:
    declared = functions_table.names(spark)  # they come before an aggregate of the same name
    for one in functions():
        column = column_of(spark, one)
        option = NEEDS.get(one.name, "")
        call, shown = f"keyfold.{one.name}({column}{option})", f"{one.name}({column}{option})"
        shown = shown.replace("'", "")
        assert names(spark, call) == [shown]
        if one.name not in declared:
            ordered = f"{call} WITHIN GROUP (ORDER BY n DESC)"
            assert names(spark, ordered) == [f"{shown} WITHIN GROUP (ORDER BY n DESC NULLS LAST)"]
        if not option:
            frame = spark.table(VIEW).agg(F.call_function(f"keyfold.{one.name}", F.col(column)))
            assert frame.columns == [shown]


def test_states(spark: SparkSession) -> None:
    state = "(SELECT {0}_combine(n) AS s FROM named_functions)"
    for function in ("sum", "avg", "count", "listagg", "min", "collect_list"):
        for verb in ("merge", "union", "finalize"):
            frame = spark.sql(f"SELECT {function}_{verb}(s) FROM {state.format(function)}")
            assert frame.columns == [f"{function}_{verb}(s)"]
        for call in (f"{function}_state(n)", f"{function}_combine(n)"):
            assert names(spark, call) == [call]
    both = names(spark, "sum_merge(sum_state(n))", "count_merge(count_state(*))")
    assert both == ["sum_merge(sum_state(n))", "count_merge(count_state(1))"]
    nested = f"SELECT round(avg_finalize(s)) FROM {state.format('avg')}"
    assert spark.sql(nested).columns == ["round(avg_finalize(s), 0)"]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("keyfold.bitmap_count(keyfold.bitmap_agg(n))", "bitmap_count(bitmap_agg(n))"),
        ("keyfold.collect(DISTINCT a)", "collect(DISTINCT a)"),
        ("keyfold.sum(n) FILTER (WHERE n > 1)", "sum(n) FILTER (WHERE (n > 1))"),
        ("keyfold.listagg(s, '|', distinct => true)", "listagg(s, |, distinct => true)"),
        ("keyfold.sum(n + 1)", "sum((n + 1))"),
        ("bitmap_to_string(to_bitmap(n % 7))", "bitmap_to_string(to_bitmap((n % 7)))"),
    ],
)
def test_calls(spark: SparkSession, call: str, shown: str) -> None:
    assert names(spark, call) == [shown]
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW of_call AS SELECT {call} FROM {VIEW}")
    assert spark.table("of_call").columns == [shown]
    assert "v2agg" not in spark.sql(f"EXPLAIN SELECT {call} FROM {VIEW}").first()[0]


def test_windows(spark: SparkSession) -> None:
    over = "OVER (PARTITION BY n)"
    found = names(spark, f"bitmap_union_count(b) {over}", f"keyfold.sum(n) {over}")
    assert [name.split(" OVER ")[0] for name in found] == ["bitmap_union_count(b)", "sum(n)"]


@pytest.mark.parametrize("name", ["bitmap_union", "bitmap_count", "hll_union", "quantile_union"])
def test_errors_of_types(spark: SparkSession, name: str) -> None:
    with pytest.raises(AnalysisException, match=f'resolve "{name}') as caught:
        names(spark, f"keyfold.{name}(array(n))")
    assert not INNER.search(str(caught.value))


def test_arguments_by_name_are_refused(spark: SparkSession) -> None:
    for call in ("keyfold.bitmap_to_string(bitmap => b)", "bitmap_to_string(bitmap => b)"):
        with pytest.raises(AnalysisException, match="NAMED_PARAMETERS_NOT_SUPPORTED"):
            names(spark, call)


def test_values_and_defaults(spark: SparkSession) -> None:
    """Where Spark computes a constant before it runs anything."""
    values = spark.sql("VALUES (bitmap_to_string(to_bitmap(7)))").first()
    assert tuple(values) == ("7",)
    column: Column = F.expr("keyfold.bitmap_count(to_bitmap(7))")
    assert spark.range(1).select(column).first()[0] == 1
