"""Keys order as Paimon's comparator orders the values, whatever form they take."""

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.kernels.folds.extremes import rank
from keyfold.kernels.groups.by_key import group_starts, merge_groups
from keyfold.kernels.keys import order as order_module
from keyfold.kernels.keys.comparable import Keys, encode, encode_nullable, rows_up_to
from keyfold.kernels.keys.order import merge_order, sort_order
from keyfold.kernels.keys.packed import Packed
from keyfold.kernels.keys.pairwise import merge_steps
from tests.random_values import ATOMIC, value

KINDS = list(ATOMIC.values())
SEEDS = st.integers(0, 2**32)


def draw(
    random: Random, columns: int, rows: int, null_rate: float = 0.0
) -> tuple[list[pa.Array], list[tuple]]:
    kinds = [random.choice(KINDS) for _ in range(columns)]
    lists = [[value(kind, random, null_rate) for _ in range(rows)] for kind in kinds]
    arrays = [pa.array(items, kind) for items, kind in zip(lists, kinds, strict=True)]
    ranks = [tuple(rank_or_null(item) for item in row) for row in zip(*lists, strict=True)]
    return arrays, ranks


def rank_or_null(item: Any) -> tuple[Any, ...]:
    return () if item is None else (rank(item),)


@given(SEEDS, st.integers(1, 3), st.integers(1, 40))
def test_sorting_keys_sorts_the_values_and_is_stable(seed: int, columns: int, rows: int) -> None:
    arrays, expected = draw(Random(seed), columns, rows)
    words, order = sort_order(encode(arrays), np.arange(rows, dtype=np.int64))
    assert order.tolist() == sorted(range(rows), key=lambda row: expected[row])
    assert words.tolist() == encode(arrays).words[order].tolist()


@given(SEEDS, st.integers(1, 2), st.lists(st.integers(0, 12), min_size=1, max_size=7))
def test_merging_runs_is_sorting_them(seed: int, columns: int, lengths: list[int]) -> None:
    random = Random(seed)
    arrays, expected = draw(random, columns, sum(lengths) + 1)
    rows: list[int] = []
    start = 0
    for length in lengths:
        rows += sorted(range(start, start + length), key=lambda row: expected[row])
        start += length
    keys = encode([array.take(pa.array(rows, pa.int64())) for array in arrays])
    words, order = merge_order(keys, lengths)
    assert order.tolist() == sorted(range(len(rows)), key=lambda i: expected[rows[i]])
    assert words.tolist() == keys.words[order].tolist()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(SEEDS, st.integers(1, 30), st.booleans())
def test_one_column_sorts_in_both_directions(
    kind: pa.DataType, seed: int, rows: int, is_descending: bool
) -> None:
    random = Random(seed)
    items = [value(kind, random, 0.3) for _ in range(rows)]
    array = pa.concat_arrays([pa.nulls(1, kind), pa.array(items, kind)]).slice(1)
    keys, valid = encode_nullable(array)
    assert valid.tolist() == [int(item is not None) for item in items]
    present = np.flatnonzero(valid)
    order = sort_order(keys, present, is_descending=is_descending)[1].tolist()
    assert order == sorted(present.tolist(), key=lambda i: rank(items[i]), reverse=is_descending)
    nulls = {keys.scalar(row) for row in range(rows) if not valid[row]}
    assert len(nulls) <= 1


@given(SEEDS, st.integers(1, 2), st.integers(1, 30))
def test_above_counts_the_rows_up_to_a_key(seed: int, columns: int, rows: int) -> None:
    arrays, expected = draw(Random(seed), columns, rows)
    order = sorted(range(rows), key=lambda row: expected[row])
    ordered = [array.take(pa.array(order)) for array in arrays]
    keys = encode(ordered)
    for row in range(rows):
        count = sum(expected[other] <= expected[order[row]] for other in range(rows))
        assert keys.above(keys.scalar(row)) == count
        assert rows_up_to(ordered, keys.scalar(row)) == count


@given(SEEDS, st.integers(1, 3), st.integers(1, 40), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_null_is_the_least_value_and_equal_to_itself(
    seed: int, columns: int, rows: int, null_rate: float
) -> None:
    arrays, expected = draw(Random(seed), columns, rows, null_rate)
    nullable = [True] * columns
    keys = encode(arrays, nullable)
    order = sort_order(keys, np.arange(rows, dtype=np.int64))[1].tolist()
    assert order == sorted(range(rows), key=lambda row: expected[row])
    ordered = [array.take(pa.array(order)) for array in arrays]
    for row in order:
        # Each key encoded by itself, so with or without NULLs in the batch, is the same key.
        alone = encode([array.slice(row, 1) for array in arrays], nullable).scalar(0)
        assert alone == keys.scalar(row)
        count = sum(other <= expected[row] for other in expected)
        assert rows_up_to(ordered, alone, nullable) == count
        assert (keys.scalar(order[0]) == alone) == (expected[order[0]] == expected[row])


def test_null_is_neither_zero_nor_the_empty_text() -> None:
    for items in ([None, ""], [None, b""], [None, 0], [None, False], [None, -(2**63)]):
        (keys,) = (encode([pa.array(items)], [True]),)
        assert keys.scalar(0) < keys.scalar(1)
    pair = [pa.array([None, "", None]), pa.array(["", None, None])]
    keys = encode(pair, [True, True])
    assert keys.scalar(2) < keys.scalar(0) < keys.scalar(1)


def test_a_short_key_is_one_word_and_a_long_one_has_bytes() -> None:
    assert not encode([pa.array([1], pa.int32()), pa.array([2], pa.int32())]).is_wide
    assert encode([pa.array([1], pa.int64()), pa.array([2], pa.int8())]).is_wide
    assert encode([pa.array(["a"])]).is_wide


@pytest.mark.parametrize(
    ("width", "quiet", "negative"),
    [(32, 0x7FC00001, 0xFF800001), (64, 0x7FF8 << 48, 0xFFF0 << 48 | 1)],
)
def test_every_nan_is_the_one_greatest_number(width: int, quiet: int, negative: int) -> None:
    infinities = np.array([np.inf, -np.inf], dtype=f"f{width // 8}").view(f"u{width // 8}")
    bits = np.concatenate((np.array([quiet, negative], dtype=infinities.dtype), infinities))
    kind = pa.float32() if width == 32 else pa.float64()
    numbers = pa.Array.from_buffers(kind, len(bits), [None, pa.py_buffer(bits)])
    words = encode([numbers]).words.tolist()
    assert words[0] == words[1] > words[2] > words[3]


LONG = st.lists(st.lists(st.sampled_from("ab"), max_size=12).map("".join), max_size=40)


@pytest.mark.parametrize("budget", [0, order_module.COMPARISONS])
@given(LONG, st.integers(1, 9), st.sampled_from(["", "seven b"]))
def test_long_keys_that_begin_alike_merge_by_all_their_bytes(
    budget: int, texts: list[str], runs: int, prefix: str
) -> None:
    parts = [sorted(prefix + text for text in texts[start::runs]) for start in range(runs)]
    column = [text for part in parts for text in part]
    keys = encode([pa.array(column, pa.utf8())])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_module, "COMPARISONS", budget)
        words, order = merge_order(keys, list(map(len, parts)))
        again, starts = merge_groups(keys, list(map(len, parts)))
    assert order.tolist() == sorted(range(len(column)), key=lambda row: column[row])
    assert again.tolist() == order.tolist()
    assert starts.tolist() == group_starts(keys, words, order).tolist()
    assert words.tolist() == keys.words[order].tolist()


@pytest.mark.parametrize("bits", [1, 7, 30, 61, 64])
@pytest.mark.parametrize("sizes", [[1], [1000, 3], [3, 0, 1000, 1], [50] * 20, [400, 300, 300, 1]])
def test_runs_of_any_sizes_and_words_of_any_width_merge(bits: int, sizes: list[int]) -> None:
    """As packed words where word and row number fit 64 bits, in two arrays where they don't."""
    draw = np.random.default_rng(bits)
    parts = [np.sort(draw.integers(0, 2**bits - 1, size, dtype=np.uint64)) for size in sizes]
    words = np.concatenate(parts)
    merged, order = merge_order(Keys(words), sizes)
    expected = np.argsort(words, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(merged, words[expected])
    draw.shuffle(words)
    sorted_words, order = sort_order(Keys(words), np.arange(len(words), dtype=np.int64))
    assert np.array_equal(order, np.argsort(words, kind="stable"))
    assert np.array_equal(sorted_words, np.sort(words))
    assert (Packed.of(words) is None) == (bits > 54 and len(words) > 1)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=12))
def test_the_smallest_neighbours_merge_first(lengths: list[int]) -> None:
    sizes = list(lengths)
    for start, middle, stop in merge_steps(lengths):
        pairs = [a + b for a, b in pairwise(sizes)]
        at = pairs.index(min(pairs))
        assert (sum(sizes[:at]), sizes[at], sizes[at + 1]) == (start, middle - start, stop - middle)
        sizes[at : at + 2] = [sizes[at] + sizes[at + 1]]
    assert len(sizes) == 1
