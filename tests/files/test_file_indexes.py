"""Bloom filters of other writers: which values pass them, and bytes that are no index."""

import struct
from random import Random

import pytest

from keyfold.files.file_indexes import BloomFilter, filters_of, hash_of, xxhash64
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


def index(column: str, kind: str, body: bytes) -> bytes:
    """An index of one column, as Paimon writes it."""
    name, what = column.encode(), kind.encode()
    head = struct.pack(">iH", 1, len(name)) + name + struct.pack(">iH", 1, len(what)) + what
    size = 16 + len(head) + 12
    head += struct.pack(">iii", size, len(body), 0)
    return struct.pack(">qii", 1493475289347502, 1, size) + head + body


FILTER = struct.pack(">i", 3) + b"\x81\0\0\1"


def test_an_index_is_read() -> None:
    assert filters_of(index("k", "bloom-filter", FILTER)) == {"k": BloomFilter(b"\x81\0\0\1", 3)}
    assert filters_of(index("k", "bitmap", FILTER)) == {}


def test_bytes_that_are_no_index_decide_nothing() -> None:
    whole, random = index("k", "bloom-filter", FILTER), Random(1)
    assert all(filters_of(whole[:size]) == {} for size in range(len(whole)))
    assert filters_of(index("k", "bloom-filter", b"\0\0\0\0abc")) == {}
    for _ in range(500):
        data = bytearray(whole)
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        assert len(filters_of(bytes(data))) <= 1
