"""A compaction marks rows of files that stay; another job that has marked or replaced them is in
its way.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from keyfold.errors import ConflictError
from keyfold.files.vectors import to_text
from keyfold.storage.commits import commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.index_manifests import DELETION_VECTORS, IndexEntry
from keyfold.storage.metadata.index_manifests import read_entries as read
from keyfold.storage.table import Table
from keyfold.testing.tables import layout, parse
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import CommitMessage, CompactionStep, Merged, ReplacedRows
from tests.compact.histories import append, rows, stored, written
from tests.storage import damaged, tables

KV = layout({"k": "INT", "v": "INT"}, ["k"])


def live(found: Table, level: int) -> LiveFile:
    (file,) = (file for file in tables.reload(found).live_files() if file.level == level)
    return file


def replaced(file: LiveFile, *positions: int) -> tuple[ReplacedRows, ...]:
    return (ReplacedRows(file.name, to_text(np.array(positions, dtype=np.int64))),)


def compact(
    found: Table,
    taken: list[LiveFile],
    level: int,
    text: str,
    rows: tuple[ReplacedRows, ...] = (),
    **known: object,
) -> ConflictError | None:
    """A compaction of files to a level, whose rows are given; the error if it is left out."""
    number = max(file.max_sequence for file in taken)
    spec, messages = written(found, parse(KV, text), number)
    made = [replace(one, replaced=rows) for one in at_level(messages, level)]
    merged = Merged(tuple((file.name, file.level) for file in taken), False)
    step = CompactionStep(spec.job, UNPARTITIONED, 0, 1, level, (merged,), **known)
    _, lost = commit.compact(tables.reload(found), [Compaction(step, made)])
    damaged.forget()
    return lost.get(spec.job)


def at_level(messages: list[CommitMessage], level: int) -> list[CommitMessage]:
    return [replace(m, files=tuple(replace(f, level=level) for f in m.files)) for m in messages]


def index(found: Table) -> list[IndexEntry]:
    table = tables.reload(found)
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    return list(read(table.manifests, snapshot.index_manifest))


def made(folder: Path, **options: str) -> Table:
    """A table of ten keys on level 5, and a newer one of the key 3 on level 0."""
    found = stored(folder, replace(KV, options={**KV.options, **options}))
    append(found, parse(KV, " | ".join(f"+I {k} 0" for k in range(10))), 100)
    assert compact(found, [live(found, 0)], 5, " | ".join(f"+I {k} 0" for k in range(10))) is None
    append(found, parse(KV, "+I 3 1"), 200)
    return found


@pytest.mark.parametrize("is_wide", ["false", "true"])
def test_marks_of_one_commit_after_another_are_united(tmp_path: Path, is_wide: str) -> None:
    found = made(tmp_path, **{"deletion-vectors.bitmap64": is_wide})
    old, new = live(found, 5), live(found, 0)
    assert compact(found, [new], 4, "+I 3 1", replaced(old, 3)) is None
    first = live(found, 5).vector
    assert first is not None
    assert first.rows == 1
    append(found, parse(KV, "+I 5 2 | +I 7 2"), 300)
    assert compact(found, [live(found, 0)], 3, "+I 5 2 | +I 7 2", replaced(old, 5, 7)) is None
    (entry,) = index(found)
    assert entry.kind == DELETION_VECTORS
    assert [(one.file, one.rows) for one in entry.vectors] == [(old.name, 3)]
    assert {row["k"]: row["v"] for _, row in rows(found)} == {
        k: {3: 1, 5: 2, 7: 2}.get(k, 0) for k in range(10)
    }
    folder = Path(found.layout.location) / "index"
    assert entry.file in {path.name for path in folder.iterdir()}


def test_another_job_that_marked_the_row_is_in_the_way(tmp_path: Path) -> None:
    found = made(tmp_path)
    old, new = live(found, 5), live(found, 0)
    append(found, parse(KV, "+I 3 2"), 300)
    assert compact(found, [new], 4, "+I 3 1", replaced(old, 3)) is None
    before = list((Path(found.layout.location) / "index").iterdir())
    lost = compact(found, [live(found, 0)], 3, "+I 3 2", replaced(old, 3))
    assert re.search(f"another job has marked rows of data file {old.name}", str(lost))
    assert list((Path(found.layout.location) / "index").iterdir()) == before


def test_a_file_whose_rows_were_marked_meanwhile_is_not_taken_away(tmp_path: Path) -> None:
    found = made(tmp_path)
    old, new = live(found, 5), live(found, 0)
    assert compact(found, [new], 4, "+I 3 1", replaced(old, 3)) is None
    text = " | ".join(f"+I {k} 0" for k in range(10))
    lost = compact(found, [old], 5, text)
    assert re.search(f"another job has marked rows of data file {old.name}", str(lost))
    vector = live(found, 5).vector
    assert vector is not None
    whole = text.replace("+I 3 0 | ", "")
    assert compact(found, [old], 5, whole, vectors={old.name: vector}) is None
    assert index(found) == []
    assert sorted(row["k"] for _, row in rows(found)) == list(range(10))


def test_marks_of_a_file_that_went_are_a_conflict(tmp_path: Path) -> None:
    found = made(tmp_path)
    old, new = live(found, 5), live(found, 0)
    assert compact(found, [old], 5, " | ".join(f"+I {k} 0" for k in range(10))) is None
    lost = compact(found, [new], 4, "+I 3 1", replaced(old, 3))
    assert re.search(f"another job has replaced data file {old.name}", str(lost))


def test_an_overwrite_takes_the_vectors_of_its_files(tmp_path: Path) -> None:
    found = made(tmp_path)
    assert compact(found, [live(found, 0)], 4, "+I 3 1", replaced(live(found, 5), 3)) is None
    assert len(index(found)) == 1
    spec, messages = written(found, parse(KV, "+I 1 9"), 400)
    assert commit.overwrite(tables.reload(found), spec, messages, "all") is not None
    assert index(found) == []
