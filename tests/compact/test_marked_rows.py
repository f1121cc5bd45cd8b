"""Compactions that mark rows of files that stay, and what others commit meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyfold.compact import after_write
from keyfold.compact.running_job import CONFLICT
from keyfold.errors import ConflictError
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.table import Table
from keyfold.testing.tables import layout, parse, render
from keyfold.wire.layout import TableLayout
from tests.compact import harness as compaction
from tests.compact.histories import append, committed, rows, stored, written
from tests.compact.test_rescale import finish
from tests.compact.test_rescale import plan as plan_rescale
from tests.procedures.called import Caller
from tests.storage import tables

MARKED = {"deletion-vectors.enabled": "true", "num-levels": "6"}
COLUMNS = {"k": "INT", "v": "INT"}
KV = layout(COLUMNS, ["k"], MARKED)
SUM = layout(
    COLUMNS,
    ["k"],
    MARKED | {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
)
MANY = 3000


def made(folder: Path, kind: TableLayout, *texts: str) -> Table:
    """A table with many keys on the highest level, to which jobs have appended."""
    found = stored(folder, kind)
    values = [1 if k < 10 else k * k * 7919 % 99_991 for k in range(MANY)]
    append(found, parse(kind, " | ".join(f"+I {k} {v}" for k, v in enumerate(values))), 100)
    compaction.compact(found)
    for number, text in enumerate(texts, 201):
        append(found, parse(kind, text), number)
    return found


def levels(found: Table) -> dict[int, LiveFile]:
    return {file.level: file for file in tables.reload(found).live_files()}


def told(found: Table, *keys: int) -> str:
    return render([(kind, row) for kind, row in rows(found) if row["k"] in keys])


@pytest.mark.parametrize("kind", [KV, SUM])
def test_rows_below_are_marked_and_not_merged_by_readers(tmp_path: Path, kind: TableLayout) -> None:
    found = made(tmp_path, kind, "+I 3 7 | -D 5 1 | +I 9999 4")
    assert told(found, 3, 5, 9999) == "+I 3 1 | +I 5 1"  # level 0 is not seen
    (outcome,) = compaction.compact(found, "minor")
    assert outcome["outcome"] == "committed"
    at = levels(found)
    assert sorted(at) == [4, 5]
    vector = at[5].vector
    assert vector is not None
    assert (vector.rows, at[4].vector, at[4].delete_rows) == (2, None, 0)
    wanted = "+I 3 7 | +I 9999 4" if kind is KV else "+I 3 8 | +I 5 0 | +I 9999 4"
    assert told(found, 3, 5, 9999) == wanted
    compaction.compact(found)
    assert list(levels(found)) == [5]
    assert levels(found)[5].vector is None
    assert told(found, 3, 5, 9999) == wanted
    assert tables.reload(found).snapshots.latest().index_manifest is None


def test_a_row_that_comes_before_a_dropped_delete_is_in_the_way(tmp_path: Path) -> None:
    """The delete leaves though older files stay: none may come in between."""
    found = made(tmp_path, KV, "-D 3 1 | +I 4 4")
    planned = compaction.plan(found, "minor")
    (step,) = planned["steps"]
    assert step["step"]["below"]
    done = compaction.run(planned, step)
    committed(found, *written(found, parse(KV, "+I 3 9"), 150))
    answer = compaction.commit(found, planned, step, done)
    assert answer["outcome"] == "conflict"
    assert "holds records of the same keys that come before merged ones" in answer["message"]
    compaction.compact(found, "minor")
    assert told(found, 3, 4) == "+I 4 4"


def test_the_second_of_two_compactions_gives_way(tmp_path: Path) -> None:
    found = made(tmp_path, KV, "+I 3 7")
    first, second = (compaction.plan(found, kind) for kind in ("minor", "full"))
    done = [compaction.run(planned, planned["steps"][0]) for planned in (first, second)]
    assert compaction.commit(found, first, first["steps"][0], done[0])["outcome"] == "committed"
    assert compaction.commit(found, second, second["steps"][0], done[1])["outcome"] == "conflict"
    assert told(found, 3) == "+I 3 7"
    assert len(rows(found)) == MANY


def test_rows_marked_meanwhile_do_not_come_back(tmp_path: Path) -> None:
    """A compaction of upper levels was planned before another one marked rows there."""
    found = made(tmp_path, KV, "+I 3 7")
    compaction.compact(found, "minor")
    planned = compaction.plan(found)
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    append(found, parse(KV, "-D 4 1"), 301)
    again = {"num-sorted-run.compaction-trigger": "9", "compaction.size-ratio": "0"}
    (outcome,) = compaction.compact(found, "minor", options=again)
    assert outcome["outcome"] == "committed"
    answer = compaction.commit(found, planned, step, done)
    assert answer["outcome"] == "conflict"
    assert told(found, 3, 4) == "+I 3 7"


def test_a_first_compaction_that_marks_loses_to_a_full_one(tmp_path: Path) -> None:
    found = made(tmp_path, KV, "+I 3 7")
    planned = compaction.plan(found, "minor")
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    compaction.compact(found)
    answer = compaction.commit(found, planned, step, done)
    assert answer["outcome"] == "conflict"
    assert told(found, 3) == "+I 3 7"
    assert len(rows(found)) == MANY


def test_a_rescale_gives_way_to_a_row_that_was_deleted_meanwhile(tmp_path: Path) -> None:
    """Its files are all there, and no other ones."""
    found = made(tmp_path, KV)
    planned = plan_rescale(found, 2)
    append(found, parse(KV, "-D 3 1"), 201)
    compaction.compact(found, "minor")
    assert [(file.level, file.rows) for file in levels(found).values()] == [(5, MANY)]
    with pytest.raises(ConflictError, match="wrote again, or marked rows of it"):
        finish(found, planned)
    assert told(found, 3, 4) == "+I 4 1"


def test_a_write_that_gives_up_says_that_its_rows_are_not_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, caller = stored(tmp_path, KV), Caller()
    monkeypatch.setattr(after_write, "compacted", lambda *_, **__: [{"status": CONFLICT}])
    touched = frozenset([((), 0)])
    after_write.compact_after_write(
        caller, lambda: found, found.layout.location, touched, awaited=True
    )
    (line,) = caller.lines
    assert line.endswith("the next write, or CALL sys.compact, lets queries see them")
