"""Texts as values of each type, by a table of cases; many texts are converted as one is."""

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.tables.rows.conversions.columns import converted
from keyfold.tables.rows.texts import columns
from keyfold.tables.rows.texts.atoms import Unread, of_number, of_text
from keyfold.tables.rows.texts.columns import UnreadAt, column_of
from keyfold.tables.rows.texts.nested import BrokenJson, of_cell, of_json, parsed
from keyfold.types.logical import Atomic
from keyfold.types.sql import from_sql
from keyfold.types.type_table import INTEGERS
from tests.random_values import same
from tests.tables.rows.texts.cases import CASES, NARROWER, REFUSED


def plain(array: pa.Array) -> list[Any]:
    """The values; days and microseconds of times, of which Python lacks some."""
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return array.to_pylist()  # type: ignore[no-any-return]


NUMBERS = st.one_of(
    st.integers(-(1 << 70), 1 << 70),
    st.sampled_from(
        [s * (1 << bits) + d for bits in (7, 15, 31, 63) for s in (1, -1) for d in (-1, 0, 1)]
    ),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda found: Decimal(repr(found))),
)


@given(NUMBERS, st.sampled_from([*INTEGERS, "FLOAT", "DOUBLE"]))
def test_a_number_of_json_is_the_value_of_its_text(number: int | Decimal, name: str) -> None:
    """But for whole ones with a point or an exponent, which texts of whole numbers do not have."""
    kind = Atomic(name, True)
    is_whole = name in INTEGERS and abs(number) < 10**20 and number == int(number)
    try:
        expected = of_text(str(int(number) if is_whole else number), kind)
    except Unread:
        with pytest.raises(Unread):
            of_number(number, kind)
    else:
        assert same(of_number(number, kind), expected)


PAIR = "STRUCT<x: INT, y: STRING>"


@pytest.mark.parametrize(("kind", "text", "value"), CASES)
def test_a_text(kind: str, text: str, value: Any) -> None:
    of = from_sql(kind)
    if value in (REFUSED, NARROWER):
        with pytest.raises(UnreadAt) as found:
            column_of(pa.array([None, text, text]), of)
        assert found.value.place == 1
        assert f"{text!r} is not a value of type {kind}" in str(found.value.error)
        return
    made = column_of(pa.array([None, text, text]), of)
    expected = converted([None, value, value], of, "")
    assert made.type == expected.type
    assert same(plain(made), plain(expected))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("BINARY", "AAE=", b"\0\1"),
        ("BINARY", "AAE", REFUSED),
        ("CHAR(3)", "ab", "ab "),
        ("CHAR(3)", "ab   ", "ab "),
        ("CHAR(3)", "abcd", REFUSED),
        ("VARCHAR(3)", "éé  ", "éé "),
        ("ARRAY<INT>", "[1, null, 2.0]", [1, None, 2]),
        ("ARRAY<INT>", "[1, 2.5]", REFUSED),
        ("ARRAY<INT>", "1, 2", REFUSED),
        ("MAP<STRING, INT>", '{"a": 1}', [("a", 1)]),
        ("MAP<INT, INT>", '{"1": 1}', [(1, 1)]),
        ("MAP<INT, INT>", "[[1, 1]]", [(1, 1)]),
        ("MAP<INT, INT>", "[[1, 1], [1, 2]]", REFUSED),
        ("MAP<INT, INT>", "[[null, 1]]", REFUSED),
        ("MAP<DOUBLE, INT>", "[[0.0, 1], [-0.0, 2]]", REFUSED),
        (PAIR, '{"y": "a"}', {"x": None, "y": "a"}),
        (PAIR, '{"X": 1, "y": "a"}', {"x": 1, "y": "a"}),
        (PAIR, '{"X": 1, "x": 1}', REFUSED),
        (PAIR, '{"z": 1}', REFUSED),
        (PAIR, '{"x": 1, "x": 2}', REFUSED),
        (PAIR, "[1]", REFUSED),
    ],
)
def test_a_text_of_other_types(kind: str, text: str, value: Any) -> None:
    if value is REFUSED:
        with pytest.raises(UnreadAt, match=r"1"):
            column_of(pa.array(["null" if "<" in kind else None, text]), from_sql(kind))
    else:
        made = converted(
            [column_of(pa.array([text]), from_sql(kind))[0].as_py()], from_sql(kind), ""
        )
        assert made.to_pylist() == [value]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("BIGINT", "9007199254740993", 9007199254740993),
        ("BIGINT", "1.0", 1),
        ("BIGINT", "1e3", 1000),
        ("BIGINT", "1.5", REFUSED),
        ("BIGINT", "1e999999999", REFUSED),
        ("BIGINT", "true", REFUSED),
        ("BIGINT", '"12"', 12),
        ("DECIMAL(20,2)", "12345678901234567.89", Decimal("12345678901234567.89")),
        ("DECIMAL(20,2)", '"0.29"', Decimal("0.29")),
        ("DECIMAL(20,2)", "1.005", REFUSED),
        ("DECIMAL(20,2)", "NaN", REFUSED),
        ("DOUBLE", "0.1", 0.1),
        ("DOUBLE", "-0.0", -0.0),
        ("DOUBLE", "NaN", float("nan")),
        ("DOUBLE", '"-Infinity"', float("-inf")),
        ("DOUBLE", "1e400", REFUSED),
        ("BOOLEAN", "true", True),
        ("BOOLEAN", "1", REFUSED),
        ("STRING", "7", REFUSED),
        ("STRING", '"\\ud800"', REFUSED),
        ("DATE", "7", REFUSED),
        ("BINARY", "[1]", REFUSED),
    ],
)
def test_a_value_of_json(kind: str, text: str, value: Any) -> None:
    if value is REFUSED:
        with pytest.raises(Unread, match="is not a value of type"):
            of_json(parsed(text), from_sql(kind))
    else:
        assert same(of_json(parsed(text), from_sql(kind)), value)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", "{} {}", "[" * 100_000, "1" * 5000, '{"a":1,"a":2}']
)
def test_what_is_not_json(text: str) -> None:
    with pytest.raises(BrokenJson):
        parsed(text)


PARTS = ["", "-", "+", "0", "7", "12", "2026-01-31", "-02-30", " ", "T", "12:00:00", ".5", "e", "Z"]
PARTS += ["+01:00", "inf", "999", "1234567", ".", "x", "\0", "é", "9" * 18]
KINDS = [
    "TINYINT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(7,3)",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
]


@given(
    texts=st.lists(
        st.lists(st.sampled_from(PARTS), max_size=4).map("".join) | st.none(), max_size=6
    ),
    kind=st.sampled_from(KINDS),
)
def test_many_texts_are_converted_as_each_is(texts: list[str | None], kind: str) -> None:
    """Those in the usual spelling, which Arrow converts, are told from others for all together."""
    of = from_sql(kind)
    try:
        expected = [None if text is None else of_cell(text, of) for text in texts]
    except Unread:
        with pytest.raises(UnreadAt):
            column_of(pa.array(texts, pa.utf8()), of)
    else:
        found = column_of(pa.array(texts, pa.utf8()), of)
        assert same(plain(found), plain(converted(expected, of, "")))


@given(random=st.randoms(use_true_random=False), kind=st.sampled_from(KINDS))
def test_usual_texts_are_converted_at_once(random: Random, kind: str) -> None:
    """So the test above compares two ways."""
    usual = {"DATE": "2026-01-3{}", "TIMESTAMP": "2026-01-31 12:00:0{}Z"}
    usual |= {"TIMESTAMP_NTZ": "2026-01-31 12:00:00.{}"}
    text = usual.get(kind, "{}").format(random.randrange(2))
    found = columns._at_once(pa.array([text, None]), from_sql(kind))
    assert found is not None
    assert found.to_pylist()[0] == of_cell(text, from_sql(kind))
