"""Compactions end to end: what a table holds before and after, and on which levels."""

import itertools
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from keyfold.errors import TableError
from keyfold.storage.commits import commit
from keyfold.storage.table import Table
from keyfold.testing.own import using
from keyfold.user_functions import shipping
from keyfold.wire.specs import MARKED_SUFFIX
from keyfold.write.writer import write
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables
from tests.user_functions import functions


def made(folder: Path, **options: str) -> Table:
    return tables.table(folder, tables.new_table(**({"bucket": "1"} | options)))


def test_full_compaction_leaves_one_run_on_the_highest_level(tmp_path: Path) -> None:
    table = made(tmp_path)
    for start in range(4):
        harness.upsert(table, [{"k": k, "v": start} for k in range(start, start + 10)])
    before = harness.rows(table)
    (step,) = compaction.compact(table)
    assert (step["outcome"], step["files"], step["rows"]) == ("committed", 1, 13)
    assert compaction.levels(table) == {5: 1}
    assert harness.rows(table) == before
    assert compaction.plan(table)["skipped"] == "no bucket needs merging"
    assert table.snapshots.latest().commit_kind == "COMPACT"
    assert table.snapshots.latest().total_record_count == 13


def test_snapshots_order_what_is_compacted(tmp_path: Path) -> None:
    settings = {"sequence__snapshot_ordering": "true", "write_only": "true"}
    table = made(tmp_path, **settings)
    numbers = (9, 1 << 60, 5, 7)
    for value, number in enumerate(numbers):
        write_numbered(table, number, [{"k": 1, "v": value}, {"k": 10 + value, "v": value}])
        if value == 2:
            before = harness.rows(table)
            assert before[0] == {"k": 1, "v": 2}
            compaction.compact(table)
            assert harness.rows(table) == before
            (file,) = tables.reload(table).live_files()
            assert (file.min_sequence, file.max_sequence) == (1, 3)
    assert harness.rows(table)[0] == {"k": 1, "v": 3}
    compaction.compact(table)
    assert [row["v"] for row in harness.rows(table)] == [3, 0, 1, 2, 3]
    assert {f.max_sequence for f in tables.reload(table).live_files()} == {5}


def write_numbered(table: Table, number: int, rows: list[dict[str, Any]]) -> None:
    spec = replace(harness.job(table.layout), sequence=number)
    commit.append(table, spec, write(spec, harness.batches(table.layout, rows)))


def test_partial_rows_become_whole_where_nothing_older_lies_below(tmp_path: Path) -> None:
    columns = [tables.column(name) for name in ("k", "a", "b")]
    settings = {"bucket": "1", "merge_engine": "aggregation"}
    settings |= {f"fields__{name}__aggregate_function": "last_value" for name in "ab"}
    table = tables.table(tmp_path, tables.new_table(*columns, **settings))
    random = Random(1)
    base = [{"k": k, "a": random.randrange(1 << 50), "b": k} for k in range(5000)]
    harness.upsert(table, base)
    compaction.compact(table)
    for number, name in itertools.product((1, 2), "ab"):
        spec = harness.job(table.layout, columns=("k", name))
        spec = replace(spec, named=("k", name))
        rows = [{"k": 10 * number + "ab".index(name), name: None}, {"k": 4000, name: number}]
        incoming = harness.batches(table.layout, rows)
        messages = write(spec, [batch.select(["k", name]) for batch in incoming])
        commit.append(tables.reload(table), spec, messages)
    before = harness.rows(table)
    assert before[10] == {"k": 10, "a": None, "b": 10}
    assert before[4000] == {"k": 4000, "a": 2, "b": 2}
    assert marked(table) == {0}
    assert compaction.compact(table, "minor")
    assert (marked(table), compaction.levels(table)) == ({4}, {4: 1, 5: 1})
    assert harness.rows(table) == before
    compaction.compact(table)
    assert (marked(table), compaction.levels(table)) == (set(), {5: 1})
    assert harness.rows(table) == before


def marked(table: Table) -> set[int]:
    """The levels of files that hold partial rows."""
    return {f.level for f in tables.reload(table).live_files() if f.name.endswith(MARKED_SUFFIX)}


def test_users_functions_travel_with_the_tasks(tmp_path: Path) -> None:
    settings = {"merge_engine": "aggregation", "fields__v__aggregate_function": "total"}
    code = {"registered": {"total": shipping.dumps(functions.total)}}
    with using(functions.total):
        table = made(tmp_path, **settings)
        for value in range(3):
            harness.upsert(table, [{"k": 1, "v": value}, {"k": 2 + value, "v": value}])
        before = harness.rows(table)
        planned = compaction.sent(
            compaction.driver.plan_steps(compaction.asked(table) | {"code": code})
        )
    (step,) = planned["steps"]
    answer = compaction.commit(table, planned, step, compaction.run(planned, step))
    assert answer["outcome"] == "committed"
    with using(functions.total):
        assert harness.rows(table) == before
    assert before[0] == {"k": 1, "v": 3}


def test_a_compaction_reads_what_older_schemas_wrote(tmp_path: Path) -> None:
    table = made(tmp_path)
    harness.upsert(table, [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    wider = [{"change": "add_column", "name": ["w"], "type": "string"}]
    table = tables.catalog(tmp_path).alter_table(["default"], "t", wider)
    harness.upsert(table, [{"k": 2, "v": 3, "w": "x"}])
    before = harness.rows(table)
    assert before == [{"k": 1, "v": 1, "w": None}, {"k": 2, "v": 3, "w": "x"}]
    compaction.compact(table)
    assert {f.schema_id for f in tables.reload(table).live_files()} == {table.layout.schema_id}
    assert harness.rows(table) == before


@pytest.mark.parametrize(
    "given",
    [
        {"sequence.field": "v"},
        {"ignore-delete": "true"},
        {"table.delete.behavior": "ignore"},
        {"merge-engine": "aggregation"},
        {"fields.v.aggregate-function": "sum"},
        {"bucket": "7"},
    ],
)
def test_options_of_a_call_do_not_change_what_rows_are(
    tmp_path: Path, given: dict[str, str]
) -> None:
    table = made(tmp_path)
    for value in range(2):
        harness.upsert(table, [{"k": 1, "v": value}])
    with pytest.raises(TableError, match="it decides what the table's rows are"):
        compaction.plan(table, options=given)
    files = {"target-file-size": "1 kb", "num-levels": "7", "write-only": "true", "bucket": "1"}
    (step,) = compaction.plan(table, options=files)["steps"]
    assert step["level"] == 6
