"""A query's function that is the column's own folds records without a merge, in any order."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from datasketches import compact_theta_sketch, hll_sketch, tgt_hll_type, update_theta_sketch
from pyroaring import BitMap64

import keyfold
from keyfold.group_by.bound import BoundCall
from keyfold.kernels.roaring import bitmaps
from keyfold.read.task import read_task
from keyfold.storage.table import Table
from keyfold.testing import check
from keyfold.testing.own import using
from keyfold.types.logical import Atomic
from keyfold.user_functions import shipping
from keyfold.user_functions.sources import Sources
from keyfold.wire.specs import Aggregate
from tests.read import harness
from tests.read.test_without_merge import merges
from tests.storage import tables


@keyfold.aggregate("BIGINT", in_any_order=True)
def bits(kept: Any, value: Any) -> Any:
    return kept | value


@keyfold.aggregate.pick("BIGINT", in_any_order=True)
def nearest(best: Any, value: Any) -> Any:
    return abs(value - 7) * 2 + (value > 7) < abs(best - 7) * 2 + (best > 7)


@keyfold.aggregate("BIGINT")
def newest(kept: Any, value: Any) -> Any:
    return value


OWN = {"u": "bits", "n": "nearest"}
STATES = {"r": "rbm64", "h": "hll_sketch", "t": "theta_sketch"}
TYPES = {name: Atomic("BYTES") for name in STATES} | {name: Atomic("BIGINT") for name in OWN}


def made(folder: Path, **changed: str) -> Table:
    columns = [tables.column(name, "binary") for name in STATES]
    columns += [tables.column(name) for name in OWN]
    functions = {**STATES, **OWN, **changed}
    options = {f"fields__{name}__aggregate_function": own for name, own in functions.items()}
    key = [tables.column("p"), tables.column("k")]
    more = {"merge_engine": "aggregation", "bucket": "1", "write_only": "true"}
    return tables.table(folder, tables.new_table(*key, *columns, key="p,k", **more, **options))


def state(name: str, numbers: list[int]) -> bytes:
    if name == "r":
        return bitmaps.write64(BitMap64(numbers))
    if name == "t":
        theta = update_theta_sketch(12)
        for number in numbers:
            theta.update(number)
        return bytes(theta.compact().serialize())
    hll = hll_sketch(12, tgt_hll_type.HLL_4)
    for number in numbers:
        hll.update(number)
    return bytes(hll.serialize_compact())


def filled(table: Table, random: Random) -> Table:
    for _ in range(4):
        rows = []
        for key in random.sample(range(40), 20):
            row = {name: state(name, random.sample(range(300), 20)) for name in STATES}
            row |= {name: random.randrange(1 << 30) for name in OWN}
            nulls = {name: None for name in row if random.random() < 0.1}
            rows.append({"p": key % 3, "k": key} | row | nulls)
        harness.upsert(table, rows)
    return table


def call(function: str, kind: Atomic) -> BoundCall:
    own = {one.name: shipping.dumps(one) for one in (bits, nearest, newest)}
    code = Sources(registered=own).for_options({"": function}) if function in own else None
    return BoundCall(function, kind, {}, code)


def asked(by: tuple[str, ...], columns: list[str], functions: dict[str, str]) -> Aggregate:
    calls = {f"keyfold.{functions[n]}": call(functions[n], TYPES[n]) for n in columns}
    named = tuple((f"keyfold.{functions[name]}", name) for name in columns)
    return Aggregate(by, named, {name: call.to_json() for name, call in calls.items()})


def groups(table: Table, aggregate: Aggregate) -> dict[Any, list[Any]]:
    """The only state of each group: everything is one task."""
    scan, found, _ = harness.planned_tasks(table, [], aggregate=aggregate)
    rows: dict[Any, list[Any]] = {}
    for task in found:
        for batch in read_task(scan, task):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                end = len(aggregate.by)
                rows.setdefault(row[:end], []).append(list(row[end:]))
    return {
        group: [last(column) for column in zip(*found, strict=True)]
        for group, found in rows.items()
    }


def last(states: tuple[Any, ...]) -> Any:
    """The state of a group, and at most one of no rows."""
    known = [one for one in states if one is not None]
    assert len(known) < 2
    return known[0] if known else None


def shown(name: str, found: Any) -> Any:
    """What a state tells: sketches of equal values may differ in their bytes."""
    if found is None or name in OWN:
        return found
    if name == "r":
        return set(bitmaps.read64(found))
    kind = hll_sketch if name == "h" else compact_theta_sketch
    return round(kind.deserialize(found).get_estimate())


@pytest.mark.parametrize("by", [(), ("p",), ("p", "k")])
def test_unions_of_records_are_those_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: tuple[str, ...], seed: int
) -> None:
    with using(bits, nearest):
        table = filled(made(tmp_path), Random(f"{seed} {by}"))
        names = [*STATES, *OWN]
        for columns in (*([name] for name in names), names):
            aggregate = asked(by, columns, {**STATES, **OWN})
            runs = merges(monkeypatch)
            alone = groups(table, aggregate)
            assert not runs
            with monkeypatch.context() as patched:
                patched.setattr("keyfold.read.folds.without_merge._is_alone", lambda *_: False)
                merged = groups(table, aggregate)
            assert runs
            assert len(alone) > 0
            assert alone.keys() == merged.keys()
            for group, found in alone.items():
                for name, one, other in zip(columns, found, merged[group], strict=True):
                    assert shown(name, one) == shown(name, other), (name, group)


def test_other_functions_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with using(bits, nearest, newest):
        table = filled(made(tmp_path, n="newest"), Random(1))
        for name, function in (("n", "newest"), ("u", "nearest"), ("n", "bits")):
            runs = merges(monkeypatch)
            groups(table, asked((), [name], {name: function}))
            assert runs, function


@pytest.mark.parametrize("function", [bits, nearest])
def test_what_says_so_takes_any_order(function: Any) -> None:
    check(function, lambda random: random.randrange(1 << 30))


def test_what_minds_the_order_is_found_out() -> None:
    @keyfold.aggregate("BIGINT", in_any_order=True)
    def latest(kept: Any, value: Any) -> Any:
        return value

    with pytest.raises(AssertionError, match="in another"):
        check(latest)
