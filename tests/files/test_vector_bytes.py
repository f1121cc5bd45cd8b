"""Deletion vectors that are written: their bytes are those of the format, and read as they were."""

from __future__ import annotations

import random
import zlib

import numpy as np
import pytest
from pyroaring import BitMap

from keyfold.files.vectors import MAGIC_32, encoded, from_text, to_text
from keyfold.kernels.buffers import Rows


def drawn(source: random.Random) -> Rows:
    """Positions: some, neighbours, or all of a range."""
    most = source.choice((1, 10, 5000, 1 << 17))
    count = source.choice((1, min(most, 9), most // 2 + 1, most))
    return np.array(sorted(source.sample(range(most), count)), dtype=np.int64)


def test_positions_travel_as_text(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(8):
        positions = drawn(source)
        assert np.array_equal(from_text(to_text(positions)), positions)
    wide = np.array([5, (1 << 32) + 1, (3 << 32) + 7], dtype=np.int64)
    assert np.array_equal(from_text(to_text(wide)), wide)


@pytest.mark.parametrize(("is_wide", "around"), [(False, 0), (True, 8)])
def test_an_index_file_has_a_vector_of_each_data_file(
    seed: int, *, is_wide: bool, around: int
) -> None:
    source = random.Random(seed)
    marks = {f"data-{number}": drawn(source) for number in range(4)}
    data, found = encoded("index-1", marks, is_wide=is_wide)
    assert data[0] == 1
    assert list(found) == list(marks)
    ends = [1]
    for name, vector in found.items():
        assert (vector.file, vector.size, vector.rows) == ("index-1", len(data), len(marks[name]))
        assert vector.offset == ends[-1]
        length = int.from_bytes(data[vector.offset : vector.offset + 4], "big")
        assert vector.length == length + around
        content = data[vector.offset + 4 : vector.offset + 4 + length]
        ends.append(vector.offset + 4 + length + 4)
        assert zlib.crc32(content) == int.from_bytes(data[ends[-1] - 4 : ends[-1]], "big")
        if not is_wide:
            assert content[:4] == MAGIC_32
            assert list(BitMap.deserialize(content[4:])) == marks[name].tolist()
    assert ends[-1] == len(data)
