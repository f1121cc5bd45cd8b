"""Pruning never loses a row: predicates over ranges against three-valued logic over the rows."""

import json
import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from keyfold.predicates.ranges import ValueRange, decided, may_be_true
from keyfold.predicates.sql_text import describe
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.types.literals import Constant, comparable
from keyfold.wire.predicates import Named, Predicate
from tests.read.harness import where

INT = paimon_types.from_paimon("INT")
DOUBLE = paimon_types.from_paimon("DOUBLE")
TEXT = paimon_types.from_paimon("STRING")
DOUBLES = (-math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan)
CASES = (
    (INT, "integer", lambda random: random.randint(-3, 3)),
    (DOUBLE, "double", lambda random: random.choice(DOUBLES)),
    (TEXT, "string", lambda random: "".join(random.choices("ab\U0001f600", k=random.randrange(4)))),
)
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
ROUNDS = 1000
Draw = Callable[[Random], Any]


def leaf(random: Random, kind: str, value: Draw) -> Predicate:
    def literal() -> Any:
        return None if random.random() < 0.2 else value(random)

    form = random.randrange(4 if kind == "string" else 3)
    if form == 1:
        return where("IN", "c", *(literal() for _ in range(random.randrange(4))), type=kind)
    if form == 2:
        return where(random.choice(["IS_NULL", "IS_NOT_NULL"]), "c")
    return where("STARTS_WITH" if form else random.choice(COMPARISONS), "c", literal(), type=kind)


def tree(random: Random, kind: str, value: Draw, depth: int = 3) -> Predicate:
    """A random predicate of up to eight leaves."""
    op = random.choice(["AND", "OR", "NOT", "", ""]) if depth else ""
    if not op:
        return leaf(random, kind, value)
    return Predicate(
        op, tuple(tree(random, kind, value, depth - 1) for _ in range(1 + (op != "NOT")))
    )


def rows_of(random: Random, value: Draw, most: int) -> list[Any]:
    """Values of one row or more, some of them NULL."""
    count = random.randint(1, most)
    return [None if random.random() < 0.3 else value(random) for _ in range(count)]


def truth(predicate: Any, value: Any, data_type: logical.DataType) -> bool | None:
    """The predicate of one row, as SQL has it."""
    op, args = predicate.op, predicate.args
    if op in ("AND", "OR", "NOT"):
        return connect(op, [truth(arg, value, data_type) for arg in args])
    ours = comparable(value, data_type)
    literals = [comparable(arg.value, data_type) for arg in args[1:]]
    if op in ("IS_NULL", "IS_NOT_NULL"):
        return (ours is None) == (op == "IS_NULL")
    if op == "<=>":
        return bool(ours == literals[0])
    if op == "IN":
        found = [None if v is None or ours is None else v == ours for v in literals]
        return connect("OR", found)
    if ours is None or literals[0] is None:
        return None
    return compare(op, ours, literals[0])


def connect(op: str, parts: Sequence[bool | None]) -> bool | None:
    if op == "NOT":
        return None if parts[0] is None else not parts[0]
    decisive = op == "OR"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def compare(op: str, left: Any, right: Any) -> bool:
    if op == "STARTS_WITH":
        return bool(left.startswith(right))
    outcomes = {"=": left == right, "<>": left != right, "<": left < right, "<=": left <= right}
    outcomes |= {">": left > right, ">=": left >= right}
    return outcomes[op]


@pytest.mark.parametrize(("data_type", "kind", "value"), CASES, ids=["int", "double", "text"])
def test_no_range_with_a_matching_row_is_left_out(
    data_type: logical.DataType, kind: str, value: Draw, seed: int
) -> None:
    random = Random(seed)
    left_out = 0
    for _ in range(ROUNDS):
        rows, predicate = rows_of(random, value, 4), tree(random, kind, value)
        known = [comparable(row, data_type) for row in rows if row is not None]
        bounds = (min(known), max(known)) if known else (None, None)
        is_kept = may_be_true(
            predicate, {"c": ValueRange(data_type, *bounds, None in rows, bool(known))}
        )
        assert is_kept or not any(truth(predicate, row, data_type) for row in rows), predicate
        left_out += not is_kept
    assert left_out > ROUNDS // 10


@pytest.mark.parametrize(("data_type", "kind", "value"), CASES, ids=["int", "double", "text"])
def test_what_is_decided_of_one_row_is_true(
    data_type: logical.DataType, kind: str, value: Draw, seed: int
) -> None:
    random = Random(seed)
    for _ in range(ROUNDS):
        (row,), predicate = rows_of(random, value, 1), tree(random, kind, value)
        found = decided(predicate, exactly(row, data_type))
        assert found in (truth(predicate, row, data_type) is True, None), predicate


@pytest.mark.parametrize(("data_type", "kind", "value"), CASES, ids=["int", "double", "text"])
def test_predicates_travel_and_say_the_same(
    data_type: logical.DataType, kind: str, value: Draw, seed: int
) -> None:
    random = Random(seed)
    for _ in range(ROUNDS // 4):
        predicate = tree(random, kind, value)
        kept = Predicate.from_json(json.loads(json.dumps(predicate.to_json())))
        assert str(kept) == str(predicate)  # a NaN is not equal to itself
        for row in rows_of(random, value, 3):
            one = exactly(row, data_type)
            assert decided(kept, one) == decided(predicate, one)


def exactly(row: Any, data_type: logical.DataType) -> dict[str, ValueRange]:
    """The range of one value."""
    value = comparable(row, data_type)
    return {"c": ValueRange(data_type, value, value, row is None, row is not None)}


@pytest.mark.parametrize(("literal", "found"), [(5, True), (6, False), (None, False)])
def test_one_value_decides(literal: int | None, found: bool) -> None:
    assert decided(where("=", "c", literal, type="integer"), of(5, 5)) is found


@pytest.mark.parametrize("predicate", [where("SOMETHING", "c", 5), where("=", "other", 5)])
def test_what_is_not_understood_decides_nothing(predicate: Any) -> None:
    assert decided(predicate, of(5, 5)) is None


def of(low: Any, high: Any) -> dict[str, ValueRange]:
    return {"c": ValueRange(INT, low, high, may_hold_null=False)}


@pytest.mark.parametrize(
    ("predicate", "is_kept"),
    [
        (where("=", "c", 11, type="integer"), False),
        (where("=", "c", 10, type="integer"), True),
        (where("=", "c", 11, type="long"), True),  # types differ: kept
        (where("=", "other", 11, type="integer"), True),
        (where("IN", "c", 1, 30, type="integer"), False),
        (where("<", "c", 5, type="integer"), False),
        (where("<=", "c", 5, type="integer"), True),
        (where("SOMETHING", "c", 5, type="integer"), True),
        (where("IS_NULL", "c"), False),
        (Predicate("NOT", (where(">=", "c", 5, type="integer"),)), False),
        (Predicate("NOT", (where("=", "other", 5),)), True),
        (Predicate("OR", (where(">", "c", 10, type="integer"), where("=", "x", 1))), True),
        (Predicate("AND", (where(">", "c", 10, type="integer"), where("=", "x", 1))), False),
        (Predicate("ALWAYS_FALSE"), False),
    ],
)
def test_what_is_left_out(predicate: Any, is_kept: bool) -> None:
    assert may_be_true(predicate, of(5, 10)) is is_kept


def test_predicates_read_as_sql() -> None:
    either = Predicate("OR", (where("IN", "c", 1, None), where("STARTS_WITH", "d", "x")))
    assert describe(Predicate("NOT", (either,))) == "NOT (c IN (1, NULL) OR d STARTS WITH 'x')"


def test_a_field_is_no_column_with_dots_in_its_name() -> None:
    ranges = {"a.b": ValueRange(INT, 1, 1, may_hold_null=False)}
    column = where("=", "a.b", 9, type="integer")
    field = Predicate("=", (Named(("a", "b")), Constant(9, "integer")))
    assert not may_be_true(column, ranges)
    assert may_be_true(field, ranges)
    assert column.columns == {"a.b"}
    assert "a.b" not in field.columns


def test_char_compares_with_its_padding() -> None:
    char = paimon_types.from_paimon("CHAR(3)")
    value = comparable("a", char)
    ranges = {"c": ValueRange(char, value, value, may_hold_null=False)}
    for literal, holds in (("a", True), ("a  ", True), ("ab ", False)):
        assert may_be_true(where("<=>", "c", literal, type="string"), ranges) is holds
        negated = Predicate("NOT", (where("<=>", "c", literal, type="string"),))
        assert may_be_true(negated, ranges) is not holds
