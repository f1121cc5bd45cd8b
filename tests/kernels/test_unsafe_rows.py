"""Columns as rows of Spark's own form and back; bytes that are not such rows are refused."""

import datetime
import struct
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import types

from keyfold.errors import CorruptDataError, NotSupportedError
from keyfold.kernels.buffers import is_text
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from tests.draws import times
from tests.random_values import ATOMIC, EPOCH, same, value

NESTED = (
    pa.struct([("a", pa.int32()), ("b", pa.utf8()), ("d", pa.decimal128(38, 3))]),
    pa.list_(pa.list_(pa.int16())),
    pa.map_(pa.utf8(), pa.struct([("x", pa.list_(pa.decimal128(30, 2)))])),
    pa.list_(pa.map_(pa.int32(), pa.binary())),
)
KINDS = (
    *ATOMIC.values(),
    *(pa.list_(kind) for kind in ATOMIC.values()),
    *NESTED,
    pa.large_string(),
)


def whole(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def nulls(items: list[Any]) -> bytes:
    """One bit for each item that is None, in whole words."""
    bits = sum(1 << place for place, item in enumerate(items) if item is None)
    return bits.to_bytes((len(items) + 63) // 64 * 8, "little")


def inline(kind: pa.DataType, item: Any) -> bytes:
    """The little-endian bytes of a fixed-width value."""
    size = 1 if types.is_boolean(kind) else 8 if types.is_decimal(kind) else kind.bit_width // 8
    if item is None:
        return bytes(size)
    if types.is_floating(kind):
        return struct.pack("<f" if size == 4 else "<d", item)
    if types.is_decimal(kind):
        item = int(item.scaleb(kind.scale))
    elif types.is_timestamp(kind):
        item = (item.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)
    elif types.is_date(kind):
        item = (item - EPOCH.date()).days
    elif types.is_time(kind):
        since = datetime.datetime.combine(EPOCH, item) - EPOCH
        item = since // datetime.timedelta(microseconds=1) * 1000
    return int(item).to_bytes(size, "little", signed=not types.is_boolean(kind))


def is_wide(kind: pa.DataType) -> bool:
    return types.is_decimal(kind) and kind.precision > 18


def is_inline(kind: pa.DataType) -> bool:
    return not (types.is_nested(kind) or is_text(kind) or is_wide(kind))


def part(kind: pa.DataType, item: Any) -> bytes:
    """The bytes of a value that is not inline."""
    if types.is_struct(kind):
        return row([f.type for f in kind], [item[f.name] for f in kind])
    if types.is_list(kind):
        return array(kind.value_type, item)
    if types.is_map(kind):
        keys, items = ([pair[i] for pair in item] for i in (0, 1))
        own = array(kind.key_type, keys)
        return len(own).to_bytes(8, "little") + own + array(kind.item_type, items)
    if types.is_decimal(kind):
        with_digits = Decimal(item).as_tuple()
        unscaled = int("".join(map(str, with_digits.digits))) * (-1 if with_digits.sign else 1)
        bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length()
        return unscaled.to_bytes(bits // 8 + 1, "big", signed=True)
    return item.encode() if isinstance(item, str) else bytes(item)


def joined(front: bytes, kinds: list[pa.DataType], items: list[Any], *, is_row: bool) -> bytes:
    """`front`, the slot of each item, and the parts of those that have one."""
    sizes = [8 if is_row or not is_inline(kind) else len(inline(kind, None)) for kind in kinds]
    fixed, parts = b"", b""
    begin = len(front) + len(whole(bytes(sum(sizes))))
    for kind, item, size in zip(kinds, items, sizes, strict=True):
        if is_inline(kind):
            sign = b"\xff" if types.is_decimal(kind) and item is not None and item < 0 else b"\0"
            fixed += inline(kind, item).ljust(size, sign)
        else:
            is_reserved = is_row and is_wide(kind)
            own = b"" if item is None else part(kind, item)
            at = 0 if item is None and not is_reserved else begin + len(parts)
            fixed += struct.pack("<II", len(own), at)
            parts += own.ljust(16, b"\0") if is_reserved else whole(own)
    return front + whole(fixed) + parts


def row(kinds: list[pa.DataType], items: list[Any]) -> bytes:
    return joined(nulls(items), kinds, items, is_row=True)


def array(kind: pa.DataType, items: list[Any]) -> bytes:
    front = len(items).to_bytes(8, "little") + nulls(items)
    return joined(front, [kind] * len(items), items, is_row=False)


def columns_of(kinds: list[pa.DataType], count: int, random: Random) -> list[pa.Array]:
    """Random columns, sliced out of longer ones."""
    found = []
    for kind in kinds:
        plain = pa.utf8() if types.is_large_string(kind) else kind
        items = [value(plain, random, 0.2) for _ in range(count + 3)]
        found.append(pa.array(items, kind).slice(2, count))
    return found


@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.integers(0, 20),
    st.integers(0, 70),
    st.randoms(use_true_random=False),
)
def test_rows_are_those_of_the_definition_and_come_back(
    kinds: list[pa.DataType], count: int, more: int, random: Random
) -> None:
    kinds = kinds + [pa.int8()] * more  # beyond 64 fields the NULLs take a second word
    columns = columns_of(kinds, count, random)
    rows = encode(columns)
    items = [column.to_pylist() for column in columns]
    expected = [row(kinds, list(own)) for own in zip(*items, strict=True)]
    assert rows.to_pylist() == expected
    for found, column in zip(decode(rows, kinds), columns, strict=True):
        found.validate(full=True)
        assert found.type == column.type
        assert same(found.to_pylist(), column.to_pylist())


def test_rows_come_from_any_place_and_may_be_null() -> None:
    columns = [pa.array([1, None, 3]), pa.array(["abc", "", None])]
    kinds = [column.type for column in columns]
    texts = encode(columns).to_pylist()
    shifted = pa.array([b"odd", *texts[:2], None, texts[2]]).slice(1)
    found = decode(shifted, kinds)
    assert [column.to_pylist() for column in found] == [[1, None, None, 3], ["abc", "", None, None]]
    assert [column.to_pylist() for column in decode(pa.nulls(2, pa.binary()), kinds)] == [
        [None, None],
        [None, None],
    ]
    assert [len(column) for column in decode(pa.array([], pa.binary()), kinds)] == [0, 0]


def test_a_long_array_has_its_nulls_in_several_words() -> None:
    items = [None if number % 3 else number for number in range(200)]
    column = pa.array([items, [], None, items[:65]], pa.list_(pa.int32()))
    assert decode(encode([column]), [column.type])[0].equals(column)


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        (bytes(8), pa.int64(), "1 fields take 16 bytes or more"),
        (bytes(17), pa.int64(), "not a multiple of 8"),
        (bytes(8) + struct.pack("<II", 1, 16), pa.utf8(), "points outside"),
        (bytes(8) + struct.pack("<II", 1, 8), pa.utf8(), "points outside"),
        (bytes(8) + struct.pack("<II", 9, 16) + bytes(8), pa.utf8(), "points outside"),
        (bytes(8) + struct.pack("<q", 1000), pa.decimal128(3, 0), "more digits"),
        (bytes(8) + struct.pack("<II", 17, 16) + bytes(24), pa.decimal128(38, 0), "1 to 16 bytes"),
        (bytes(8) + struct.pack("<IIq", 8, 16, -1), pa.list_(pa.int8()), "shorter than its length"),
        (bytes(8) + struct.pack("<IIq", 8, 16, 9), pa.map_(pa.int8(), pa.int8()), "larger than"),
    ],
)
def test_other_bytes_are_refused(data: bytes, kind: pa.DataType, words: str) -> None:
    right = encode([pa.nulls(1, kind)])[0].as_py()
    with pytest.raises(CorruptDataError, match=f"row 1 are not a row of Spark: .*{words}"):
        decode(pa.array([right, data]), [kind])


def test_parts_can_not_share_bytes() -> None:
    pointer = struct.pack("<II", 8, 24)
    twice = bytes(8) + pointer * 2 + b"abcdefgh"
    with pytest.raises(CorruptDataError, match="larger than the row"):
        decode(pa.array([twice]), [pa.utf8(), pa.utf8()])


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_damaged_bytes_never_crash(kind: pa.DataType, seed: int) -> None:
    """A decoded array is sound, whatever the bytes are."""
    random = Random(f"{seed} {kind}")
    for _ in range(times(3)):
        decode_damaged(kind, [random.randrange(41) for _ in range(random.randrange(1, 41))], random)


def decode_damaged(kind: pa.DataType, words: list[int], random: Random) -> None:
    whole = bytearray(encode(columns_of([kind], 3, random))[0].as_py())
    for number in words:
        whole[number % len(whole)] = number if random.random() < 0.8 else random.randrange(256)
    for data in (bytes(whole), np.array(words, dtype=np.uint64).tobytes()):
        try:
            found = decode(pa.array([data, None]), [kind])[0]
        except CorruptDataError:
            continue
        found.validate()
        assert len(found) == 2


def test_a_type_that_spark_lacks_is_refused() -> None:
    with pytest.raises(NotSupportedError, match="null"):
        encode([pa.nulls(1)])
