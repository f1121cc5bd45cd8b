"""Hashes and bits of Bloom filters against their definitions in plain Python."""

import random

import numpy as np
import pyarrow as pa
import pytest

from keyfold.files.indexes.file_indexes import BloomFilter, number_hash, xxhash64
from keyfold.kernels.buffers import ones, text
from keyfold.kernels.filters import hash_numbers, hash_texts, set_bits

EDGES = [0, 1, -1, 255, 256, -256, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]


def test_numbers() -> None:
    draw = random.Random(1)
    numbers = np.array(EDGES + [draw.randrange(-(2**63), 2**63) for _ in range(200)], np.int64)
    out = np.empty(len(numbers), np.uint64)
    hash_numbers(numbers, out)
    assert out.tolist() == [number_hash(number) for number in numbers.tolist()]


def test_texts_of_each_length() -> None:
    draw = random.Random(2)
    texts = [draw.randbytes(size) for size in range(140)]
    out = np.empty(len(texts) - 1, np.uint64)
    hash_texts(*text(pa.array(texts).slice(1)), out)
    assert out.tolist() == [xxhash64(one) for one in texts[1:]]


@pytest.mark.parametrize(("size", "probes"), [(1, 1), (7, 3), (100, 7)])
def test_bits(size: int, probes: int) -> None:
    draw = random.Random(3)
    hashes = [0, 2**64 - 1, *(draw.randrange(2**64) for _ in range(size))]
    bits = np.zeros(size, np.uint8)
    set_bits(np.array(hashes, np.uint64), ones(len(hashes)), probes, bits)
    found = BloomFilter(bits.tobytes(), probes)
    assert all(found.may_hold(one) for one in hashes)
    # each bit belongs to one of the hashes: without it, that one would not be held
    for at in np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist():
        less = bytearray(bits.tobytes())
        less[at >> 3] ^= 1 << (at & 7)
        assert not all(BloomFilter(bytes(less), probes).may_hold(one) for one in hashes)


def test_nulls_set_no_bit() -> None:
    bits = np.zeros(3, np.uint8)
    set_bits(np.array([5], np.uint64), np.zeros(1, np.uint8), 4, bits)
    assert not bits.any()
