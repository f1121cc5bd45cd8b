"""Rows decoded later against the same rows decoded at once, and columns picked from several."""

from functools import partial
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.merge.column_results import Columns
from keyfold.merge.deferred import Deferred

LIST = pa.list_(pa.int64())


def some(random: Random, rows: int) -> pa.RecordBatch:
    """Rows of a key and three other columns, with nulls."""
    numbers = [random.choice((None, random.randrange(100))) for _ in range(rows)]
    return pa.RecordBatch.from_pydict(
        {
            "k": pa.array([random.randrange(100) for _ in range(rows)], pa.int64()),
            "number": pa.array(numbers, pa.int32()),
            "text": pa.array([None if n is None else "x" * (n % 7) for n in numbers], pa.utf8()),
            "list": pa.array([None if n is None else [n] * (n % 3) for n in numbers], LIST),
        }
    )


def later(batch: pa.RecordBatch, asked: list[int]) -> Deferred:
    """The same rows with the key decoded; says when the others are asked for."""

    def rest() -> pa.RecordBatch:
        asked.append(batch.num_rows)
        return batch.select(["number", "text", "list"])

    return Deferred(batch.select(["k"]), rest, 20.0)


@given(st.integers(0, 2**32), st.integers(0, 30))
def test_cut_and_filtered_rows_are_those_of_the_batch(seed: int, rows: int) -> None:
    random, asked = Random(seed), list[int]()
    batch = some(random, rows)
    found = later(batch, asked)
    for _ in range(random.randrange(5)):
        if random.random() < 0.5:
            start, length = random.randrange(batch.num_rows + 1), random.choice((None, 0, 3, 40))
            batch, found = batch.slice(start, length), found.slice(start, length)
        else:
            passes = pa.array([random.random() < 0.7 for _ in range(batch.num_rows)], pa.bool_())
            batch, found = batch.filter(passes), found.filter(passes)
    assert found.num_rows == batch.num_rows
    assert found.column("k").equals(batch.column("k"))
    assert found.column(0).equals(batch.column(0))
    assert not asked
    names = ["text", "k", "list"]
    assert found.select(names).equals(batch.select(names))
    assert all(found.column(name).equals(batch.column(name)) for name in batch.schema.names)


@given(st.integers(0, 2**32), st.integers(1, 6), st.booleans())
def test_picks_of_several_batches_are_those_of_one(seed: int, parts: int, has_nulls: bool) -> None:
    random, asked = Random(seed), [list[int]() for _ in range(parts)]
    batches = [some(random, random.randrange(1, 9)) for _ in range(parts)]
    mixed = [
        later(batch, own) if random.random() < 0.6 else batch
        for batch, own in zip(batches, asked, strict=True)
    ]
    whole = pa.Table.from_batches(batches).combine_chunks()
    used = random.sample(range(parts), random.randrange(parts + 1))
    bounds = np.cumsum([0] + [batch.num_rows for batch in batches])
    rows = [row for part in used for row in range(bounds[part], bounds[part + 1])]
    picks = np.array(random.choices(rows, k=12) if rows else [], dtype=np.int64)
    if random.random() < 0.2:
        picks = np.arange(random.randrange(bounds[-1]), bounds[-1])
        used = list(range(parts))
    if has_nulls:
        picks = np.concatenate((picks, [-1])).astype(np.int64)
    columns = Columns(mixed, whole.schema.names)
    if random.random() < 0.5:
        assert columns["k"].equals(whole["k"].chunk(0))
    names = random.sample(whole.schema.names, 3)
    expected = pa.array([None if pick < 0 else pick for pick in picks.tolist()], pa.int64())
    for name, column in zip(names, columns.taken(names, picks), strict=True):
        assert column.equals(whole[name].chunk(0).take(expected))
    picked = {int(np.searchsorted(bounds, pick, side="right")) - 1 for pick in picks if pick >= 0}
    if picked and parts > 1:
        assert all(not own for part, own in enumerate(asked) if part not in picked)


def test_a_column_that_no_batch_has_is_missed() -> None:
    columns = Columns([some(Random(1), 3)], ["k"])
    assert list(columns) == ["k"]
    assert len(columns) == 1
    with pytest.raises(KeyError):
        columns["text"]


def test_the_size_of_deferred_rows_counts_what_is_still_to_come() -> None:
    batch = pa.RecordBatch.from_pydict({"k": pa.array(range(100), pa.int64())})
    found = Deferred(batch, partial(batch.select, []), 20.0)
    assert found.nbytes == 2800
    assert found.slice(10, 10).nbytes == 280
