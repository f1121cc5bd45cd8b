"""Aggregate states of groups: merged in a query they are what tables make of them, and their
results those of plain Python over all values.
"""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from keyfold.aggregates import quantile_union
from keyfold.aggregates.agg_state import definition
from keyfold.aggregates.states.bound_signatures import parse
from keyfold.aggregates.states.signature import header_of
from keyfold.errors import CorruptDataError, TableError
from keyfold.group_by.accumulate import GroupError
from keyfold.group_by.bound import BoundCall
from keyfold.group_by.folds import folding
from keyfold.group_by.stated import StateCall
from keyfold.kernels.ops import ADD
from keyfold.kernels.roaring import bitmaps
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic

GROUPS = 5


def state(signature: str, value: Any, constants: str = "") -> bytes:
    """A state whose one field has this value."""
    field = to_arrow(parse(signature).fields[0])
    buffer = encode([pa.array([value], field)])[0].as_py()
    return header_of(signature + constants) + bytes(buffer)


def over(signature: str, *, gives: bool) -> StateCall:
    return StateCall("x_merge", signature, True, gives)


def folded(call: StateCall, tasks: list[list[tuple[int, Any]]]) -> list[Any]:
    """The results of the rows of tasks, and of one more group."""
    final = folding(call, 0)
    kind = pa.binary() if call.takes else pa.int64()
    for rows in tasks:
        task = folding(call, 0)
        groups = np.array([group for group, _ in rows], dtype=np.int32)
        task.add(groups, pa.array([found for _, found in rows], kind))
        sent = pa.concat_arrays(list(task.states(0, GROUPS)))
        final.merge(np.arange(GROUPS, dtype=np.int32), sent)
    found = final.values(0, GROUPS + 1)
    assert found.type == call.arrow_type
    return list(found.to_pylist())


def joined(texts: list[str]) -> str | None:
    return "|".join(texts) if texts else None


def percentile(numbers: list[float]) -> float | None:
    place = (len(numbers) - 1) * 0.25
    below, above = math.floor(place), math.ceil(place)
    found = sorted(numbers)
    if not found:
        return None
    if below == above:
        return found[below]
    return (above - place) * found[below] + (place - below) * found[above]


def mode(values: list[Any]) -> Any:
    counts = Counter(map(repr, values))
    return min(
        (value for value in values if counts[repr(value)] == max(counts.values())),
        key=lambda value: list(value.values()) if isinstance(value, dict) else value,
        default=None,
    )


BAGS: list[tuple[str, str, Any, Any]] = [
    ("collect_list(INT)", "", lambda random: random.randrange(9), list),
    ("array_agg(INT)", "", lambda random: random.choice((None, 1, 2)), list),
    ("group_concat(STRING)", ";separator=|", lambda random: random.choice("abé"), joined),
    ("percentile(DOUBLE)", ";p=0.25", lambda random: random.gauss(0, 9), percentile),
    ("mode(STRING)", "", lambda random: random.choice("abcé"), mode),
    ("mode(DOUBLE)", "", lambda random: random.choice((1.5, -2.0, 7.0)), mode),
    (
        "mode(STRUCT<a: INT, b: STRING>)",
        "",
        lambda random: {"a": random.randrange(2), "b": random.choice("xy")},
        mode,
    ),
]


@pytest.mark.parametrize(("signature", "constants", "draw", "result"), BAGS)
def test_bags(seed: int, signature: str, constants: str, draw: Any, result: Any) -> None:
    """The rows of two tasks, in the order in which these are merged."""
    random, rows, values = Random(seed), [], [[] for _ in range(GROUPS + 1)]
    tasks: list[list[tuple[int, bytes | None]]] = [[(0, None)], []]
    for task in tasks:
        for _ in range(random.randrange(1, 40)):
            group = random.randrange(1, GROUPS)
            some = [draw(random) for _ in range(random.choice((0, 1, 3)))]
            task.append((group, state(signature, some, constants)))
            values[group] += some
        rows += task
    assert folded(over(signature, gives=False), tasks) == [result(found) for found in values]
    for group, one in enumerate(folded(over(signature, gives=True), tasks)):
        of_group = [(ADD, found) for own, found in rows if own == group and found is not None]
        known = definition(parse(signature), of_group)
        assert one == (known if len(of_group) > 1 else known or state(signature, []))


def test_sets() -> None:
    """Of bytes, texts and numbers; NaN is one value."""
    for kind, values in (("STRING", "aba"), ("DOUBLE", (math.nan, 1.0, math.nan)), ("INT", (1, 1))):
        signature = f"collect_set({kind})"
        tasks = [[(0, state(signature, [value])) for value in values] for _ in range(2)]
        (found, *_) = folded(over(signature, gives=False), tasks)
        assert list(map(str, found)) == list(map(str, dict.fromkeys(map(str, values))))


def test_sketches() -> None:
    """As their own functions unite what is in the states; of nothing too."""
    numbers = [BitMap((n, 7)) for n in range(4)]
    states = [state("bitmap_union(BYTES)", bitmaps.write32(one)) for one in numbers]
    tasks = [[(0, states[0]), (0, states[1])], [(0, states[2]), (0, None), (0, states[3])]]
    united = bitmaps.write32(BitMap.union(*numbers))
    nothing = bitmaps.write32(BitMap())
    assert folded(over("bitmap_union(BYTES)", gives=False), tasks) == [united, *[nothing] * GROUPS]
    made = folded(over("bitmap_union(BYTES)", gives=True), tasks)
    assert made[0] == state("bitmap_union(BYTES)", united)
    assert made[-1] == state("bitmap_union(BYTES)", nothing)
    counts = "bitmap_union_count(BYTES)"
    few = [[(0, state(counts, bitmaps.write32(one))) for one in numbers], [(0, None)]]
    assert folded(over(counts, gives=False), few) == [5, *[0] * GROUPS]


def test_quantiles() -> None:
    numbers = [quantile_union.written(2048, np.array([n, 2.0 * n])) for n in (1.0, 5.0)]
    signature = "percentile_approx(DOUBLE)"
    tasks = [[(0, state(signature, one, ";p=0.5"))] for one in numbers]
    found = folded(over(signature, gives=False), tasks)
    assert found[0] == 3.5
    assert all(map(math.isnan, found[1:]))


def test_constants() -> None:
    """Of the first state that holds something; of others there is an error, with the group."""
    signature = "percentile(DOUBLE)"
    empty, one = state(signature, [], ";p=0.1"), state(signature, [7.0], ";p=0.5")
    other = state(signature, [7.0], ";p=0.9")
    for tasks in ([[(1, empty), (1, one)], [(1, empty)]], [[(1, empty)], [(1, one), (1, empty)]]):
        assert folded(over(signature, gives=True), tasks)[1] == one
    assert folded(over(signature, gives=True), [[(1, empty)], [(1, empty)]])[1] == empty
    for tasks in ([[(1, one), (1, other)]], [[(1, one)], [(0, one), (1, other)]]):
        with pytest.raises(
            GroupError, match=r"x_merge.*incompatible.*;p=0.5 and .*;p=0.9"
        ) as failed:
            folded(over(signature, gives=False), tasks)
        assert failed.value.group == 1


def test_what_is_not_such_a_state() -> None:
    wrong = state("mode(STRING)", ["a"])
    for bad, words in (
        (wrong, "got a state of mode"),
        (b"KS", "not a state"),
        (b"", "not a state"),
    ):
        with pytest.raises(
            GroupError, match=f"requires a state of percentile.DOUBLE., .*{words}"
        ) as it:
            folded(over("percentile(DOUBLE)", gives=False), [[(1, None), (2, bad)]])
        assert it.value.group == 2
        assert isinstance(it.value.error, TableError)
    whole = state("mode(STRING)", ["a"])
    with pytest.raises(CorruptDataError, match="x_merge, a state"):
        folded(over("mode(STRING)", gives=False), [[(1, whole[:-8])]])


def test_folds_with_states() -> None:
    """A header, and behind it the value so far; nothing before a row came."""
    fold = BoundCall("product", Atomic("BIGINT"), {})
    signature = "product(BIGINT)"
    nothing = header_of(signature)
    for takes in (True, False):
        rows: list[Any] = [2, 3, 7, None]
        if takes:
            rows = [*(state(signature, one) for one in rows[:3]), None, nothing]
        tasks = [[(1, one) for one in rows], [(2, rows[0]), (1, rows[0])]]
        for gives in (False, True):
            call = StateCall("product_x", signature, takes, gives, fold)
            empty = nothing if gives else None
            made = [state(signature, n) if gives else n for n in (84, 2)]
            assert folded(call, tasks) == [empty, *made, *[empty] * (GROUPS - 2)]
