"""Jobs whose rows are marked (columns named, values overwritten), and compactions meanwhile: such a
row is more than a whole record that goes by its number.
"""

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.storage.table import Table
from keyfold.testing.tables import layout, parse
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write.writer import write
from tests.compact import harness as compaction
from tests.compact.histories import append, committed, written
from tests.compact.test_conflicts import made, numbers, told
from tests.read import harness

WIDE = layout({"k": "INT", "a": "INT", "b": "INT"}, ["k"])
FIRST_WIDE = layout({"k": "INT", "a": "INT", "b": "INT"}, ["k"], {"merge-engine": "first-row"})
PARTIAL: dict[str, Any] = {"named": ("k", "a")}
OVERWRITING: dict[str, Any] = {"merge_mode": "overwrite"}


def marked(
    found: Table, text: str, sequence: int, marks: dict[str, Any]
) -> tuple[WriteSpec, list[CommitMessage]]:
    """A job under way that names columns or overwrites."""
    kind = found.layout
    spec = WriteSpec(kind, tuple(kind.arrow_schema.names), False, sequence, str(uuid.uuid4()))
    spec = replace(spec, snapshot=found.snapshots.latest_id(), **marks)
    rows = [values for _, values in parse(kind, text)]
    return spec, write(spec, harness.batches(kind, rows))


@pytest.mark.parametrize(
    ("kind", "marks", "before", "after"),
    [
        (WIDE, PARTIAL, "+I 1 9 5", "+I 1 5 5"),
        (FIRST_WIDE, OVERWRITING, "+I 1 9 9", "+I 1 9 9"),
    ],
    ids=["partial", "overwriting"],
)
def test_a_record_older_than_a_merged_mark(
    tmp_path: Path, kind: TableLayout, marks: dict[str, Any], before: str, after: str
) -> None:
    found = made(tmp_path, kind, "+I 1 1 1")
    one, two = (written(found, parse(kind, "+I 1 5 5"), number) for number in (150, 151))
    committed(found, *marked(found, "+I 1 9 9", 300, marks))
    planned = compaction.plan(found)
    (step,) = planned["steps"]
    done = compaction.run(planned, step)
    committed(found, *one)
    assert told(found) == before
    assert compaction.commit(found, planned, step, done)["outcome"] == "conflict"
    assert told(found) == before
    compaction.compact(found)
    assert told(found) == before
    committed(found, *two)
    assert (told(found), (151, 151) in numbers(found)) == (after, False)


def test_a_late_mark_is_renumbered_beside_whole_records(tmp_path: Path) -> None:
    version = {"table.merge-engine": "versioned", "table.merge-engine.versioned.ver-column": "a"}
    kind = layout({"k": "INT", "a": "INT"}, ["k"], version)
    found = made(tmp_path, kind, "+I 1 7")
    job = marked(found, "+I 1 3", 150, OVERWRITING)
    append(found, parse(kind, "+I 1 5"), 300)
    compaction.compact(found)
    committed(found, *job)
    assert (told(found), (150, 150) in numbers(found)) == ("+I 1 3", False)
    before = found.snapshots.latest_id()
    planned = compaction.plan(found)
    done = [compaction.run(planned, step) for step in planned["steps"]]
    committed(found, *marked(found, "+I 1 1", 120, OVERWRITING))
    (one,) = done
    assert found.snapshots.latest_id() == (before or 0) + 1
    assert compaction.commit(found, planned, planned["steps"][0], one)["outcome"] == "conflict"
