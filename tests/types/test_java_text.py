"""Texts that two versions of Java gave, and values that have none."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from keyfold.errors import NotSupportedError
from keyfold.files.initial_values import initial
from keyfold.types import java_text, logical
from keyfold.types import paimon as paimon_types
from keyfold.types.conversion import convert
from keyfold.wire.layout import Column

DOUBLES = {
    0.0: ("0.0", "0.0"),
    1e-3: ("0.001", "0.001"),
    9.99e-4: ("9.99E-4", "9.99E-4"),
    1e7: ("1.0E7", "1.0E7"),
    -1234567.5: ("-1234567.5", "-1234567.5"),
    float("-inf"): ("-Infinity", "-Infinity"),
    5e-324: ("4.9E-324", "4.9E-324"),
    1e-323: ("1.0E-323", "9.9E-324"),
    2e23: ("1.9999999999999998E23", "2.0E23"),
    6.998e21: ("6.998000000000001E21", "6.998E21"),
    3.42e22: ("3.4200000000000002E22", "3.42E22"),
    2.0**57: ("1.44115188075855872E17", "1.4411518807585587E17"),
    2.0**60: ("1.15292150460684698E18", "1.152921504606847E18"),
}
FLOATS = {
    0.1: ("0.1", "0.1"),
    2.0**28: ("2.68435456E8", "2.6843546E8"),
    1.18846831e13: ("1.18846831E13", "1.1884683E13"),
    7.6351903e25: ("7.6351903E25", "7.6351904E25"),  # its last step overflows a LONG
}


@pytest.mark.parametrize(("place", "version"), [(0, "17"), (1, "25")])
def test_numbers(monkeypatch: pytest.MonkeyPatch, place: int, version: str) -> None:
    monkeypatch.setenv(java_text.JAVA_VERSION, version)
    for value, texts in DOUBLES.items():
        assert java_text.floating(value, java_text.DOUBLE_BITS) == texts[place]
    for value, texts in FLOATS.items():
        assert java_text.floating(np.float32(value), java_text.FLOAT_BITS) == texts[place]
    found = java_text.floats(pa.array([None, float("nan"), -0.0]), java_text.DOUBLE_BITS)
    assert found.to_pylist() == [None, "NaN", "-0.0"]


def test_years() -> None:
    days = pa.array([-719_528, 2_932_896, 2_932_897, None], pa.int32()).cast(pa.date32())
    assert java_text.dates(days).to_pylist() == ["0000-01-01", "9999-12-31", "0000-01-01", None]
    before = pa.array([-719_529], pa.int32()).cast(pa.date32())
    with pytest.raises(NotSupportedError, match="a stored DATE has no value as STRING"):
        convert(before, logical.Atomic("DATE"), logical.Atomic("STRING"))


@pytest.mark.parametrize(
    ("digits", "text"), [(6, "00:00:01.500000"), (3, "00:00:01.500"), (0, "00:00:01.5")]
)
def test_digits_of_a_second(digits: int, text: str) -> None:
    found = java_text.timestamps(pa.array([1_500_000, -1], pa.timestamp("us")), digits)
    assert found.to_pylist() == [f"1970-01-01 {text}", "1969-12-31 23:59:59.999999"]


@pytest.mark.parametrize(
    ("literal", "kind", "now", "value"),
    [
        (7, "integer", "STRING", "7"),
        (7, "integer", "BIGINT", 7),
        (19782, "date", "STRING", "2024-02-29"),
        (1e10, "double", "STRING", "1.0E10"),
        ("a", "string", "CHAR(3)", "a  "),
    ],
)
def test_a_default_of_an_older_type(literal: Any, kind: str, now: str, value: Any) -> None:
    stored = json.dumps({"literal": literal, "type": kind})
    column = Column(1, "v", paimon_types.from_paimon(now), initial=stored)
    assert initial(column).as_py() == value
