"""Groups of a query against the definitions of their aggregates, on random rows."""

import warnings
from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import types
from pyroaring import BitMap64

import keyfold
from keyfold.aggregates import aggregates
from keyfold.aggregates.states.opaque import BYTES
from keyfold.errors import CorruptDataError, TableError
from keyfold.group_by import rounds
from keyfold.group_by.accumulate import Accumulated, GroupError
from keyfold.group_by.bound import BoundCall
from keyfold.kernels.ops import ADD
from keyfold.kernels.roaring import bitmaps
from keyfold.testing.tables import cells
from keyfold.types.logical import Atomic
from keyfold.user_functions.shipping import dumps
from tests.aggregates.test_definitions import KINDS, SETTINGS, fits, folded
from tests.draws import times
from tests.random_values import same, value

MOST = 1 << 20
INT = Atomic("INT")


def calls() -> Iterator[BoundCall]:
    """Every aggregate with each of its settings, on every type it takes."""
    for one in dict.fromkeys(aggregates().values()):
        for kind in () if one.accepts is BYTES else KINDS.values():
            for options in SETTINGS.get(one.name, [{}]):
                call = BoundCall(one.name, kind, options)
                if one.accepts.test(call.arrow_type) and not (one.refuses and one.refuses(kind)):
                    yield call


CALLS = list(calls())


def numbers(*groups: int) -> Any:
    return np.array(groups, dtype=np.int32)


def definition(call: BoundCall, items: list[Any]) -> Any:
    """What the aggregate's definition makes of these values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # FLOAT sums that reach infinity
        return folded(call.aggregate, [(ADD, item) for item in items])


def may_fail(call: BoundCall, items: list[Any]) -> bool:
    """Whether a part of these values folds to what does not fit the type."""
    if not (types.is_integer(call.arrow_type) or types.is_decimal(call.arrow_type)):
        return False
    starts = range(len(items))
    parts = [items[start:stop] for start in starts for stop in range(start + 1, len(items) + 1)]
    return not all(fits(definition(call, part), call.arrow_type) for part in parts)


def drawn(call: BoundCall, random: Random, groups: int) -> list[list[tuple[int, Any]]]:
    """Rows of two tasks: group and value."""
    null_rate = random.choice((0.0, 0.3, 0.9))
    return [
        [
            (random.randrange(groups), value(call.arrow_type, random, null_rate))
            for _ in range(random.randrange(5 * groups))
        ]
        for _ in range(2)
    ]


def accumulated(call: BoundCall, rows: list[tuple[int, Any]], random: Random) -> Accumulated:
    """The rows added in batches, with folds in between."""
    found, start = Accumulated(call, random.choice((0, 100, MOST))), 0
    while start < len(rows):
        stop = start + random.randrange(1, 8)
        groups, items = zip(*rows[start:stop], strict=True)
        found.add(numbers(*groups), pa.array(items, call.arrow_type))
        if random.random() < 0.1:
            found.values(0, 1)
        start = stop
    return found


def by_group(call: BoundCall, rows: list[tuple[int, Any]], groups: int) -> list[list[Any]]:
    """The values of each group, as a job writes them into a table."""
    column = pa.array([item for _, item in rows], call.arrow_type)
    normalize = call.aggregate.normalize
    items = cells(column if normalize is None else normalize(column))
    found: list[list[Any]] = [[] for _ in range(groups)]
    for (group, _), item in zip(rows, items, strict=True):
        found[group].append(item)
    return found


def result(call: BoundCall, items: list[Any]) -> Any:
    """The definition of the values of a group, and of no values at all."""
    return definition(call, items) if items or call.name != "count" else 0


def check(call: BoundCall, found: Accumulated, items: list[list[Any]]) -> None:
    """Compare all groups with their definitions; those of which a part overflows may fail."""
    try:
        shown = cells(found.values(0, len(items)))
    except GroupError as error:
        if not may_fail(call, items[error.group]):
            raise
        return
    wanted = [result(call, own) for own in items]
    assert all(map(same, shown, wanted)), (shown, wanted)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.name} of {call.arrow_type}")
def test_groups_fold_to_their_definitions(call: BoundCall, seed: int) -> None:
    for turn in range(times(2)):
        random = Random(f"{seed} {turn} {call.name} {call.arrow_type}")
        fold_to_definitions(call, random.randrange(1, 13), random)


def fold_to_definitions(call: BoundCall, groups: int, random: Random) -> None:
    """Check groups that two tasks add to, and whose states are merged then."""
    final, states = Accumulated(call, MOST), [[] for _ in range(groups)]
    for rows in drawn(call, random, groups):
        items = by_group(call, rows, groups)
        try:
            task = accumulated(call, rows, random)
        except GroupError as error:
            if not may_fail(call, items[error.group]):
                raise
            return
        check(call, task, items)
        if any(may_fail(call, own) for own in items):
            return
        payloads = pa.concat_arrays(task.states(0, groups))
        found = payloads.is_valid().to_pylist()
        if call.aggregate.running is None:  # for others NULL is as if there were no rows
            assert found == [bool(own) for own in items]
        final.merge(numbers(*range(groups)), payloads)
        for state, own, is_there in zip(states, items, found, strict=True):
            state += [definition(call, own)] if is_there else []
    check(call, final, states)


@given(st.integers(1, 60), st.randoms(use_true_random=False))
@example(40, Random(3))
def test_rounds_change_nothing(groups: int, random: Random) -> None:
    """Groups of which only some are touched in a round keep what they had."""
    call = BoundCall("listagg", Atomic("STRING"), {})
    (rows, more) = drawn(call, random, groups)
    with patch.object(rounds, "LEAST_ROWS", 3):
        one = accumulated(call, rows + more, random)
    texts: list[list[Any]] = [[] for _ in range(groups)]
    for group, item in rows + more:
        texts[group].append(item)
    assert cells(one.values(0, groups)) == [definition(call, own) for own in texts]
    one.clear()
    assert one.held == 0
    assert one.values(0, 2).null_count == 2


def test_states_of_opaque_aggregates_pass_through() -> None:
    call = BoundCall("hll_sketch", Atomic("BYTES"), {})
    one = Accumulated(call, MOST)
    one.add(numbers(2, 0), pa.array([b"any", None]))
    assert list(next(one.states(0, 3)).is_valid().to_pylist()) == [True, False, True]
    again = Accumulated(call, MOST)
    again.merge(numbers(0, 1, 2), next(one.states(0, 3)))
    assert again.values(0, 4).to_pylist() == [None, None, b"any", None]


def test_a_group_that_overflows_is_named_with_its_values() -> None:
    one = Accumulated(BoundCall("sum", INT, {}), MOST)
    one.add(numbers(0, 3, 3, 3, 3, 3), pa.array([1, 2**31 - 1, 5, 0, 0, 0], pa.int32()))
    with pytest.raises(GroupError) as refused:
        one.values(0, 4)
    assert refused.value.group == 3
    assert str(refused.value.error) == (
        "function keyfold.sum, group 3: the sum (2147483652) does not fit INT; "
        "cast its argument: keyfold.sum(CAST(… AS BIGINT))"
    )


@keyfold.aggregate("INT")
def doubled(best: int, value: int) -> int:
    """Twice what was there, and the value."""
    return 2 * best + value


def test_the_advice_is_a_type_that_the_function_takes() -> None:
    one = Accumulated(
        BoundCall("doubled", INT, {}, {"registered": {"doubled": dumps(doubled)}}), MOST
    )
    one.add(numbers(0, 0), pa.array([2**31 - 1, 5], pa.int32()))
    with pytest.raises(GroupError, match="does not fit INT; there is no wider type that it takes"):
        one.values(0, 1)


def test_a_sum_may_leave_its_type_in_between() -> None:
    """Only what is asked for must fit, however far the sum was beyond."""
    most, one = 2**63 - 1, Accumulated(BoundCall("sum", Atomic("BIGINT"), {}), MOST)
    one.add(numbers(0, 0, 0, 2), pa.array([most, most, most, -most - 1]))
    one.add(numbers(0, 0, 2), pa.array([-most, -most, -1]))
    assert one.values(0, 2).to_pylist() == [most, None]
    with pytest.raises(
        GroupError, match=rf"group 2: the sum \({-(2**63) - 1}\) does not fit BIGINT"
    ):
        one.values(0, 3)
    one.add(numbers(2), pa.array([1]))
    assert one.values(2, 3).to_pylist() == [-most - 1]


def test_groups_may_come_in_any_order() -> None:
    one, random, expected = Accumulated(BoundCall("max", INT, {}), MOST), Random(5), {}
    for group in random.sample(range(5000), 500):
        one.add(numbers(group), pa.array([group - 2500], pa.int32()))
        expected[group] = group - 2500
    assert one.values(0, 5100).to_pylist() == [expected.get(group) for group in range(5100)]
    merged = Accumulated(one.call, MOST)
    merged.merge(numbers(*range(5100)), pa.concat_arrays(one.states(0, 5100)))
    assert merged.values(0, 5100).equals(one.values(0, 5100))


def test_a_state_that_can_not_be_read_names_its_group() -> None:
    one = Accumulated(BoundCall("hll_sketch", Atomic("BYTES"), {}), MOST)
    one.add(numbers(5, 5), pa.array([b"no", b"sketch"]))
    with pytest.raises(GroupError) as refused:
        one.values(0, 6)
    assert isinstance(refused.value.error, TableError)
    assert "function keyfold.hll_sketch, group 5: Unable to deser" in str(refused.value.error)


def test_a_bitmap_that_is_too_large_names_its_group() -> None:
    one = Accumulated(BoundCall("rbm32", Atomic("BYTES"), {}), MOST)
    with pytest.raises(GroupError) as refused:
        one.add(numbers(8, 7), pa.array([None, bitmaps.write64(BitMap64([1 << 40]))]))
    assert refused.value.group == 7
    assert str(refused.value).startswith("function keyfold.rbm32, group 7: ")


def test_bytes_that_are_not_a_state_are_refused() -> None:
    one = Accumulated(BoundCall("sum", INT, {}), MOST)
    with pytest.raises(CorruptDataError, match=r"function keyfold\.sum, a state: the bytes of row"):
        one.merge(numbers(0), pa.array([b"short"]))
