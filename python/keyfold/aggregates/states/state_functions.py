"""The aggregates of Spark and Doris whose states can be kept, by name and alias.

Names that Spark and Doris give different meanings have Doris' here: `variance` and `stddev` are of
a population, `array_agg` keeps NULL.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from keyfold.aggregates.states.spark_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    any_type,
    binary,
    boolean,
    double,
    number,
    ordered,
    sum_of,
    takes,
    text,
    whole,
)
from keyfold.aggregates.states.state import StateFunction, Types
from keyfold.types.logical import Array, DataType, name_of

Cast = Callable[[Types], Types]
_NUMBER = takes(1, "one number", number)
_DOUBLE = takes(1, "one number", double)
_DOUBLES = takes(2, "two numbers", double)
_ORDERED = takes(1, "one value that can be compared", ordered)
_ANY = takes(1, "one value", any_type)
_BOOLEAN = takes(1, "one BOOLEAN", boolean)
_WHOLE = takes(1, "one whole number", whole)
_TEXT = takes(1, "one text", text)
_BINARY = takes(1, "one BINARY", binary)


def _counted(types: Types) -> Types:
    if not types:
        raise ValueError("takes at least one value, found ()")
    return [any_type(kind) or kind for kind in types]


def _pair(types: Types) -> Types:
    if len(types) != 2:
        raise ValueError(f"takes a value and what it is ordered by, found {len(types)} arguments")
    return [*_ANY(types[:1]), *_ORDERED(types[1:])]


def _sum_fields(types: Types) -> Types:
    total = sum_of(types[0])
    return [total, BOOLEAN] if name_of(total) == "DECIMAL" else [total]


def _own(types: Types) -> Types:
    return types


def _first(types: Types) -> Types:
    return [types[0], BOOLEAN]


def _average(types: Types) -> Types:
    return [sum_of(types[0]) if name_of(types[0]) == "DECIMAL" else DOUBLE, BIGINT]


def _fixed(*kinds: DataType) -> Cast:
    return lambda types: kinds


def _bag(types: Types) -> Types:
    return [Array(types[0])]


def _spark(
    name: str, takes: Cast, fields: Cast, fold: str, summary: str, *aliases: str, **more: Any
) -> StateFunction:
    return StateFunction(
        name, takes, fields, fold, aliases, summary=summary, **{"unites": name, **more}
    )


def _moments(name: str, order: int, summary: str, *aliases: str) -> StateFunction:
    return _spark(name, _DOUBLE, _fixed(*[DOUBLE] * (order + 1)), "moments", summary, *aliases)


def _pairs(name: str, count: int, fold: str, summary: str, *aliases: str) -> StateFunction:
    return _spark(name, _DOUBLES, _fixed(*[DOUBLE] * count), fold, summary, *aliases)


def _bagged(name: str, takes: Cast, summary: str, *aliases: str, **more: Any) -> StateFunction:
    fold = "distinct" if more.get("unites") == "set" else "concat"
    return StateFunction(
        name,
        takes,
        _bag,
        fold,
        aliases,
        summary=summary,
        **{"kind": "bag", "unites": "list", **more},
    )


def _sketch(
    name: str, takes: Cast, unites: str, summary: str, *aliases: str, **more: Any
) -> StateFunction:
    return StateFunction(
        name, takes, _BYTES, unites, aliases, kind="sketch", unites=unites, summary=summary, **more
    )


_COUNT, _MEAN, _BYTES = _fixed(BIGINT), _fixed(DOUBLE, BIGINT), _fixed(BINARY)
_P = {"constants": (("p", None),)}
_ALL = (
    _spark("count", _counted, _COUNT, "sum", "how many are not NULL"),
    _spark("sum", _NUMBER, _sum_fields, "sum", "the sum"),
    _spark(
        "sum0",
        _NUMBER,
        _sum_fields,
        "sum",
        "the sum, 0 over nothing",
        unites="sum",
        finishes="zero",
    ),
    _spark("avg", _NUMBER, _average, "sums", "the mean", "mean"),
    _spark("min", _ORDERED, _own, "min", "the least"),
    _spark("max", _ORDERED, _own, "max", "the greatest"),
    _spark("min_by", _pair, _own, "min_by", "the value of the least second argument"),
    _spark("max_by", _pair, _own, "max_by", "the value of the greatest second argument"),
    _spark("any_value", _ANY, _first, "first", "the first that came", "any"),
    _spark("first", _ANY, _first, "first", "the first that came", "first_value"),
    _spark("last", _ANY, _first, "last", "the last that came", "last_value"),
    _spark("bool_and", _BOOLEAN, _own, "min", "whether all are true", "every", "booland_agg"),
    _spark("bool_or", _BOOLEAN, _own, "max", "whether one is true", "some", "boolor_agg"),
    _spark("bit_and", _WHOLE, _own, "bit_and", "the bits in all", "group_bit_and"),
    _spark("bit_or", _WHOLE, _own, "bit_or", "the bits in any", "group_bit_or"),
    _spark("bit_xor", _WHOLE, _own, "bit_xor", "the bits in an odd number", "group_bit_xor"),
    _moments("var_pop", 2, "the variance of a population", "variance", "variance_pop"),
    _moments("var_samp", 2, "the variance of a sample", "variance_samp"),
    _moments("stddev_pop", 2, "the standard deviation of a population", "stddev", "std"),
    _moments("stddev_samp", 2, "the standard deviation of a sample"),
    _moments("skewness", 3, "the skewness", "skew", "skew_pop"),
    _moments("kurtosis", 4, "the kurtosis", "kurt", "kurt_pop"),
    _pairs("covar_pop", 4, "covariance", "the covariance of a population", "covar"),
    _pairs("covar_samp", 4, "covariance", "the covariance of a sample"),
    _pairs("corr", 6, "covariance", "the coefficient of correlation"),
    _pairs("regr_r2", 6, "covariance", "the coefficient of determination"),
    _pairs("regr_slope", 7, "regression", "the slope of the fitted line"),
    _pairs("regr_intercept", 7, "regression", "where the fitted line begins"),
    _spark("regr_avgx", _DOUBLES, _MEAN, "sums", "the mean of the second argument"),
    _spark("regr_avgy", _DOUBLES, _MEAN, "sums", "the mean of the first argument"),
    _spark("regr_count", _DOUBLES, _COUNT, "sum", "how many pairs have no NULL"),
    _pairs("regr_sxx", 3, "moments", "the squares of the second argument"),
    _pairs("regr_syy", 3, "moments", "the squares of the first argument"),
    _pairs("regr_sxy", 4, "covariance", "the products of both arguments"),
    _bagged("collect_list", _ANY, "the values", "group_array"),
    _bagged("array_agg", _ANY, "the values, with NULL", prepares="nulls"),
    _bagged("collect_set", _ORDERED, "the different values", "group_uniq_array", unites="set"),
    _bagged(
        "group_concat",
        _TEXT,
        "the texts, joined",
        "string_agg",
        "listagg",
        constants=(("separator", ","),),
        finishes="join",
    ),
    _bagged(
        "percentile",
        _DOUBLE,
        "the percentile, exactly",
        "percentile_cont",
        finishes="percentile",
        **_P,
    ),
    _bagged("median", _DOUBLE, "the median, exactly", finishes="percentile"),
    _bagged("mode", _ORDERED, "the most frequent value, of equals the least", finishes="mode"),
    _sketch(
        "percentile_approx",
        _DOUBLE,
        "quantile_union",
        "the percentile: exact up to 2048 numbers, then by t-digest",
        "approx_percentile",
        prepares="to_quantile_state",
        finishes="quantile_percent",
        **_P,
    ),
    _sketch(
        "percentile_reservoir",
        _DOUBLE,
        "quantile_union",
        "the same",
        prepares="to_quantile_state",
        finishes="quantile_percent",
        **_P,
    ),
    _sketch(
        "approx_count_distinct",
        _ANY,
        "hll_union",
        "about how many differ",
        "ndv",
        prepares="hll_hash",
        finishes="hll_cardinality",
    ),
    _sketch("hll_union", _BINARY, "hll_union", "the union of HLL sketches", "hll_raw_agg"),
    _sketch(
        "hll_union_agg",
        _BINARY,
        "hll_union",
        "about how many values HLL sketches have seen",
        finishes="hll_cardinality",
    ),
    _sketch("bitmap_union", _BINARY, "bitmap_union", "the union of bitmaps"),
    _sketch(
        "bitmap_union_count",
        _BINARY,
        "bitmap_union",
        "how many numbers bitmaps hold",
        finishes="bitmap_count",
    ),
    _sketch("bitmap_intersect", _BINARY, "bitmap_intersect", "what all bitmaps share"),
    _sketch(
        "group_bitmap_xor", _BINARY, "group_bitmap_xor", "the numbers in an odd number of bitmaps"
    ),
    _sketch(
        "bitmap_agg", _WHOLE, "bitmap_union", "the bitmap of the numbers", prepares="to_bitmap64"
    ),
    _sketch(
        "bitmap_union_int",
        _WHOLE,
        "bitmap_union",
        "how many numbers differ",
        prepares="to_bitmap64",
        finishes="bitmap_count",
    ),
    _sketch(
        "quantile_union",
        _BINARY,
        "quantile_union",
        "the union of quantile states",
        "percentile_union",
    ),
)


@cache
def functions() -> dict[str, StateFunction]:
    """All of them, by name and alias."""
    return {name: one for one in _ALL for name in (one.name, *one.aliases)}


def find(name: str) -> StateFunction | None:
    """The function of that name or alias; None if there is not one."""
    return functions().get(name.strip().lower())
