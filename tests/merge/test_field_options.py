"""`fields.<column>.…` at CREATE: spellings, parameters, and what is refused with which words."""

import pytest

from keyfold.errors import KeyfoldError, NotSupportedError, TableError
from keyfold.merge.plan import check
from keyfold.options.names import normalize
from keyfold.testing.tables import layout

AGGREGATION = {"merge-engine": "aggregation"}
COLUMNS = {"k": "INT", "v": "INT", "s": "STRING"}


@pytest.mark.parametrize(
    ("option", "text", "kind", "words"),
    [
        ("fields.v.agregate-function", "sum", TableError, "mean fields.v.aggregate-function?"),
        ("fields.v.stats-mode", "none", NotSupportedError, "known to Paimon but not supported"),
        ("fields.v.ignore-retract", "si", TableError, "expected true or false, found 'si'"),
    ],
)
def test_refused(option: str, text: str, kind: type[KeyfoldError], words: str) -> None:
    table = layout(COLUMNS, ["k"], AGGREGATION | {option: text})
    with pytest.raises(kind) as caught:
        check(table)
    assert words in str(caught.value)
    assert option in str(caught.value)


def test_functions_are_stored_under_the_name_paimon_knows() -> None:
    written = {
        "fields.v.aggregate-function": "SUM",
        "fields.s.aggregate-function": "First-Not-Null-Value",
        "fields.default-aggregate-function": "Last_Value",
    }
    assert check(layout(COLUMNS, ["k"], AGGREGATION | written)).options == AGGREGATION | {
        "fields.v.aggregate-function": "sum",
        "fields.s.aggregate-function": "first_non_null_value",
        "fields.default-aggregate-function": "last_value",
    }


def test_an_alter_leaves_options_of_other_engines_alone() -> None:
    before = layout(COLUMNS, ["k"], AGGREGATION | {"fields.v.stats-mode": "none"})
    assert check(before, before) == before


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("fields.s.agg", "fields.s.aggregate-function"),
        ("fields.s.delimiter", "fields.s.list-agg-delimiter"),
        ("fields.s.listagg.delimiter", "fields.s.list-agg-delimiter"),
        ("fields.s.STRING_AGG.delimiter", "fields.s.list-agg-delimiter"),
    ],
)
def test_names_of_fluss_are_translated(written: str, stored: str) -> None:
    assert normalize({written: "x"}) == {stored: "x"}
