"""Rows that Spark may expect behind the conditions which a scan decides by itself."""

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
        (NAMED, 3),
        ([where("=", "k", 5), where("=", "j", 1)], 1),
        # some columns of the key may have any value
        ([where("=", "k", 5)], ROWS),
        ([where("<", "k", 100), where("=", "j", 1)], ROWS),
        ([Predicate("OR", (where("=", "k", 1), where("=", "k", 2)))], ROWS),
        ([where("=", "v", 1)], ROWS),
    ],
)
def test_rows_of_an_analyzed_table(
    table: Table, decided: Sequence[Predicate], expected: int
) -> None:
    found = of_scan(analyzed(table), ["k"], 2 * ROWS, decided)
    assert found is not None
    assert found["rows"] == expected


def test_keys_that_are_named_are_counted_without_an_analysis(table: Table) -> None:
    assert of_scan(table, ["k"], 2 * ROWS, NAMED) == {"rows": 3}
    assert of_scan(table, ["k"], 2, NAMED) is None
    assert of_scan(table, ["k"], 2 * ROWS, NAMED[:1]) is None


def test_no_more_rows_than_those_of_files_that_are_read(table: Table) -> None:
    found = of_scan(analyzed(table), ["k"], 2, NAMED)
    assert found is not None
    assert found["rows"] == 1
    assert found["columns"]["k"]["distinct"] == 1
