"""Rows folded to groups, against plain Python: NULL, NaN, sums that don't fit, many groups."""

import math
import random
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.group_by.bound import BoundCall, bind
from keyfold.read.folds import grouping
from keyfold.read.folds.grouping import ScanGroups
from keyfold.read.folds.scan_aggregates import ScanAggregate, functions
from keyfold.read.folds.sent import sent
from keyfold.testing.tables import layout
from keyfold.user_functions.sources import Sources
from keyfold.wire.specs import Aggregate
from tests.random_values import ATOMIC, value

KINDS = [kind for kind in ATOMIC if kind != "BYTES"]
SUMMED = (
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "DECIMAL(5, 2)",
    "DECIMAL(18, 0)",
    "DECIMAL(38, 3)",
)
EXACT = Context(prec=200)


def rank(item: Any) -> Any:
    """A stand-in that Python compares as Spark compares the value."""
    if isinstance(item, float | np.floating):
        number = float(item)
        return (math.isnan(number), 0.0 if math.isnan(number) else number)
    return item.encode() if isinstance(item, str) else item


def group_of(row: Sequence[Any]) -> tuple[Any, ...]:
    """The values of a group as a key of a dict: NaN is NaN, -0.0 is 0.0."""
    return tuple(
        ("NaN" if item != item else float(item) + 0.0)
        if isinstance(item, float | np.floating)
        else item
        for item in row
    )


def expected(op: str, values: Sequence[Any]) -> Any:
    """The slow definition of a function."""
    known = [item for item in values if item is not None]
    if op == "COUNT":
        return len(known)
    if not known:
        return None
    if op == "SUM":
        total = known[0]
        for item in known[1:]:
            total = EXACT.add(total, item) if isinstance(total, Decimal) else total + item
        return total
    return (min if op == "MIN" else max)(known, key=rank)


def final(op: str, states: Sequence[Any]) -> Any:
    """What Spark makes of the states of a group."""
    return expected("SUM" if op in ("COUNT", "SUM") else op, states)


def same(left: Any, right: Any) -> bool:
    return left == right or (left is not None and right is not None and rank(left) == rank(right))


def folded(
    groups: ScanGroups, chosen: Sequence[ScanAggregate], batches: Iterable[pa.RecordBatch]
) -> list[pa.RecordBatch]:
    states = [found for batch in batches for found in groups.rows(batch, chosen)]
    return [*states, *groups.last()]


def check(table: pa.Table, asked: Aggregate, kinds: dict[str, str], size: int) -> int:
    """Compares the groups of the rows with those of plain Python; returns how many were sent."""
    found = layout({"k": "INT"} | kinds, ["k"], {})
    chosen = functions(found, asked)
    states = folded(ScanGroups(asked.by, chosen), chosen, table.to_batches(size))
    batches = [batch for state in states for batch in sent(chosen, state)]
    merged: dict[tuple[Any, ...], list[list[Any]]] = {}
    for batch in batches:
        assert [column.type for column in batch.columns[len(asked.by) :]] == [
            f.sent for f in chosen
        ]
        batch.validate(full=True)
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            columns = merged.setdefault(group_of(row[: len(asked.by)]), [[] for _ in chosen])
            for column, item in zip(columns, row[len(asked.by) :], strict=True):
                column.append(item)
    plain: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        plain.setdefault(group_of([row[name] for name in asked.by]), []).append(row)
    assert merged.keys() == plain.keys()
    for group, rows in plain.items():
        for (op, name), column in zip(asked.functions, merged[group], strict=True):
            values = [1 if name is None else row[name] for row in rows]
            assert same(final(op, column), expected(op, values)), (op, name, group)
    return sum(batch.num_rows for batch in batches)


@given(st.data())
def test_groups_are_plain_pythons(data: st.DataObject) -> None:
    draw = data.draw(st.randoms(use_true_random=False))
    kinds = {name: draw.choice(KINDS) for name in ("a", "b")} | {"c": draw.choice(SUMMED)}
    rows = [
        {"k": 0} | {name: value(ATOMIC[kind], draw, 0.3) for name, kind in kinds.items()}
        for _ in range(data.draw(st.integers(1, 60)))
    ]
    schema = pa.schema({"k": pa.int32()} | {name: ATOMIC[kind] for name, kind in kinds.items()})
    ops = [("COUNT", None), ("SUM", "c")]
    ops += [(op, name) for name in kinds for op in ("COUNT", "MIN", "MAX")]
    by = draw.choice([(), ("a",), ("b",), ("a", "b"), ("c", "a")])
    asked = Aggregate(by, tuple(draw.sample(ops, draw.randrange(len(ops) + 1))))
    if by or asked.functions:
        check(pa.Table.from_pylist(rows, schema), asked, kinds, draw.choice([1, 7, 100]))


@pytest.mark.parametrize("kind", ["BIGINT", "DECIMAL(5, 2)", "DECIMAL(38, 3)"])
def test_sums_that_don_t_fit_are_sent_in_parts(kind: str) -> None:
    arrow = ATOMIC[kind]
    most = (
        Decimal(10**arrow.precision - 1).scaleb(-arrow.scale, EXACT)
        if kind != "BIGINT"
        else 2**63 - 1
    )
    values = [most, most, None, -1 if kind == "BIGINT" else Decimal(0), most] * 40
    table = pa.table({"k": pa.array([0, 1] * 100, pa.int32()), "a": pa.array(values, arrow)})
    for by in ((), ("k",)):
        asked = Aggregate(by, (("SUM", "a"), ("COUNT", None), ("MIN", "a")))
        assert check(table, asked, {"a": kind}, 30) <= 200
    assert check(table.slice(0, 1), asked, {"a": kind}, 30) == 1


def test_many_groups_are_sent_and_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    monkeypatch.setattr(grouping, "LEAST_ROWS", 50)
    monkeypatch.setattr(grouping, "MOST_ROWS", 120)
    monkeypatch.setattr(grouping, "FEW_ROWS", 100)
    asked = Aggregate(("a",), (("COUNT", None), ("SUM", "c"), ("MAX", "c")))
    kinds = {"a": "STRING", "c": "INT"}
    for distinct, least, most in ((10, 10, 10), (300, 301, 2999), (10**6, 2900, 3000)):
        names = [f"{draw.randrange(distinct)}" for _ in range(3000)]
        table = pa.table(
            {
                "k": pa.array(range(3000), pa.int32()),
                "a": names,
                "c": pa.array(range(3000), pa.int32()),
            }
        )
        assert least <= check(table, asked, kinds, 200) <= most


def call(name: str, kind: str, **options: str) -> dict[str, Any]:
    """The call of an aggregate of keyfold, as a scan gets it."""
    found = bind(name, [f'"{kind}"'], options, (), Sources())
    assert isinstance(found, BoundCall)
    return dict(found.to_json())


OWN = {"product": call("product", "long"), "words": call("listagg", "string", delimiter="|")}


def in_plain(op: str, values: Sequence[Any]) -> Any:
    known = [item for item in values if item is not None]
    if op == "words":
        return "|".join(known) or None
    return math.prod(known) if known else None


@given(st.data())
def test_functions_of_ours_fold_what_was_folded(data: st.DataObject) -> None:
    """What Spark's side makes of the values that are sent is what it makes of all rows."""
    rows = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from([0, 1, None]),
                st.sampled_from([None, -2, 1, 3]),
                st.sampled_from([None, "a", "b"]),
            ),
            min_size=1,
            max_size=40,
        )
    )
    columns = zip(*rows, strict=True)
    kinds = (pa.int32(), pa.int64(), pa.string())
    table = pa.table(dict(zip("gnt", map(pa.array, columns, kinds), strict=True)))
    asked = Aggregate(("g",), (("product", "n"), ("COUNT", None), ("words", "t")), OWN)
    found = layout({"k": "INT", "g": "INT", "n": "BIGINT", "t": "STRING"}, ["k"], {})
    chosen = functions(found, asked)
    size = data.draw(st.sampled_from([1, 7, 100]))
    merged: dict[Any, list[list[Any]]] = {}
    for batch in folded(ScanGroups(asked.by, chosen), chosen, table.to_batches(size)):
        for group, *states in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for held, state in zip(merged.setdefault(group, [[], [], []]), states, strict=True):
                held.append(state)
    for group in {row[0] for row in rows}:
        of_group = [row for row in rows if row[0] == group]
        numbers, counts, words = merged[group]
        assert in_plain("product", numbers) == in_plain("product", [row[1] for row in of_group])
        assert sum(counts) == len(of_group)
        assert in_plain("words", words) == in_plain("words", [row[2] for row in of_group])


def test_a_product_that_does_not_fit_is_left_to_spark() -> None:
    table = pa.table({"k": pa.array([1, 2, 3], pa.int32()), "n": [1 << 40, 1 << 40, 5]})
    asked = Aggregate((), (("product", "n"),), OWN)
    chosen = functions(layout({"k": "INT", "n": "BIGINT"}, ["k"], {}), asked)
    (batch,) = folded(ScanGroups((), chosen), chosen, table.to_batches())
    assert batch.column(0).to_pylist() == [1 << 40, 1 << 40, 5]
