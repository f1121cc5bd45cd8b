"""Every aggregate, on every type it accepts, against its plain-Python definition."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.aggregates import aggregates, by_name, spelling
from keyfold.aggregates.declaration import Aggregate, BadRecord, Inputs, Pick, Records
from keyfold.aggregates.results import column_result
from keyfold.aggregates.states.opaque import BYTES
from keyfold.kernels.groups.by_key import groups_of_rows
from keyfold.kernels.ops import ADD, RESET, RETRACT, REVERSED, SKIP
from keyfold.testing.tables import cells
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import DataType
from keyfold.types.paimon import from_paimon
from tests.draws import draws
from tests.random_values import ATOMIC, same, value

PAIR = {"type": "ROW", "fields": [{"id": 7, "name": "a", "type": "INT"}]}
PAIR["fields"].append({"id": 8, "name": "b", "type": "STRING"})
MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}
NESTED: dict[str, Any] = {
    **{f"ARRAY<{name}>": {"type": "ARRAY", "element": name} for name in ATOMIC},
    "ARRAY<ROW<a INT, b STRING>>": {"type": "ARRAY", "element": PAIR},
    "ARRAY<ARRAY<DOUBLE>>": {"type": "ARRAY", "element": {"type": "ARRAY", "element": "DOUBLE"}},
    "ARRAY<MAP<STRING, INT>>": {"type": "ARRAY", "element": MAP},
    "ROW<a INT, b STRING>": PAIR,
    "MAP<STRING, INT>": MAP,
    "MAP<STRING, ROW<a INT, b STRING>>": {**MAP, "value": PAIR},
}
KINDS = {name: from_paimon(NESTED.get(name, name)) for name in (*ATOMIC, *NESTED)}
SETTINGS: dict[str, list[dict[str, str]]] = {
    "nested_partial_update": [{"nested-key": "a"}],
    "collect": [{}, {"distinct": "true"}],
    "listagg": [
        {},
        {"list-agg-delimiter": "bc"},
        {"distinct": "true", "list-agg-delimiter": "b"},
        {"list-agg-skip-blank": "false"},
    ],
}


def bind(aggregate: Aggregate, kind: DataType, options: dict[str, str]) -> Aggregate:
    parameters = {parameter.name: parameter for parameter in aggregate.parameters}
    assert options.keys() <= parameters.keys()
    texts = {name: options.get(name, found.default) for name, found in parameters.items()}
    parsed = {
        name: None if text is None else parameters[name].parse(text) for name, text in texts.items()
    }
    return aggregate if aggregate.bind is None else aggregate.bind(parsed, kind)


def bound() -> Iterator[Any]:
    """Every aggregate with each of its settings, on every type it takes."""
    for aggregate in sorted(dict.fromkeys(aggregates().values()), key=lambda found: found.name):
        if aggregate.accepts is BYTES:  # random bytes are no states: test_states.py
            continue
        refuses = aggregate.refuses or (lambda kind: None)
        for name, kind in KINDS.items():
            arrow = to_arrow(kind)
            if not aggregate.accepts.test(arrow) or refuses(kind) is not None:
                continue
            for options in SETTINGS.get(aggregate.name, [{}]):
                words = "".join(f", {option} {text!r}" for option, text in options.items())
                yield pytest.param(
                    bind(aggregate, kind, options), arrow, id=f"{aggregate.name} {name}{words}"
                )


def draw(random: Random, kind: pa.DataType, groups: int, aggregate: Aggregate) -> Inputs:
    sizes = [random.choice((1, 1, 2, 3, 6)) for _ in range(groups)]
    rows, null_rate = sum(sizes), random.choice((0.0, 0.3, 0.9))
    array = pa.array([value(kind, random, null_rate) for _ in range(rows + 2)], kind)
    order = list(range(rows))
    random.shuffle(order)
    known = [ADD, ADD, ADD, SKIP, RESET] + [RETRACT] * (2 * aggregate.is_retractable)
    known += [REVERSED] * (2 * (aggregate.reversal == "own"))
    ops = [ADD if random.random() < 0.5 else random.choice(known) for _ in range(rows)]
    lone = np.repeat(np.array(sizes) == 1, sizes)  # engines add a record that is alone
    inputs = Inputs(
        array.slice(2),
        np.where(lone, ADD, np.array(ops)).astype(np.int8),
        np.array(order, dtype=np.int64),
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
    )
    return added(inputs) if random.random() < 0.3 else inputs


def added(inputs: Inputs) -> Inputs:
    """The same groups as engines give them if every row is added, in the order of rows."""
    order = np.concatenate([np.sort(rows) for rows in np.split(inputs.order, inputs.starts[1:-1])])
    numbers = groups_of_rows(order, inputs.starts, len(order))
    assert numbers is not None
    return replace(inputs, ops=np.ones_like(inputs.ops), order=order, number=lambda: numbers)


def by_definition(aggregate: Aggregate, inputs: Inputs) -> list[Any]:
    """What each group folds to, or the error that says why it folds to nothing."""
    items = cells(inputs.column)
    records = [(op, items[row]) for op, row in zip(inputs.ops.tolist(), inputs.order, strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # FLOAT sums that reach infinity
        return [
            folded(aggregate, records[start:stop])
            for start, stop in pairwise(inputs.starts.tolist())
        ]


def folded(aggregate: Aggregate, records: Records) -> Any:
    try:
        return aggregate.definition(records)
    except ArithmeticError as error:
        return error


def fits(item: Any, kind: pa.DataType) -> bool:
    if item is None or not (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
        return True
    if pa.types.is_decimal(kind):
        return len(item.as_tuple().digits) <= kind.precision
    return -(2 ** (kind.bit_width - 1)) <= item < 2 ** (kind.bit_width - 1)


@pytest.mark.parametrize(("aggregate", "kind"), list(bound()))
@draws(10)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_aggregate_is_its_definition(
    aggregate: Aggregate, kind: pa.DataType, seed: int, groups: int
) -> None:
    inputs = draw(Random(seed), kind, groups, aggregate)
    expected = by_definition(aggregate, inputs)
    failing = {at: item for at, item in enumerate(expected) if isinstance(item, ArithmeticError)}
    if failing:
        with pytest.raises(BadRecord) as refused:
            column_result(aggregate, inputs)
        assert str(failing[refused.value.group]) in str(refused.value)
        return
    overflowing = [group for group, item in enumerate(expected) if not fits(item, kind)]
    result = column_result(aggregate, inputs)
    assert result.overflowed == -1 or result.overflowed in overflowing
    assert (result.overflowed >= 0) == bool(overflowing)
    assert result.array.type == kind
    if not overflowing:
        result.array.validate(full=True)
        found = cells(result.array)
        assert all(map(same, found, expected)), (found, expected)


@pytest.mark.parametrize(
    ("aggregate", "kind"), [each for each in bound() if each.values[0].passes_nulls]
)
@draws(8)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_nulls_change_nothing_where_an_aggregate_says_so(
    aggregate: Aggregate, kind: pa.DataType, seed: int, groups: int
) -> None:
    only_added = replace(aggregate, is_retractable=False, reversal="append")
    inputs = draw(Random(seed), kind, groups, only_added)
    nulls = inputs.column.is_null().to_numpy(zero_copy_only=False)[inputs.order]
    passed = replace(inputs, ops=np.where(nulls & (inputs.ops == ADD), SKIP, inputs.ops))
    found, without = by_definition(aggregate, inputs), by_definition(aggregate, passed)
    pairs = list(zip(found, without, strict=True))
    assert all(same(*pair) for pair in pairs if not isinstance(pair[0], Exception)), pairs


def test_every_aggregate_of_paimon_that_the_issue_asks_for_is_there() -> None:
    assert set(aggregates()) >= {
        *("sum", "max", "min", "last_value", "last_non_null_value", "first_value"),
        *("first_non_null_value", "first_not_null_value", "bool_and", "bool_or"),
        *("product", "count", "listagg", "string_agg", "collect"),
    }


@pytest.mark.parametrize("aggregate", list(dict.fromkeys(aggregates().values())))
def test_every_aggregate_says_what_the_documentation_shows(aggregate: Aggregate) -> None:
    words = (aggregate.summary, aggregate.nulls, aggregate.retraction)
    assert all(words)
    assert not any(text.endswith(".") or text[0].isspace() for text in words)
    assert (aggregate.retraction == "refused") == (not aggregate.is_retractable)


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("LAST-VALUE-IGNORE-NULLS", "last_non_null_value"),
        ("first_value_ignore_nulls", "first_non_null_value"),
        ("String-Agg", "listagg"),
        ("SUM", "sum"),
        ("Max", "max"),
        ("MIN", "min"),
        ("REPLACE", "last_value"),
        ("REPLACE_IF_NOT_NULL", "last_non_null_value"),
        ("HLL_UNION", "hll_sketch"),
        ("BITMAP_UNION", "rbm64"),
        ("QUANTILE_UNION", "quantile_union"),
        ("PERCENTILE_UNION", "quantile_union"),
    ],
)
def test_other_systems_names_are_known(spelled: str, name: str) -> None:
    assert aggregates()[spelling(spelled)].name == name


def test_two_aggregates_of_one_name_are_refused() -> None:
    again = Pick("max", aggregates()["max"].accepts, aggregates()["max"].definition)
    with pytest.raises(ValueError, match=r"aggregate max is declared twice, again in theirs"):
        by_name([("ours", aggregates()["max"]), ("theirs", again)])
    named = by_name([("ours", aggregates()["max"]), ("re-exported", aggregates()["max"])])
    assert list(named) == ["max"]
