"""Cells of case files: what they are in SQL, and what a value found must be to equal them."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap, BitMap64

from integration.conformance import values

INTS = pa.list_(pa.int32())
PAIR = pa.struct([("x", pa.int32()), ("y", pa.utf8())])
BY_NUMBER = pa.map_(pa.int32(), pa.utf8())
SECOND = datetime.datetime(2024, 1, 2, 3, 4, 5, 6)

EQUAL: list[tuple[Any, Any, pa.DataType]] = [
    (None, None, pa.int32()),
    (5, 5, pa.int64()),
    (True, True, pa.bool_()),
    ("it's", "it's", pa.utf8()),
    ("NaN", float("nan"), pa.float64()),
    ("-0.0", -0.0, pa.float64()),
    (2, 2.0, pa.float64()),
    (0.1, 0.10000000149011612, pa.float32()),
    ("2.5", Decimal("2.50"), pa.decimal128(10, 2)),
    ("9" * 38, Decimal("9" * 38), pa.decimal128(38, 0)),
    ("2024-01-02", SECOND.date(), pa.date32()),
    ("2024-01-02T03:04:05.000006", SECOND, pa.timestamp("us")),
    ("2024-01-02 03:04:05.000006", SECOND.replace(tzinfo=datetime.timezone.utc),
     pa.timestamp("us", "UTC")),
    ("AQI=", b"\x01\x02", pa.binary()),
    ({"hex": "0102"}, b"\x01\x02", pa.binary()),
    ([1, None], [1, None], INTS),
    ([3, "p"], {"x": 3, "y": "p"}, PAIR),
    ({"2": "b", "10": None}, [(10, None), (2, "b")], BY_NUMBER),
]  # fmt: skip
UNEQUAL: list[tuple[Any, Any, pa.DataType]] = [
    (0, None, pa.int32()),
    ("0.0", -0.0, pa.float64()),
    ("2.51", Decimal("2.50"), pa.decimal128(10, 2)),
    ("100.011", Decimal("100.01"), pa.decimal128(5, 2)),
    (0.1, 0.1 + 1e-16, pa.float64()),
    ([1, 2], [2, 1], INTS),
    ({"1": "a"}, [(1, "a"), (2, "b")], BY_NUMBER),
    ("", None, pa.utf8()),
]


@pytest.mark.parametrize(("cell", "value", "kind"), EQUAL, ids=str)
def test_a_value_equals_its_cell(cell: Any, value: Any, kind: pa.DataType) -> None:
    assert values.expected(cell, kind) == values.found(value, kind)


@pytest.mark.parametrize(("cell", "value", "kind"), UNEQUAL, ids=str)
def test_another_value_does_not(cell: Any, value: Any, kind: pa.DataType) -> None:
    assert values.expected(cell, kind) != values.found(value, kind)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [(1, pa.utf8()), ("1", pa.int32()), (True, pa.int32()), (1, pa.bool_()), (1.5, pa.int64())],
    ids=str,
)
def test_a_cell_of_another_type_is_refused(cell: Any, kind: pa.DataType) -> None:
    with pytest.raises(ValueError, match="is no value of type"):
        values.expected(cell, kind)


@pytest.mark.parametrize("form", [BitMap, BitMap64])
def test_bitmaps_compare_by_their_bits(form: Any) -> None:
    stored = form([7, 70_000, 3]).serialize()
    wanted = values.expected({"bitmap": [70_000, 3, 7]}, pa.binary())
    assert values.found(stored, pa.binary(), is_bitmap=True) == wanted == (3, 7, 70_000)


@pytest.mark.parametrize(
    ("cell", "kind", "sql"),
    [
        (-5, pa.int32(), "'-5'"),
        (None, pa.int32(), "CAST(NULL AS STRING)"),
        (None, pa.binary(), "CAST(NULL AS BINARY)"),
        (True, pa.bool_(), "'True'"),
        ("it's \\n", pa.utf8(), r"'it\'s \\n'"),
        ("AQI=", pa.binary(), "X'0102'"),
        ([1, None], INTS, "array('1', CAST(NULL AS STRING))"),
        (None, INTS, "NULL"),
        ([], INTS, "array()"),
        ({"1": "a"}, BY_NUMBER, "map('1', 'a')"),
        ([3, "p"], PAIR, "named_struct('x', '3', 'y', 'p')"),
    ],
    ids=str,
)
def test_literals(cell: Any, kind: pa.DataType, sql: str) -> None:
    assert values.literal(cell, kind) == sql
