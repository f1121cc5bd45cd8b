"""Fluss' options in Paimon's words, the second translation of stored ones, and what is refused."""

import re
from dataclasses import replace

import pytest

from keyfold.errors import KeyfoldError, NotSupportedError, TableError
from keyfold.options.checks import check_create
from keyfold.options.fluss import check_functions, heeded
from keyfold.options.names import normalize
from keyfold.testing.tables import layout
from keyfold.types import paimon as paimon_types

ENGINE, BEHAVIOR = "table.merge-engine", "table.delete.behavior"
VERSION = "table.merge-engine.versioned.ver-column"
COLUMNS = {"k": "INT", "v": "BIGINT", "s": "STRING"}
REMOVE = "aggregation.remove-record-on-delete"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (
            {ENGINE: "FIRST_ROW"},
            {"merge-engine": "first-row", BEHAVIOR: "ignore", "ignore-delete": "true"},
        ),
        (
            {ENGINE: "versioned", VERSION: "v"},
            {
                "merge-engine": "deduplicate",
                "sequence.field": "v",
                VERSION: "v",
                BEHAVIOR: "ignore",
                "ignore-delete": "true",
            },
        ),
        (
            {ENGINE: "aggregation", "fields.v.agg": "sum"},
            {
                "merge-engine": "aggregation",
                "fields.v.aggregate-function": "sum",
                BEHAVIOR: "ignore",
                "ignore-delete": "true",
            },
        ),
        (
            {ENGINE: "aggregation", BEHAVIOR: "ALLOW"},
            {
                "merge-engine": "aggregation",
                BEHAVIOR: "ALLOW",
                REMOVE: "true",
                "ignore-update-before": "true",
            },
        ),
        (
            {ENGINE: "first_row", BEHAVIOR: "disable"},
            {"merge-engine": "first-row", BEHAVIOR: "disable", "ignore-update-before": "true"},
        ),
        ({BEHAVIOR: "allow"}, {BEHAVIOR: "allow"}),
        ({BEHAVIOR: "ignore"}, {BEHAVIOR: "ignore", "ignore-delete": "true"}),
        ({"bucket.num": "3", "bucket.key": "k"}, {"bucket": "3", "bucket-key": "k"}),
        ({"fields.s.sum.delimiter": ";"}, {"fields.s.list-agg-delimiter": ";"}),
        ({"fields.s.STRING-AGG.delimiter": ";"}, {"fields.s.list-agg-delimiter": ";"}),
    ],
)
def test_translated_once_and_for_all(given: dict[str, str], stored: dict[str, str]) -> None:
    assert normalize(given) == stored
    assert normalize(stored) == stored


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({ENGINE: "first-row"}, TableError, "Unsupported merge engine type: first-row"),
        ({ENGINE: "default"}, TableError, "Unsupported merge engine type: default"),
        ({ENGINE: "versioned"}, TableError, f"'{VERSION}' must be set for versioned"),
        ({ENGINE: "aggregation", VERSION: "v"}, TableError, f"{VERSION} belongs to {ENGINE} ="),
        ({VERSION: "v"}, TableError, "versioned, which is not set"),
        (
            {ENGINE: "versioned", VERSION: "nope"},
            TableError,
            "The version column 'nope' for versioned merge engine doesn't exist in schema.",
        ),
        (
            {ENGINE: "versioned", VERSION: "s"},
            TableError,
            "must be one type of [INT, BIGINT, TIMESTAMP, TIMESTAMP_LTZ], but got STRING.",
        ),
        (
            {ENGINE: "first_row", BEHAVIOR: "allow"},
            TableError,
            "Table with 'FIRST_ROW' merge engine does not support delete operations.",
        ),
        ({BEHAVIOR: "sometimes"}, TableError, "expected allow or ignore or disable"),
        (
            {ENGINE: "aggregation", "table.changelog.image": "WAL"},
            TableError,
            "'AGGREGATION' merge engine does not support 'WAL' changelog image mode",
        ),
        (
            {"table.changelog.image": "WAL", "changelog-producer": "input"},
            TableError,
            "table.changelog.image = wal needs changelog-producer = lookup or full-compaction",
        ),
        ({"table.datalake.enabled": "true"}, NotSupportedError, "table.datalake.enabled"),
        ({"table.bogus": "1"}, TableError, "option table.bogus of table db.t is unknown"),
    ],
)
def test_refused(given: dict[str, str], kind: type[KeyfoldError], words: str) -> None:
    with pytest.raises(kind, match=re.escape(words)):
        check_create(layout(COLUMNS, ["k"], {"bucket": "1"} | normalize(given)))


@pytest.mark.parametrize("image", ["FULL", "wal"])
def test_changelog_images(image: str) -> None:
    check_create(layout(COLUMNS, ["k"], {"bucket": "1", "table.changelog.image": image}))


@pytest.mark.parametrize("given", [{"table.changelog.image": "WAL"}, {"table.log.ttl": "7 d"}])
def test_a_changelog_of_fluss(given: dict[str, str]) -> None:
    """It has images of both rows, so rows are compared; a producer that is named stays."""
    found = normalize(given)
    kept = {} if "table.log.ttl" not in given else {"changelog.time-retained": "7 d"}
    shown = {name: text for name, text in given.items() if name != "table.log.ttl"}
    assert found == {"changelog-producer": "lookup"} | kept | shown
    assert normalize(found) == found
    named = {"changelog-producer": "input", **given}
    assert normalize(named) == {"changelog-producer": "input"} | kept | shown


def test_a_version_column_may_be_a_key_column() -> None:
    given = normalize({ENGINE: "versioned", VERSION: "k"})
    check_create(layout(COLUMNS, ["k"], {"bucket": "1"} | given))


def test_a_merge_engine_takes_a_key() -> None:
    found = replace(layout(COLUMNS, ["k"], {"merge-engine": "first-row"}), primary_key=())
    with pytest.raises(TableError, match="Merge engine is only supported in primary key table"):
        check_create(found)


def test_a_function_of_a_key_column_is_refused_as_fluss_spells_it() -> None:
    columns = {name: paimon_types.from_paimon("INT") for name in "kv"}
    given = {"fields.k.aggregate-function": "sum", "fields.v.agg": "sum"}
    check_functions("db.t", given, columns, ("k",))
    with pytest.raises(TableError, match="Cannot set aggregation function for primary key column"):
        check_functions("db.t", {"fields.K.agg": "sum"}, columns, ("k",))


@pytest.mark.parametrize("kind", ["BYTES", "BOOLEAN", "BINARY(3)"])
def test_max_and_min_of_types_without_an_order_are_refused_as_fluss_spells_them(kind: str) -> None:
    columns = {"v": paimon_types.from_paimon(kind)}
    check_functions("db.t", {"fields.v.aggregate-function": "max"}, columns, ())
    check_functions("db.t", {"fields.v.agg": "last_value"}, columns, ())
    for kept in ("STRING", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "DECIMAL(5, 2)"):
        check_functions("db.t", {"fields.v.agg": "max"}, {"v": paimon_types.from_paimon(kept)}, ())
    with pytest.raises(TableError, match=r"Data type for min column must be part of .* but was"):
        check_functions("db.t", {"fields.v.agg": "MIN"}, columns, ())


FUNCTIONS = {
    "fields.a.agg": "sum",
    "fields.T.agg": "listagg",
    "fields.t.listagg.delimiter": ";",
    "fields.b.c.delimiter": ";",
}
STRAY = {
    "fields.nope.agg": "no_function",
    "fields.nope.listagg.delimiter": "",
    "fields.nope.delimiter": "",
}
OTHERS = {"bucket.num": "2", "fields.nope.ignore-retract": "true"}


def test_fluss_passes_over_functions_of_columns_that_are_not_there() -> None:
    given = FUNCTIONS | OTHERS | {ENGINE: "Aggregation"}
    assert heeded(given | STRAY, {"a", "t", "b.c"}) == given


@pytest.mark.parametrize("engine", ["first_row", "VERSIONED"])
def test_fluss_passes_over_functions_of_other_engines(engine: str) -> None:
    given = OTHERS | {ENGINE: engine}
    assert heeded(given | FUNCTIONS | STRAY, {"a", "t", "b.c"}) == given


def test_without_fluss_own_name_of_the_engine_every_function_counts() -> None:
    given = FUNCTIONS | STRAY | {"merge-engine": "aggregation"}
    assert heeded(given, {"a"}) == given
