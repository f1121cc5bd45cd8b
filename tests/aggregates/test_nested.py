"""Aggregates over nested tables and maps against their definitions, with every kind of option."""

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import Aggregate, BadRecord, Inputs
from keyfold.aggregates.results import column_result
from keyfold.errors import TableError
from keyfold.kernels.groups.codes import codes, ranks
from keyfold.kernels.ops import ADD, RESET, RETRACT, SKIP
from keyfold.merge.plan import check
from keyfold.testing.tables import layout
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.types import spark as spark_types
from tests.draws import draws
from tests.random_values import same, value

TABLE = "ARRAY<ROW<a INT, b STRING, c DOUBLE, d ARRAY<INT>>>"
TIMES = "MAP<STRING, ROW<v INT, ts STRING>>"
CASES: list[tuple[str, str, dict[str, str]]] = [
    ("nested_update", TABLE, {}),
    ("nested_update", TABLE, {"count-limit": "2"}),
    ("nested_update", TABLE, {"nested-key": "a"}),
    ("nested_update", TABLE, {"nested-key": "a,b", "count-limit": "2"}),
    ("nested_update", TABLE, {"nested-key": "b", "nested-sequence-field": "c"}),
    ("nested_update", TABLE, {"nested-key": "a", "nested-sequence-field": "b,c"}),
    ("nested_update", TABLE, {"nested-key": "a,c", "nested-key-null-strategy": "ignore"}),
    ("nested_update", TABLE, {"nested-key": "d", "nested-key-null-strategy": "merge"}),
    ("nested_partial_update", TABLE, {"nested-key": "a"}),
    ("nested_partial_update", TABLE, {"nested-key": "b,a", "nested-key-null-strategy": "ignore"}),
    ("merge_map", "MAP<INT, STRING>", {}),
    ("merge_map", "MAP<STRING, ARRAY<INT>>", {}),
    ("merge_map", "MAP<BYTES, INT>", {}),
    ("merge_map", "MAP<DECIMAL(20, 2), DOUBLE>", {}),
    ("merge_map_with_keytime", TIMES, {}),
    ("merge_map_with_keytime", "MAP<INT, ROW<t STRING, v INT>>", {"ts-field": "t"}),
]


def kind_of(text: str) -> logical.DataType:
    return spark_types.from_spark(_spark(text))


def _spark(text: str) -> Any:
    """Spark's JSON of the few nested types of this test."""
    name, _, rest = text.partition("<")
    if name == "ARRAY":
        return {"type": "array", "elementType": _spark(rest[:-1]), "containsNull": True}
    if name == "MAP":
        key, item = _split(rest[:-1])
        return {
            "type": "map",
            "keyType": _spark(key),
            "valueType": _spark(item),
            "valueContainsNull": True,
        }
    if name == "ROW":
        fields = [part.split(" ", 1) for part in _split(rest[:-1])]
        return {
            "type": "struct",
            "fields": [
                {"name": n, "type": _spark(t), "nullable": True, "metadata": {}} for n, t in fields
            ],
        }
    plain = {"INT": "integer", "BYTES": "binary", "DECIMAL(20, 2)": "decimal(20,2)"}
    return plain.get(text, text.lower())


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += letter in "<("
        depth -= letter in ">)"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def bound(name: str, kind: logical.DataType, options: dict[str, str]) -> Aggregate:
    declared = aggregates()[name]
    if declared.bind is None:
        return declared
    found = {
        p.name: None if (text := options.get(p.name, p.default)) is None else p.parse(text)
        for p in declared.parameters
    }
    return declared.bind(found, kind)


def item(kind: pa.DataType, random: Random) -> Any:
    """A random list or map: few keys, NULL rows and values, keys of a map once."""
    if random.random() < 0.15:
        return None
    if pa.types.is_map(kind):
        entries = {
            repr(key := value(kind.key_type, random)): (key, value(kind.item_type, random, 0.2))
            for _ in range(random.randrange(4))
        }
        return list(entries.values())
    element = kind.value_type
    return [
        None
        if random.random() < 0.1
        else {field.name: value(field.type, random, 0.25) for field in element}
        for _ in range(random.randrange(4))
    ]


def draw(random: Random, kind: pa.DataType, is_retractable: bool) -> Inputs:
    sizes = [random.choice((1, 1, 2, 3, 6)) for _ in range(random.randrange(1, 25))]
    rows = sum(sizes)
    array = pa.array([item(kind, random) for _ in range(rows + 3)], kind).slice(2, rows)
    order = list(range(rows))
    random.shuffle(order)
    known = [ADD, ADD, ADD, SKIP, RESET] + [RETRACT] * (2 * is_retractable)
    ops = [ADD if random.random() < 0.5 else random.choice(known) for _ in range(rows)]
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    lone = np.repeat(np.array(sizes) == 1, sizes)
    made = np.where(lone, ADD, np.array(ops)).astype(np.int8)
    return Inputs(array, made, np.array(order, dtype=np.int64), starts)


@pytest.mark.parametrize(("name", "text", "options"), CASES)
@draws(30)
@given(st.integers(0, 2**32))
def test_aggregate_is_its_definition(
    name: str, text: str, options: dict[str, str], seed: int
) -> None:
    kind = kind_of(text)
    aggregate = bound(name, kind, options)
    inputs = draw(Random(seed), arrow_types.to_arrow(kind), aggregate.is_retractable)
    items = inputs.column.to_pylist()
    records = [(op, items[row]) for op, row in zip(inputs.ops.tolist(), inputs.order, strict=True)]
    result = column_result(aggregate, inputs).array
    result.validate(full=True)
    assert result.type == inputs.column.type
    for group, found in enumerate(result.to_pylist()):
        part = records[inputs.starts[group] : inputs.starts[group + 1]]
        expected = aggregate.definition(part)
        assert same(found, expected), (part, found, expected)


def test_a_null_in_a_nested_key_can_be_an_error_of_its_group() -> None:
    kind = kind_of(TABLE)
    strict = {"nested-key": "a", "nested-key-null-strategy": "error"}
    aggregate = bound("nested_update", kind, strict)
    good, bad = [{"a": 1, "b": "x"}], [{"a": None, "b": "x"}]
    column = pa.array([bad, good, good, good, bad], arrow_types.to_arrow(kind))
    order, starts = np.arange(5), np.array([0, 1, 3, 5])
    with pytest.raises(BadRecord, match="Nested key contains null values") as caught:
        column_result(aggregate, Inputs(column, np.ones(5, np.int8), order, starts))
    assert caught.value.group == 2


@given(st.integers(0, 2**32))
def test_retractions_are_errors_where_the_definition_says_so(seed: int) -> None:
    kind = kind_of(TABLE)
    strict = {"nested-key": "a", "nested-key-null-strategy": "error"}
    aggregate = bound("nested_update", kind, strict)
    inputs = draw(Random(seed), arrow_types.to_arrow(kind), True)
    items = inputs.column.to_pylist()
    for start, stop in pairwise(inputs.starts.tolist()):
        order, ops = inputs.order[start:stop], inputs.ops[start:stop]
        alone = Inputs(inputs.column, ops, order, np.array([0, stop - start]))
        records = [(op, items[row]) for op, row in zip(ops.tolist(), order, strict=True)]
        try:
            expected = aggregate.definition(records)
        except ValueError:
            with pytest.raises(BadRecord, match="Nested key contains null values"):
                column_result(aggregate, alone)
        else:
            assert same(column_result(aggregate, alone).array.to_pylist()[0], expected), records


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (TABLE, {"nested-sequence-field": "c"}, "nested-sequence-field' requires 'fields.<field"),
        (TABLE, {"nested-key-null-strategy": "error"}, "null-strategy' requires 'fields.<field"),
        (TABLE, {"nested-key": "zz"}, "nested-key names the field zz, the nested row has a, b"),
        (TABLE, {"nested-key": "a", "count-limit": "-1"}, "expected a whole number from 0"),
        ("ARRAY<INT>", {}, "must be 'Array<Row>' but was 'ARRAY<INT>'"),
    ],
)
def test_nested_update_refuses(text: str, options: dict[str, str], words: str) -> None:
    refused("nested_update", text, options, words)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("ARRAY<INT>", {}, "must be 'MAP' but was 'ARRAY<INT>'"),
        ("MAP<STRING, STRING>", {}, "Value type of MAP must be ROW but was 'STRING'"),
        ("MAP<STRING, ROW<v INT>>", {}, "must have at least 2 fields"),
        (TIMES, {"ts-field": "zz"}, "Timestamp field 'zz' not found in ROW type"),
        (TIMES, {"ts-field": "v"}, "Timestamp field 'v' must be a STRING, it is 'INT'"),
    ],
)
def test_merge_map_with_keytime_refuses(text: str, options: dict[str, str], words: str) -> None:
    refused("merge_map_with_keytime", text, options, words)


def refused(function: str, text: str, options: dict[str, str], words: str) -> None:
    fields = {f"fields.v.{name}": option for name, option in options.items()}
    table = layout(
        {"k": "INT", "v": paimon_types.to_paimon(kind_of(text))},
        ["k"],
        {"merge-engine": "aggregation", "fields.v.aggregate-function": function} | fields,
    )
    with pytest.raises(TableError) as caught:
        check(table)
    assert words in str(caught.value)


@draws(25)
@given(st.integers(0, 2**32))
def test_codes_and_ranks_are_those_of_the_values(seed: int) -> None:
    random = Random(seed)
    kinds = [pa.int32(), pa.float64(), pa.utf8(), pa.list_(pa.int32()), pa.bool_()]
    picked = [random.choice(kinds) for _ in range(random.randrange(1, 4))]
    columns = [pa.array([value(kind, random, 0.2) for _ in range(30)], kind) for kind in picked]
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    found, count = codes(columns)
    assert found.min() >= 0
    assert found.max() < count
    for left in range(30):
        for right in range(30):
            assert (found[left] == found[right]) == same(rows[left], rows[right])


@given(st.lists(st.tuples(*[st.sampled_from((None, 1, 2, -3))] * 2), min_size=1))
def test_ranks_order_rows_null_first(rows: list[tuple[int | None, int | None]]) -> None:
    columns = [pa.array(column, pa.int32()) for column in zip(*rows, strict=True)]
    numbers = ranks(columns)
    pairs = [tuple((v is not None, v or 0) for v in row) for row in rows]
    assert (ranks(columns[:1]) == 0).tolist() == [row[0] is None for row in rows]
    assert [pairs[i] for i in np.argsort(numbers, kind="stable")] == sorted(pairs)
    assert len(set(numbers.tolist())) == len(set(pairs))
