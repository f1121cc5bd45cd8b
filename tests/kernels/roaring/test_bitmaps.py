"""Bitmaps from and to bytes: Java's own bytes, a slow reader of them, random sets, bad bytes.

tests/vectors/rbm32.json and rbm64.json were written by the RoaringBitmap inside paimon-bundle
1.4.2. A set is a list of [first, count, step]; `canonical` bytes came from values added in
ascending order, then runOptimize.
"""

import base64
import contextlib
import json
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from keyfold.kernels import jit
from keyfold.kernels.roaring import art, bitmaps, containers
from keyfold.kernels.roaring.bitmaps import JAVA, PORTABLE32, PORTABLE64, BitmapError
from tests.kernels.test_kernels import compared, full_name

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def vectors(name: str) -> list[Any]:
    found = json.loads((VECTORS / name).read_text(encoding="ascii"))
    return [pytest.param(vector, id=vector["name"]) for vector in found]


def values(vector: dict[str, Any]) -> set[int]:
    return {
        (int(first) + number * step) % 2**64
        for first, count, step in vector["values"]
        for number in range(count)
    }


@pytest.mark.parametrize("vector", vectors("rbm64.json"))
def test_reads_and_writes_what_java_wrote_of_64_bits(vector: dict[str, Any]) -> None:
    state, expected = base64.b64decode(vector["bytes"]), values(vector)
    assert len(expected) == vector["cardinality"]
    assert bitmaps.form(state) == vector["form"]
    found = bitmaps.read64(state)
    assert set(found) == expected
    if vector["form"] == JAVA:
        assert set(slow_java(state)) == expected
    if vector["canonical"]:
        written = bitmaps.write64(found) if vector["form"] == JAVA else found.serialize()
        assert written == state
    if max(expected, default=0) < 2**32:
        assert set(bitmaps.read32(state)) == expected
    else:
        with pytest.raises(BitmapError, match=rf"it holds {max(expected)}, .*rbm64 takes more"):
            bitmaps.read32(state)


@pytest.mark.parametrize("vector", vectors("rbm32.json"))
def test_reads_and_writes_what_java_wrote_of_32_bits(vector: dict[str, Any]) -> None:
    state, expected = base64.b64decode(vector["bytes"]), values(vector)
    assert bitmaps.form(state) == PORTABLE32
    assert set(bitmaps.read32(state)) == set(bitmaps.read64(state)) == expected
    if vector["canonical"]:
        assert bitmaps.write32(bitmaps.read32(state)) == state


def slow_java(state: bytes) -> Iterator[int]:
    """The numbers of a `Roaring64Bitmap`, each node read by the rules of Java's sources: a child is
    found by its key byte, so this also checks prefixes, key bytes, indexes and masks.
    """
    if state == b"\0":
        return
    (keys,) = struct.unpack_from("<q", state, 1)
    leaves, at = slow_node(state, 9, b"")
    assert len(leaves) == keys
    slots = slow_slots(state, at)
    for key, slot in leaves:
        yield from (int.from_bytes(key, "big") << 16 | low for low in slots[slot])


def slow_node(state: bytes, at: int, path: bytes) -> tuple[list[tuple[bytes, int]], int]:
    kind, children, length = struct.unpack_from("<BhB", state, at)
    at += 4
    if kind == 4:
        key = state[at : at + 6]
        assert key.startswith(path)
        assert (children, length) == (0, 0)
        return [(key, *struct.unpack_from("<q", state, at + 6))], at + 14
    path += state[at : at + length]
    at += length
    size = (4, 16, 256, 32)[kind]
    body, at = state[at : at + size], at + size
    leaves = []
    branches = slow_branches(kind, children, body)
    assert len(branches) == children
    for byte in branches:
        found, at = slow_node(state, at, path + bytes([byte]))
        leaves += found
    return leaves, at


def slow_branches(kind: int, children: int, body: bytes) -> list[int]:
    words = [body[start : start + 8][::-1] for start in range(0, len(body), 8)]
    if kind < 2:
        return list(b"".join(words)[:children])
    if kind == 2:
        slots = b"".join(words)
        assert sorted(set(slots) - {255}) == list(range(children))
        return [byte for byte in range(256) if slots[byte] != 255]
    return [byte for byte in range(256) if body[byte // 8] >> (byte % 8) & 1]


def slow_slots(state: bytes, at: int) -> list[Any]:
    levels, mark, count = struct.unpack_from("<iBi", state, at)
    assert (levels, mark) == (1, 0xFE)
    at += 9
    slots: list[Any] = []
    for _ in range(count):
        at += 1
        if not state[at - 1]:
            slots.append(None)
            continue
        kind, cardinality = struct.unpack_from("<Bi", state, at)
        at += 5
        if kind == 0:
            (runs,) = struct.unpack_from("<H", state, at)
            pairs = struct.unpack_from(f"<{2 * runs}H", state, at + 2)
            slots.append(
                [
                    n
                    for i in range(runs)
                    for n in range(pairs[2 * i], sum(pairs[2 * i : 2 * i + 2]) + 1)
                ]
            )
            at += 2 + 4 * runs
        elif kind == 1:
            bits = int.from_bytes(state[at : at + 8192], "little")
            slots.append([n for n in range(65536) if bits >> n & 1])
            at += 8192
        else:
            slots.append(struct.unpack_from(f"<{cardinality}H", state, at))
            at += 2 * cardinality
        assert len(slots[-1]) == cardinality
    filled = sum(slot is not None for slot in slots)
    assert struct.unpack_from("<qi", state, at) == (filled, 0)
    assert at + 16 == len(state)
    return slots


NUMBERS = st.integers(0, 64).flatmap(lambda bits: st.integers(0, 2**bits - 1))
RANGES = st.tuples(NUMBERS, st.integers(1, 70_000), st.sampled_from((1, 1, 2, 3, 17)))


@st.composite
def sets(draw: Any, widest: int = 2**64) -> BitMap64:
    """Every kind of container and node: single numbers, ranges, and keys that share their ends."""
    found = BitMap64(number % widest for number in draw(st.lists(NUMBERS, max_size=20)))
    for first, count, step in draw(st.lists(RANGES, max_size=3)):
        # As a list: pyroaring's own ranges step beyond 64 bits at the upper end.
        numbers = range(first % widest, min(widest, first % widest + count * step), step)
        found |= BitMap64(list(numbers))
    if draw(st.booleans()):
        first, fan = draw(NUMBERS), draw(st.integers(2, 256))
        shift = 8 * draw(st.integers(2, 7))
        found |= BitMap64((first + (i << shift)) % widest for i in range(fan))
    return found


@given(sets())
def test_every_form_of_a_set_is_read(bitmap: BitMap64) -> None:
    java, portable = bitmaps.write64(bitmap), bitmap.serialize()
    assert (bitmaps.form(java), bitmaps.form(portable)) == (JAVA, PORTABLE64)
    assert bitmaps.read64(java) == bitmaps.read64(portable) == bitmap
    assert BitMap64(slow_java(java)) == bitmap
    assert bitmaps.write64(bitmaps.read64(java)) == java


@given(sets(2**32))
def test_small_numbers_fit_either_width(bitmap: BitMap64) -> None:
    narrow = BitMap(bitmap)
    states = [bitmaps.write64(bitmap), bitmap.serialize(), bitmaps.write32(narrow)]
    assert all(bitmaps.read32(state) == narrow for state in states)
    assert all(bitmaps.read64(state) == bitmap for state in states)
    small, java = bitmaps.to_portable32(pa.array(states)), bitmaps.to_java(pa.array(states))
    assert [bitmaps.form(state) for state in small.to_pylist()] == [PORTABLE32] * 3
    assert [bitmaps.form(state) for state in java.to_pylist()] == [JAVA] * 3
    assert all(bitmaps.read32(state) == narrow for state in small.to_pylist())
    assert all(bitmaps.read64(state) == bitmap for state in java.to_pylist())


def test_the_maps_of_a_64_bit_bitmap_may_be_as_many_as_a_cookie_says() -> None:
    """12346 or 12347 + 65536 k maps begin like a 32-bit bitmap, 257 like Java's with one key."""
    for maps in (257, 256, 12346, 12347):
        bitmap = BitMap64(number << 32 for number in range(maps))
        assert bitmaps.form(bitmap.serialize()) == PORTABLE64
        assert bitmaps.read64(bitmap.serialize()) == bitmap
        java = bitmaps.write64(bitmap)
        assert bitmaps.to_java(pa.array([bitmap.serialize(), java])).to_pylist() == [java, java]
    assert bitmaps.form(bitmaps.write64(BitMap64(number << 16 for number in range(257)))) == JAVA


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_columns_keep_nulls_and_name_what_is_no_bitmap(kind: pa.DataType) -> None:
    small, wide = BitMap([1, 70000]).serialize(), BitMap64([2**40])
    column = pa.array([b"x", None, small, wide.serialize(), b"", b"\x3a\x30junk.....", small], kind)
    java = bitmaps.write64(BitMap64([1, 70000]))
    found = bitmaps.to_java(column.slice(1, 3))
    found.validate(full=True)
    assert (found.type, found.to_pylist()) == (kind, [None, java, bitmaps.write64(wide)])
    ours = pa.array([java, None, b"\0"], kind)
    assert bitmaps.to_java(ours) is ours
    for read in (bitmaps.to_java, bitmaps.to_portable32):
        for row in (0, 4, 5):
            with pytest.raises(BitmapError) as caught:
                read(pa.concat_arrays([column.slice(1, 2), column.slice(row, 1)]))
            assert caught.value.row == 2
    with pytest.raises(BitmapError, match=f"holds {2**40}") as caught:
        bitmaps.to_portable32(column.slice(1))
    assert caught.value.row == 2


def test_containers_of_an_unusual_kind_are_read() -> None:
    """Java never keeps an array above 4096 numbers or a bitmap below; another writer might."""
    usual = bitmaps.write64(BitMap64([1]))
    head, tail = usual[:27] + usual[27:36], usual[-16:]
    wide = b"\1\2" + struct.pack("<i5000H", 5000, *range(0, 15000, 3))
    assert set(bitmaps.read64(head + wide + tail)) == set(range(0, 15000, 3))
    narrow = b"\1\1" + struct.pack("<i", 2) + (1 << 9 | 1 << 65535).to_bytes(8192, "little")
    assert set(bitmaps.read64(head + narrow + tail)) == {9, 65535}


def test_no_container_stands_for_two_leaves() -> None:
    """It would be written once for each, behind the end of what there is room for."""
    one = BitMap64(range(0, 1 << 16, 2))
    java = bytearray(bitmaps.write64(one | BitMap64([1 << 20])))
    leaves = [at for at in range(len(java) - 8192) if java[at : at + 4] == b"\4\0\0\0"][:2]
    assert [java[at + 10] for at in leaves] == [0, 1]
    java[leaves[1] + 10] = 0
    with pytest.raises(BitmapError, match="not each leaf has a container of its own"):
        bitmaps.read64(bytes(java))


def test_runs_that_name_a_number_often_are_refused() -> None:
    """65,535 runs of 65,536 numbers each would take seconds for each container."""
    runs = struct.pack("<H", 65535) + b"\0\0\xff\xff" * 65535
    state = struct.pack("<IBHH", 12347, 1, 0, 65535) + runs
    with pytest.raises(BitmapError, match="the numbers of a container don't ascend"):
        bitmaps.read64(state)


# The format lets runs touch; CRoaring refuses them, as one run would do, and nobody writes them.
RUNS = {
    "apart": ([(0, 4), (6, 4)], True),
    "to the end": ([(0, 4), (65530, 5)], True),
    "touching": ([(0, 4), (5, 4)], False),
    "overlapping": ([(0, 4), (4, 4)], False),
    "descending": ([(6, 4), (0, 4)], False),
    "beyond the end": ([(0, 4), (65530, 6)], False),
    "beyond the end, of all numbers": ([(10, 65535)], False),
}


@pytest.mark.parametrize(("runs", "is_right"), RUNS.values(), ids=RUNS)
def test_runs_are_read_where_croaring_reads_them(
    runs: list[tuple[int, int]], is_right: bool
) -> None:
    count = sum(more + 1 for _, more in runs)
    state = struct.pack("<IBHHH", 12347, 1, 0, count - 1, len(runs))
    state += b"".join(struct.pack("<HH", *run) for run in runs)
    wide = struct.pack("<QI", 1, 0) + state
    if is_right:
        assert bitmaps.read32(state) == BitMap.deserialize(state)
        assert bitmaps.read64(wide) == BitMap64.deserialize(wide)
        return
    with pytest.raises(ValueError, match="run start"):
        BitMap.deserialize(state)
    for read in (bitmaps.read32, bitmaps.read64):
        with pytest.raises(BitmapError, match="don't ascend, two runs of it touch"):
            read(state)
    with pytest.raises(BitmapError):
        bitmaps.read64(wide)


WORDS = {
    "": "0 bytes that begin with '' are no bitmap",
    "616263": "3 bytes that begin with '61 62 63' are no bitmap, neither portable 32-bit",
    "3a30000001000000": "",
    "01" + "01" * 39: "as Roaring64Bitmap, it announces 72340172838076673 keys in 40 bytes",
    "01" + "00" * 20: "it announces 0 keys in 21 bytes",
}


@pytest.mark.parametrize(("state", "words"), WORDS.items())
def test_bad_bytes_are_named(state: str, words: str) -> None:
    for read in (bitmaps.read32, bitmaps.read64):
        with pytest.raises(BitmapError) as caught:
            read(bytes.fromhex(state))
        assert str(caught.value).startswith("Unable to deserialize roaring bitmap: ")
        assert words in str(caught.value)


@given(sets(), st.integers(0, 2**32))
def test_damaged_bytes_are_refused_or_read_but_never_crash(bitmap: BitMap64, seed: int) -> None:
    random = Random(seed)
    for state in (bitmaps.write64(bitmap), bitmap.serialize()):
        with pytest.raises(BitmapError):
            bitmaps.read64(state[:-1])
        damaged = bytearray(state)
        for _ in range(random.choice((1, 3))):
            damaged[random.randrange(min(len(state), 400))] = random.randrange(256)
        with contextlib.suppress(BitmapError):
            stored = bitmaps.to_java(pa.array([bytes(damaged)]))[0].as_py()
            assert bitmaps.read64(stored) == bitmaps.read64(bytes(damaged))


def test_every_kernel_is_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    modules, counted = (art, bitmaps, containers), Counter[str]()
    own = [found for found in jit.DECLARED if found[0].__module__ in [m.__name__ for m in modules]]
    for compiled, signatures in own:
        for signature in signatures:
            compiled.compile(signature)
    known = {id(compiled): compared(compiled, counted) for compiled, _ in own}
    for module in modules:
        for place, found in list(vars(module).items()):
            if id(found) in known:
                monkeypatch.setattr(module, place, known[id(found)])
    bitmap = BitMap64([3, 2**40, *range(0, 20_000, 3), *range(2**33, 2**33 + 90)])
    for shift, fan in ((16, 5), (24, 17), (32, 49)):
        bitmap |= BitMap64(7 + (number << shift) for number in range(fan))
    small = BitMap([1, 2, 70_000])
    states = [bitmaps.write64(bitmap), bitmap.serialize(), small.serialize(), None]
    assert bitmaps.read64(states[0]) == bitmap
    assert bitmaps.to_java(pa.array(states)).to_pylist()[1] == states[0]
    assert bitmaps.to_portable32(pa.array(states[2:])).to_pylist() == states[2:]
    with pytest.raises(BitmapError):
        bitmaps.read64(states[0][:-40])
    assert set(counted) == {full_name(compiled) for compiled, _ in own}
