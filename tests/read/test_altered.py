"""Random histories of ALTER TABLE, writes, compactions and deletes against a plain Python model."""

import tempfile
from collections.abc import Container
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keyfold
from keyfold.errors import NotSupportedError
from keyfold.read.folds.summary import summarized
from keyfold.read.nested_pruning import narrowed, nested
from keyfold.storage.table import Table
from keyfold.wire.predicates import Predicate
from keyfold.wire.specs import Aggregate, ScanSpec
from tests.compact import harness as compaction
from tests.compact.parts import commit_compaction, plan_steps
from tests.draws import draws
from tests.read import harness
from tests.read.altered import STEPS, Altered
from tests.read.harness import where
from tests.storage import tables

ENGINES = ("deduplicate", "first-row", "partial-update", "aggregation")


def check(altered: Altered) -> None:
    """All rows, some columns, and filters over what was renamed, widened and added."""
    names = altered.table.layout.arrow_schema.names
    assert names == ["k", *(one.name for one in altered.model.columns)]
    expected = altered.model.rows()
    assert by_key(harness.rows(altered.table)) == expected
    one = altered.random.choice(altered.model.columns)
    projected = by_key(harness.rows(altered.table, ["k", one.name]))
    assert projected == [{"k": row["k"], one.name: row[one.name]} for row in expected]
    check_parts(altered, expected)
    for node in altered.model.columns:
        if node.kind in ("integer", "long"):
            some = altered.random.choice([2, *(row[node.name] for row in expected)])
            for value in {None, node.initial, some}:
                check_filter(altered, node.name, value, node.kind, expected)


def check_parts(altered: Altered, expected: list[dict[str, object]]) -> None:
    """Some fields of nested columns, read alone, are what they are in whole rows."""
    asked, shown = {}, {}
    for node in altered.model.columns:
        if node.fields:
            few = altered.random.sample(node.fields, altered.random.randint(1, len(node.fields)))
            fields = dict.fromkeys(one.name for one in few)
            asked[node.name] = [None, fields] if node.kind == "map" else fields
            shown[node.name] = fields
    assert set(nested(altered.table.layout)) == set(asked)
    scan, splits, _ = harness.planned(altered.table, ["k", *asked])
    found = by_key(harness.rows_of(sent(narrowed(scan, asked)), splits))
    assert found == [
        {"k": row["k"], **{name: part(row[name], fields) for name, fields in shown.items()}}
        for row in expected
    ]


def sent(scan: ScanSpec) -> ScanSpec:
    return ScanSpec.from_json(scan.to_json())


def part(value: Any, fields: Container[str]) -> Any:
    """A value with some fields of its structs."""
    match value:
        case dict():
            return {name: one for name, one in value.items() if name in fields}
        case list():
            return [part(one, fields) for one in value]
        case (key, one):
            return key, part(one, fields)
    return value


def check_filter(
    altered: Altered, name: str, value: object, kind: str, expected: list[dict[str, object]]
) -> None:
    """No row that passes is left out, and what comes are the table's rows."""
    literal = {"literal": value, "type": kind}
    predicate = Predicate.from_json({"op": "<=>", "args": [{"column": [name]}, literal]})
    found = by_key(harness.rows(altered.table, filters=[predicate]))
    assert [row for row in found if row[name] == value] == [
        row for row in expected if row[name] == value
    ]
    assert all(row in expected for row in found)


def by_key(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(rows, key=lambda row: str(row["k"]))


@pytest.mark.parametrize("engine", ENGINES)
@draws(6)
@given(random=st.randoms(use_true_random=False))
def test_histories(engine: str, random: Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        altered = Altered.made(Path(folder), engine, random)
        for step in random.choices(list(STEPS), list(STEPS.values()), k=14):
            step(altered)
            if not altered.pending:
                check(altered)
        altered.commit_jobs()
        check(altered)
        altered.compact()
        check(altered)


def made(folder: Path) -> Table:
    return tables.table(folder, tables.new_table(bucket="1", write_only="true"))


def alter(table: Table, **change: object) -> None:
    folder = Path(table.layout.location).parent.parent
    tables.catalog(folder).alter_table(["default"], "t", [change])


FIVE = {"default": "5", "default_value": {"literal": 5, "type": "integer"}}


def test_jobs_asked_under_an_old_schema_keep_what_was_added_since(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": k, "v": k} for k in range(4)])
    asked = compaction.asked(table)
    alter(table, change="add_column", name=["w"], type="integer")
    altered = tables.reload(table)
    harness.upsert(altered, [{"k": k, "v": 10, "w": 100 + k} for k in (0, 1, 2)])
    harness.delete(table, {"k": 1})
    rows = [{"k": 0, "v": 10, "w": 100}, {"k": 2, "v": 10, "w": 102}, {"k": 3, "v": 3, "w": None}]
    assert harness.rows(altered) == rows
    planned = compaction.sent(plan_steps(asked))
    for step in planned["steps"]:
        told = {"compaction": planned["compaction"], "steps": [step["step"]]}
        done = [one["files"] for one in compaction.run(planned, step)]
        question = {key: asked[key] for key in ("table", "catalog")}
        (answer,) = commit_compaction(compaction.sent(question | told | {"results": [done]}))
        assert answer["outcome"] == "committed"
    assert harness.rows(altered) == rows
    (file,) = tables.reload(table).live_files()
    assert file.schema_id == 1


def test_a_full_compaction_writes_a_default_into_files_that_lack_it(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": 1, "v": 1}])
    compaction.compact(table)
    assert compaction.compact(table) == []
    alter(table, change="add_column", name=["w"], type="integer", **FIVE)
    assert compaction.compact(table, "minor") == []
    (step,) = compaction.compact(table)
    assert step["outcome"] == "committed"
    (file,) = tables.reload(table).live_files()
    assert file.schema_id == 1
    assert compaction.compact(table) == []
    assert harness.rows(table) == [{"k": 1, "v": 1, "w": 5}]


def test_files_of_old_schemas_are_left_out_by_what_they_hold(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": k, "v": k} for k in range(4)])
    alter(table, change="rename_column", name=["v"], to="n")
    alter(table, change="update_column_type", name=["n"], type="decimal(20,0)")
    alter(table, change="add_column", name=["v"], type="integer", **FIVE)
    alter(table, change="add_column", name=["w"], type="integer")
    harness.upsert(tables.reload(table), [{"k": 9, "n": 99, "v": 1, "w": 1}])

    def files(*filters: object) -> int:
        return harness.planned(table, filters=filters)[2].files_read

    assert files() == 2
    assert files(where("=", "n", "2", type="decimal(20,0)")) == 1
    assert files(where("=", "n", "50", type="decimal(20,0)")) == 0
    assert files(where("=", "v", 5, type="integer")) == 1
    assert files(where("=", "v", 3, type="integer")) == 0
    assert files(where("IS_NULL", "v")) == 0
    assert files(where("IS_NULL", "w")) == 1
    assert files(where("=", "v", 1, type="integer")) == 1


def test_extremes_of_old_files(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": k, "v": k} for k in range(4)])
    alter(table, change="rename_column", name=["v"], to="n")
    alter(table, change="update_column_type", name=["n"], type="decimal(20,0)")
    alter(table, change="add_column", name=["v"], type="integer", **FIVE)
    alter(table, change="add_column", name=["w"], type="integer")
    functions = [(op, name) for name in ("n", "v", "w") for op in ("MIN", "MAX")]
    asked = Aggregate((), (("COUNT", None), *functions))
    scan, tasks, _ = harness.planned_tasks(table, aggregate=asked)
    (row,) = [batch for task in tasks for batch in summarized(scan, task)]
    assert list(row.to_pylist()[0].values()) == [4, 0, 3, 5, 5, None, None]


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
@draws(3)
@given(random=st.randoms(use_true_random=False))
def test_a_default_beside_records_of_some_columns(engine: str, random: Random) -> None:
    """Every row that was there has it; a later one that does not name the column has none."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"merge-engine": engine, "bucket": "1", "write-only": "true"}
        columns = {"k": "INT", "a": "INT", "b": "INT"}
        table = keyfold.connect(folder, threads=1).create_table(
            "t", columns, ["k"], options=options
        )
        rows: dict[int, dict[str, int | None]] = {}
        names = ["a", "b"]
        for step in range(10):
            if step == 5:
                given_to_all(folder, rows)
                names.append("c")
            what = random.choice(["name", "name", "whole", "delete", "compact"])
            keys = random.sample(range(5), 2)
            if what == "compact":
                table.compact(random.choice(["full", "minor"]))
            elif what == "delete":
                table.delete([{"k": key} for key in keys])
                rows = {key: row for key, row in rows.items() if key not in keys}
            else:
                some = names if what == "whole" else random.sample(names, 1)
                told = [dict.fromkeys(some, random.randrange(9)) for _ in keys]
                table.upsert([{"k": key, **one} for key, one in zip(keys, told, strict=True)])
                for key, one in zip(keys, told, strict=True):
                    rows[key] = dict.fromkeys(names) | rows.get(key, {}) | one
            found = {row.pop("k"): row for row in table.scan().to_pylist()}
            assert found == {key: dict.fromkeys(names) | row for key, row in rows.items()}


def given_to_all(folder: str, rows: dict[int, dict[str, int | None]]) -> None:
    """ADD COLUMN c INT DEFAULT 7."""
    default = {"default": "7", "default_value": {"literal": 7, "type": "integer"}}
    added = {"change": "add_column", "name": ["c"], "type": "integer", **default}
    tables.catalog(Path(folder)).alter_table(["default"], "t", [added])
    for row in rows.values():
        row["c"] = 7


def test_a_default_is_refused_beside_deletes_of_some_columns(tmp_path: Path) -> None:
    """They say which rows are left, by the columns of then. Deletes of whole rows do not."""
    options = {"merge-engine": "aggregation", "write-only": "true"}
    options["aggregation.remove-record-on-delete"] = "true"
    columns = {"k": "INT", "a": "INT", "b": "INT"}
    table = keyfold.connect(tmp_path, threads=1).create_table("t", columns, ["k"], options=options)
    table.upsert([{"k": 1, "a": 1, "b": 1}, {"k": 2, "a": 2, "b": 2}])
    table.upsert([{"k": 1, "a": 1}], row_kind="-D")
    with pytest.raises(NotSupportedError, match="a -D of some columns may be among them"):
        given_to_all(str(tmp_path), {})
    table.compact()
    table.delete([{"k": 2}])
    given_to_all(str(tmp_path), {})
    assert table.scan().to_pylist() == [{"k": 1, "a": None, "b": 1, "c": 7}]
