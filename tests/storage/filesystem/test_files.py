"""The publishing primitive: of many processes that publish one name, exactly one wins."""

import multiprocessing
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import LocalFileSystem

from keyfold.errors import NotSupportedError
from keyfold.storage.catalogs.catalog import Catalog
from keyfold.storage.catalogs.namespaces import Namespaces
from keyfold.storage.commits import commit
from keyfold.storage.filesystem import files as storage_files
from keyfold.storage.filesystem.files import LocalFiles, RemoteFiles, local_path
from tests.concurrency.processes import CONTEXT
from tests.storage import tables

NAMES = 10_000
PROCESSES = 4


def race(folder: str, barrier: Any) -> None:
    """Publish every name in order, recording the ones that were won."""
    storage_files.os.fsync = lambda descriptor: None  # races, not power cuts
    ours = LocalFiles()
    barrier.wait()
    won = [n for n in range(NAMES) if ours.publish(f"{folder}/name-{n}", folder.encode())]
    Path(folder, f"won-{multiprocessing.current_process().pid}").write_text(" ".join(map(str, won)))


def test_no_name_is_won_twice(tmp_path: Path) -> None:
    barrier = CONTEXT.Barrier(PROCESSES)
    racers = [CONTEXT.Process(target=race, args=(str(tmp_path), barrier)) for _ in range(PROCESSES)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    won = [path.read_text().split() for path in tmp_path.glob("won-*")]
    assert len(won) == PROCESSES
    wins = Counter(name for names in won for name in names)
    assert set(wins.values()) == {1}
    assert len(wins) == NAMES
    assert sum(1 for names in won if names) > 1, "one process won everything: no race took place"
    assert not list(tmp_path.glob(".tmp-*"))


def test_publish_writes_the_content_once(tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "name")
    assert LocalFiles().publish(path, b"one")
    assert not LocalFiles().publish(path, b"two")
    assert LocalFiles().read(path) == b"one"
    assert LocalFiles().names(str(tmp_path / "folder")) == ["name"]


def test_replace_is_seen_in_the_stamp(tmp_path: Path) -> None:
    path = str(tmp_path / "name")
    LocalFiles().replace(path, b"one")
    before = LocalFiles().stamp(path)
    LocalFiles().replace(path, b"two")
    assert LocalFiles().stamp(path) != before
    assert LocalFiles().read(path) == b"two"


def test_other_file_systems_are_not_written() -> None:
    remote = RemoteFiles(None, "s3://bucket/warehouse")
    with pytest.raises(NotSupportedError, match=r"s3://bucket/warehouse.*no exclusive creation"):
        remote.publish("s3://bucket/warehouse/db.db/t/snapshot/snapshot-1", b"")


@pytest.mark.parametrize(
    ("location", "expected"),
    [("/a/b", "/a/b"), ("file:/a/b", "/a/b"), ("file:///a%20b", "/a b"), ("s3://b/a", None)],
)
def test_local_path(location: str, expected: str | None) -> None:
    assert local_path(location) == expected


def test_a_table_is_read_through_another_file_system(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    commit.append(found, tables.spec(found), [tables.message(found)])
    remote = RemoteFiles(LocalFileSystem(), str(tmp_path))
    ours = Catalog("remote", remote, Namespaces(remote, str(tmp_path)), lambda layout: None)
    assert ours.list_namespaces() == [["default"]]
    assert ours.list_tables(["default"]) == ["t"]
    read = ours.load_table(["default"], "t")
    assert [file.name for file in read.live_files()] == [
        file.name for file in tables.reload(found).live_files()
    ]
    assert read.layout.identity
    with pytest.raises(NotSupportedError, match="can only be read"):
        ours.drop_table(["default"], "t")
    with pytest.raises(NotSupportedError, match="no exclusive creation"):
        commit.append(read, tables.spec(read), [tables.message(read)])


def test_a_link_that_was_asked_for_twice_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a network mount does where the first answer got lost."""
    link = storage_files.os.link

    def twice(source: str, target: str) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(storage_files.os, "link", twice)
    path = str(tmp_path / "name")
    assert LocalFiles().publish(path, b"ours")
    assert not LocalFiles().publish(path, b"theirs")
    assert Path(path).read_bytes() == b"ours"


def test_folders_of_many_partitions_go_and_what_links_lead_to_stays(tmp_path: Path) -> None:
    table, outside = tmp_path / "table", tmp_path / "outside"
    for place in [outside, *(table / f"p={p}" / "bucket-0" for p in range(100))]:
        place.mkdir(parents=True)
        (place / "data").write_text("x")
    (table / "link").symlink_to(outside)
    (table / "p=0" / "link").symlink_to(outside)
    assert LocalFiles().remove_folder(str(table))
    assert not table.exists()
    assert (outside / "data").read_text() == "x"
    assert not LocalFiles().remove_folder(str(table))
