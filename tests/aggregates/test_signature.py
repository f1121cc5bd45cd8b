"""Signatures of states: their canonical text, the types they are cast to, and what is refused."""

import pytest

from keyfold.aggregates.states.bound_signatures import parse
from keyfold.aggregates.states.signature import constants_of, text_of
from keyfold.aggregates.states.state_functions import functions
from keyfold.errors import TableError
from keyfold.types.logical import describe
from keyfold.types.sql import from_sql


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ("max_by(int not null, int)", "max_by(INT,INT)"),
        ("variance(int)", "var_pop(DOUBLE)"),
        ("NDV(varchar(20))", "approx_count_distinct(STRING)"),
        ("string_agg(string, string)", "group_concat(STRING)"),
        ("percentile_reservoir(double, double)", "percentile_reservoir(DOUBLE)"),
        ("sum(decimal(10, 2) NOT NULL)", "sum(DECIMAL(10,2))"),
        ("collect_list(map<string, array<int>>)", "collect_list(MAP<STRING, ARRAY<INT>>)"),
        ("count(int, string)", "count(INT,STRING)"),
    ],
)
def test_the_canonical_text(declared: str, text: str) -> None:
    found = parse(declared)
    assert found.text == text
    assert parse(found.declared).text == text
    assert parse(found.declared).required == found.required
    assert text_of(found.header(";p=0.5")) == f"{text};p=0.5"


def test_not_null_belongs_to_the_column_alone() -> None:
    found = parse("max_by(int NOT NULL, int)")
    assert found.required == (True, False)
    assert found.declared == "max_by(INT NOT NULL, INT)"


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("sum", "expected a function and types"),
        ("foo(int)", "function foo has no states"),
        ("sum(string)", "sum_state takes one number, found (STRING)"),
        ("max_by(int)", "takes a value and what it is ordered by"),
        ("count()", "takes at least one value"),
        ("max(map<int, int>)", "takes one value that can be compared"),
        ("min(interval)", "INTERVAL"),
    ],
)
def test_what_is_refused(declared: str, words: str) -> None:
    with pytest.raises(TableError) as refused:
        parse(declared)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "text", ["DECIMAL(10,2)", "ARRAY<STRUCT<a: INT, b: MAP<STRING, DATE>>>", "TIMESTAMP_NTZ"]
)
def test_types_as_text(text: str) -> None:
    assert describe(from_sql(text)) == text


@pytest.mark.parametrize("name", ["percentile", "percentile_approx", "percentile_reservoir"])
def test_a_percentage_that_there_is_not(name: str) -> None:
    assert constants_of(functions()[name], ["0.5"]) == {"p": "0.5"}
    for text in ("1.5", "-0.1", "NaN", "[0.1, 0.9]"):
        with pytest.raises(TableError, match=f"{name}_state: .* p is .*; expected a number"):
            constants_of(functions()[name], [text])
