"""Aggregates as queries name them: options, types, and the errors of both."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import keyfold
from keyfold.errors import FunctionError, KeyfoldError, NotSupportedError, TableError
from keyfold.group_by.accumulate import Accumulated
from keyfold.group_by.bound import BoundCall, bind
from keyfold.questions.aggregates import QUESTIONS, aggregate_functions, bind_aggregate
from keyfold.questions.serve import functions_of
from keyfold.user_functions import shipping
from keyfold.user_functions.sources import Sources

NONE = Sources()


def call(
    name: str, kind: Any, given: dict[str, str] | None = None, *positional: str | None
) -> BoundCall:
    return bind(name, [json.dumps(kind)], given or {}, positional, NONE)


def array(kind: Any, contains_null: bool = True) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": contains_null}


@pytest.mark.parametrize(
    ("given", "positional"),
    [
        ({"delimiter": ";", "skip_blank": "false"}, ()),
        ({"list-agg-delimiter": ";", "LIST_AGG_SKIP_BLANK": "false"}, ()),
        ({"skip-blank": "false"}, (";",)),
        ({}, (";", None, "false")),
    ],
)
def test_options_have_short_names_and_places(
    given: dict[str, str], positional: tuple[str | None, ...]
) -> None:
    found = call("String-Agg", "string", given, *positional)
    assert found.options == {"list-agg-delimiter": ";", "list-agg-skip-blank": "false"}
    assert found.name == "listagg"
    same = call("listagg", "string", {"delimiter": ";", "skip_blank": "false", "distinct": "false"})
    assert json.dumps(found.to_json()) == json.dumps(same.to_json())
    assert BoundCall.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.signature == "listagg(STRING);list-agg-delimiter=;;list-agg-skip-blank=false"


@pytest.mark.parametrize(
    ("name", "kind", "given", "positional", "error", "words"),
    [
        ("smu", "integer", {}, (), TableError, r"keyfold\.smu: Could not .*Did you mean 'sum'\?"),
        (
            "sum",
            "string",
            {},
            (),
            TableError,
            r"function keyfold\.sum: Data type for sum argument must be 'NumericType' but was 'STR",
        ),
        ("hll_sketch", "string", {}, (), TableError, "must be 'VarBinaryType' but was 'STRING'"),
        ("sum", "interval year to month", {}, (), NotSupportedError, "INTERVAL"),
        ("sum", "integer", {}, ("1",), FunctionError, "expected one column, found 2 arg"),
        ("sum", "integer", {"distinct": "true"}, (), FunctionError, "option distinct is unknown"),
        (
            "listagg",
            "string",
            {"delimeter": ";"},
            (),
            FunctionError,
            r"did you mean delimiter\? \(its options: delimiter, distinct, skip_blank\)",
        ),
        ("listagg", "string", {"delimiter": ";"}, (",",), FunctionError, "is given twice"),
        (
            "listagg",
            "string",
            {"distinct": "perhaps"},
            (),
            TableError,
            r"function keyfold\.listagg, option distinct: expected .*, found 'perhaps'",
        ),
    ],
)
def test_calls_that_are_wrong_are_refused(
    name: str,
    kind: str,
    given: dict[str, str],
    positional: tuple[str, ...],
    error: type[KeyfoldError],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        call(name, kind, given, *positional)


def test_a_call_has_one_column() -> None:
    with pytest.raises(FunctionError, match="expected one column, then options, found 2 columns"):
        bind("sum", ['"integer"', '"integer"'], {}, (), NONE)


def test_results_may_be_null_at_every_depth() -> None:
    question = {"name": "collect", "types": [json.dumps(array(array("varchar(3)", False), False))]}
    found = bind_aggregate(question)
    assert json.loads(found["result"]) == array(array("string"))
    assert found["arguments"] == [found["result"]]
    assert found["empty"] is None


def test_a_null_without_a_type_gets_that_of_the_result() -> None:
    assert bind_aggregate({"name": "count", "types": ['"void"']})["arguments"] == ['"long"']


def test_values_of_any_type_are_counted() -> None:
    found = bind_aggregate({"name": "count", "types": ['"string"']})
    assert (found["arguments"], found["result"], found["empty"]) == (['"string"'], '"long"', "0")
    call = BoundCall.from_json(found["fold"])
    counts = Accumulated(call, 0)
    counts.add(np.array([0, 1, 0, 1], np.int32), pa.array(["a", None, "", None]))
    counts.add(np.array([0], np.int32), pa.array([[1, None]]))
    assert counts.values(0, 3).to_pylist() == [3, 0, 0]


def test_states_have_functions_of_their_own() -> None:
    assert "agg_state" not in {one["name"] for one in aggregate_functions({})["functions"]}


@keyfold.aggregate("BIGINT", name="widest")
def widest(best: int, value: int) -> int:
    """the number that is farthest from 0"""
    return value if abs(value) > abs(best) else best


def test_functions_of_a_session_are_listed_and_bound() -> None:
    code = {"registered": {one: shipping.dumps(widest) for one in ("widest", "other")}}
    question = {"question": "x", "code": code, "name": "Widest", "types": ['"long"']}
    with functions_of(question):
        named = {one["name"]: one for one in aggregate_functions(question)["functions"]}
        found = bind_aggregate(question)["fold"]
    assert "Gives: the number that is farthest from 0" in named["widest"]["lines"]
    usage = "Usage: listagg(column, [delimiter], [distinct], [skip_blank])"
    assert named["listagg"]["lines"][0] == usage
    assert found["code"] == {"modules": "", "registered": {"widest": shipping.dumps(widest)}}
    assert BoundCall.from_json(found).aggregate.name == "widest"
    assert {"aggregate_functions", "bind_aggregate"} <= set(QUESTIONS) == set(QUESTIONS.looks)
    with functions_of(question), pytest.raises(TableError, match=r"keyfold\.widest: .*'STRING'"):
        bind_aggregate({**question, "types": ['"string"']})
