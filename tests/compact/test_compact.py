"""Compactions end to end: what a table holds before and after, and on which levels."""

from pathlib import Path

from keyfold.storage.table import Table
from tests.compact import harness as compaction
from tests.read import harness
from tests.storage import tables


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
