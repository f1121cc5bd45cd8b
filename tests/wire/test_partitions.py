"""Folders of partitions equal pypaimon's canonical ones, which are Java's; values stay what they
are on the wire.
"""

import datetime
import json
import math
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from keyfold.errors import NotSupportedError
from keyfold.types import paimon as paimon_types
from keyfold.types.literals import manifest_value
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.partitions import UNPARTITIONED, Partition
from tests import readers

STAMP = datetime.datetime(2024, 1, 2, 3, 4, 0, 0)
VALUES: tuple[tuple[str, Any], ...] = (
    ("STRING", "a b"),
    ("STRING", "a/b=c:%\"'#*?\\{}[]^\x01\x7f"),
    ("STRING", "\u4e2d"),
    ("STRING", ""),
    ("STRING", " \t"),
    ("STRING", None),
    ("INT", -5),
    ("BIGINT", 2**62),
    ("BOOLEAN", True),
    ("DATE", datetime.date(2024, 1, 2)),
    ("DECIMAL(12, 9)", Decimal("0.000000100")),
    ("TIMESTAMP(6)", STAMP),
    ("TIMESTAMP(6)", STAMP.replace(second=5)),
    ("TIMESTAMP(6)", STAMP.replace(microsecond=5000)),
    ("TIMESTAMP(6)", STAMP.replace(microsecond=5)),
    ("DOUBLE", 1.5),
    ("DOUBLE", 1e20),
    ("DOUBLE", -1.25e-7),
    ("DOUBLE", 0.001),
    ("FLOAT", 0.1),
    ("FLOAT", 12345678.0),
)


@pytest.mark.parametrize("is_legacy", [True, False])
@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_directory(kind: str, value: Any, is_legacy: bool) -> None:
    column = Column(0, "p:q", paimon_types.from_paimon(kind))
    options = {"partition.legacy-name": str(is_legacy).lower()}
    layout = TableLayout("db.t", "/t", 0, (column,), ("p:q",), ("p:q",), options)
    rows = pa.table({"p:q": pa.array([value], column.arrow_field.type)})
    expected = readers.ask("bucket_path", rows, kind=kind, is_legacy=is_legacy)
    held = manifest_value(pa.scalar(value, column.arrow_field.type))
    assert Partition.of(layout, [held]).bucket_folder(layout, 3) == expected


DAY = 86_400_000_000
YEARS = {
    ("DATE", 2_932_897): "+10000-01-01",
    ("DATE", -719_162): "0001-01-01",
    ("DATE", -719_163): "0000-12-31",
    ("DATE", -719_529): "-0001-12-31",
    ("DATE", 365_000_000): "+1001306-01-22",
    ("TIMESTAMP(6)", 2_932_897 * DAY): "+10000-01-01T00:00",
    ("TIMESTAMP(6)", -719_528 * DAY - 1): "-0001-12-31T23:59:59.999999",
    ("TIMESTAMP(3)", -719_528 * DAY - 1000): "-0001-12-31T23:59:59.999",
}


@pytest.mark.parametrize(("kind", "held"), YEARS)
def test_years_that_python_lacks(kind: str, held: int) -> None:
    column = Column(0, "p", paimon_types.from_paimon(kind))
    layout = TableLayout("db.t", "/t", 0, (column,), ("p",), ("p",), {})
    text = YEARS[kind, held]
    named = str(held) if kind == "DATE" else text.replace(":", "%3A")
    assert Partition.of(layout, [held]).path == f"p={named}"
    spelled = replace(layout, options={"partition.legacy-name": "false"})
    if text[0] in "+-":
        with pytest.raises(NotSupportedError, match=re.escape(f"column p can't be {text[:8]}")):
            Partition.of(spelled, [held])
    else:
        assert Partition.of(spelled, [held]).path == f"p={text}"


LONG = "123456789012345678901234567890123456.70"
HELD: tuple[tuple[str, Any, str], ...] = (
    ("STRING", "a/b", "a/b"),
    ("STRING", None, "__DEFAULT_PARTITION__"),
    ("STRING", "", ""),
    ("BOOLEAN", True, "true"),
    ("BIGINT", -(2**63), "-9223372036854775808"),
    (
        "DECIMAL(38, 2)",
        Decimal(LONG),
        LONG,
    ),
    ("DOUBLE", math.inf, "inf"),
    ("DOUBLE", 5e-324, "5e-324"),
    ("DATE", 19724, "2024-01-02"),
    ("TIMESTAMP(6)", 1_704_164_640_000_005, "2024-01-02T03:04:00.000005"),
)


@pytest.mark.parametrize(("kind", "value", "shown"), HELD)
def test_a_partition_travels_as_it_is(kind: str, value: Any, shown: str) -> None:
    layout = _layout(kind)
    partition = Partition.of(layout, [value])
    assert partition.text == f"p={shown}"
    arrived = Partition.from_json(json.loads(json.dumps(partition.to_json(), allow_nan=False)))
    assert arrived == partition
    assert [type(one) for one in arrived.values] == [type(value)]
    scalar = arrived.scalars(layout)["p"]
    assert (scalar.type, manifest_value(scalar)) == (layout.arrow_schema.field("p").type, value)


@pytest.mark.parametrize("value", [math.nan, -0.0])
def test_values_that_equality_does_not_tell(value: float) -> None:
    partition = Partition.of(_layout("DOUBLE"), [value])
    arrived = Partition.from_json(json.loads(json.dumps(partition.to_json(), allow_nan=False)))
    assert repr(arrived) == repr(partition)


def test_no_partition() -> None:
    layout = replace(_layout("INT"), partition_keys=())
    partition = Partition.of(layout, ())
    assert partition == UNPARTITIONED == Partition.from_json(partition.to_json())
    assert partition.bucket_folder(layout, 2) == "/t/bucket-2"
    assert (partition.text, partition.scalars(layout)) == (None, {})


def _layout(kind: str) -> TableLayout:
    column = Column(0, "p", paimon_types.from_paimon(kind))
    return TableLayout("db.t", "/t/", 0, (column,), ("p",), ("p",), {})
