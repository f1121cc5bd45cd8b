"""Bitmap indexes in both forms: the values that they have; integration/paimon reads those that
Paimon's Java library writes.
"""

import struct
from typing import Any

import pytest

from keyfold.files.indexes.bitmap_values import held_values
from keyfold.types.paimon import from_paimon


def first_form(values: list[bytes], nulls: int = 0) -> bytes:
    """The dictionary of an index of form 1, with no bitmap behind it."""
    head = struct.pack(">bii?", 1, 100, len(values), nulls > 0)
    head += struct.pack(">i", 0) if nulls else b""
    return head + b"".join(value + struct.pack(">i", 7) for value in values)


def second_form(blocks: list[list[bytes]], nulls: int = 0) -> bytes:
    """The same of form 2, in some blocks."""
    count = sum(map(len, blocks))
    head = struct.pack(">bii?", 2, 100, count, nulls > 0)
    head += struct.pack(">ii", 0, 9) if nulls else b""
    head += struct.pack(">i", len(blocks))
    head += b"".join(block[0] + struct.pack(">i", 0) for block in blocks) + struct.pack(">i", 0)
    for block in blocks:
        head += struct.pack(">i", len(block))
        head += b"".join(value + struct.pack(">ii", 7, 8) for value in block)
    return head


def text(value: str) -> bytes:
    return struct.pack(">i", len(value.encode())) + value.encode()


CASES: list[tuple[str, list[bytes], list[Any], list[Any]]] = [
    ("INT", [struct.pack(">i", n) for n in (-1, 2, 3)], [-1, 2, 3], [0, 1]),
    ("BIGINT", [struct.pack(">q", n) for n in (-1, 2, 3)], [-1, 2, 3], [0, 1]),
    ("TINYINT", [b"\xff", b"\x02"], [-1, 2], [1, 255]),
    ("BOOLEAN", [b"\0"], [False], [True]),
    ("STRING", [text("a"), text(""), text("ä")], ["a", "", "ä"], ["b"]),
    ("DATE", [struct.pack(">i", 9)], [9], [8]),
    ("TIMESTAMP(3)", [struct.pack(">q", -5)], [-5000], [-5, -4999]),
    ("TIMESTAMP(6)", [struct.pack(">q", -5)], [-5], [-5000]),
]


@pytest.mark.parametrize(("name", "stored", "there", "others"), CASES)
@pytest.mark.parametrize("nulls", [0, 1])
def test_values(
    name: str, stored: list[bytes], there: list[Any], others: list[Any], nulls: int
) -> None:
    forms = [first_form(stored, nulls), second_form([stored], nulls)]
    forms.append(second_form([[one] for one in stored], nulls))
    for data in forms:
        found = held_values(data, from_paimon(name))
        assert found is not None
        assert found.has_null == bool(nulls)
        assert [found.may_hold(value) for value in there] == [True] * len(there)
        assert [found.may_hold(value) for value in others] == [False] * len(others)


@pytest.mark.parametrize("name", ["DECIMAL(5, 2)", "TIMESTAMP(9)", "DOUBLE", "CHAR(3)"])
def test_types_that_are_not_read(name: str) -> None:
    assert held_values(first_form([b"abc"]), from_paimon(name)) is None


def test_bytes_that_are_cut_decide_nothing() -> None:
    values = [text(str(number)) for number in range(5)]
    for data in (first_form(values), second_form([values[:2], values[2:]])):
        for size in range(len(data) - 8):
            with pytest.raises((struct.error, ValueError, IndexError)):
                held_values(data[:size], from_paimon("STRING"))


def test_an_index_of_no_values() -> None:
    for data in (first_form([], 1), second_form([], 1)):
        found = held_values(data, from_paimon("INT"))
        assert found is not None
        assert found.has_null
        assert not found.may_hold(1)
