"""The bucket hash against the hashes Paimon's own code gives, which the Scala side shares."""

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyfold.files.paimon_values import stored_type
from keyfold.kernels.keys.hash import bucket_hash
from keyfold.types.paimon import from_paimon

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "bucket_hash.json").read_text())


def value(name: str, json_value: Any) -> Any:
    if json_value is None:
        return None
    if name.startswith("DECIMAL"):
        return Decimal(json_value)
    if name.startswith("TIMESTAMP"):
        return datetime.datetime.fromisoformat(json_value)
    if name == "DATE":
        return datetime.date.fromisoformat(json_value)
    return bytes.fromhex(json_value) if name == "BYTES" else json_value


def columns(vector: dict[str, Any]) -> list[pa.Array]:
    cells = zip(vector["types"], vector["row"], strict=True)
    return [pa.array([value(name, cell)], stored_type(from_paimon(name))) for name, cell in cells]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['types']}{vector['row']}")
def test_hash_is_paimons(vector: dict[str, Any]) -> None:
    assert bucket_hash(columns(vector)).tolist() == [vector["hash"]]


def test_rows_are_hashed_each_alone_and_slices_as_whole_arrays() -> None:
    texts = pa.array(["abc", "abcdefghi", "", "abcdefgh", "é"])
    expected = [-101922419, 890550442, 302122119, -843760178, -1531579217]
    assert bucket_hash([texts]).tolist() == expected
    assert bucket_hash([texts.slice(1, 3)]).tolist() == expected[1:4]


@pytest.mark.parametrize(
    "number",
    [0, 1, -1, 127, 128, -128, -129, 2**63, -(2**63), 2**64 - 1, 10**38 - 1, -(10**38) + 1],
)
def test_wide_decimals_are_laid_out_as_minimal_big_endian_bytes(number: int) -> None:
    length = (number if number >= 0 else ~number).bit_length() // 8 + 1
    row = bytearray(8) + (16 << 32 | length).to_bytes(8, "little")
    row += number.to_bytes(length, "big", signed=True).ljust(16, b"\0")
    words = pa.array([Decimal(number)], pa.decimal128(38, 0))
    assert bucket_hash([words]).tolist() == [murmur3(bytes(row))]


def murmur3(data: bytes) -> int:
    """Murmur3, 32 bit, seed 42, of whole 4-byte words: the definition."""
    state, mask = 42, 0xFFFFFFFF
    for at in range(0, len(data), 4):
        word = int.from_bytes(data[at : at + 4], "little") * 0xCC9E2D51 & mask
        word = (word << 15 | word >> 17) * 0x1B873593 & mask
        state ^= word
        state = ((state << 13 | state >> 19) & mask) * 5 + 0xE6546B64 & mask
    state ^= len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & mask
    state = (state ^ state >> 13) * 0xC2B2AE35 & mask
    state ^= state >> 16
    return state - 2**32 if state >= 2**31 else state
