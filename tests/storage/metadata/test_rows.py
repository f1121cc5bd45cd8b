"""BinaryRow against pypaimon's own codec, on random rows of every atomic type."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import CorruptDataError
from keyfold.storage.metadata.binary_row import EMPTY, RowCodec
from keyfold.storage.metadata.entries import ordered
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic
from keyfold.types.paimon import from_paimon
from tests import readers

EPOCH = datetime.datetime(1970, 1, 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
MICROS = st.integers(-(10**15), 10**16)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    top = 10**precision - 1
    return st.integers(-top, top).map(lambda n: Decimal(n).scaleb(-scale))


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32, allow_nan=False),
    "DOUBLE": st.floats(allow_nan=False),
    "STRING": TEXT,
    "CHAR(10)": TEXT,
    "VARCHAR(40)": TEXT,
    "BYTES": st.binary(max_size=20),
    "DATE": st.integers(-100_000, 100_000),
    "DECIMAL(9, 2)": decimals(9, 2),
    "DECIMAL(18, 4)": decimals(18, 4),
    "DECIMAL(28, 10)": decimals(28, 10),
    "TIMESTAMP(3)": MICROS.map(lambda n: n // 1000 * 1000),
    "TIMESTAMP(6)": MICROS,
}


def as_pypaimon(kind: str, value: Any) -> Any:
    if value is not None and kind == "DATE":
        return (EPOCH + datetime.timedelta(days=value)).date()
    if value is not None and kind.startswith("TIMESTAMP"):
        return EPOCH + datetime.timedelta(microseconds=value)
    return value


def atomic(kind: str) -> Atomic:
    found = from_paimon(kind)
    assert isinstance(found, Atomic)
    return found


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[str], list[Any]]:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=70))
    return kinds, [draw(st.none() | VALUES[kind]) for kind in kinds]


@given(rows())
def test_same_bytes_as_pypaimon(row: tuple[list[str], list[Any]]) -> None:
    kinds, values = row
    codec = RowCodec(tuple(atomic(kind) for kind in kinds))
    data = codec.encode(values)
    assert codec.decode(data) == tuple(values)
    theirs = [as_pypaimon(kind, value) for kind, value in zip(kinds, values, strict=True)]
    cells, parsed = [data, *theirs], [pa.binary(), *(to_arrow(atomic(kind)) for kind in kinds)]
    columns = [pa.array([cell], kind) for cell, kind in zip(cells, parsed, strict=True)]
    told = pa.Table.from_arrays(columns, [str(number) for number in range(len(columns))])
    answer = readers.ask("binary_row", told, types=kinds)
    written, *read = (column[0].as_py() for column in answer.columns)
    assert read == theirs
    assert codec.decode(written) == tuple(values)


def test_dates_beyond_pythons_calendar() -> None:
    codec = RowCodec((atomic("DATE"), atomic("TIMESTAMP(6)")))
    values = (10_000_000, -(2**62))
    assert codec.decode(codec.encode(values)) == values


def test_largest_decimals() -> None:
    codec = RowCodec((atomic("DECIMAL(38, 0)"),))
    for value in (10**38 - 1, -(10**38) + 1, -(2**63), 2**63, 0):
        assert codec.decode(codec.encode([Decimal(value)])) == (Decimal(value),)


def test_the_empty_row() -> None:
    assert RowCodec(()).encode(()) == EMPTY
    assert RowCodec(()).decode(EMPTY) == ()


def test_a_shorter_row_reads_null_beyond() -> None:
    short = RowCodec((atomic("INT"),)).encode([7])
    assert RowCodec((atomic("INT"), atomic("STRING"))).decode(short) == (7, None)


def test_a_key_that_has_a_null_and_may_not_is_damage() -> None:
    """One wrong bit in a manifest: there was a TypeError where keys were compared."""
    with pytest.raises(CorruptDataError, match="NULL in a key that has none"):
        ordered((None,), (from_paimon("BIGINT NOT NULL"),))
    assert ordered((None,), (from_paimon("BIGINT"),)) == ((),)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("STRING", 12 << 32 | 100),
        ("BYTES", 20 << 32 | 9),
        ("BYTES", 0xFF << 56),
        ("DECIMAL(38, 0)", 16 << 32 | 17),
        ("TIMESTAMP(6)", 21 << 32),
        ("TIMESTAMP(6)", -1),
    ],
)
def test_places_and_sizes_beyond_a_row_are_damage(kind: str, word: int) -> None:
    row = bytes(4 - 1) + b"\1" + bytes(8) + (word % 2**64).to_bytes(8, "little") + bytes(20)
    with pytest.raises(CorruptDataError, match=r"bytes (from|in)|a decimal of"):
        RowCodec.of([atomic(kind)]).decode(row[:32])
