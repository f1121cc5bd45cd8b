"""How far a batch goes, by a definition that adds up one snapshot after another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.changelog import changed_rows as changes
from keyfold.errors import TableError
from keyfold.read.task import read_task
from keyfold.storage.commits import commit
from keyfold.storage.metadata.table_statistics import TableStatistics
from keyfold.streams.batches import Shown, following, plan_batch
from keyfold.streams.offsets import offset_at
from tests.compact import harness as compaction
from tests.draws import draws
from tests.read import harness
from tests.storage import tables

ROWS = Shown("rows")
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "files": st.integers(1, 6),
        "rows": st.integers(1, 60),
        "bytes": st.integers(1, 6000),
    },
)


@draws(10)
@given(st.lists(st.integers(0, 3), max_size=6), LIMITS, st.integers(0, 7))
def test_whole_snapshots(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[int],
    limits: dict[str, int],
    until: int,
) -> None:
    """Each snapshot adds so many files of 10 rows and 1000 bytes; 0 is a compaction."""
    folder: Path = tmp_path_factory.mktemp("t")
    found = tables.table(folder)
    for files in sizes:
        if files:
            commit.append(found, tables.spec(found), [tables.message(found, files=files)])
        else:
            commit.analyze(found, TableStatistics(1, 0, None, None, {}))
    found = tables.reload(found)
    offset, last = offset_at(found, 0), min(until, len(sizes))
    while offset.snapshot < last:
        taken = 0
        for taken in range(1, last - offset.snapshot + 1):
            batch = sizes[offset.snapshot : offset.snapshot + taken + 1]
            total = {"files": sum(batch), "rows": 10 * sum(batch), "bytes": 1000 * sum(batch)}
            is_over = any(total[kind] > most for kind, most in limits.items())
            if offset.snapshot + taken == last or (is_over and batch[-1]):
                break
        end = following(found, offset, ROWS, limits, until)
        assert end.snapshot == offset.snapshot + taken
        offset = end
    assert following(found, offset, ROWS, limits, until) == offset


@pytest.mark.parametrize("view", ["rows", "changes"])
def test_units_of_a_full_scan(tmp_path: Path, view: str) -> None:
    """Sections of buckets, whichever batches they are read in."""
    found = tables.table(tmp_path)
    messages = [
        tables.message(found, 10 * n, 10 * n + 9, bucket=n % 2, sequence=n) for n in range(6)
    ]
    commit.append(found, tables.spec(found), messages)
    found = tables.reload(found)
    offset, seen = offset_at(found, 1, 0), []
    while offset.index is not None:
        offset = following(found, offset, Shown(view), {"rows": 20})
        seen.append(offset.index)
    assert seen == [2, 4, None]
    assert following(found, offset_at(found, 1, 0), Shown(view), {}).index is None


@pytest.mark.parametrize("view", ["changes", "audit_log", "binlog", "rows"])
def test_a_full_scan_in_batches(tmp_path: Path, view: str) -> None:
    """Each row comes once, of a table whose runs overlap in part; one column alone is read."""
    found = tables.table(tmp_path)
    for first in (0, 5, 40, 80):
        harness.upsert(found, [{"k": k, "v": first} for k in range(first, first + 20)])
    table, seen, batches = tables.reload(found), [], 0
    offset = offset_at(table, 4, 0)
    while offset.index is not None:
        end = following(table, offset, Shown(view), {"files": 1})
        question, spec, tasks = plan_batch(table, offset, end, Shown(view), ["k"], {}, 2)
        read_one = changes.read_task if question == "read_changes" else read_task
        seen += [k for one in tasks for b in read_one(spec, one) for k in b.column("k").to_pylist()]
        if question == "read_changes":
            assert spec.scan.columns == ("k",)
        offset, batches = end, batches + 1
    keys = sorted(k[0] if view == "binlog" else k for k in seen)
    assert keys == [*range(25), *range(40, 60), *range(80, 100)]
    assert batches > 3


@pytest.mark.parametrize("view", ["rows", "audit_log"])
@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_producer_tells_each_row_once(tmp_path: Path, producer: str, view: str) -> None:
    """A stream begins with what the changelog has told; the next compaction tells the rest."""
    found = tables.table(tmp_path, tables.new_table(changelog_producer=producer))
    harness.upsert(found, [{"k": 1, "v": 1}])
    compaction.compact(found, "full")
    harness.upsert(found, [{"k": 2, "v": 2}])
    offset, seen = offset_at(tables.reload(found), 3, 0), []
    for _ in range(2):
        table = tables.reload(found)
        end = following(table, offset, Shown(view), {})
        question, spec, tasks = plan_batch(table, offset, end, Shown(view), ["k"], {}, 1)
        read_one = changes.read_task if question == "read_changes" else read_task
        batches = [batch for task in tasks for batch in read_one(spec, task)]
        seen.append([k for batch in batches for k in batch.column("k").to_pylist()])
        offset = end
        compaction.compact(found, "full")
    assert seen == [[1], [2]]


@pytest.mark.parametrize("view", ["rows", "changes"])
@pytest.mark.parametrize("index", [None, 0])
def test_a_function_that_the_session_lacks_is_refused_before_tasks(
    tmp_path: Path, view: str, index: int | None
) -> None:
    found = tables.table(tmp_path)
    harness.upsert(found, [{"k": 1, "v": 1}])
    table = tables.reload(found)
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "mine"}
    altered = replace(table, layout=replace(table.layout, options=options))
    start = offset_at(altered, 1 if index == 0 else 0, index)
    with pytest.raises(TableError, match="mine"):
        plan_batch(altered, start, offset_at(altered, 1), Shown(view), ["k", "v"], {}, 1)
