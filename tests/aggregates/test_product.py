"""product: what overflows, what can't be divided, and how a table gets over it."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keyfold.aggregates.declaration import Inputs
from keyfold.aggregates.product import PRODUCT
from keyfold.aggregates.results import column_result
from keyfold.errors import FoldOverflowError, TableError
from keyfold.kernels.ops import ADD, RETRACT
from tests.read import harness
from tests.storage import tables

OPTIONS = {
    "merge-engine": "aggregation",
    "bucket": "1",
    "fields.v.aggregate-function": "product",
    "rowkind.field": "kind",
}


def table(folder: Path, kind: str) -> Any:
    columns = (tables.column("k"), tables.column("v", kind), tables.column("kind", "string"))
    return tables.table(folder, tables.new_table(*columns, key="k", **OPTIONS))


def upsert(made: Any, *rows: tuple[str, Any]) -> None:
    harness.upsert(made, [{"k": 1, "kind": kind, "v": value} for kind, value in rows])


def product(kind: pa.DataType, *values: Any, ops: tuple[int, ...] = ()) -> tuple[Any, int]:
    """The product of one group, and the group that overflowed."""
    column = pa.array([Decimal(v) if isinstance(v, str) else v for v in values], kind)
    own = np.array(ops or [ADD] * len(values), dtype=np.int8)
    starts = np.array([0, len(values)])
    found = column_result(PRODUCT, Inputs(column, own, np.arange(len(values)), starts))
    return found.array[0].as_py(), found.overflowed


@pytest.mark.parametrize(
    ("kind", "most", "wider"),
    [("byte", 127, "BIGINT"), ("integer", 65536, "BIGINT"), ("long", 2**62, r"DECIMAL\(38, 0\)")],
)
def test_an_overflow_between_jobs_is_said_by_reads_of_the_column_alone(
    tmp_path: Path, kind: str, most: int, wider: str
) -> None:
    made = table(tmp_path, kind)
    upsert(made, ("+I", most))
    upsert(made, ("+I", most))
    with pytest.raises(FoldOverflowError, match=rf"the product for key \(k = 1\).*TYPE {wider} "):
        harness.rows(made)
    assert harness.rows(made, columns=["k"]) == [{"k": 1}]
    upsert(made, ("-D", most), ("+I", 3))  # what is stored is still there


def test_an_overflow_inside_a_job_is_said_by_the_write(tmp_path: Path) -> None:
    made = table(tmp_path, "decimal(4,2)")
    with pytest.raises(FoldOverflowError, match=r"column v: the product.*DECIMAL\(38, 2\)"):
        upsert(made, ("+I", Decimal("99.99")), ("+I", Decimal(2)))
    assert harness.rows(made) == []


def test_a_wider_type_heals_the_table(tmp_path: Path) -> None:
    made = table(tmp_path, "integer")
    for _ in range(3):
        upsert(made, ("+I", 65536))
    tables.catalog(tmp_path).alter_table(
        ["default"], "t", [{"change": "update_column_type", "name": "v", "type": "long"}]
    )
    assert [row["v"] for row in harness.rows(made)] == [65536**3]


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("integer", (7, 0), "/ by zero"),
        ("decimal(10,2)", (Decimal(7), Decimal(0)), "Division by zero"),
        ("decimal(10,2)", (Decimal(0), Decimal(0)), "Division undefined"),
        ("decimal(10,2)", (Decimal(10), Decimal(3)), "Non-terminating decimal expansion"),
    ],
)
def test_a_quotient_that_is_none_names_column_and_key(
    tmp_path: Path, kind: str, values: tuple[Any, Any], words: str
) -> None:
    made = table(tmp_path, kind)
    with pytest.raises(TableError, match=rf"column v, key \(k = 1\): .*{words}"):
        upsert(made, ("+I", values[0]), ("-D", values[1]))


def test_an_integer_stays_overflowed_whatever_follows() -> None:
    assert product(pa.int64(), 2**62, 2)[1] == 0
    assert product(pa.int64(), 2**62, 2, 0)[1] == 0
    assert product(pa.int64(), -(2**62), 2) == (-(2**63), -1)
    assert product(pa.int64(), -(2**63), -1)[1] == 0
    assert product(pa.int64(), -1, -(2**63))[1] == 0
    assert product(pa.int32(), -(2**31), -1, ops=(ADD, RETRACT))[1] == 0


def test_integers_divide_towards_zero() -> None:
    for left, right, quotient in ((7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (6, -3, -2)):
        assert product(pa.int32(), left, right, ops=(ADD, RETRACT)) == (quotient, -1)


def test_decimals_round_half_up_at_each_step() -> None:
    assert product(pa.decimal128(10, 2), "0.05", "0.10") == (Decimal("0.01"), -1)
    assert product(pa.decimal128(10, 2), "-0.05", "0.10") == (Decimal("-0.01"), -1)
    assert product(pa.decimal128(38, 19), "3.5", "2.5") == (Decimal("8.75"), -1)
    wide = product(pa.decimal128(38, 0), str(10**19 + 7), str(10**18 + 9))
    assert wide == (Decimal((10**19 + 7) * (10**18 + 9)), -1)
    assert product(pa.decimal128(38, 0), str(10**19), str(10**19))[1] == 0
    assert product(pa.decimal128(10, 2), "10.00", "4.00", ops=(ADD, RETRACT)) == (
        Decimal("2.50"),
        -1,
    )
