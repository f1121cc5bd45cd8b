"""Functions with states, their arguments, and rows whose results are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

import keyfold

NUMBERS = (
    *("sum", "avg", "min", "max", "count", "median", "collect_list", "collect_set"),
    *("var_pop", "var_samp", "stddev_pop", "stddev_samp", "skewness", "kurtosis"),
)
PAIRS = (
    *("covar_pop", "covar_samp", "corr", "regr_r2", "regr_slope", "regr_intercept"),
    *("regr_sxx", "regr_syy", "regr_sxy", "regr_avgx", "regr_avgy", "regr_count"),
)
Case = tuple[str, str, str, str]
# The function, its arguments, those of its signature, and an expression of the same result: Spark's
# own, or the fold of the values.
OF_SPARK: tuple[Case, ...] = (
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
)
FOLDS: tuple[Case, ...] = tuple(
    (name, arguments, kinds, f"keyfold.{name}({arguments})")
    for name, arguments, kinds in (
        ("product", "f", "double"),
        ("collect", "a", "array<int>"),
        ("collect", "a, distinct => true", "array<int>, distinct => 'true'"),
        ("merge_map", "texts", "map<int, string>"),
        ("last_non_null_value", "w", "string"),
        ("first_non_null_value", "r", "struct<a: int, b: string>"),
        ("widest", "l - 7", "bigint"),
        ("summed", "l - 7", "bigint"),
        ("rbm32", "bits", "binary"),
    )
)
CASES = OF_SPARK + FOLDS
# Those whose result depends on the order of rows that have not one `g`.
ORDERED = ("first", "last", "any_value", "last_non_null_value", "first_non_null_value")
# -7 is no number of a bitmap, so `l` has none; ids are not NULL.
ROWS = """
SELECT id, CAST(id % 3 AS INT) AS g, CAST(id % 4 AS INT) AS part,
  CAST(if(id % 7 = 0, NULL, id * 37 % 11) AS INT) AS i, if(id % 5 = 0, NULL, id * 1.25D) AS d,
  CAST(if(id % 6 = 0, NULL, id * 0.75) AS DECIMAL(12, 2)) AS m, id * 31 % 13 AS l,
  if(id % 4 = 1, NULL, concat('w', id % 9)) AS s, if(id % 5 = 3, NULL, id % 2 = 0) AS b,
  if(id % 3 = 2, NULL, date_add(DATE '2026-01-01', CAST(id AS INT))) AS t,
  if(id % 5 = 0, 2.0D, 1.0D) AS f,
  if(id % 7 = 0, NULL, array(CAST(id % 2 AS INT), CAST(id % 2 AS INT), 5)) AS a,
  map(CAST(id % 5 AS INT), concat('w', id % 5)) AS texts,
  if(id % 4 = 1, NULL, concat('s', id % 3)) AS w,
  named_struct('a', CAST(id % 3 AS INT), 'b', 'x') AS r,
  keyfold.to_bitmap(CAST(id % 11 AS INT)) AS bits
FROM range(48)
"""


@keyfold.aggregate("BIGINT")
def widest(best: int, value: int) -> int:
    """the number that is farthest from 0"""
    return value if abs(value) > abs(best) else best


@keyfold.aggregate("BIGINT", identity=0)
def summed(total: int, value: int) -> int:
    """the sum of all values"""
    return total + value


def listed(form: str, cases: Sequence[Case] = CASES) -> str:
    """A list of expressions: a form with function {x}, arguments {a}, number {n}, result {own}."""
    return ", ".join(
        form.format(x=x, a=arguments, n=n, own=own)
        for n, (x, arguments, _, own) in enumerate(cases)
    )


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
