"""Every form of a user's function equals its definition in plain Python, on random columns."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.aggregates.declaration import Aggregate, Inputs
from keyfold.aggregates.results import column_result
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.testing.tables import cells
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.user_functions.decorators import aggregate_of
from keyfold.user_functions.user_function import UserFunction
from tests.aggregates.test_definitions import by_definition, fits
from tests.draws import draws
from tests.random_values import same, value
from tests.user_functions import functions

STATE = [
    {"id": 0, "name": "times", "type": "INT"},
    {"id": 1, "name": "total", "type": "DOUBLE NOT NULL"},
    {"id": 2, "name": "weight", "type": "DOUBLE"},
]
TYPES = {
    functions.total: ("TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE"),
    functions.capped: ("INT", "DATE", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "DOUBLE"),
    functions.poisoned: ("BIGINT", "DOUBLE"),
    functions.odd: ("BOOLEAN",),
    functions.greatest: ("DOUBLE",),
    functions.weighted: ({"type": "ROW", "fields": STATE},),
    functions.longest: ("STRING",),
    functions.latest: ("STRING", "BYTES", "DATE", "BOOLEAN", "DOUBLE"),
    functions.middle: ("STRING", "DECIMAL(18, 0)", "BIGINT"),
    functions.joined: ("BYTES",),
    functions.joined_words: ("STRING",),
}
CASES = [
    pytest.param(own, paimon_types.from_paimon(kind), id=f"{own.name}-{str(kind)[:9]}")
    for own, kinds in TYPES.items()
    for kind in kinds
]


def draw(random: Random, kind: pa.DataType, groups: int, is_retractable: bool) -> Inputs:
    sizes = [random.choice((1, 1, 2, 3, 6)) for _ in range(groups)]
    rows, null_rate = sum(sizes), random.choice((0.0, 0.3, 0.9))
    array = pa.array([_cell(kind, random, null_rate) for _ in range(rows + 2)], kind)
    order = list(range(rows))
    random.shuffle(order)
    known = [ADD, ADD, SKIP, RESET] + [RETRACT] * (2 * is_retractable)
    ops = [ADD if random.random() < 0.5 else random.choice(known) for _ in range(rows)]
    return Inputs(
        array.slice(2),
        np.array(ops, dtype=np.int8),
        np.array(order, dtype=np.int64),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
    )


def _cell(kind: pa.DataType, random: Random, null_rate: float) -> object:
    """Numbers are small: what users' functions do at the edges of 64 bits is theirs."""
    if random.random() < null_rate:
        return None
    if pa.types.is_struct(kind):
        return {f.name: _cell(f.type, random, null_rate / 9 * f.nullable) for f in kind}
    if pa.types.is_integer(kind):
        return random.randrange(-50, 50)
    return random.randrange(-99, 99) / 4 if pa.types.is_floating(kind) else value(kind, random)


@pytest.mark.parametrize(("own", "kind"), CASES)
@draws(15)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_a_function_is_its_definition(
    own: UserFunction, kind: logical.DataType, seed: int, groups: int
) -> None:
    declared, arrow = aggregate_of(own), arrow_types.to_arrow(kind)
    assert declared.accepts.test(arrow)
    assert declared.bind is not None
    aggregate: Aggregate = declared.bind({}, kind)
    inputs = draw(Random(seed), arrow, groups, aggregate.is_retractable)
    expected = by_definition(aggregate, inputs)
    if own.form in ("combine",):
        starts = inputs.starts.tolist()
        expected = [
            cells(inputs.column)[inputs.order[start]]
            if stop - start == 1 and inputs.ops[start] != SKIP
            else item
            for start, stop, item in zip(starts, starts[1:], expected, strict=False)
        ]
    overflowing = [group for group, item in enumerate(expected) if not fits(item, arrow)]
    result = column_result(aggregate, inputs)
    assert (result.overflowed in overflowing) == bool(overflowing)
    assert result.array.type == arrow
    if not overflowing:
        result.array.validate(full=True)
        found = cells(result.array)
        assert all(map(same, found, expected)), (found, expected)


def test_layout_of_a_struct_is_by_name() -> None:
    kind = paimon_types.from_paimon({"type": "ROW", "fields": STATE})
    accepts = aggregate_of(functions.weighted).accepts
    assert accepts.test(arrow_types.to_arrow(kind))
    assert accepts.words == "STRUCT<total: DOUBLE, weight: DOUBLE, times: INT>"
    assert not accepts.test(arrow_types.to_arrow(paimon_types.from_paimon("DOUBLE")))
    short = paimon_types.from_paimon({"type": "ROW", "fields": STATE[:2]})
    assert not accepts.test(arrow_types.to_arrow(short))
