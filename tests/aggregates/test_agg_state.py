"""States of every function merge as defined, two at a time, and those of folds, keyfold's own and
users', to what the fold makes of all values; wrong ones are refused.
"""

from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from datasketches import HLL_4, hll_sketch
from hypothesis import given
from hypothesis import strategies as st

import keyfold
from keyfold.aggregates import aggregates
from keyfold.aggregates.declaration import BadRecord, Inputs
from keyfold.aggregates.quantile_union import written
from keyfold.aggregates.results import column_result
from keyfold.aggregates.sketches import opened_hll
from keyfold.aggregates.states.bound_signatures import bind, find, fold_of, parse
from keyfold.aggregates.states.signature import Signature, text_of
from keyfold.aggregates.states.state_functions import functions
from keyfold.errors import KeyfoldError, TableError
from keyfold.kernels.ops import ADD, RESET, SKIP
from keyfold.kernels.roaring import bitmaps
from keyfold.kernels.unsafe_rows.decode import decode
from keyfold.kernels.unsafe_rows.encode import encode
from keyfold.options import provided
from keyfold.testing.tables import cells
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic
from keyfold.user_functions import shipping
from keyfold.user_functions.sources import Sources
from tests.aggregates.groups import merging, of_groups
from tests.draws import draws
from tests.random_values import same, value


def signature(name: str) -> Signature:
    """A signature of this function of some type that it takes."""
    for kind in ("INT", "STRING", "BOOLEAN", "BYTES"):
        for count in (1, 2):
            try:
                return bind(name, [Atomic(kind)] * count)
            except Exception:
                continue
    raise AssertionError(name)


SIGNATURES = [
    *(signature(name) for name in sorted({one.name for one in functions().values()})),
    *map(parse, ("sum(decimal(12, 2))", "avg(decimal(30, 4))", "min(string)", "max(double)")),
    *map(
        parse, ("max_by(string, date)", "collect_list(struct<a: int, b: string>)", "first(binary)")
    ),
]


def content(found: Signature, random: Random, count: int) -> list[pa.Array]:
    """The fields of some states, such as Spark has them."""
    kinds, fold = [to_arrow(kind) for kind in found.fields], found.function.fold
    if found.function.kind == "sketch":
        return [pa.array([sketch(found.function.unites, random) for _ in range(count)], kinds[0])]
    columns = [[field(kind, random, fold) for _ in range(count)] for kind in kinds]
    if fold in ("first", "last"):
        columns[1] = [random.random() < 0.5 for _ in range(count)]
    elif len(kinds) > 1 and pa.types.is_boolean(kinds[1]):  # whether a sum of decimals is empty
        columns[1] = [item is None for item in columns[0]]
    return [pa.array(items, kind) for items, kind in zip(columns, kinds, strict=True)]


def field(kind: pa.DataType, random: Random, fold: str) -> Any:
    if fold in ("moments", "covariance", "regression"):
        return float(random.randrange(1, 5))
    if fold == "distinct":
        return random.sample(range(9), random.randrange(4))
    if pa.types.is_list(kind):
        return [value(kind.value_type, random, 0.2) for _ in range(random.randrange(3))]
    if fold in ("sum", "sums") and random.random() < 0.8:
        number = random.randrange(-1000, 1000)
        return Decimal(number) if pa.types.is_decimal(kind) else number
    return None if fold in ("sum", "sums") else value(kind, random, 0.2)


def sketch(unites: str, random: Random) -> bytes:
    numbers = [random.randrange(50) for _ in range(4)]
    if unites == "quantile_union":
        return written(2048, np.array(numbers, dtype=np.float64))
    if unites == "hll_union":
        made = hll_sketch(12, HLL_4)
        for number in numbers:
            made.update(number)
        return bytes(made.serialize_compact())
    return bitmaps.write64(bitmaps.BitMap64(numbers))


def states(found: Signature, fields: list[pa.Array], constants: str = "") -> list[bytes]:
    return [found.header(constants) + payload for payload in encode(fields).to_pylist()]


def opened(found: Signature, state: bytes | None) -> Any:
    if state is None:
        return None
    rows = pa.array([state[len(found.header()) :]], pa.binary())
    cells = [cell(column) for column in decode(rows, [to_arrow(kind) for kind in found.fields])]
    is_hll = found.function.unites == "hll_union"  # whose bytes are in no order
    return [opened_hll(item).get_estimate() for item in cells] if is_hll else cells


def cell(column: pa.Array) -> Any:
    item = column.to_pylist()[0]
    if isinstance(item, list):
        return repr(item)  # NaN among its values is NaN
    return pytest.approx(item, nan_ok=True) if isinstance(item, float) else item


@pytest.mark.parametrize("found", SIGNATURES, ids=lambda found: found.text)
@draws(3)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_states_merge_as_defined(found: Signature, seed: int, groups: int) -> None:
    random = Random(seed)
    sizes = [random.choice((1, 2, 2, 5)) for _ in range(groups)]
    count = sum(sizes)
    items: list[bytes | None] = [
        None if random.random() < 0.1 else state
        for state in states(found, content(found, random, count))
    ]
    ops = [random.choice((ADD, ADD, ADD, SKIP, RESET)) for _ in range(count)]
    order = list(range(count))
    random.shuffle(order)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    inputs = Inputs(
        pa.array(items, pa.binary()), np.array(ops, np.int8), np.array(order, np.int64), starts
    )
    aggregate = merging(found)
    result = column_result(aggregate, inputs).array.to_pylist()
    for group, (start, stop) in enumerate(pairwise(starts.tolist())):
        records = [(ops[at], items[order[at]]) for at in range(start, stop)]
        expected = aggregate.definition(records)
        assert opened(found, result[group]) == opened(found, expected)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (b"", "bytes that are not a state"),
        (b"KS\x02\x00\x00", "found a state of version 2, of which version 1 is known here"),
        (b"KS\x01\xff\xff", "bytes that are not a state"),
        (states(parse("sum(bigint)"), [pa.array([1])])[0], "found a state of sum(BIGINT)"),
        (states(parse("count(int)"), [pa.array([1])])[0], "found a state of count(INT)"),
    ],
)
def test_other_states_are_refused_where_they_are_written(state: bytes, words: str) -> None:
    found = parse("sum(int)")
    good = states(found, [pa.array([1])])[0]
    check = merging(found).check
    assert check is not None
    check(pa.array([good, None], pa.binary()))
    with pytest.raises(BadRecord, match=r"expected a state of sum\(INT\)") as refused:
        check(pa.array([None, good, state], pa.binary()))
    assert refused.value.group == 2
    assert words in str(refused.value)


def folded(found: Signature, items: list[bytes]) -> bytes:
    made: bytes = of_groups(merging(found), pa.array(items, pa.binary()))[0].as_py()
    return made


def test_a_damaged_buffer_is_refused() -> None:
    found = parse("min(string)")
    good = states(found, [pa.array(["word"])])[0]
    with pytest.raises(BadRecord, match="damaged"):
        folded(found, [good, good[:-8]])


def test_a_state_of_another_version_does_not_merge() -> None:
    found = parse("sum(int)")
    good = states(found, [pa.array([1])])[0]
    with pytest.raises(BadRecord, match="a state of version 7, of which version 1 is known"):
        folded(found, [good, good[:2] + b"\x07" + good[3:]])


def test_states_of_other_constants_do_not_merge_unless_one_is_empty() -> None:
    found = parse("group_concat(string)")
    kind = pa.list_(pa.string())
    comma = states(found, [pa.array([["a"]], kind)], ";separator=,")[0]
    dash = states(found, [pa.array([["b"]], kind)], ";separator=-")[0]
    nothing = states(found, [pa.array([[]], kind)], ";separator=,")[0]
    for pair in ([comma, dash], [dash, comma]):
        with pytest.raises(BadRecord, match="incompatible"):
            folded(found, pair)
    for pair in ([nothing, dash], [dash, nothing]):
        assert folded(found, pair) == dash


@pytest.mark.parametrize("name", ["percentile_approx", "percentile_reservoir"])
def test_quantiles_of_nothing_bind_no_constants(name: str) -> None:
    found = parse(f"{name}(double)")
    kind = pa.binary()
    low, high, nothing, of_nan = (
        states(found, [pa.array([written(2048, np.array(values))], kind)], f";p={p}")[0]
        for values, p in (([7.0], 0.25), ([7.0], 0.75), ([], 0.25), ([np.nan], 0.5))
    )
    for pair in ([low, high], [high, low]):
        with pytest.raises(BadRecord, match="incompatible"):
            folded(found, pair)
    for empty in (nothing, of_nan):
        assert folded(found, [empty, high]) == folded(found, [high, empty]) == high


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


def merged(found: Signature, items: list[bytes | None], starts: list[int]) -> list[Any]:
    """The states of groups of states, merged in a table."""
    return of_groups(merging(found), pa.array(items, pa.binary()), starts).to_pylist()


def state(found: Signature, column: pa.Array) -> bytes:
    """The state that a fold makes of some values."""
    payload = encode([of_groups(fold_of(found), column)])[0].as_py() if len(column) else b""
    return found.header() + bytes(payload)


@pytest.mark.parametrize("declared", DECLARED)
@draws(10)
@given(st.integers(0, 2**32))
def test_states_merge_to_the_fold_of_all_values(declared: str, seed: int) -> None:
    random, found = Random(seed), parse(declared)
    kind = to_arrow(found.fields[0])
    made: list[bytes | None] = []
    wanted, starts = [], [0]
    for _ in range(3):
        parts = [
            pa.array([value(kind, random, 0.2) for _ in range(random.choice((0, 1, 2)))], kind)
            for _ in range(random.randrange(1, 4))
        ]
        if "product(bigint)" in declared:
            parts = [pa.array([random.randrange(-9, 9) for _ in part], kind) for part in parts]
        made += [state(found, part) for part in parts]
        starts.append(len(made))
        values = pa.concat_arrays(parts)
        wanted.append(cells(of_groups(fold_of(found), values))[0] if len(values) else "nothing")
    for one, expected in zip(merged(found, made, starts), wanted, strict=True):
        assert text_of(one) == found.text
        payload = one[len(found.header()) :]
        if expected == "nothing":
            assert payload == b""
        else:
            (column,) = decode(pa.array([payload], pa.binary()), [kind])
            assert same(cells(column)[0], expected)


def test_every_aggregate_has_states() -> None:
    assert all(find(one.name) for one in aggregates().values() if one.name != "agg_state")
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
