"""Parts of nested columns are read alone: the bytes of other fields stay where they are."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from keyfold.read.formats.parquet import BYTES_READ
from keyfold.read.nested_pruning import narrowed, nested
from keyfold.resources.metering import metering
from keyfold.storage.table import Table
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables
from tests.storage.tables import column, new_table

ROWS = 500


def struct(**fields: Any) -> dict[str, Any]:
    listed = [{"name": n, "type": kind, "nullable": True} for n, kind in fields.items()]
    return {"type": "struct", "fields": listed}


def array(inner: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": inner, "containsNull": True}


DEEP = struct(
    n="long", text="string", more=struct(few="integer", all=array(struct(x="string", y="long")))
)


def made(folder: Path, engine: str, kind: Any = DEEP, **options: str) -> Table:
    asked = {"merge_engine": engine, "write_only": "true"} | options
    return tables.table(folder, new_table(column("k"), column("s", kind), column("n"), **asked))


def value(random: Random) -> dict[str, Any] | None:
    def some(made: Any) -> Any:
        return None if random.random() < 0.2 else made

    inner = [some({"x": f"{random.random()}" * 20, "y": random.randrange(9)}) for _ in range(3)]
    more = some({"few": random.randrange(9), "all": some(inner[: random.randrange(4)])})
    return some({"n": some(random.randrange(9)), "text": f"{random.random()}" * 20, "more": more})


def filled(table: Table, random: Random, runs: int = 2) -> Table:
    for _ in range(runs):
        keys = random.sample(range(ROWS), ROWS // 2)
        harness.upsert(table, [{"k": key, "s": value(random), "n": key} for key in keys])
    return table


def taken(whole: Any, asked: Any) -> Any:
    """What is asked of a value, slowly and obviously."""
    if isinstance(whole, dict):
        return {name: taken(whole[name], asked[name]) for name in whole if name in asked}
    return [taken(one, asked) for one in whole] if isinstance(whole, list) else whole


def read(table: Table, asked: Any) -> tuple[list[dict[str, Any]], int]:
    """The rows, and the bytes of column chunks that were read for them."""
    scan, splits, _ = harness.planned(table, ["k", "s"])
    with metering() as meter:
        meter.count(BYTES_READ, 0)
        rows = harness.rows_of(narrowed(scan, {"s": asked} if asked else {}), splits)
    return sorted(rows, key=lambda row: row["k"]), meter.figures()[BYTES_READ]


@pytest.mark.parametrize("engine", ["deduplicate", "first-row", "partial-update", "aggregation"])
@pytest.mark.parametrize(
    "asked",
    [
        {"n": None},
        {"more": {"few": None}},
        {"more": {"all": {"y": None}}, "n": None},
        {"more": {}},
    ],
)
def test_a_field_costs_its_own_bytes(tmp_path: Path, engine: str, asked: Any, seed: int) -> None:
    table = filled(made(tmp_path, engine), Random(f"{seed} {engine}"))
    for _ in range(2):
        rows, all_bytes = read(table, None)
        assert any(row["s"] is None for row in rows)
        found, few = read(table, asked)
        assert found == [{"k": row["k"], "s": taken(row["s"], asked)} for row in rows]
        assert few < all_bytes / 3
        assert all(
            outcome["outcome"] == "committed" for outcome in compaction.compact(table, "full")
        )


@pytest.mark.parametrize("name", ["a.b", "s"])
def test_a_name_with_a_dot_reads_the_whole_column(tmp_path: Path, name: str, seed: int) -> None:
    kind = struct(**{name: "string", "a": struct(b="string")})
    table = made(tmp_path, "deduplicate", kind)
    harness.upsert(table, [{"k": 1, "s": {name: "x", "a": {"b": "y"}}, "n": 1}])
    assert read(table, {name: None})[0] == [{"k": 1, "s": {name: "x"}}]
    assert read(table, {"a": {"b": None}})[0] == [{"k": 1, "s": {"a": {"b": "y"}}}]


def test_a_function_that_looks_at_values_has_whole_columns(tmp_path: Path) -> None:
    inner = array(struct(x="integer", y="integer"))
    for place, (function, parts) in enumerate(
        {"collect": [], "nested_update": [], "last_value": ["s"], "first_value": ["s"]}.items()
    ):
        options = {"fields__s__aggregate_function": function}
        table = made(tmp_path / str(place), "aggregation", inner, **options)
        assert nested(table.layout) == parts
