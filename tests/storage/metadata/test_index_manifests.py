"""Index manifests: what is written is read, also by the vectors of a snapshot; commits carry it."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from keyfold.errors import NotSupportedError
from keyfold.storage.commits.attempts import CommitInfo, Entries, attempt
from keyfold.storage.metadata.index_manifests import (
    DELETION_VECTORS,
    HASH,
    IndexEntry,
    VectorRange,
    read_entries,
    write_entries,
)
from keyfold.storage.metadata.vectors import vectors_of
from keyfold.wire.specs import Vector
from tests.storage import tables

KEYS = IndexEntry((3,), 1, HASH, "index-1", 40, 10)
RANGES = (VectorRange("data-1", 1, 22, 2), VectorRange("data-2", 31, 30, None))
MARKS = IndexEntry((3,), 1, DELETION_VECTORS, "index-2", 61, 2, RANGES)


def test_a_commit_writes_entries_and_later_ones_carry_them(tmp_path: Path) -> None:
    made = tables.new_table(tables.column("k"), tables.column("p"), key="k,p", by="p")
    found = tables.table(tmp_path, made)
    info = CommitInfo(str(uuid.uuid4()), "COMPACT")
    assert attempt(found, info, None, Entries((), index=[KEYS, MARKS]), found.layout.location) == 1
    found = tables.reload(found)
    first = found.snapshots.read(1)
    assert read_entries(found.manifests, first.index_manifest) == [KEYS, MARKS]
    assert vectors_of(found.manifests, first) == {
        ((3,), 1, "data-1"): Vector("index-2", 61, 1, 22, 2),
        ((3,), 1, "data-2"): Vector("index-2", 61, 31, 30, None),
    }
    attempt(found, info, first, Entries(()), found.layout.location)
    second = found.snapshots.read(2)
    assert second.index_manifest == first.index_manifest
    attempt(found, info, second, Entries((), index=[]), found.layout.location)
    assert found.snapshots.read(3).index_manifest is None


def test_entries_of_other_kinds_are_not_written_anew(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    with pytest.raises(NotSupportedError, match="index file index-1 of kind BTREE, expected HASH"):
        write_entries(found.manifests, "index-manifest-1", [replace(KEYS, kind="BTREE")])
