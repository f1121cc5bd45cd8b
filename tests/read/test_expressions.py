"""Sums of expressions: computed as Python's own numbers have them, or not at all where one might
not fit; rows that are sent in place of groups; conditions on values, of merged rows.
"""

import json
import math
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.read.folds import expressions
from keyfold.read.folds.expressions import Beyond, Expression, expression
from keyfold.read.task import read_task, schema_of
from keyfold.types.literals import decimal_of, unscaled
from keyfold.wire.specs import Aggregate
from tests.read import harness
from tests.storage import tables

Tree = Mapping[str, Any]
KINDS = {
    "y": ("byte", pa.int8()),
    "i": ("integer", pa.int32()),
    "l": ("long", pa.int64()),
    "n": ("decimal(15,2)", pa.decimal128(15, 2)),
    "m": ("decimal(18,6)", pa.decimal128(18, 6)),
}
WIDTHS = {"byte": 8, "integer": 32, "long": 64}
SIGNS = {"Add": "+", "Subtract": "-", "Multiply": "*"}


def digits(kind: str) -> tuple[int, int]:
    """Precision and scale of a type, those that hold its values if it is of whole numbers."""
    if kind in WIDTHS:
        return {"byte": 3, "integer": 10, "long": 20}[kind], 0
    precision, scale = map(int, kind[len("decimal(") : -1].split(","))
    return precision, scale


def limited(precision: int, scale: int) -> str:
    """Spark's type of a result: beyond 38 digits, it gives up those behind the point, to six."""
    if precision > 38:
        precision, scale = 38, max(38 - (precision - scale), min(scale, 6))
    return f"decimal({precision},{scale})"


def kind_of(tree: Tree) -> str:
    return str(KINDS[tree["column"]][0] if "column" in tree else tree["type"])


def as_kind(tree: Tree, kind: str) -> Tree:
    return tree if kind_of(tree) == kind else {"op": "Cast", "args": [tree], "type": kind}


def step(op: str, left: Tree, right: Tree) -> Tree:
    """The expression with the types and casts that Spark gives it."""
    kinds = kind_of(left), kind_of(right)
    if all(kind in WIDTHS for kind in kinds):
        wide = max(kinds, key=WIDTHS.__getitem__)
        return {"op": op, "args": [as_kind(left, wide), as_kind(right, wide)], "type": wide}
    sides = [digits(kind) for kind in kinds]
    args = [
        as_kind(arg, limited(*side) if kind in WIDTHS else kind)
        for arg, side, kind in zip((left, right), sides, kinds, strict=True)
    ]
    (p, s), (q, t) = sides
    if op == "Multiply":
        return {"op": op, "args": args, "type": limited(p + q + 1, s + t)}
    return {"op": op, "args": args, "type": limited(max(p - s, q - t) + max(s, t) + 1, max(s, t))}


def drawn(draw: random.Random, depth: int) -> Tree:
    if depth == 0 or draw.random() < 0.2:
        if draw.random() < 0.25:
            return {"literal": "1", "type": draw.choice(["decimal(1,0)", "integer"])}
        return {"column": draw.choice(list(KINDS))}
    return step(draw.choice(list(SIGNS)), drawn(draw, depth - 1), drawn(draw, depth - 1))


class Overflow(Exception):
    """A result is not of its type, or its last digits are cut off."""


def defined(tree: Tree, row: Mapping[str, Any]) -> int | None:
    """The slow definition: a number in the least unit of the tree's type, None for NULL."""
    if "column" in tree:
        value = row[tree["column"]]
        return None if value is None else unscaled(value)
    scale = digits(kind_of(tree))[1]
    if "literal" in tree:
        return int(tree["literal"]) * 10**scale
    values = [defined(arg, row) for arg in tree["args"]]
    known = [number for number in values if number is not None]
    scales = [digits(kind_of(arg))[1] for arg in tree["args"]]
    if len(known) < len(values):
        return None
    if tree["op"] == "Multiply":
        found, exact = math.prod(known), sum(scales)
    else:
        exact = max(scales)
        first, *others = (v * 10 ** (exact - s) for v, s in zip(known, scales, strict=True))
        found = first - sum(others) if tree["op"] == "Subtract" else first + sum(others)
    if scale < exact:
        raise Overflow
    found *= 10 ** (scale - exact)
    kind = kind_of(tree)
    most = 2 ** (WIDTHS[kind] - 1) if kind in WIDTHS else 10 ** digits(kind)[0]
    if not -most <= found < most or (found == -most and kind not in WIDTHS):
        raise Overflow
    return found


def value(name: str, draw: random.Random, most: int) -> Any:
    if draw.random() < 0.2:
        return None
    kind = KINDS[name][1]
    if not pa.types.is_decimal(kind):
        edge = 2 ** (kind.bit_width - 1)
        number = draw.choice([draw.randrange(-most, most), edge - 1, -edge] if most > 99 else [1])
        return min(max(number, -edge), edge - 1)
    edge = 10**kind.precision - 1
    return decimal_of(draw.choice([draw.randrange(-most, most), min(edge, most**6)]), kind.scale)


def numbers(column: pa.Array) -> list[int | None]:
    return [None if found is None else unscaled(found) for found in column.to_pylist()]


def found_of(made: Expression, batch: pa.RecordBatch) -> list[int | None] | None:
    try:
        (column,) = expressions.computed([made], batch)
    except Beyond:
        return None
    column.validate(full=True)
    assert column.type == made.kind
    return numbers(column)


@given(st.integers(0, 2**63))
def test_values_are_plain_pythons_or_not_computed(number: int) -> None:
    draw = random.Random(number)
    tree = drawn(draw, draw.randrange(1, 4))
    while "op" not in tree or not expression(json.dumps(tree)).columns:
        tree = drawn(draw, draw.randrange(1, 4))
    found, most = expression(json.dumps(tree)), draw.choice([2, 100, 10**6])
    rows = [{name: value(name, draw, most) for name in KINDS} for _ in range(draw.randrange(1, 9))]
    schema = pa.schema({name: kind for name, (_, kind) in KINDS.items()})
    batch = pa.RecordBatch.from_pylist([rows[0], *rows], schema).slice(1)
    result = found_of(found, batch)
    if result is not None:
        assert result == [defined(tree, row) for row in rows]


ONE = {"literal": "1", "type": "decimal(1,0)"}
PRICE = step("Multiply", {"column": "n"}, step("Subtract", ONE, {"column": "n"}))


@pytest.mark.parametrize(
    ("tree", "text", "kind"),
    [
        (PRICE, "n * (1 - n)", "decimal(32,4)"),
        (step("Multiply", PRICE, step("Add", ONE, {"column": "n"})), None, "decimal(38,6)"),
        (step("Add", {"column": "i"}, {"column": "l"}), "CAST(i AS BIGINT) + l", "long"),
        (step("Multiply", {"column": "y"}, {"column": "n"}), None, "decimal(19,2)"),
    ],
)
def test_usual_numbers_are_computed(tree: Tree, text: str | None, kind: str) -> None:
    assert kind_of(tree) == kind
    found = expression(json.dumps(tree))
    assert text is None or str(found) == text
    rows = [{"y": y, "i": -7, "l": 10**9, "n": Decimal("-1049.50")} for y in (-128, 127)]
    rows += [{"y": 1, "i": 1, "l": None, "n": None}]
    schema = pa.schema({name: KINDS[name][1] for name in rows[0]})
    batch = pa.RecordBatch.from_pylist(rows, schema)
    assert found_of(found, batch) == [defined(tree, row) for row in rows]


def test_decimals_of_few_digits_are_summed_as_whole_numbers() -> None:
    made = expression(
        json.dumps({"op": "UnscaledValue", "args": [{"column": "n"}], "type": "long"})
    )
    batch = pa.RecordBatch.from_pydict({"n": pa.array([Decimal("-1.25"), None], KINDS["n"][1])})
    assert (str(made), made.sent) == ("n", pa.int64())
    assert found_of(made, batch) == [-125, None]


def test_what_may_not_fit_is_not_computed() -> None:
    most, product = 2**63 - 1, {"column": "l"}
    wide = pa.RecordBatch.from_pydict({"l": pa.array([most, 1, None]), "i": pa.array([1, 2, 3])})
    for tree in (
        step("Add", product, {"column": "l"}),
        step("Multiply", product, product),
        step("Subtract", {"literal": "-2", "type": "long"}, product),
        as_kind(product, "integer"),
        as_kind(product, "decimal(20,1)"),
        step("Multiply", product, {"literal": str(10**30), "type": "decimal(31,0)"}),
    ):
        assert found_of(expression(json.dumps(tree)), wide) is None, tree
        small = pa.RecordBatch.from_pydict({"l": pa.array([3, None])})
        is_large = "31,0" in json.dumps(tree)
        assert (found_of(expression(json.dumps(tree)), small) is None) == is_large, tree


def fresh(folder: Path) -> Any:
    columns = (
        tables.column("k"),
        tables.column("s", "string"),
        tables.column("n", "decimal(15,2)"),
        tables.column("v"),
    )
    return tables.table(folder, tables.new_table(*columns, key="k", bucket="2"))


def totals(batches: Sequence[pa.RecordBatch], tree: Tree) -> dict[Any, list[int]]:
    """What Spark makes of groups, and of rows that were sent as they are."""
    found: dict[Any, list[int]] = {}
    for batch in batches:
        for s, total, plain, count, n in zip(*batch.to_pydict().values(), strict=True):
            sums = found.setdefault(s, [0, 0, 0, 0])
            assert total is None or n is None
            own = defined(tree, {"n": n}) if total is None else unscaled(total)
            sums[0], sums[1] = sums[0] + (own or 0), sums[1] + (plain or 0)
            sums[2], sums[3] = sums[2] + count, sums[3] + (n is not None)
    return found


@pytest.mark.parametrize("large", [False, True])
def test_groups_and_rows_of_merged_rows(tmp_path: Path, seed: int, large: bool) -> None:
    """Rows that a condition on values leaves out after the merge; `large` values send rows."""
    table, draw = fresh(tmp_path), random.Random(seed)
    text = json.dumps(PRICE)
    asked = (("SUM", text), ("SUM", "v"), ("COUNT", None), ("VALUE", "n"))
    condition = [harness.where("<", "v", 50)]
    for job in range(4):
        rows = [
            {
                "k": draw.randrange(60),
                "s": draw.choice([None, "a", "b"]),
                "n": draw.choice([None, decimal_of(draw.randrange(-(10**6), 10**6), 2)]),
                "v": draw.randrange(100),
            }
            for _ in range(40)
        ]
        if large and job == 3:
            rows.append({"k": 60, "s": "a", "n": decimal_of(10**15 - 1, 2), "v": 1})
        harness.upsert(table, {row["k"]: row for row in rows}.values())
    harness.delete(table, {"k": 3}, {"k": 4})
    stored = [row for row in harness.rows(table) if row["v"] < 50]
    expected: dict[Any, list[int]] = {}
    for row in stored:
        sums = expected.setdefault(row["s"], [0, 0, 0])
        sums[0] += defined(PRICE, row) or 0
        sums[1], sums[2] = sums[1] + row["v"], sums[2] + 1
    for cores in (1, 3):
        scan, tasks, report = harness.planned_tasks(
            table, [], aggregate=Aggregate(("s",), asked), filters=condition,
            enforced=condition, cores=cores,
        )  # fmt: skip
        batches = [batch for task in tasks for batch in read_task(scan, task)]
        assert all(batch.schema.equals(schema_of(scan)) for batch in batches)
        found = totals(batches, PRICE)
        assert {s: sums[:3] for s, sums in found.items()} == expected
        assert (sum(sums[3] for sums in found.values()) > 0) == large
        assert "v < 50" in report.pushed
        assert not report.unmerged
