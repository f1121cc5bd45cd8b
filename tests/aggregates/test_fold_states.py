"""States of folds, keyfold's own and users', merge to what the fold makes of all values."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyfold
from keyfold.aggregates import aggregates
from keyfold.aggregates.agg_state import AGG_STATE
from keyfold.aggregates.declaration import Aggregate, BadRecord, Inputs
from keyfold.aggregates.results import column_result
from keyfold.aggregates.states.bound_signatures import find, fold_of, parse
from keyfold.aggregates.states.signature import Signature, text_of
from keyfold.errors import KeyfoldError, TableError
from keyfold.kernels.ops import ADD
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.options import provided
from keyfold.testing.tables import cells
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic
from keyfold.user_functions import shipping
from keyfold.user_functions.sources import Sources
from tests.draws import draws
from tests.random_values import same, value

DECLARED = (
    "product(bigint)",
    "product(double)",
    "last_non_null_value(string)",
    "first_non_null_value(struct<a: int, b: string>)",
    "collect(array<int>)",
    "collect(array<string>, distinct => 'true')",
    "merge_map(map<string, int>)",
    "nested_update(array<struct<a: int, b: string>>, nested_key => 'a')",
)


def result(found: Signature, column: pa.Array) -> Any:
    """What the fold makes of the values of one group."""
    count = len(column)
    ops, order = np.full(count, ADD, np.int8), np.arange(count, dtype=np.int64)
    return column_result(fold_of(found), Inputs(column, ops, order, np.array([0, count]))).array


def bound(found: Signature) -> Aggregate:
    assert AGG_STATE.bind is not None
    return AGG_STATE.bind({"agg-state": found}, Atomic("BYTES"))


def merged(found: Signature, states: list[bytes | None], starts: list[int]) -> list[Any]:
    """The states of groups of states, merged in a table."""
    count, ends = len(states), np.array(starts, dtype=np.int64)
    ops, order = np.full(count, ADD, np.int8), np.arange(count, dtype=np.int64)
    column = pa.array(states, pa.binary())
    return column_result(bound(found), Inputs(column, ops, order, ends)).array.to_pylist()


def state(found: Signature, column: pa.Array) -> bytes:
    """The state of some values."""
    payload = encode([result(found, column)])[0].as_py() if len(column) else b""
    return found.header() + bytes(payload)


@pytest.mark.parametrize("declared", DECLARED)
@draws(10)
@given(st.integers(0, 2**32))
def test_states_merge_to_the_fold_of_all_values(declared: str, seed: int) -> None:
    random, found = Random(seed), parse(declared)
    kind = to_arrow(found.fields[0])
    states: list[bytes | None] = []
    wanted, starts = [], [0]
    for _ in range(3):
        parts = [
            pa.array([value(kind, random, 0.2) for _ in range(random.choice((0, 1, 2)))], kind)
            for _ in range(random.randrange(1, 4))
        ]
        if "product(bigint)" in declared:
            parts = [pa.array([random.randrange(-9, 9) for _ in part], kind) for part in parts]
        states += [state(found, part) for part in parts]
        starts.append(len(states))
        values = pa.concat_arrays(parts)
        wanted.append(cells(result(found, values))[0] if len(values) else "nothing")
    for one, expected in zip(merged(found, states, starts), wanted, strict=True):
        assert text_of(one) == found.text
        payload = one[len(found.header()) :]
        if expected == "nothing":
            assert payload == b""
        else:
            (column,) = decode(pa.array([payload], pa.binary()), [kind])
            assert same(cells(column)[0], expected)


def test_every_aggregate_has_states() -> None:
    assert all(find(one.name) for one in aggregates().values() if one is not AGG_STATE)
    assert find("agg_state") is None
    assert parse(parse(DECLARED[5]).declared).text == "collect(ARRAY<STRING>,distinct => 'true')"


@keyfold.aggregate("BIGINT", name="widest")
def widest(best: int, value: int) -> int:
    """the number that is farthest from 0"""
    return value if abs(value) > abs(best) else best


def test_states_of_a_users_function_need_its_code() -> None:
    sources = Sources(registered={"widest": shipping.dumps(widest)})
    with pytest.raises(TableError, match="function widest has no states"):
        parse("widest(bigint)")
    with provided.by(sources):
        found = parse("widest(bigint not null)")
        assert found.text == "widest(BIGINT)"
        parts = [pa.array(part, pa.int64()) for part in ([3, -9], [], [4])]
        (one,) = merged(found, [state(found, part) for part in parts], [0, 3])
    assert decode(pa.array([one[len(found.header()) :]]), [pa.int64()])[0].to_pylist() == [-9]
    options = {"fields.v.agg-state": found.declared}
    assert set(sources.for_options(options)["registered"]) == {"widest"}


def test_a_product_that_does_not_fit_names_its_group() -> None:
    found = parse("product(bigint)")
    large = state(found, pa.array([1 << 40]))
    with pytest.raises(BadRecord, match="product does not fit int64") as refused:
        merged(found, [large, large, large], [0, 1, 3])
    assert refused.value.group == 1


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("collect(int)", "collect"),
        ("collect(array<int>, sorted => 'true')", "option sorted is unknown"),
        ("collect(array<int>, distinct => 'maybe')", "option distinct"),
        ("product(int, int)", "takes one column, then options"),
        ("sum(int, distinct => 'true')", "sum has no options"),
    ],
)
def test_what_is_refused(declared: str, words: str) -> None:
    with pytest.raises(KeyfoldError) as refused:
        parse(declared)
    assert words in str(refused.value)
