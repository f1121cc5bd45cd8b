"""UPDATE, MERGE and DELETE from Python against a dictionary that changes one row after another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import Table, TableError

Row = dict[str, Any]
ENGINES: Mapping[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "at"},
    "partial-update": {"merge-engine": "partial-update", "bucket": "3"},
    "aggregation": {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"},
    "first-row": {"merge-engine": "first-row"},
    "changelog": {"changelog-producer": "input", "bucket": "2"},
}
COLUMNS = {"p": "INT", "k": "INT", "at": "BIGINT", "n": "BIGINT", "s": "STRING"}
TARGET_N, SOURCE_N = pc.field("target", "n"), pc.field("source", "n")


@pytest.mark.parametrize("engine", ENGINES)
def test_statements_are_as_defined(tmp_path: Path, seed: int, engine: str) -> None:
    random, catalog = Random(seed), keyfold.connect(tmp_path, threads=2)
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], ENGINES[engine])
    model: dict[tuple[int, int], Row] = {}
    steps = [_update, _update_key, _merge, _merge_on_value, _delete]
    for number in range(15):
        if not model or random.random() < 0.15:
            _insert(random, table, model, number)
        else:
            random.choice(steps)(random, table, model, number)
        if random.random() < 0.2:
            table.compact()
        found = {(row["p"], row["k"]): row for row in table.scan().to_pylist()}
        assert found == model, (engine, number)


def _row(random: Random, number: int) -> Row:
    key = {"p": random.randrange(2), "k": random.randrange(12)}
    text = random.choice((None, "a", "b"))
    return key | {"at": number, "n": random.choice((None, 0, 3, 50)), "s": text}


def _insert(random: Random, table: Table, model: dict[tuple[int, int], Row], number: int) -> None:
    rows = [_row(random, number) for _ in range(8)]
    new = {(r["p"], r["k"]): r for r in rows if (r["p"], r["k"]) not in model}
    table.upsert(list(new.values()))
    model.update(new)


def _update(random: Random, table: Table, model: dict[tuple[int, int], Row], number: int) -> None:
    least = random.randrange(60)
    table.update(f"n >= {least}", {"n": pc.field("n") + 1, "S": "up"})
    for row in model.values():
        if row["n"] is not None and row["n"] >= least:
            row |= {"n": row["n"] + 1, "s": "up"}


def _update_key(
    random: Random, table: Table, model: dict[tuple[int, int], Row], number: int
) -> None:
    """Chains of keys: each row moves to where another one was."""
    table.update(pc.field("p") == 1, {"k": pc.field("k") + 1, "at": number})
    moved = [model.pop(key) for key in sorted(model) if key[0] == 1]
    for row in moved:
        row |= {"k": row["k"] + 1, "at": number}
        model[row["p"], row["k"]] = row


def _source(random: Random, number: int) -> list[Row]:
    rows = [_row(random, number) | {"op": random.choice("DUX")} for _ in range(10)]
    return list({(row["p"], row["k"]): row for row in rows}.values())


def _merge(random: Random, table: Table, model: dict[tuple[int, int], Row], number: int) -> None:
    rows, by_source = _source(random, number), random.random() < 0.5
    made = table.merge(pa.Table.from_pylist(rows) if random.random() < 0.5 else rows)
    made.when_matched_delete(pc.field("source", "op") == "D")
    made.when_matched_update({"n": SOURCE_N + 1, "at": number}, TARGET_N > SOURCE_N)
    if random.random() < 0.5:
        made.when_matched_update_all(pc.field("source", "op") == "U", except_cols=["s"])
        updates_all = True
    else:
        updates_all = False
    made.when_not_matched_insert_all(pc.field("source", "op") != "D")
    if by_source:
        made.when_not_matched_by_source_delete(pc.field("target", "n") == 3)
        made.when_not_matched_by_source_update({"s": "alone"})
    made.execute()
    keys = {(row["p"], row["k"]) for row in rows}
    for key in [*model] if by_source else []:
        if key not in keys and model[key]["n"] == 3:
            del model[key]
        elif key not in keys:
            model[key]["s"] = "alone"
    for row in rows:
        key, op = (row["p"], row["k"]), row["op"]
        new = {name: row[name] for name in COLUMNS}
        if key not in model:
            if op != "D":
                model[key] = new
        elif op == "D":
            del model[key]
        elif None not in (model[key]["n"], row["n"]) and model[key]["n"] > row["n"]:
            model[key] |= {"n": row["n"] + 1, "at": number}
        elif op == "U" and updates_all:
            model[key] |= {"at": new["at"], "n": new["n"]}


def _merge_on_value(
    random: Random, table: Table, model: dict[tuple[int, int], Row], number: int
) -> None:
    """Rows of the source match many of the table, by a column that is no key."""
    rows = [{"text": "a", "more": 1}, {"text": None, "more": 9}, {"text": "none", "more": 5}]
    made = table.merge(rows, {"s": "text"})
    made.when_matched_update({"n": pc.coalesce(TARGET_N, 0) + pc.field("source", "more")})
    made.execute()
    for row in model.values():
        if row["s"] == "a":
            row["n"] = (row["n"] or 0) + 1


def _delete(random: Random, table: Table, model: dict[tuple[int, int], Row], number: int) -> None:
    keys = [{"p": 0, "k": random.randrange(12)} for _ in range(3)]
    table.delete(keys)
    for key in keys:
        model.pop((key["p"], key["k"]), None)


def test_a_match_by_two_rows_of_the_source_is_refused(tmp_path: Path) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT", "n": "INT"}, ["k"])
    table.upsert([{"k": 1, "n": 1}])
    twice = [{"k": 1, "n": 2}, {"k": 1, "n": 3}]
    with pytest.raises(TableError, match=r"match one row of the table twice, {'k': 1}"):
        table.merge(twice).when_matched_update_all().execute()
    with pytest.raises(TableError, match=r"match one row of the table twice, {'k': 1}"):
        table.merge(twice).when_matched_delete(SOURCE_N > 2).execute()
    with pytest.raises(TableError, match=r"writes key \(k = 2\) 2 times"):
        table.merge([{"k": 2}, {"k": 2}]).when_not_matched_insert_all().execute()
    table.upsert([{"k": 2, "n": 2}])
    with pytest.raises(TableError, match=r"writes key \(k = 5\) 2 times"):
        table.update(None, {"k": 5})
    assert table.merge(twice).when_matched_delete().execute() == 3
    assert table.scan().to_pylist() == [{"k": 2, "n": 2}]
