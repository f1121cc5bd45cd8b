"""Manifests that are not kept are read several at a time, in the order of their list."""

import threading
from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError
from keyfold.storage.commits import commit
from keyfold.storage.metadata import manifests
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from tests.storage import damaged, tables

COMMITS = 4


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """As many manifests as commits."""
    found = tables.table(tmp_path)
    for number in range(COMMITS):
        made = [tables.message(found, sequence=number)]
        assert commit.append(found, tables.spec(found, number), made)
        found = tables.reload(found)
    damaged.forget()
    return found


def test_two_reads_meet(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for another, as stores make readers wait."""
    monkeypatch.setattr(manifests, "_LOCAL_READS", 2)
    read, pair, threads = LocalFiles.read, threading.Barrier(2), set[int]()

    def awaited(self: LocalFiles, path: str) -> bytes:
        if "/manifest-" in path and "manifest-list" not in path:
            pair.wait(20)
            threads.add(threading.get_ident())
        return read(self, path)

    monkeypatch.setattr(LocalFiles, "read", awaited)
    found = table.live_files()
    assert [file.max_sequence for file in found] == list(range(COMMITS))
    assert len(threads) == 2
    assert table.live_files() == found


def test_one_that_is_missing_is_named(table: Table) -> None:
    assert table.snapshot_id is not None
    listed = table.manifests.listed(table.snapshots.read(table.snapshot_id))
    path = Path(table.manifests.path(listed[2]["_FILE_NAME"]))
    path.unlink()
    with pytest.raises(CorruptDataError, match=path.name):
        table.live_files()
