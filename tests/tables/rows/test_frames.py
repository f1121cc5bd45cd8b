"""DataFrames of pandas: what they hold is written, and rows go through them and back unchanged."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import keyfold
from keyfold import Catalog, Table, TableError

NAN = float("nan")
COLUMNS = {
    "k": "INT",
    "b": "BOOLEAN",
    "t": "TINYINT",
    "n": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "de": "DECIMAL(20,2)",
    "s": "STRING",
    "x": "BINARY",
    "day": "DATE",
    "at": "TIMESTAMP",
    "here": "TIMESTAMP_NTZ",
    "la": "ARRAY<BIGINT>",
    "ld": "ARRAY<DOUBLE>",
    "lt": "ARRAY<TIMESTAMP>",
    "m": "MAP<STRING, DOUBLE>",
    "st": "STRUCT<n: BIGINT, d: ARRAY<STRUCT<d: DOUBLE>>>",
}
UTC = dt.timezone.utc
FIRST: dict[str, Any] = {
    "b": True,
    "t": -5,
    "n": 2**60 + 1,
    "f": 0.5,
    "d": 0.1,
    "de": Decimal("12345678901234567.89"),
    "s": "a",
    "x": b"\0",
    "day": dt.date(1, 1, 1),
    "at": dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    "here": dt.datetime(1, 1, 1),
    "la": [2**60 + 1, None],
    "ld": [0.1, None, NAN],
    "lt": [dt.datetime(2020, 1, 1, tzinfo=UTC), None],
    "m": [("a", 0.1), ("b", None), ("c", NAN)],
    "st": {"n": 2**60 + 1, "d": [{"d": None}, {"d": NAN}]},
}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return keyfold.connect(tmp_path, threads=1)


def rows_of(table: Table) -> str:
    return repr(sorted(table.scan().to_pylist(), key=lambda row: row["k"]))


@pytest.mark.parametrize("other", [FIRST, FIRST | {"d": NAN, "f": NAN}, {}], ids=str)
@pytest.mark.parametrize("how", [{}, {"types_mapper": pd.ArrowDtype}], ids=str)
def test_rows_come_back_through_pandas(
    catalog: Catalog, other: dict[str, Any], how: dict[str, Any]
) -> None:
    table = catalog.create_table("t", COLUMNS, ["k"])
    table.upsert([{"k": 1, **FIRST}, {"k": 2, **dict.fromkeys(FIRST), **other}])
    before = rows_of(table)
    frame = table.scan().to_pandas(**how)
    assert list(frame) == list(COLUMNS)
    table.upsert(frame, merge_mode=None)
    assert rows_of(table) == before


def test_types_of_columns_with_null(catalog: Catalog) -> None:
    table = catalog.create_table("t", COLUMNS, ["k"])
    table.upsert([{"k": 1, **FIRST}, {"k": 2, **dict.fromkeys(FIRST)}])
    found = {name: str(kind) for name, kind in table.scan().to_pandas().dtypes.items()}
    wanted = {"k": "int32", "b": "boolean", "t": "Int8", "n": "Int64", "f": "float32"}
    assert found | wanted | {"d": "float64", "at": "datetime64[us, UTC]"} == found
    assert table.scan(["n"], "k = 1").to_pandas()["n"].dtype == "int64"
    table.upsert([{"k": 3, "d": NAN}])
    column = table.scan(["d", "k"]).to_pandas().set_index("k")["d"]
    assert column.dtype == "Float64"
    assert [column.isna()[2], column.isna()[3]] == [True, False]


def test_the_key_may_be_the_index(catalog: Catalog) -> None:
    table = catalog.create_table("t", {"day": "DATE", "K": "INT", "v": "INT"}, ["day", "K"])
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    frame = pd.DataFrame({"day": days, "k": [1, 2], "v": [5, 6]})
    table.upsert(frame.set_index(["day", "k"]))
    table.upsert(frame.assign(v=7).set_index("k")[:1])
    assert table.get_many(frame.drop(columns="v").set_index(["k", "day"]), ["v"]).to_pydict() == {
        "v": [7, 6]
    }
    table.delete(frame.set_index(["k", "day"])[[]][1:])
    assert table.scan(["k", "v"]).to_pylist() == [{"K": 1, "v": 7}]
    with pytest.raises(TableError, match="rows have no column K of the primary key; they have day"):
        table.upsert(frame.rename(columns={"k": "other"}).set_index("other"))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (pd.Series([], dtype="float64"), []),
        (pd.Series([np.nan, np.nan]), [None, None]),
        (pd.Series(["a", np.nan], dtype=object), ["a", None]),
        (pd.Series(["a", pd.NA], dtype="string"), ["a", None]),
        (pd.Series(["a", None], dtype="string[pyarrow]"), ["a", None]),
        (pd.Series(["a", None, "a"], dtype="category"), ["a", None, "a"]),
        (pd.Series(["a"], dtype=pd.ArrowDtype(pa.large_string())), ["a"]),
    ],
)
def test_texts_in_all_forms_of_pandas(catalog: Catalog, values: Any, wanted: list[Any]) -> None:
    table = catalog.create_table("t", {"k": "INT", "v": "STRING"}, ["k"])
    table.upsert(pd.DataFrame({"k": range(len(wanted)), "v": values}))
    found = sorted(table.scan().to_pylist(), key=lambda row: row["k"])
    assert [row["v"] for row in found] == wanted


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (pd.Series([1.0, np.nan]), [1, None]),
        (pd.Series([1, pd.NA], dtype="Int8"), [1, None]),
        (pd.Series([1.0, pd.NA], dtype="Float64"), [1, None]),
        (pd.Series([1, 1, None], dtype="category"), [1, 1, None]),
        (
            pd.Series([Decimal(1), np.nan, pd.NaT, 2.0, np.int64(3)], dtype=object),
            [1, None, None, 2, 3],
        ),
        (pd.Series([7.5], dtype=object), None),
        (pd.Series([7.5]), None),
        (pd.Series([True]), None),
        (pd.Series(pd.period_range("2020", periods=1, freq="D")), None),
        (pd.Series(pd.arrays.SparseArray([1, 2])), [1, 2]),
    ],
)
def test_whole_numbers_in_all_forms_of_pandas(catalog: Catalog, values: Any, wanted: Any) -> None:
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    frame = pd.DataFrame({"k": range(len(values)), "v": values})
    if wanted is None:
        with pytest.raises(TableError, match="column v"):
            table.upsert(frame)
        assert table.snapshot is None
    else:
        table.upsert(frame)
        found = sorted(table.scan().to_pylist(), key=lambda row: row["k"])
        assert [row["v"] for row in found] == wanted
