"""Index manifests: what is written is read, also by the vectors of a snapshot; commits carry it."""

import uuid
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest

from keyfold.errors import CorruptDataError, NotSupportedError
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
from keyfold.storage.table import Table
from keyfold.wire.specs import Vector
from tests.storage import tables

KEYS = IndexEntry((3,), 1, HASH, "index-1", 40, 10)
RANGES = (VectorRange("data-1", 1, 22, 2), VectorRange("data-2", 31, 30, None))
MARKS = IndexEntry((3,), 1, DELETION_VECTORS, "index-2", 61, 2, RANGES)


def partitioned(folder: Path) -> Table:
    made = tables.new_table(tables.column("k"), tables.column("p"), key="k,p", by="p")
    return tables.table(folder, made)


def test_a_commit_writes_entries_and_later_ones_carry_them(tmp_path: Path) -> None:
    found = partitioned(tmp_path)
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


def test_no_list_of_no_vectors(tmp_path: Path) -> None:
    """pypaimon makes NULL of the empty list that is left where a compaction drops the last one."""
    manifests, lacks = partitioned(tmp_path).manifests, replace(MARKS, rows=0, vectors=())
    write_entries(manifests, "index-manifest-1", [KEYS, lacks])
    with Path(manifests.path("index-manifest-1")).open("rb") as source:
        found = fastavro.reader(source)
        records = [dict(one) for one in found if isinstance(one, dict)]
    for number, rows in ((2, 0), (3, 1)):
        records[1] |= {"_DELETIONS_VECTORS_RANGES": None, "_ROW_COUNT": rows}
        with Path(manifests.path(f"index-manifest-{number}")).open("wb") as sink:
            fastavro.writer(sink, found.writer_schema, records)
    assert read_entries(manifests, "index-manifest-2") == [KEYS, lacks]
    with pytest.raises(CorruptDataError, match="_DELETIONS_VECTORS_RANGES is None"):
        read_entries(manifests, "index-manifest-3")


def test_entries_of_other_kinds_are_not_written_anew(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    with pytest.raises(NotSupportedError, match="index file index-1 of kind BTREE, expected HASH"):
        write_entries(found.manifests, "index-manifest-1", [replace(KEYS, kind="BTREE")])
