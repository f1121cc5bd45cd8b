"""Columns as a program declares them."""

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold import Catalog, KeyfoldError, Table


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return keyfold.connect(tmp_path, threads=1)


def test_defaults_stand_behind_the_types(catalog: Catalog) -> None:
    columns = {
        "k": "INT",
        "s": "STRING DEFAULT 'a'",
        "n": "DECIMAL(4,2) not null default -1.5",
        "t": "TIMESTAMP DEFAULT TIMESTAMP '2026-01-01 00:00:00' NOT NULL",
        "q": r"VARCHAR(20) DEFAULT 'NOT NULL, it\'s'",
        "e": "STRING DEFAULT NULL",
    }
    table = catalog.create_table("t", columns, ["k"])
    assert list(table.columns.values())[1:4] == [
        "STRING",
        "DECIMAL(4,2) NOT NULL",
        "TIMESTAMP NOT NULL",
    ]
    table.upsert([{"k": 1}])
    table.alter(add={"d": "DATE DEFAULT DATE '2026-02-03'"})
    table.upsert([{"k": 2, "s": None}])
    first = {
        "k": 1,
        "s": "a",
        "n": Decimal("-1.50"),
        "t": datetime(2026, 1, 1, tzinfo=timezone.utc),
        "q": "NOT NULL, it's",
        "e": None,
        "d": date(2026, 2, 3),
    }
    assert stored_rows(table) == [first, first | {"k": 2, "s": None}]
    for kind, words in (
        ("INT DEFAULT 'a'", "column v: DEFAULT 'a' is not a constant of type INT"),
        ("INT DEFAULT rand()", "DEFAULT rand.. is not a constant of type INT: line 1: expected"),
        ("ARRAY<INT> DEFAULT array(1)", "is not a constant of type ARRAY<INT>"),
        ("INT DEFAULT 1.5", "DEFAULT 1.5 is not a constant of type INT: it has more digits"),
        ("TINYINT DEFAULT 300", "DEFAULT 300 is not a constant of type TINYINT"),
        ("DECIMAL(4,2) DEFAULT 123.4", "is not a constant of type DECIMAL"),
        ("DECIMAL(4,2) DEFAULT 1.239", "is not a constant of type DECIMAL"),
        ("DECIMAL(38,22) DEFAULT 8679173591312972471.795417", "it has more digits"),
        ("DEFAULT 3", "type DEFAULT 3 is not supported"),
    ):
        with pytest.raises(KeyfoldError, match=words):
            catalog.create_table("w", {"k": "INT", "v": kind}, ["k"])


def stored_rows(table: Table) -> list[dict[str, Any]]:
    return sorted(table.scan().to_pylist(), key=lambda row: int(row["k"]))


def test_schemas_of_other_forms_are_refused(catalog: Catalog) -> None:
    schema: Any
    for schema in ("k BIGINT", 5, None, {"k": int}, {"k": None}, [1]):
        with pytest.raises(KeyfoldError, match=r"expected (a schema of Arrow|a type in SQL)"):
            catalog.create_table("t", schema, ["k"])


def test_names_of_fields(catalog: Catalog) -> None:
    table = catalog.create_table("names", {"k": "INT", "s": "STRUCT<`a``:b`: INT>"}, ["k"])
    table.upsert([{"k": 1, "s": {"a`:b": 2}}])
    assert table.get({"k": 1}) == {"k": 1, "s": {"a`:b": 2}}
    for kind, words in (
        ("STRUCT<a: INT, a: INT>", "column s: the STRUCT has two fields a, where upper and lower"),
        ("ARRAY<STRUCT<x: STRUCT<a: INT, A: INT>>>", r"column s\.x: the STRUCT has two fields A"),
        ("STRUCT<` `: INT>", "column s: a field of the STRUCT has no name"),
    ):
        with pytest.raises(KeyfoldError, match=words):
            catalog.create_table("twice", {"k": "INT", "s": kind}, ["k"])
