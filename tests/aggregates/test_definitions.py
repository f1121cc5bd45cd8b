"""Every aggregate, on every type it accepts, against its plain-Python definition."""

import warnings
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyfold.aggregates import aggregates, collect
from keyfold.aggregates.declare import ADD, RESET, RETRACT, SKIP, Aggregate, Combine, Inputs, Pick
from keyfold.merge.results import column_result
from keyfold.testing.tables import cells
from keyfold.testing.values import ATOMIC, same, value

NESTED = {"ARRAY<INT>": pa.list_(pa.int32()), "ROW<a STRING>": pa.struct([("a", pa.utf8())])}
CASES = [
    pytest.param(aggregate, kind, id=f"{aggregate.name}-{kind}")
    for aggregate in sorted(set(aggregates().values()), key=lambda aggregate: aggregate.name)
    for kind in [*ATOMIC.values(), *NESTED.values()]
    if aggregate.accepts.test(kind) and not isinstance(aggregate, Combine)  # see test_states.py
]


def draw(random: Random, kind: pa.DataType, groups: int, is_retractable: bool) -> Inputs:
    sizes = [random.choice((1, 1, 2, 3, 6)) for _ in range(groups)]
    rows, null_rate = sum(sizes), random.choice((0.0, 0.3, 0.9))
    array = pa.array([value(kind, random, null_rate) for _ in range(rows + 2)], kind)
    order = list(range(rows))
    random.shuffle(order)
    known = [ADD, ADD, ADD, SKIP, RESET] + [RETRACT] * (2 * is_retractable)
    ops = [ADD if random.random() < 0.5 else random.choice(known) for _ in range(rows)]
    return Inputs(
        array.slice(2),
        np.array(ops, dtype=np.int8),
        np.array(order, dtype=np.int64),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
    )


def by_definition(aggregate: Aggregate, inputs: Inputs) -> list[Any]:
    items = cells(inputs.column)
    records = [(op, items[row]) for op, row in zip(inputs.ops.tolist(), inputs.order, strict=True)]
    starts = inputs.starts.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # FLOAT sums that reach infinity
        return [aggregate.definition(records[start:stop]) for start, stop in pairwise(starts)]


def fits(item: Any, kind: pa.DataType) -> bool:
    if item is None or not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return True
    if pa.types.is_decimal(kind):
        return len(item.as_tuple().digits) <= kind.precision
    return -(2 ** (kind.bit_width - 1)) <= item < 2 ** (kind.bit_width - 1)


@pytest.mark.parametrize(("aggregate", "kind"), CASES)
@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_aggregate_is_its_definition(
    aggregate: Aggregate, kind: pa.DataType, seed: int, groups: int
) -> None:
    inputs = draw(Random(seed), kind, groups, aggregate.is_retractable)
    expected = by_definition(aggregate, inputs)
    overflowing = [group for group, item in enumerate(expected) if not fits(item, kind)]
    result = column_result(aggregate, inputs)
    assert result.overflowed == -1 or result.overflowed in overflowing
    assert (result.overflowed >= 0) == bool(overflowing)
    assert result.array.type == kind
    if not overflowing:
        result.array.validate(full=True)
        found = cells(result.array)
        assert all(map(same, found, expected)), (found, expected)


def test_every_aggregate_of_paimon_that_the_issue_asks_for_is_there() -> None:
    assert set(aggregates()) >= {
        *("sum", "max", "min", "last_value", "last_non_null_value", "first_value"),
        *("first_non_null_value", "first_not_null_value", "bool_and", "bool_or"),
    }


def test_two_aggregates_of_one_name_are_refused() -> None:
    again = Pick("max", aggregates()["max"].accepts, aggregates()["max"].definition)
    with pytest.raises(ValueError, match=r"aggregate max is declared twice, again in theirs"):
        collect([("ours", aggregates()["max"]), ("theirs", again)])
    named = collect([("ours", aggregates()["max"]), ("re-exported", aggregates()["max"])])
    assert list(named) == ["max"]
