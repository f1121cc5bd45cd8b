"""Which errors of ours stand for an expected one."""

import pytest

from integration.conformance import paimon, words
from integration.conformance.case import Case, Raw, Refusal

SUMS: Raw = {
    "id": "x",
    "engine": "aggregation",
    "columns": [["k", "INT"], ["v", "VARCHAR(10)"], ["a", "INT"]],
    "primary_key": ["k"],
    "options": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "commits": [],
    "expect_error": "",
}


def case(**changes: object) -> Case:
    return paimon.read({**SUMS, **changes}, "write-only")


@pytest.mark.parametrize(
    ("expected", "ours"),
    [
        ("Data type for sum column must be numeric", "column 'v': sum takes numbers"),
        ("Data type for sum column must be numeric", "table t, column v: not a number"),
        ("but was 'VARCHAR(10)'", "the type varchar(10) is not taken"),
        ("null in non-null column(k)", "NULL in field:\nk"),
        ("int overflow: 1 + 1", "table t, column v: does not fit INT"),
        ("Merge engine is only supported in primary key table", "the table has no primary key"),
        ("must be one of [INT, DATE]", "fields.v.aggregate-function: not for a VARCHAR"),
        ("Delete is disabled", "Delete is DISABLED for this table"),
        ("anything", "fields.v.aggregate_function takes no such thing"),
    ],
)
def test_errors_that_pass(expected: str, ours: str) -> None:
    assert words.difference(case(), Refusal(expected), ours) is None


@pytest.mark.parametrize(
    ("expected", "ours"),
    [
        ("Data type for sum column must be numeric", "a bad table"),
        ("Data type for sum column must be numeric", "very kind summary"),
        ("null in non-null column(k)", "k3 is bad"),
        ("'aggregation' takes no such thing", "a column VARCHAR"),
        ("no column `k` here", "column `v`: sum takes no such thing"),
    ],
)
def test_errors_that_do_not(expected: str, ours: str) -> None:
    assert "names one of" in str(words.difference(case(), Refusal(expected), ours))


def test_the_statement_and_the_trace_are_no_part_of_a_message() -> None:
    text = "no such thing\n== SQL ==\nCREATE TABLE t (v INT)\n\tat java.lang.Thread.run"
    assert words.message(text) == "no such thing"
    assert words.message("ours\n\nIn Python:\nTraceback: sum") == "ours"
    assert words.message("plain\n\tat v.w(X.java)") == "plain"
