"""What each column type takes, by a table of cases, for each form in which a value comes."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import Catalog, Table, TableError
from keyfold.tables.rows.conversions.columns import converted
from keyfold.tables.rows.conversions.unfit import Given, Unfit
from keyfold.types.sql import from_sql

TOKYO = dt.timezone(dt.timedelta(hours=9))
DAY, NOON = dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12, 0, 0, 5)
MIDNIGHT = dt.datetime(2020, 1, 1)
UTC = dt.timezone.utc
REFUSED = object()
PAIR = "STRUCT<x: INT, y: STRING>"
COUNTS = "MAP<STRING, INT>"

CASES: list[tuple[str, Any, Any]] = [
    ("INT", 7.0, 7),
    ("INT", Decimal("7.00"), 7),
    ("INT", 7.5, REFUSED),
    ("INT", Decimal("7.5"), REFUSED),
    ("INT", Fraction(7, 1), REFUSED),
    ("INT", 2**31, REFUSED),
    ("INT", True, REFUSED),
    ("INT", "7", REFUSED),
    ("INT", float("nan"), REFUSED),
    ("BIGINT", -(2**63), -(2**63)),
    ("BIGINT", 2**63, REFUSED),
    ("BIGINT", 2.0**63, REFUSED),
    ("DOUBLE", 2**60, 2.0**60),
    ("DOUBLE", 2**64, 2.0**64),
    ("DOUBLE", 2**53 + 1, REFUSED),
    ("DOUBLE", Decimal("1.5"), 1.5),
    ("DOUBLE", Decimal("0.1"), 0.1),
    ("DOUBLE", Decimal("1E+400"), REFUSED),
    ("FLOAT", 0.1, float(np.float32(0.1))),
    ("FLOAT", 2**24 + 1, REFUSED),
    ("FLOAT", 1e40, REFUSED),
    ("FLOAT", float("inf"), float("inf")),
    ("DECIMAL(10,2)", 1.255, Decimal("1.26")),
    ("DECIMAL(10,2)", -2.675, Decimal("-2.68")),
    ("DECIMAL(10,2)", 0.125, Decimal("0.13")),
    ("DECIMAL(10,2)", 1e-7, Decimal("0.00")),
    ("DECIMAL(10,2)", 1.0, Decimal("1.00")),
    ("DECIMAL(10,2)", 5, Decimal("5.00")),
    ("DECIMAL(10,2)", Decimal("1.250"), Decimal("1.25")),
    ("DECIMAL(10,2)", Decimal("1.255"), REFUSED),
    ("DECIMAL(10,2)", 99999999.995, REFUSED),
    ("DECIMAL(10,2)", 1e300, REFUSED),
    ("DECIMAL(10,2)", 10**8, REFUSED),
    ("DECIMAL(38,30)", Decimal("14696061867387240.00"), REFUSED),
    ("DECIMAL(10,2)", float("nan"), REFUSED),
    ("DECIMAL(38,38)", 1e-30, Decimal("1e-30")),
    ("BOOLEAN", True, True),
    ("BOOLEAN", 1, REFUSED),
    ("STRING", "a", "a"),
    ("STRING", b"a", REFUSED),
    ("STRING", 1, REFUSED),
    ("STRING", "\ud800", REFUSED),
    ("BINARY", b"a", b"a"),
    ("BINARY", "a", REFUSED),
    ("VARCHAR(3)", "é    ", "é  "),
    ("VARCHAR(3)", "abcd", REFUSED),
    ("CHAR(3)", "a", "a  "),
    ("DATE", DAY, DAY),
    ("DATE", MIDNIGHT, DAY),
    ("DATE", NOON, REFUSED),
    ("DATE", 18262, REFUSED),
    ("TIMESTAMP", NOON, NOON.replace(tzinfo=UTC)),
    ("TIMESTAMP", NOON.replace(tzinfo=TOKYO), NOON.replace(tzinfo=TOKYO)),
    ("TIMESTAMP", DAY, MIDNIGHT.replace(tzinfo=UTC)),
    ("TIMESTAMP", 1577836800, REFUSED),
    ("TIMESTAMP", dt.time(1), REFUSED),
    ("TIMESTAMP_NTZ", NOON, NOON),
    ("TIMESTAMP_NTZ", NOON.replace(tzinfo=UTC), NOON),
    ("TIMESTAMP_NTZ", NOON.replace(tzinfo=TOKYO), REFUSED),
    ("ARRAY<INT>", [1.0, None], [1, None]),
    ("ARRAY<INT>", [1.5], REFUSED),
    ("ARRAY<INT>", [[1]], REFUSED),
    ("ARRAY<STRING>", "ab", REFUSED),
    ("ARRAY<CHAR(3)>", ["a", "abc  "], ["a  ", "abc"]),
    ("ARRAY<VARCHAR(3)>", ["abcd"], REFUSED),
    (PAIR, {"Y": "a", "X": 1}, {"x": 1, "y": "a"}),
    (PAIR, {"x": 1}, REFUSED),
    (PAIR, {"x": 1, "y": "a", "z": 1}, REFUSED),
    (PAIR, {"x": 1.5, "y": "a"}, REFUSED),
    (f"ARRAY<{PAIR}>", [None, {"X": 1, "Y": None}], [None, {"x": 1, "y": None}]),
    (f"ARRAY<{PAIR}>", [{"a": 1, "b": "q"}], REFUSED),
    (COUNTS, [{"key": "a", "value": 1}], [("a", 1)]),
    (COUNTS, [{"key": None, "value": 1}], REFUSED),
    (COUNTS, [{"key": "a", "value": 1}, {"key": "a", "value": 2}], REFUSED),
]
OF_PYTHON: list[tuple[str, Any, Any]] = [
    ("INT", np.int8(5), 5),
    ("INT", pd.NA, None),
    ("INT", np.longdouble(5), REFUSED),
    ("INT", pa.scalar(5), 5),
    ("DOUBLE", 10**400, REFUSED),
    ("DOUBLE", np.float32(0.5), 0.5),
    ("DOUBLE", 1j, REFUSED),
    ("BOOLEAN", np.bool_(True), True),
    ("BINARY", bytearray(b"a"), b"a"),
    ("TIMESTAMP", pd.NaT, None),
    ("TIMESTAMP", pd.Timestamp("2020-01-01 00:00:00.000000001"), REFUSED),
    ("DATE", np.datetime64("2020-01-01"), DAY),
    ("DATE", np.datetime64("NaT", "D"), None),
    ("TIMESTAMP_NTZ", np.datetime64("2020-01-01T12:00:00.000005"), NOON),
    ("TIMESTAMP_NTZ", np.datetime64("2020-01-01T12:00:00.000000005"), REFUSED),
    ("ARRAY<INT>", np.array([1, 2]), [1, 2]),
    ("ARRAY<INT>", (1, 2), [1, 2]),
    ("ARRAY<INT>", {1}, REFUSED),
    (COUNTS, {"a": 1}, [("a", 1)]),
    (COUNTS, [("a", 1), ("a", 2)], REFUSED),
    (COUNTS, [("a",)], REFUSED),
    (COUNTS, 5, REFUSED),
    (PAIR, {"x": 1, "X": 2, "y": "a"}, REFUSED),
    (PAIR, (1, "a"), REFUSED),
]


def forms(value: Any) -> Iterator[Given]:
    """The value alone, beside a NULL, and as arrays of Arrow, of Polars and of pandas."""
    yield [value]
    yield [None, value]
    try:
        found = pa.array([value, None])
    except (pa.ArrowException, TypeError, OverflowError, ValueError):
        return
    yield found
    yield pa.concat_arrays([found, found]).slice(1, 3)
    if not pa.types.is_nested(found.type):
        yield found.dictionary_encode()
        yield pc.run_end_encode(found)
    if pa.types.is_string(found.type):
        for kind in (pa.string_view(), pa.large_utf8()):
            yield found.cast(kind)
            codes = pa.array([None, 0], pa.uint32())
            yield pa.DictionaryArray.from_arrays(codes, pa.array([value], kind))
    if pa.types.is_list(found.type):
        for kind in (pa.large_list, pa.list_view, pa.large_list_view):
            yield pa.array([None, value], kind(found.type.value_type))
        yield pa.array([value, None], pa.list_(found.type.value_type, len(value)))
    if not pa.types.is_decimal(found.type) or found.type.precision <= 38:
        yield pl.Series(found).to_arrow()


@pytest.mark.parametrize(("sql", "value", "wanted"), CASES)
def test_each_form_of_a_value_is_taken_or_refused(sql: str, value: Any, wanted: Any) -> None:
    for given in forms(value):
        if wanted is REFUSED:
            with pytest.raises(Unfit):
                converted(given, from_sql(sql), "v")
        else:
            found = {str(item) for item in converted(given, from_sql(sql), "v").drop_null()}
            assert found == {str(item) for item in converted([wanted], from_sql(sql), "v")}
            assert converted([wanted], from_sql(sql), "v").to_pylist() == [wanted]


@pytest.mark.parametrize(("sql", "value", "wanted"), OF_PYTHON)
def test_values_that_python_alone_has(sql: str, value: Any, wanted: Any) -> None:
    if wanted is REFUSED:
        with pytest.raises(Unfit):
            converted([None, value], from_sql(sql), "v")
    else:
        assert converted([value, None], from_sql(sql), "v").to_pylist() == [wanted, None]


def test_values_of_several_classes_stay_in_order() -> None:
    mixed = [1.5, 2, None, Decimal("3.25"), np.float32(4.5), 2**70, True][:6]
    found = converted(mixed, from_sql("DECIMAL(30,2)"), "v").to_pylist()
    assert found == [None if v is None else Decimal(str(v)) for v in mixed]
    far = [Decimal("1E-70"), Decimal("1E+70"), None]
    assert converted(far, from_sql("DOUBLE"), "v").to_pylist() == [1e-70, 1e70, None]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    catalog: Catalog = keyfold.connect(tmp_path_factory.mktemp("values"), threads=1)
    needed = pa.list_(pa.field("element", pa.int32(), False))
    columns = {"k": "INT", "v": "BIGINT", "s": PAIR, "needed": needed}
    return catalog.create_table("t", columns, ["k"])


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("v", 7.5, r"column v, of type BIGINT, does not take 7.5.*: expected a whole number from"),
        ("s", {"x": 1, "y": 5}, r"column s.y, of type STRING, does not take 5.*: expected a text"),
        ("s", {"x": 1}, r"column s, of type STRUCT.*: the field y is missing; give None for NULL"),
        ("needed", [1, None], r"column needed.element, of type INT, does not take None.*NOT NULL"),
    ],
)
def test_the_row_and_key_of_a_value_that_does_not_fit(
    table: Table, column: str, value: Any, words: str
) -> None:
    good = {"v": 1, "s": {"x": 1, "y": "a"}, "needed": [1]}[column]
    rows = [{"k": k, column: good} for k in range(70_000)]
    rows[69_000] = {"k": 69_000, column: value}
    every: list[Any] = [rows, pd.DataFrame(rows)]
    if column != "s":  # whose fields would be the same in each row
        every.append(pa.Table.from_pylist(rows, pa.schema([("k", pa.int64()), _wide(column)])))
    for given in every:
        with pytest.raises(TableError, match=rf"row 69001 \(k = 69000\): {words}"):
            table.upsert(given)
    assert table.snapshot is None


def _wide(column: str) -> tuple[str, pa.DataType]:
    return column, pa.float64() if column == "v" else pa.list_(pa.int64())


def test_rows_need_their_key(table: Table) -> None:
    for given in ([{"v": 1}], pd.DataFrame({"v": [1]}), pa.table({"v": [1]})):
        with pytest.raises(TableError, match="rows have no column k of the primary key"):
            table.upsert(given)
