"""Values that a program gives stay what they are, or are refused with the name of what is wrong."""

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import keyfold
from keyfold import Catalog, Table, TableError

COLUMNS = {
    "id": "BIGINT",
    "i": "INT",
    "dec": "DECIMAL(18,4)",
    "vc": "VARCHAR(5)",
    "ch": "CHAR(3)",
    "at": "TIMESTAMP",
    "here": "TIMESTAMP_NTZ",
    "ar": "ARRAY<STRING>",
    "mp": "MAP<STRING, INT>",
    "st": "STRUCT<x: INT, y: ARRAY<DOUBLE>>",
    "nest": "ARRAY<STRUCT<a: INT, b: MAP<STRING, STRING>>>",
}
EAST = timezone(timedelta(hours=5))
ROW: dict[str, Any] = {
    "id": 1,
    "i": 3,
    "dec": Decimal("1.2345"),
    "vc": "abcde",
    "ch": "ab ",
    "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=EAST),
    "here": datetime(2026, 1, 2, 3, 4, 5, 123456),
    "ar": ["a", None],
    "mp": [("k", 1)],
    "st": {"x": 1, "y": [1.0]},
    "nest": [{"a": 1, "b": [("q", "w")]}],
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return keyfold.connect(tmp_path_factory.mktemp("values"), threads=1)


@pytest.fixture(scope="module")
def table(catalog: Catalog) -> Table:
    made = catalog.create_table("t", COLUMNS, ["id"], options={"bucket": 1})
    made.upsert([ROW])
    return made


def test_values_come_back_through_pandas(table: Table) -> None:
    assert table.get({"id": 1}) == ROW
    frame = table.scan(where="id = 1").to_pandas()
    table.upsert(frame.assign(id=2))
    assert table.get({"id": 2}) == ROW | {"id": 2}


def test_texts_have_the_length_of_their_column(catalog: Catalog) -> None:
    made = catalog.create_table("c", {"k": "CHAR(3)", "v": "VARCHAR(4)"}, ["k"])
    made.upsert([{"k": "a", "v": "é é  "}, {"k": "bcd  ", "v": None}])
    assert made.get({"k": "a"}) == {"k": "a  ", "v": "é é "}
    assert made.get_many([{"k": "bcd"}, {"k": "x"}], ["k"]).column("k").to_pylist() == ["bcd", None]
    with pytest.raises(TableError, match=r"column v, of type VARCHAR\(4\), does not take 'fiver'"):
        made.upsert(pa.table({"k": ["b"], "v": ["fiver"]}))


def test_a_number_of_a_dictionary_must_be_whole(table: Table) -> None:
    table.upsert([{"id": 4.0, "i": 5.0}])
    assert table.get({"id": 4}, ["i"]) == {"i": 5}
    with pytest.raises(TableError, match="column i, of type INT, does not take 1"):
        table.upsert([{"id": 5, "i": 1.5}])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: t.get(1), "expected a key as {'id': …}, found 1"),
        (lambda t: t.prefix("id"), "expected a key as {'id': …}, found 'id'"),
        (
            lambda t: t.get({"id": 1.5}),
            "is not a key: column id, of type BIGINT",
        ),
        (lambda t: t.get({"id": 1}, "i"), r"columns is the text 'i'; expected a list .*\['i'\]"),
        (lambda t: t.scan("id"), "columns is the text 'id'"),
        (lambda t: t.upsert([{"id": 1}], columns="id"), "columns is the text 'id'"),
        (lambda t: t.get_many(pa.array([1])), "expected an Arrow table"),
        (
            lambda t: t.upsert([{"id": 1, "i": 3e9}]),
            "column i, of type INT, does not take 3",
        ),
        (lambda t: t.upsert([{"id": 1, "no": 3}]), "it has no column no; it has id, i"),
        (lambda t: t.upsert([None, {"id": 1}]), "expected an Arrow table.*, found NoneType"),
        (
            lambda t: t.upsert(iter([None, {"id": 1}]), evolve=True),
            "expected an Arrow table.*, found NoneType",
        ),
        (lambda t: t.upsert(pd.DataFrame({"id": [1], "ar": [5]}, dtype=object)), "column ar"),
        (lambda t: t.alter(drop="id"), "drop is the text 'id'"),
    ],
)
def test_what_is_wrong_is_named(table: Table, call: Callable[[Table], Any], words: str) -> None:
    before = table.snapshot
    with pytest.raises(TableError, match=words):
        call(table)
    assert table.snapshot == before


def test_names_are_lists_and_options_any_value(catalog: Catalog) -> None:
    with pytest.raises(TableError, match=r"primary_key is the text 'k'; .* \['k'\]"):
        catalog.create_table("k", {"k": "INT"}, "k")
    options = {"bucket": 2, "write-only": True}
    made = catalog.create_table("k", {"k": "INT"}, ["k"], options=options)
    assert made.options | {"bucket": "2", "write-only": "true"} == made.options


def test_the_rows_of_a_partition(catalog: Catalog) -> None:
    """A prefix of no column of the key but those of the partition."""
    made = catalog.create_table("p", {"d": "DATE", "k": "INT"}, ["d", "k"], ["d"])
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    made.upsert([{"d": day, "k": k} for day in days for k in range(3)])
    made.upsert([{"d": days[0], "k": 1}])
    assert sorted(made.prefix({"d": days[0]}).column("k").to_pylist()) == [0, 1, 2]
    assert made.prefix({"d": date(2026, 1, 3)}).num_rows == 0


def test_columns_are_found_in_any_letter_case(catalog: Catalog) -> None:
    """As in SQL; what is read has the table's own names."""
    made = catalog.create_table("cases", {"Day": "INT", "k": "INT", "v": "INT"}, ["Day", "k"])
    made.upsert([{"DAY": 1, "K": 2, "V": 3}])
    assert made.scan(["V", "k"], "DAY = 1").to_pylist() == [{"v": 3, "k": 2}]
    assert made.get({"K": 2, "day": 1}, ["V"]) == {"v": 3}
    assert made.get_many([{"K": 2, "day": 1}], ["DAY"]).to_pylist() == [{"Day": 1}]
    assert made.prefix({"DAY": 1}, ["K"]).to_pylist() == [{"k": 2}]
    assert made.changes(0, columns=["_CHANGE_TYPE", "V"]).to_pylist() == [
        {"_change_type": "insert", "v": 3}
    ]
    made.upsert([{"Day": 1, "k": 2, "v": 4, "Kind": "-D"}], row_kind="kind")
    made.upsert([{"Day": 1, "k": 5, "v": 4}], columns=["DAY", "K"])
    made.alter(rename={"V": "w"}, types={"W": "BIGINT"})
    assert made.scan().to_pylist() == [{"Day": 1, "k": 5, "w": None}]
    with pytest.raises(TableError, match="names column W, which the table has too"):
        made.upsert([{"Day": 1, "k": 2}], row_kind="W")
    with pytest.raises(TableError, match="column k is asked for twice"):
        made.scan(["k", "K"])


def test_columns_of_each_batch_are_found_by_name(catalog: Catalog) -> None:
    made = catalog.create_table("orders", {"k": "INT", "v": "INT"}, ["k"])
    first, second = pa.record_batch({"k": [1], "v": [10]}), pa.record_batch({"v": [20], "k": [2]})
    made.upsert(iter([first, second]))
    assert made.get_many([{"k": 1}, {"k": 2}], ["v"]).to_pydict() == {"v": [10, 20]}
    with pytest.raises(TableError, match="a batch has columns v, the first one had k, v"):
        made.upsert(iter([first, second.select(["v"])]))
