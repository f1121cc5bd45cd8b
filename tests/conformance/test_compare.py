"""Results against expectations: multisets, free orders, bits and estimates."""

from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from integration.conformance import compare
from integration.conformance.case import Elements, Estimates, Numbered, Rows


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


FOUND = table(k=[1, 2, 2], v=["a", "b", "b"])


def test_rows_in_any_order() -> None:
    assert compare.rows(Rows([[2, "b"], [1, "a"], [2, "b"]]), FOUND) is None


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[1, "a"], [2, "b"]], "expected .*found"),
        ([[1, "a"], [1, "a"], [2, "b"]], "expected .*found"),
        ([[1, "a"], [2, "b"], [2, None]], "expected .*found"),
        ([["1", "a"], [2, "b"], [2, "b"]], "'1' is no value of type int64"),
        ([[1], [2], [2]], "2 columns found"),
        ([], "expected .*found"),
    ],
    ids=str,
)
def test_other_rows(rows: list[list[Any]], words: str) -> None:
    wrong = compare.rows(Rows(rows), FOUND)
    assert wrong is not None
    with pytest.raises(AssertionError, match=f"(?s){words}"):
        raise AssertionError(wrong)


def test_the_order_of_elements_counts_unless_it_is_free() -> None:
    found = table(k=[1], v=[[2, 1, 1]])
    assert compare.rows(Rows([[1, [1, 1, 2]]]), found) is not None
    assert compare.rows(Rows([[1, [1, 1, 2]]], frozenset("v")), found) is None
    assert compare.rows(Rows([[1, [1, 2, 2]]], frozenset("v")), found) is not None


def test_elements_of_bitmaps() -> None:
    found = table(v=[BitMap([5, 1]).serialize()])
    assert compare.elements(Elements([{"v": [1, 5]}]), found) is None
    assert compare.elements(Elements([{"v": [1, 6]}]), found) is not None


def test_estimates_within_three_standard_errors() -> None:
    wanted = Estimates([{"v": 1000.0}, {"v": 3.0}])
    assert compare.estimates(wanted, table(v=[3, 1049])) is None
    assert compare.estimates(wanted, table(v=[3, 1051])) is not None
    assert compare.estimates(wanted, table(v=[3])) is not None


@pytest.mark.parametrize(
    ("ids", "is_right"),
    [
        ({"a": 1, "b": 11, "c": 2}, True),
        ({"a": 12, "b": 1, "c": 11}, True),
        ({"a": 1, "b": 2, "c": 3}, False),  # two buckets in one range
        ({"a": 1, "b": 11, "c": 3}, False),  # 2 is left out
        ({"a": 1, "b": 11, "c": 1}, False),
        ({"a": 1, "b": None, "c": 2}, False),
        ({"a": 1, "b": 11}, False),
    ],
)
def test_numbers_of_buckets(ids: dict[str, Any], is_right: bool) -> None:
    wanted = Numbered({"a": 0, "b": 1, "c": 0}, 10)
    found = pa.table({"k": list(ids), "id": pa.array(list(ids.values()), pa.int64())})
    assert (compare.numbered(wanted, found) is None) is is_right
    exact = Numbered(wanted.buckets, 10, {"a": 1, "b": 11, "c": 2})
    assert (compare.numbered(exact, found) is None) is (ids == exact.ids)
