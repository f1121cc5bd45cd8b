"""Bloom filters of other writers: which values pass them, and bytes that are no index."""

import struct
from random import Random

import pytest

from keyfold.files.indexes.file_indexes import (
    BloomFilter,
    ColumnIndex,
    Spans,
    hash_of,
    indexes_of,
    xxhash64,
)
from keyfold.types.paimon import from_paimon

# By the reference implementation of xxHash.
HASHES = {
    b"": 0xEF46DB3751D8E999,
    b"a": 0xD24EC4F1A98C6E5B,
    b"abc": 0x44BC2CF5AD770999,
    b"Nobody inspects the spammish repetition": 0xFBCEA83C8A378BF1,
}


@pytest.mark.parametrize("data", HASHES)
def test_xxhash(data: bytes) -> None:
    assert xxhash64(data) == HASHES[data]


@pytest.mark.parametrize("kind", ["FLOAT", "DECIMAL(9, 2)", "BOOLEAN", "TIMESTAMP(9)"])
def test_types_without_a_filter(kind: str) -> None:
    assert hash_of(from_paimon(kind)) is None


def index(*filters: tuple[str, str, bytes]) -> bytes:
    """An index of columns, of each its kind and bytes, as Paimon writes it."""
    texts = [
        (len(column), column.encode(), len(kind), kind.encode()) for column, kind, _ in filters
    ]
    at = 20 + sum(2 + of + 4 + 2 + more + 8 for of, _, more, _ in texts) + 4
    head, size = struct.pack(">i", len(filters)), at
    for (of, column, more, kind), (_, _, body) in zip(texts, filters, strict=True):
        head += struct.pack(">H", of) + column + struct.pack(">iH", 1, more) + kind
        head += struct.pack(">ii", at, len(body))
        at += len(body)
    head += struct.pack(">i", 0)
    bodies = b"".join(body for _, _, body in filters)
    return struct.pack(">qii", 1493475289347502, 1, size) + head + bodies


class Part:
    """An index of which spans are read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.asked = data, list[tuple[int, int]]()

    def __call__(self, spans: Spans) -> list[bytes]:
        self.asked += spans
        return [self.data[slice(*span)] for span in spans]


def found(data: bytes) -> dict[str, ColumnIndex]:
    """The indexes of the column k."""
    return indexes_of(Part(data), ["k"])


FILTER = struct.pack(">i", 3) + b"\x81\0\0\1"
LARGE = struct.pack(">i", 3) + b"\x81" * 100_000


def test_an_index_is_read() -> None:
    assert found(index(("k", "bloom-filter", FILTER))) == {
        "k": ColumnIndex(BloomFilter(b"\x81\0\0\1", 3))
    }
    assert found(index(("k", "bitmap", FILTER))) == {"k": ColumnIndex(bitmap=FILTER)}
    assert found(index(("k", "bsi", FILTER))) == {}
    assert found(index(("v", "bloom-filter", FILTER))) == {}


def test_filters_of_other_columns_are_not_read() -> None:
    others = [(name, "bloom-filter", LARGE) for name in "abc"]
    part = Part(index(*others, ("k", "bloom-filter", LARGE), ("z", "bloom-filter", LARGE)))
    assert indexes_of(part, ["k"]) == {"k": ColumnIndex(BloomFilter(LARGE[4:], 3))}
    read = sum(stop - start for start, stop in part.asked)
    assert read < 2 * len(LARGE) < len(part.data) // 2


def test_many_columns_have_a_head_of_their_own() -> None:
    names = [f"column_{number:05}" for number in range(3000)]
    part = Part(index(*((name, "bloom-filter", FILTER) for name in names)))
    assert indexes_of(part, names[-2:]).keys() == {*names[-2:]}


def test_bytes_that_are_no_index_decide_nothing() -> None:
    whole, random = index(("k", "bloom-filter", FILTER)), Random(1)
    assert all(found(whole[:size]) == {} for size in range(len(whole)))
    assert found(index(("k", "bloom-filter", b"\0\0\0\0abc"))) == {}
    large = index(("v", "bloom-filter", LARGE), ("k", "bloom-filter", LARGE))
    assert found(large[:-1]) == {}
    for _ in range(500):
        data = bytearray(whole)
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        assert len(found(bytes(data))) <= 1
