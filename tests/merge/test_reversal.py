"""Older records behind retractions in a sequence group, where a function minds the order."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.testing.tables import Record, batch, layout, records
from keyfold.wire.layout import TableLayout
from tests.definitions import fold
from tests.draws import draws

MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "INT"}
PAIR = {
    "type": "ROW",
    "fields": [{"id": 7, "name": "a", "type": "INT"}, {"id": 8, "name": "b", "type": "INT"}],
}
FUNCTIONS: dict[str, tuple[Any, dict[str, str]]] = {
    "merge_map": (MAP, {}),
    "nested_update": ({"type": "ARRAY", "element": PAIR}, {"fields.v.nested-key": "a"}),
}


def value(random: Random, function: str) -> Any:
    if random.random() < 0.1:
        return None
    found = {random.choice("abcd"): random.randrange(9) for _ in range(random.randrange(4))}
    if function == "merge_map":
        return list(found.items())
    return [{"a": ord(key), "b": number} for key, number in found.items()]


def unordered(found: list[Record]) -> list[Any]:
    """Kinds, keys, sequences, and values as sets: their order is free."""

    def parts(cell: Any) -> Any:
        if isinstance(cell, dict):
            return frozenset(cell.items())
        return tuple(cell)

    return [
        (kind, row["k"], row["g"], None if row["v"] is None else frozenset(map(parts, row["v"])))
        for kind, row in found
    ]


@pytest.mark.parametrize("function", list(FUNCTIONS))
@draws(60)
@given(st.integers(0, 2**32), st.sampled_from(("true", "false")))
def test_random_events_are_the_definition(function: str, seed: int, ignores: str) -> None:
    random = Random(seed)
    kind, own = FUNCTIONS[function]
    options = {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "v",
        "fields.v.aggregate-function": function,
        "fields.v.ignore-retract": ignores,
    }
    if random.random() < 0.3:
        options["partial-update.remove-record-on-sequence-group"] = "g"
    table = layout({"k": "INT", "v": kind, "g": "INT"}, ["k"], options | own)
    rows: list[Record] = []
    for _ in range(random.randrange(40)):
        values = {"k": random.randrange(4), "v": value(random, function), "g": random.randrange(9)}
        rows.append((random.choice((0, 0, 0, 1, 3)), values))
    found = records(fold_unsorted(plan_merge(table, ["k", "v", "g"]), [batch(table, rows)]))
    assert unordered(found) == unordered(fold(table, rows))


def taken_back() -> tuple[TableLayout, list[Record]]:
    """A map of a group, of which entries are taken back before older ones come."""
    kind, _ = FUNCTIONS["merge_map"]
    options = {
        "merge-engine": "partial-update",
        "fields.g.sequence-group": "v",
        "fields.v.aggregate-function": "merge_map",
    }
    table = layout({"k": "INT", "v": kind, "g": "INT"}, ["k"], options)
    events = [(0, "ab", 1, 5), (3, "a", 1, 6), (0, "abc", 2, 4), (1, "b", 0, 7), (0, "b", 3, 3)]
    rows = [
        (kind, {"k": 1, "v": [(key, number) for key in keys], "g": sequence})
        for kind, keys, number, sequence in events
    ]
    return table, rows


def test_what_was_taken_back_comes_again_with_an_older_record() -> None:
    table, rows = taken_back()
    (found,) = records(fold_unsorted(plan_merge(table, ["k", "v", "g"]), [batch(table, rows)]))
    assert dict(found[1]["v"]) == {"a": 2, "b": 3, "c": 2}
