"""Rows that Spark may expect behind the conditions which a scan decides by itself."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from keyfold.read.column_statistics import of_scan, store
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from tests.read import harness
from tests.read.harness import where
from tests.storage import tables

ROWS = 1000
KNOWN = {"distinct": ROWS, "nulls": 0, "average": 8, "longest": 8}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A key of two columns, 0 to 999 and 0 to 3, of a table that was written twice."""
    new = tables.new_table(*map(tables.column, "kjv"), key="k,j", bucket="1", write_only="true")
    found = tables.table(tmp_path, new)
    for _ in range(2):
        harness.upsert(found, [{"k": k, "j": k % 4, "v": 1} for k in range(ROWS)])
    return tables.reload(found)


def analyzed(found: Table) -> Table:
    columns = [
        KNOWN
        | {"name": name, "low": {"literal": 0, "type": "long"}, "distinct": high + 1}
        | {"high": {"literal": high, "type": "long"}}
        for name, high in (("k", ROWS - 1), ("j", 3))
    ]
    store(found, ROWS, columns)
    return tables.reload(found)


NAMED = [where("IN", "k", 1, 5, 9), Predicate("AND", (where("=", "j", 1),))]


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        ([], ROWS),
        ([where("=", "k", 5)], 1),
        ([where("=", "j", 1)], 250),
        ([where("IN", "j", 1, 2)], 500),
        ([where("<", "k", 100)], 100),
        ([where(">=", "k", 100), where("<", "k", 300)], 200),
        ([Predicate("AND", (where(">=", "k", 100), where("<", "k", 300))), where("=", "j", 0)], 50),
        (NAMED, 1),
        ([Predicate("OR", (where("=", "k", 1), where("=", "k", 2)))], ROWS),
        ([where("=", "v", 1)], ROWS),
        # keys that were not there when they were counted
        ([where(">", "k", 5000)], ROWS),
        ([where(">", "k", 20, type="string")], ROWS),
    ],
)
def test_rows_of_an_analyzed_table(
    table: Table, decided: Sequence[Predicate], expected: int
) -> None:
    found = of_scan(analyzed(table), ["k"], 2 * ROWS, decided)
    assert found is not None
    assert found["rows"] == pytest.approx(expected, abs=1)


def test_keys_that_are_named_are_counted_without_an_analysis(table: Table) -> None:
    assert of_scan(table, ["k"], 2 * ROWS, NAMED) == {"rows": 3}
    assert of_scan(table, ["k"], 2, NAMED) is None
    assert of_scan(table, ["k"], 2 * ROWS, NAMED[:1]) is None


def test_no_more_rows_than_those_of_files_that_are_read(table: Table) -> None:
    found = of_scan(analyzed(table), ["k"], 20, [where("<", "k", 100)])
    assert found is not None
    assert found["rows"] == 10


def test_ranges_count_until_a_table_has_grown(table: Table) -> None:
    known = analyzed(table)
    harness.upsert(known, [{"k": k, "j": 0, "v": 1} for k in range(ROWS, 2 * ROWS)])
    grown = tables.reload(known)
    found = of_scan(grown, ["k"], 3 * ROWS, [where(">", "k", 900)])
    assert found is not None
    assert found["rows"] == 1500
    assert of_scan(grown, ["k"], 3 * ROWS, NAMED) == found | {"rows": 3} | {
        "columns": {"k": found["columns"]["k"] | {"distinct": 3}}
    }


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, math.inf), (-math.inf, 5.0), (-math.inf, math.inf), (-1.7e308, 1.7e308)]
)
def test_a_range_without_an_end_says_nothing(tmp_path: Path, low: float, high: float) -> None:
    new = tables.new_table(tables.column("k", "DOUBLE"), tables.column("v"), key="k", bucket="1")
    found = tables.table(tmp_path, new)
    harness.upsert(found, [{"k": low, "v": 1}, {"k": 1.0, "v": 1}, {"k": high, "v": 1}])
    ends = {
        name: {"literal": str(end), "type": "double"}
        for name, end in (("low", low), ("high", high))
    }
    store(tables.reload(found), 3, [KNOWN | ends | {"name": "k", "distinct": 3}])
    known = of_scan(tables.reload(found), ["k"], 3)
    assert known is not None
    assert known["rows"] == 3
