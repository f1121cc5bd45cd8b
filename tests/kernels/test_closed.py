"""Keys of rows among themselves order as `encode` orders them, in whichever form they fit."""

from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.kernels.groups.by_key import group_starts, merge_groups
from keyfold.kernels.keys.closed import encode_closed
from keyfold.kernels.keys.comparable import encode
from keyfold.kernels.keys.order import merge_order, sort_order
from tests.random_values import ATOMIC, value

SEEDS = st.integers(0, 2**32)
KINDS = list(ATOMIC.values())
NARROW = {
    "numbers by range": [pa.array([5, -5, 7]), pa.array([10**15, 10**15 + 9, 10**15])],
    "a high bit apart": [pa.array([0, 2**62]), pa.array([1, 3])],
    "a wide decimal": [pa.array([10**20 + 1, 10**20 - 1, 10**20], pa.decimal128(30, 0))],
    "texts of one length": [pa.array(["item-000007", "item-000001", "item-999999"])],
    "texts and numbers": [pa.array(["user-7", "user-77", "user-"]), pa.array([-1, 1, 0])],
    "equal rows": [pa.array(["a" * 50] * 3), pa.array([1, 1, 1])],
    "a text that is a prefix": [pa.array(["ab", "a", "ab\0", ""])],
}


def close(random: Random, kind: pa.DataType, rows: int) -> pa.Array:
    """Values of a type, often equal, often with much in common."""
    few = [value(kind, random) for _ in range(random.randint(1, 6))]
    if pa.types.is_string(kind):
        start = "same/" * random.randint(0, 3)
        few = [start + item[: random.randint(0, 9)] for item in few]
    return pa.array([random.choice(few) for _ in range(rows)], kind)


def check(columns: list[pa.Array], *, nullable: bool = False) -> None:
    """Order and groups are those of plain keys, also when merging two runs."""
    rows = np.arange(len(columns[0]), dtype=np.int64)
    flags = [nullable] * len(columns)
    plain, closed = encode(columns, flags), encode_closed(columns)
    words, order = sort_order(plain, rows)
    own_words, own_order = sort_order(closed, rows)
    assert own_order.tolist() == order.tolist()
    starts = group_starts(plain, words, order).tolist()
    assert group_starts(closed, own_words, own_order).tolist() == starts
    half = len(rows) // 2
    parts = [sort_order(plain, part)[1] for part in (rows[:half], rows[half:])]
    runs = [column.take(pa.array(np.concatenate(parts))) for column in columns]
    lengths = [half, len(rows) - half]
    merged, starts = map(np.ndarray.tolist, merge_groups(encode_closed(runs, lengths), lengths))
    plain = encode(runs, flags)
    words, order = merge_order(plain, lengths)
    assert merged == order.tolist()
    assert starts == group_starts(plain, words, order).tolist()


@given(SEEDS, st.integers(1, 3), st.integers(1, 40))
def test_order_and_groups_are_those_of_plain_keys(seed: int, count: int, rows: int) -> None:
    random = Random(seed)
    check([close(random, random.choice(KINDS), rows) for _ in range(count)])


@given(SEEDS, st.integers(1, 3), st.integers(1, 40), st.sampled_from([0.0, 0.2, 1.0]))
def test_so_they_are_with_nulls(seed: int, count: int, rows: int, null_rate: float) -> None:
    random = Random(seed)
    drawn = [close(random, random.choice(KINDS), rows) for _ in range(count)]
    mask = [pa.array([random.random() < null_rate for _ in range(rows)]) for _ in drawn]
    holes = [pc.if_else(m, pa.scalar(None, c.type), c) for m, c in zip(mask, drawn, strict=True)]
    check(holes, nullable=True)


def test_a_few_nulls_do_not_make_keys_wide() -> None:
    for column in (pa.array([None, 2**40, 2**40 + 9]), pa.array(["item-007", None, "item-001"])):
        assert not encode_closed([column]).is_wide
        check([column], nullable=True)


@pytest.mark.parametrize("columns", NARROW.values(), ids=NARROW)
def test_keys_that_differ_in_few_bits_are_words(columns: list[pa.Array]) -> None:
    assert not encode_closed(columns).is_wide
    check(columns)


def test_keys_that_differ_in_more_stay_bytes_without_their_common_prefix() -> None:
    texts = [pa.array([f"https://example.com/{number:>20}/x" for number in (7, 10**18, 3)])]
    closed = encode_closed(texts)
    assert closed.is_wide
    assert len(closed.data) < len(encode(texts).data)
    check(texts)


def test_no_rows_have_no_keys() -> None:
    assert len(encode_closed([pa.array([], pa.utf8()), pa.array([], pa.int64())])) == 0
