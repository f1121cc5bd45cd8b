"""Indexes that are written: the values of the columns pass their filters, and few others do."""

import datetime as dt
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from keyfold.files.indexes.file_indexes import BloomFilter, hash_of, indexes_of, number_hash
from keyfold.files.indexes.making import Making
from keyfold.files.paimon_values import stored_type
from keyfold.options.columns.bloom_filters import BloomFilterSize
from keyfold.types.literals import manifest_values
from keyfold.types.paimon import from_paimon

SIZE = BloomFilterSize(200, 0.001)
DAY, MOMENT = dt.date(1960, 2, 3), dt.datetime(1960, 2, 3, 4, 5, 6)
VALUES: dict[str, Sequence[Any]] = {
    "TINYINT": range(-128, 128),
    "SMALLINT": range(-(1 << 15), 1 << 15, 300),
    "INT": range(-(1 << 31), 1 << 31, 1 << 24),
    "BIGINT": range(-(1 << 63), 1 << 63, 1 << 56),
    "STRING": [f"{'é' * (n % 40)}{n}" for n in range(200)],
    "CHAR(9)": [f"{n:<9}" for n in range(200)],
    "BYTES": [bytes([n]) * n for n in range(200)],
    "BINARY(4)": [struct.pack(">i", n) for n in range(200)],
    "DATE": [DAY + dt.timedelta(days=n) for n in range(200)],
    "TIMESTAMP(3)": [MOMENT + dt.timedelta(milliseconds=n) for n in range(200)],
    "TIMESTAMP(6)": [MOMENT + dt.timedelta(microseconds=n) for n in range(200)],
}


def made(column: pa.Array, name: str = "c") -> Making:
    """The filter of a column that comes in two parts, the first of them cut out of an array."""
    making = Making({name: SIZE})
    half = len(column) // 2
    making.add(pa.table({name: pa.chunked_array([column[:half], column[half:]])}))
    return making


def found_in(data: bytes, name: str = "c") -> BloomFilter:
    """The filter of the one column of an index."""
    (found,) = indexes_of(lambda spans: [data[slice(*span)] for span in spans], [name]).values()
    assert found.bloom is not None
    return found.bloom


@pytest.mark.parametrize("name", VALUES)
def test_values_pass(name: str) -> None:
    kind = from_paimon(name)
    array = pa.array(VALUES[name], stored_type(kind))
    hashed = hash_of(kind)
    assert hashed is not None
    values = manifest_values(array)
    held = pa.concat_arrays(
        [array.take(pa.array(range(0, len(array), 2))), pa.nulls(1, array.type)]
    )
    found = found_in(made(held).index())
    assert all(found.may_hold(hashed(value)) for value in values[::2])
    assert sum(found.may_hold(hashed(value)) for value in values[1::2]) <= 2


@pytest.mark.parametrize(("kind", "form"), [(pa.float32(), "<i"), (pa.float64(), "<q")])
def test_floating_values_are_their_bits(kind: pa.DataType, form: str) -> None:
    array = pa.array([1.5, -0.0, float("inf"), -float("nan")], kind)
    found = found_in(made(array).index())
    for value in (1.5, -0.0, float("inf"), float("nan")):
        packed = struct.pack("<f" if form == "<i" else "<d", value)
        assert found.may_hold(number_hash(struct.unpack(form, packed)[0]))
    assert not found.may_hold(number_hash(0))


@pytest.mark.parametrize("name", ["c", "größe", "\U0001f600 x", "\0"])
def test_names(name: str) -> None:
    assert found_in(made(pa.array([1, 2, 3, 4]), name).index(), name).may_hold(number_hash(4))


def test_sizes_are_paimons() -> None:
    sizes = [BloomFilterSize(1_000_000, 0.1), SIZE, BloomFilterSize(1, 0.9)]
    assert [(one.bits, one.probes) for one in sizes] == [(4792536, 3), (2880, 10), (8, 6)]
