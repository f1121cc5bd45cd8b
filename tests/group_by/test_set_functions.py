"""The aggregates over bitmaps, sketches and quantile states: the types that calls take, and their
results of no rows.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from keyfold.errors import FunctionError
from keyfold.group_by.folds import call_of, folding
from keyfold.group_by.set_functions import SET_FUNCTIONS
from keyfold.questions.aggregates import aggregate_functions, bind_aggregate

LONG, BINARY, LARGEINT = '"long"', '"binary"', '"decimal(38,0)"'
ARRAY = json.dumps({"type": "array", "elementType": "long", "containsNull": True})
ONE_COLUMN = sorted(n for n, one in SET_FUNCTIONS.items() if "column" not in one.arguments)


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_a_group_without_rows(name: str) -> None:
    """A function gives of no rows what it gives of rows of NULL."""
    one = SET_FUNCTIONS[name]
    kind = pa.int64() if one.arguments == "(whole number)" else pa.binary()
    found = one.bound([LONG if kind == pa.int64() else BINARY])
    groups = folding(call_of(found["fold"]), 1 << 20)
    groups.add(np.zeros(2, np.int32), pa.array([None, None], kind))
    (value,) = groups.values(0, 1).to_pylist()
    assert found["empty"] == (str(value) if one.counts else value.hex())
    assert json.loads(found["result"]) == ("long" if one.counts else "binary")


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("bitmap_agg", ['"void"'], [LONG]),
        ("rb_build_agg", ['"byte"'], [LONG]),
        ("bitmap_agg", ['"decimal(5,0)"'], [LARGEINT]),
        ("bitmap_union", ['"string"'], [BINARY]),  # Spark then says what it can't cast
        ("intersect_count", [BINARY, '"string"', '"integer"'], [BINARY, '"string"', '"string"']),
    ],
)
def test_types(name: str, given: list[str], taken: list[str]) -> None:
    assert SET_FUNCTIONS[name].bound(given)["arguments"] == taken


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("bitmap_agg", ['"decimal(5,2)"'], "bitmap_agg takes (whole number), found (DECIMAL(5"),
        ("rb_build_agg", ['"string"'], "bitmap_agg takes (whole number), found (STRING)"),
        ("bitmap_agg", [ARRAY], "takes (whole number)"),
        ("bitmap_agg", ['"interval day to second"'], "found (INTERVAL DAY TO SECOND)"),
        ("bitmap_agg", ['"string collate UNICODE"'], "found (STRING COLLATE UNICODE)"),
        ("bitmap_agg", ['{"type": "udt", "sqlType": "long"}'], "found (UDT)"),
        ("intersect_count", ['"interval year to month"', '"integer"'], "takes (bitmap, column"),
        ("bitmap_agg", [], "takes (whole number), found ()"),
        ("bitmap_union", [BINARY, BINARY], "bitmap_union takes (bitmap)"),
        ("hll_union", [], "hll_union takes (HLL), found ()"),
        ("intersect_count", [BINARY, '"integer"'], "found (BINARY, INT)"),
        ("intersect_count", [BINARY, ARRAY, ARRAY], "takes (bitmap, column, value, …)"),
        ("intersect_count", [BINARY, BINARY, BINARY], "takes (bitmap, column, value, …)"),
    ],
)
def test_other_types_are_refused(name: str, given: list[str], words: str) -> None:
    with pytest.raises(FunctionError) as refused:
        SET_FUNCTIONS[name].bound(given)
    assert words in str(refused.value)


def test_a_name_that_columns_have_too_is_that_of_queries() -> None:
    """The JVM takes the last one of a name."""
    known = {name: one for one in aggregate_functions({})["functions"] for name in one["names"]}
    assert known["quantile_union"]["is_of_sets"]
    bound = bind_aggregate({"name": "quantile_union", "types": [BINARY]})
    assert bound["fold"] == {"name": "quantile_union", "of": "quantiles"}
    assert "is_of_sets" not in known["rbm32"]
