"""Opaque states: unions of bitmaps, sketches and quantile states, against their definitions and
against what Java wrote (tests/vectors: Paimon 1.4.2's own libraries, Spark's for quantiles).
"""

import base64
import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from datasketches import (
    HLL_4,
    HLL_8,
    compact_theta_sketch,
    hll_sketch,
    tgt_hll_type,
    update_theta_sketch,
)
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from keyfold.aggregates import aggregates, quantile_union
from keyfold.aggregates.declaration import BadRecord, Fold, Inputs
from keyfold.aggregates.results import column_result
from keyfold.errors import TableError
from keyfold.kernels.ops import ADD, RESET, SKIP
from keyfold.kernels.roaring import bitmaps
from keyfold.kernels.states.quantiles import MOST_EXACT
from keyfold.merge.plan import plan_merge
from keyfold.options.engines import engines
from keyfold.testing.tables import batch, layout
from tests.aggregates.groups import of_groups
from tests.draws import draws
from tests.quantiles import percent

VECTORS = Path(__file__).resolve().parent.parent / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / name).read_text(encoding="ascii"))
    for vector in found:
        vector["bytes"] = base64.b64decode(vector["bytes"])
    return found


def named(name: str) -> Fold:
    found = aggregates()[name]
    assert isinstance(found, Fold)
    return found


def rbm32(random: Random) -> bytes:
    found = BitMap(
        random.getrandbits(random.choice((4, 16, 32))) for _ in range(random.randrange(9))
    )
    if random.random() < 0.3:
        start = random.getrandbits(20)
        found |= BitMap(
            range(start, start + random.choice((10, 5000, 70000)), random.choice((1, 2)))
        )
    return random.choice((bitmaps.write32, BitMap.serialize))(found)


def rbm64(random: Random) -> bytes:
    found = BitMap64(
        random.getrandbits(random.choice((4, 33, 64))) for _ in range(random.randrange(9))
    )
    if random.random() < 0.3:
        start = random.getrandbits(50)
        found |= BitMap64(
            range(start, start + random.choice((10, 5000, 70000)), random.choice((1, 2)))
        )
    return random.choice((bitmaps.write64, bitmaps.write64, BitMap64.serialize))(found)


def hll(random: Random, lg_k: int = 12) -> bytes:
    found = hll_sketch(lg_k, random.choice((HLL_4, HLL_8)))
    start = random.randrange(5000)
    for number in range(start, start + random.choice((0, 1, 5, 40, 900))):
        found.update(number)
    return random.choice((hll_sketch.serialize_compact, hll_sketch.serialize_updatable))(found)


def theta(random: Random) -> bytes:
    found = update_theta_sketch(12)
    start = random.randrange(5000)
    for number in range(start, start + random.choice((0, 1, 5, 40, 900))):
        found.update(number)
    return found.compact(random.random() < 0.5).serialize()


def quantiles(random: Random) -> bytes:
    values = [
        random.choice((0.0, -1.5, 7.0, random.random())) for _ in range(random.choice((0, 1, 9)))
    ]
    return quantile_union.written(random.choice((2048, 5000)), np.array(values))


def estimate(state: bytes) -> Any:
    """What was added in which order shows in it, by about a thousandth."""
    return pytest.approx(hll_sketch.deserialize(state).get_estimate(), rel=1e-2)


def theta_estimate(state: bytes) -> tuple[float, bool]:
    found = compact_theta_sketch.deserialize(state)
    return found.get_estimate(), found.is_ordered()


def quantile_words(state: bytes) -> Any:
    found = quantile_union.opened(state)
    return found.compression, sorted(found.values.tolist())


def same(found: Any, expected: Any) -> bool:
    return bool(getattr(found, "expected", found) == expected)


Meaning = Callable[[bytes], Any]
STATES: list[tuple[str, Callable[[Random], bytes], Meaning]] = [
    ("rbm32", rbm32, lambda state: state),
    ("rbm64", rbm64, lambda state: state),
    ("hll_sketch", hll, estimate),
    ("theta_sketch", theta, theta_estimate),
    ("quantile_union", quantiles, quantile_words),
]


@pytest.mark.parametrize(("name", "make", "meaning"), STATES, ids=[name for name, _, _ in STATES])
@draws(20)
@given(seed=st.integers(0, 2**32), groups=st.integers(1, 12))
def test_a_union_is_its_definition(
    name: str, make: Callable[[Random], bytes], meaning: Meaning, seed: int, groups: int
) -> None:
    """A state that is alone stays byte for byte, so those mean what the definition gives too."""
    random, aggregate = Random(seed), named(name)
    null_rate = random.choice((0.0, 0.3, 1.0))
    sizes = [random.choice((1, 1, 2, 3, 6)) for _ in range(groups)]
    rows = sum(sizes)
    states = [None if random.random() < null_rate else make(random) for _ in range(rows)]
    ops = [random.choice((ADD, ADD, ADD, SKIP, RESET)) for _ in range(rows)]
    order = random.sample(range(rows), rows)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    inputs = Inputs(
        pa.array([b"", *states], pa.binary()).slice(1),
        np.array(ops, np.int8),
        np.array(order, np.int64),
        starts.astype(np.int64),
    )
    result = column_result(aggregate, inputs).array
    result.validate(full=True)
    for found, (start, stop) in zip(result.to_pylist(), pairwise(starts.tolist()), strict=True):
        records = [(ops[i], states[order[i]]) for i in range(start, stop)]
        expected = aggregate.definition(records)
        assert (found is None) == (expected is None)
        assert found is None or same(meaning(found), meaning(expected))


def unite(name: str, *states: bytes | None) -> Any:
    return of_groups(named(name), pa.array(states, pa.binary()))[0].as_py()


@pytest.mark.parametrize(
    ("name", "empty", "full"),
    [
        ("rbm32", bitmaps.write32(BitMap()), bitmaps.write32(BitMap([7]))),
        ("rbm64", b"\0", bitmaps.write64(BitMap64([7]))),
        ("hll_sketch", hll_sketch(12, HLL_4).serialize_compact(), None),
        ("theta_sketch", update_theta_sketch(12).compact().serialize(), None),
        (
            "quantile_union",
            quantile_union.written(2048, np.empty(0)),
            quantile_union.written(2048, np.ones(1)),
        ),
    ],
)
def test_empty_states_and_nulls_add_nothing(name: str, empty: bytes, full: bytes | None) -> None:
    full = full or next(v["bytes"] for v in vectors(f"{name[:-7]}.json") if v["count"] == 1)
    assert unite(name, None, None) is None
    assert unite(name, None, full, None) == full
    meaning = next(meaning for known, _, meaning in STATES if known == name)
    assert same(meaning(unite(name, empty, full)), meaning(full))
    assert same(meaning(unite(name, full, empty)), meaning(full))
    assert unite(name, empty, None) == empty
    assert same(meaning(unite(name, empty, empty)), meaning(empty))


@pytest.mark.parametrize("name", [name for name, _, _ in STATES])
def test_bytes_that_are_no_state_stay_while_alone(name: str) -> None:
    column = pa.array([b"x", None, b"zz", b"yyy", None], pa.binary())
    assert of_groups(named(name), column, [0, 2, 3, 5]).to_pylist() == [b"x", b"zz", b"yyy"]
    with pytest.raises(BadRecord, match="Unable to deserialize") as caught:
        of_groups(named(name), column, [0, 1, 5])
    assert caught.value.group == 1


def test_names_of_fluss_and_doris() -> None:
    for alias, name in (
        ("BITMAP_UNION", "rbm64"),
        ("HLL_UNION", "hll_sketch"),
        ("QUANTILE_UNION", "quantile_union"),
        ("PERCENTILE_UNION", "quantile_union"),
    ):
        assert aggregates()[alias.lower()].name == name
    stored = {name: named(name).is_stored_by_paimon for name, _, _ in STATES}
    assert [name for name in stored if not stored[name]] == ["quantile_union"]


def test_states_are_retracted_by_none_and_stand_in_bytes_alone() -> None:
    for name, _, _ in STATES:
        for kind in ("BINARY(8)", "STRING", "INT"):
            options = {"merge-engine": "aggregation", "fields.v.aggregate-function": name}
            with pytest.raises(TableError, match=r"must be 'VarBinaryType' but was"):
                plan_merge(layout({"k": "INT", "v": kind}, ["k"], options), ["v"])
        assert not named(name).is_retractable


@pytest.mark.parametrize("vector", vectors("hll.json"), ids=lambda v: f"{v['name']}-{v['count']}")
def test_hll_sketches_of_java(vector: dict[str, Any]) -> None:
    sketch = hll_sketch.deserialize(vector["bytes"])
    assert sketch.get_estimate() == pytest.approx(vector["estimate"], rel=1e-9)
    again = hll_sketch(vector["lg_k"], HLL_4)
    for number in range(vector["first"], vector["first"] + vector["count"]):
        again.update(number)
    united = hll_sketch.deserialize(unite("hll_sketch", vector["bytes"], again.serialize_compact()))
    assert (united.lg_config_k, united.tgt_type) == (vector["lg_k"], tgt_hll_type.HLL_4)
    assert united.get_estimate() == pytest.approx(
        vector["count"], rel=4 / 2 ** (united.lg_config_k / 2)
    )


@pytest.mark.parametrize("vector", vectors("theta.json"), ids=lambda v: f"{v['name']}-{v['count']}")
def test_theta_sketches_of_java(vector: dict[str, Any]) -> None:
    sketch = compact_theta_sketch.deserialize(vector["bytes"])
    assert sketch.get_estimate() == pytest.approx(vector["estimate"], rel=1e-9)
    if sketch.is_estimation_mode():
        return
    again = update_theta_sketch(12)
    for number in range(vector["first"], vector["first"] + vector["count"]):
        again.update(number)
    united = unite("theta_sketch", vector["bytes"], again.compact().serialize())
    assert theta_estimate(united) == (vector["count"], True)


def test_unions_estimate_what_paimon_s_unions_estimate() -> None:
    for expected, parts in zip(
        [v["bytes"] for v in vectors("hll.json") if v["name"] == "Paimon's union"],
        [((0, 5), (3, 12)), ((0, 100), (50, 350)), ((0, 3000), (1000, 3500))],
        strict=True,
    ):
        states = []
        for first, stop in parts:
            sketch = hll_sketch(12, HLL_4)
            for number in range(first, stop):
                sketch.update(number)
            states.append(sketch.serialize_compact())
        assert same(estimate(unite("hll_sketch", *states)), estimate(expected))


def test_a_coarse_sketch_that_is_empty_costs_a_fine_one_nothing() -> None:
    fine = hll(Random(1), 14)
    united = hll_sketch.deserialize(unite("hll_sketch", hll_sketch(10).serialize_compact(), fine))
    assert united.lg_config_k == 14


@pytest.mark.parametrize("vector", vectors("quantile.json"), ids=lambda v: v["name"])
def test_quantile_states_of_java(vector: dict[str, Any]) -> None:
    state = vector["bytes"]
    for q, expected in vector["quantiles"]:
        assert percent(state, q) == pytest.approx(expected, rel=1e-12)
    assert quantile_union.opened(state).compression == vector["compression"]
    if vector["count"] <= MOST_EXACT:
        values = vector["first"] + vector["step"] * np.arange(vector["count"])
        assert quantile_union.written(vector["compression"], values) == state
    if not vector["count"]:
        assert math.isnan(percent(state, 0.5))


def test_quantile_states_are_exact_up_to_2048_values_and_near_beyond() -> None:
    written = quantile_union.written
    halves = written(2048, np.arange(0.0, 1024)), written(4096, np.arange(1024.0, 2048))
    exact = unite("quantile_union", *halves)
    assert quantile_union.opened(exact).digest is None
    assert quantile_union.opened(exact).compression == 4096
    assert percent(exact, 0.25) == 511.75
    united = unite("quantile_union", exact, written(2048, np.arange(2048.0, 10_000)), exact)
    assert quantile_union.opened(united).digest is not None
    assert quantile_union.opened(united).compression == 4096
    everything = np.concatenate([np.arange(2048.0), np.arange(10_000.0)])
    for q in (0.0, 0.01, 0.5, 0.99, 1.0):
        assert percent(united, q) == pytest.approx(np.quantile(everything, q), abs=20)


@pytest.mark.parametrize("engine", sorted(engines().keys() & {"aggregation", "partial-update"}))
def test_writing_brings_bitmaps_into_the_column_s_form(engine: str) -> None:
    functions = {"fields.a.aggregate-function": "rbm32", "fields.b.aggregate-function": "rbm64"}
    group = {"fields.g.sequence-group": "a,b"} if engine == "partial-update" else {}
    table = layout(
        {"k": "INT", "g": "INT", "a": "BYTES", "b": "BYTES"},
        ["k"],
        {"merge-engine": engine, **functions, **group},
    )
    narrow, wide = BitMap([1, 2**31]), BitMap64([1, 2**31])
    states = [bitmaps.write32(narrow), bitmaps.write64(wide), wide.serialize(), None]
    rows = [(0, {"k": n, "g": 1, "a": state, "b": state}) for n, state in enumerate(states)]
    found = plan_merge(table, ["k"]).normalized(batch(table, rows), ["a", "b"], overwrites=False)
    assert found.column("a").to_pylist() == [states[0]] * 3 + [None]
    assert found.column("b").to_pylist() == [states[1]] * 3 + [None]
    bad = batch(table, [rows[0], (0, {**rows[0][1], "k": 9, "a": BitMap64([2**32]).serialize()})])
    with pytest.raises(
        TableError, match=rf"column a, key \(k = 9\): .* it holds {2**32}, expected"
    ):
        plan_merge(table, ["k"]).normalized(bad, ["a", "b"], overwrites=False)


NOT_STATES = {"hll_sketch": bytes((2, 1, 7, 12, 3, 8, 255, 0)) + bytes(4 * 255)}


@pytest.mark.parametrize("overwrites", [False, True])
@pytest.mark.parametrize("engine", ["aggregation", "partial-update"])
@pytest.mark.parametrize(("name", "make", "meaning"), STATES, ids=[name for name, _, _ in STATES])
def test_bytes_that_are_no_state_are_refused_when_written(
    name: str, make: Callable[[Random], bytes], meaning: Meaning, engine: str, overwrites: bool
) -> None:
    """The error names table, column, key and what is wrong; bytes of writers stay as they are."""
    options = {"merge-engine": engine, "fields.v.aggregate-function": name}
    if engine == "partial-update":
        options["fields.g.sequence-group"] = "v"
    table = layout({"k": "INT", "g": "INT", "v": "BYTES"}, ["k"], options)
    merge, random = plan_merge(table, ["k", "v"]), Random(1)
    good = [(0, {"k": n, "g": 1, "v": make(random)}) for n in range(20)]
    found = merge.normalized(batch(table, good), ["v"], overwrites=overwrites)
    for state, (_, row) in zip(found.column("v").to_pylist(), good, strict=True):
        of_bitmap = bitmaps.read64 if name.startswith("rbm") else meaning
        assert same(of_bitmap(state), of_bitmap(row["v"]))
    for bad in (b"", b"x", good[0][1]["v"][:-1] or b"?", NOT_STATES.get(name, b"12345678")):
        rows = batch(table, [*good, (0, {"k": 77, "g": 1, "v": bad})])
        words = r"table db\.t, column v, key \(k = 77\): Unable to deserialize"
        with pytest.raises(TableError, match=words):
            merge.normalized(rows, ["v"], overwrites=overwrites)
