"""Bitmaps and sketches of groups against sets of Python, on random rows of two tasks."""

from contextlib import suppress
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from datasketches import HLL_4, HLL_6, HLL_8, hll_sketch, hll_union
from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.sets import SetCall, Sets
from keyfold.kernels.roaring import bitmaps
from tests.draws import draws

ROWS = (0, 1, 7, 8, 300, 3000, 20000)
MOST = (10, 3000, 70000, 1 << 20, 1 << 33, 1 << 62)
SPAN = 30  # groups of HLL are compared while exact, or within so many thousandths
Wanted = list[set[int]]


def filled(name: str, random: Random, groups: int, rows: int) -> tuple[Sets, Wanted]:
    """Two tasks, whose states are merged, and the numbers of each group."""
    final, wanted, most = (
        Sets(SetCall(name, "numbers")),
        [set() for _ in range(groups)],
        random.choice(MOST),
    )
    for _ in range(2):
        task, left = Sets(SetCall(name, "numbers")), rows
        while left > 0:
            count = min(left, random.choice((1, 1000, 1 << 15)))
            numbers = [None if random.random() < 0.02 else 0 for _ in range(count)]
            numbers = [one if one is None else random.randrange(-3, most) for one in numbers]
            of = [random.randrange(groups) for _ in range(count)]
            task.add(np.array(of, dtype=np.int32), pa.array(numbers, pa.int64()))
            for group, number in zip(of, numbers, strict=True):
                if number is not None:
                    wanted[group].add(number)
            if random.random() < 0.1:
                task.values(0, groups)
            left -= count
        states = pa.concat_arrays(list(task.states(0, groups + 1)))
        final.merge(np.arange(groups + 1, dtype=np.int32), states)
    return final, wanted


def bitmap(numbers: set[int]) -> bytes:
    """The bytes of those numbers that a bitmap can hold."""
    found = sorted(number for number in numbers if number >= 0)
    is_wide = bool(found) and found[-1] >> 32
    return bitmaps.write64(BitMap64(found)) if is_wide else bitmaps.write32(BitMap(found))


def sketch(numbers: set[int]) -> hll_sketch:
    """The union of the sketches of each number."""
    union = hll_union(12)
    for number in numbers:
        one = hll_sketch(12, HLL_8)
        one.update(number)
        union.update(one)
    return union.get_result(HLL_8)


def head_of(numbers: set[int]) -> bytes:
    """How a sketch of the numbers begins: its form, its sizes, its flags."""
    one = hll_sketch(12, HLL_4)
    for number in numbers:
        one.update(number)
    return bytes(one.serialize_compact())[:6]


def united(*sketches: hll_sketch) -> float:
    """The estimate of a union."""
    union = hll_union(12)
    for one in sketches:
        union.update(one)
    return float(union.get_estimate())


@draws(20)
@given(st.sampled_from((1, 3, 40)), st.sampled_from(ROWS), st.randoms(use_true_random=False))
@example(1, 20000, Random(4))
def test_bitmaps_of_numbers(groups: int, rows: int, random: Random) -> None:
    state = random.getstate()
    made, wanted = filled("bitmap_agg", random, groups, rows)
    assert made.values(0, groups + 1).to_pylist() == [bitmap(own) for own in [*wanted, set()]]
    random.setstate(state)
    counted, _ = filled("bitmap_union_int", random, groups, rows)
    counts = [sum(number >= 0 for number in own) for own in wanted]
    assert counted.values(0, groups).to_pylist() == counts
    assert counted.held > 0 or not rows
    counted.clear()
    assert counted.values(0, 2).to_pylist() == [0, 0]


@draws(10)
@given(st.sampled_from((1, 3, 40)), st.sampled_from(ROWS), st.randoms(use_true_random=False))
@example(1, 20000, Random(4))
@example(3, 300, Random(3))
def test_sketches_of_numbers(groups: int, rows: int, random: Random) -> None:
    """A sketch that is not exact has seen just what the union of single ones has."""
    state = random.getstate()
    made, wanted = filled("hll_union", random, groups, rows)
    random.setstate(state)
    counted, _ = filled("hll_union_agg", random, groups, rows)
    counts = counted.values(0, groups).to_pylist()
    for own, count, found in zip(wanted, counts, made.values(0, groups).to_pylist(), strict=True):
        one, other = hll_sketch.deserialize(found), sketch(own)
        assert united(one, other) == united(one, one) == united(other, other)
        assert abs(one.get_estimate() - count) <= 0.5
        assert abs(count - len(own)) <= (0 if len(own) < 300 else len(own) * SPAN / 500)
        assert len(own) >= 300 or found[:6] == head_of(own)


def stored_bitmap(random: Random, numbers: list[int]) -> tuple[bytes, bool]:
    """A bitmap in any form that can hold the numbers, and whether that is one of 64 bits."""
    forms = (
        ["java", "portable"] if max(numbers, default=0) >> 32 else ["java", "portable", "narrow"]
    )
    form = random.choice(forms)
    if form == "narrow":
        return bitmaps.write32(BitMap(numbers)), False
    wide = BitMap64(numbers)
    return (bitmaps.write64(wide) if form == "java" else bytes(wide.serialize())), True


def united_in_tasks(name: str, of: str, groups: list[int], rows: list[bytes | None]) -> Sets:
    """What two tasks have made of stored sets."""
    final, half = Sets(SetCall(name, of)), len(rows) // 2
    for part in (slice(0, half), slice(half, None)):
        task = Sets(SetCall(name, of))
        task.add(np.array(groups[part], dtype=np.int32), pa.array(rows[part], pa.binary()))
        final.merge(np.arange(4, dtype=np.int32), next(task.states(0, 4)))
    return final


@draws(20)
@given(st.integers(0, 20), st.randoms(use_true_random=False))
def test_stored_bitmaps(count: int, random: Random) -> None:
    """A union has the form of 64 bits if any of them has."""
    rows: list[bytes | None] = []
    groups, wanted, wide = [], [set() for _ in range(4)], set()
    for _ in range(count):
        most, size = random.choice(MOST[:5]), random.choice((0, 1, 300, 9000))
        start = random.randrange(most)
        several = [random.randrange(most) for _ in range(size)]
        numbers = several if random.random() < 0.6 else list(range(start, start + size))
        state, is_wide = stored_bitmap(random, numbers)
        group = random.randrange(3)
        groups += [group, group]
        rows += [state, None]
        wanted[group].update(numbers)
        wide |= {group} if is_wide else set()
    made = united_in_tasks("bitmap_union", "bitmaps", groups, rows).values(0, 4).to_pylist()
    for group, (own, found) in enumerate(zip(wanted, made, strict=True)):
        numbers = sorted(own)
        of = (
            bitmaps.write64(BitMap64(numbers))
            if group in wide
            else bitmaps.write32(BitMap(numbers))
        )
        assert found == of
    counted = united_in_tasks("bitmap_union_count", "bitmaps", groups, rows)
    assert counted.values(0, 4).to_pylist() == [len(own) for own in wanted]


def test_states_with_nulls_between() -> None:
    """Groups without a state of this task are passed over."""
    task, final = (Sets(SetCall("bitmap_union_int", "numbers")) for _ in range(2))
    task.add(np.array([0, 1, 1], dtype=np.int32), pa.array([1, 2, 3]))
    one, other = next(task.states(0, 2)).to_pylist()
    states = pa.array([None, one, None, other, None], pa.binary())
    final.merge(np.arange(5, dtype=np.int32), states)
    assert final.values(0, 5).to_pylist() == [0, 1, 0, 2, 0]


def test_cut_states_are_refused() -> None:
    numbers = [*range(9), *range(70_000, 70_300, 3), *range(1 << 33, (1 << 33) + 5)]
    large = hll_sketch(12, HLL_4)
    for number in range(400_000):
        large.update(number)
    wide = BitMap64(numbers)
    for of, name, state, most in (
        ("bitmaps", "bitmap_union", bitmaps.write64(wide), 1 << 20),
        ("bitmaps", "bitmap_union", bytes(wide.serialize()), 1 << 20),
        ("bitmaps", "bitmap_union", bitmaps.write32(BitMap(numbers[:-5])), 1 << 20),
        ("sketches", "hll_union", bytes(large.serialize_compact()), 60),
    ):
        for size in range(max(len(state) - most, 1), len(state)):
            with pytest.raises(GroupError, match=f": {size} bytes"):
                Sets(SetCall(name, of)).add(
                    np.zeros(1, dtype=np.int32), pa.array([state[:size]], pa.binary())
                )


@draws(30)
@given(st.lists(st.binary(max_size=60) | st.sampled_from([bytes(40), b"\x3b\x30" + bytes(30)])))
@example([b"\x01" + bytes(8) + b"\x01" * 40])
def test_other_bytes_are_refused(rows: list[bytes]) -> None:
    """Those that are not a bitmap, or not a sketch, as the library that reads them one by one."""
    for of, name in (("bitmaps", "bitmap_union"), ("sketches", "hll_union")):
        for row in rows:
            task, column = Sets(SetCall(name, of)), pa.array([row], pa.binary())
            if of == "bitmaps" and bitmaps.form(row) is None:
                with pytest.raises(GroupError, match=f"not a bitmap: {len(row)} bytes"):
                    task.add(np.zeros(1, dtype=np.int32), column)
            else:
                with suppress(GroupError):
                    task.add(np.zeros(1, dtype=np.int32), column)


def test_damaged_bitmaps_and_sketches() -> None:
    """Whatever single bytes are, they are read or refused."""
    draw = Random(8)
    numbers = [*range(5000), *(draw.randrange(1 << 20) for _ in range(300))]
    sound = [stored_bitmap(draw, numbers)[0] for _ in range(6)]
    own = sketch(set(range(9000)))
    for of, name, states in (
        ("bitmaps", "bitmap_union", sound),
        (
            "sketches",
            "hll_union",
            [bytes(own.serialize_compact()), bytes(own.serialize_updatable())],
        ),
    ):
        for _ in range(300):
            bytes_ = bytearray(draw.choice(states))
            bytes_[draw.randrange(min(len(bytes_), 60))] = draw.randrange(256)
            task = Sets(SetCall(name, of))
            with suppress(GroupError):
                column = pa.array([bytes(bytes_)], pa.binary())
                task.add(np.zeros(1, dtype=np.int32), column)
                next(task.states(0, 1))


SKETCHES = [(12, HLL_4, 5), (12, HLL_8, 200), (12, HLL_6, 6000), (12, HLL_4, 90000)]
SKETCHES += [(14, HLL_4, 40000), (14, HLL_8, 9), (10, HLL_4, 6000), (10, HLL_6, 7), (4, HLL_8, 500)]
SKETCHES += [(12, HLL_4, 400_000), (14, HLL_6, 60_000)]  # the first has exceptions among its slots


def registers(sketch: hll_sketch) -> bytes:
    """The registers of a large sketch."""
    union = hll_union(12)
    union.update(sketch)
    return bytes(union.get_result(HLL_8).serialize_updatable())[40:]


@pytest.mark.parametrize(("lg_k", "kind", "count"), SKETCHES)
@pytest.mark.parametrize("is_compact", [False, True])
def test_stored_sketches(lg_k: int, kind: object, count: int, is_compact: bool) -> None:
    """A union is as near as its coarsest sketch, one sketch estimates as itself."""
    one, other = hll_sketch(lg_k, kind), hll_sketch(12, HLL_4)
    for number in range(count):
        one.update(number)
    for number in range(count // 2, count // 2 + 3000):
        other.update(number)
    rows = [bytes(own.serialize_compact()) for own in (one, other)]
    if not is_compact:
        rows = [bytes(own.serialize_updatable()) for own in (one, other)]
    groups, states = [0, 0, 1, 1, 2], [rows[0], rows[1], None, rows[0], rows[1]]
    counts = united_in_tasks("hll_union_agg", "sketches", groups, states).values(0, 4).to_pylist()
    assert counts[1:] == [round(one.get_estimate()), round(other.get_estimate()), 0]
    wanted = max(count, count // 2 + 3000)
    assert abs(counts[0] - wanted) <= (0.1 * wanted if lg_k > 4 else wanted)
    made = united_in_tasks("hll_union", "sketches", groups, states).values(0, 4).to_pylist()
    for found, count_ in zip(made, counts, strict=True):
        assert round(hll_sketch.deserialize(found).get_estimate()) == count_
    whole = hll_sketch(min(lg_k, 12) if count > 7 else 12, HLL_8)  # a list has no slots yet
    for number in range(wanted):
        whole.update(number)
    assert registers(hll_sketch.deserialize(made[0])) == registers(whole)


@pytest.mark.parametrize("lg_k", [0, 3, 22, 255])
def test_sketches_of_other_sizes_are_refused(lg_k: int) -> None:
    for head, form in ((2, 0), (3, 1), (10, 8 | 2)):
        row = bytes((head, 1, 7, lg_k, 0, 8, 0, form)) + bytes(1 << 10)
        with pytest.raises(GroupError, match="not an HLL sketch: 1032 bytes"):
            Sets(SetCall("hll_union", "sketches")).add(
                np.zeros(1, dtype=np.int32), pa.array([row], pa.binary())
            )


@given(st.lists(st.text(max_size=40) | st.none(), max_size=60))
def test_sketches_of_texts(texts: list[str | None]) -> None:
    """The items are DataSketches' own, of texts that are not empty."""
    made, one = Sets(SetCall("hll_union", "texts")), hll_sketch(12, HLL_8)
    made.add(np.zeros(len(texts), dtype=np.int32), pa.array(texts, pa.string()))
    found = hll_sketch.deserialize(made.values(0, 1)[0].as_py())
    for text in texts:
        if text:
            one.update(text)
    more = 1 if "" in texts else 0
    assert abs(united(one, found) - len(set(texts) - {None})) < 0.5
    assert abs(found.get_estimate() - one.get_estimate() - more) < 0.01


@given(st.lists(st.integers(-(2**70), 2**70) | st.none(), max_size=60))
def test_bitmaps_of_decimals(numbers: list[int | None]) -> None:
    """Numbers from 0 to 2^64 - 1 are kept."""
    made = Sets(SetCall("bitmap_agg", "numbers"))
    column = pa.array(numbers, pa.decimal128(38, 0))
    made.add(np.zeros(len(numbers), dtype=np.int32), column)
    wanted = {number for number in numbers if number is not None and 0 <= number < 2**64}
    assert bitmaps.read64(made.values(0, 1)[0].as_py()) == BitMap64(wanted)
