"""Bitmaps and sketches of groups against sets of Python, on random rows of two tasks."""

from random import Random

import numpy as np
import pyarrow as pa
from datasketches import HLL_8, hll_sketch, hll_union
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from keyfold.kernels.roaring import bitmaps
from keyfold.queries.sets import SetCall, Sets

ROWS = (0, 1, 7, 8, 300, 3000, 20000)
MOST = (10, 3000, 70000, 1 << 20, 1 << 33, 1 << 62)
SPAN = 30  # groups of HLL are compared while exact, or within so many thousandths
Wanted = list[set[int]]


def filled(name: str, random: Random, groups: int, rows: int) -> tuple[Sets, Wanted]:
    """Two tasks, whose states are merged, and the numbers of each group."""
    final, wanted, most = Sets(SetCall(name)), [set() for _ in range(groups)], random.choice(MOST)
    for _ in range(2):
        task, left = Sets(SetCall(name)), rows
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


def united(*sketches: hll_sketch) -> float:
    """The estimate of a union."""
    union = hll_union(12)
    for one in sketches:
        union.update(one)
    return float(union.get_estimate())


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=20, deadline=None)
@given(st.sampled_from((1, 3, 40)), st.sampled_from(ROWS), st.randoms(use_true_random=False))
@example(1, 20000, Random(4))
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
