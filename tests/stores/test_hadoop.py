"""What a name node's faults, and jobs that stall between two requests, do to files and tables."""

import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from keyfold.stores import hadoop
from keyfold.stores.files import UnsettledError
from keyfold.stores.hadoop import HadoopFiles
from tests.concurrency import jobs
from tests.concurrency.jobs import Write, rows_of, table_of
from tests.procedures.called import called
from tests.stores.name_node import NameNode

ROOT = "hdfs://name-node:8020/lake"


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> NameNode:
    made = NameNode()
    monkeypatch.setitem(sys.modules, "hdfs_native", made)
    monkeypatch.setattr(hadoop, "PAUSE", 0.001)
    return made


@pytest.fixture
def files(node: NameNode) -> HadoopFiles:
    return HadoopFiles(ROOT)


def test_a_late_commit_in_the_place_of_an_expired_one_is_made_anew(
    node: NameNode, request: pytest.FixtureRequest
) -> None:
    """A job wrote its snapshot 2 before others committed 2 to 4 and expired it, and renames it
    afterwards.
    """
    options = {"warehouse": f"hdfs://{request.node.name.replace('_', '-')}:8020/lake"}
    jobs.made(options)
    Write(options, [{"k": 0, "v": 0}]).run().commit()
    stalled = Write(options, [{"k": 9, "v": 9}]).run()

    def others(asked: str, name: str) -> None:
        if asked != "rename" or not name.endswith("/snapshot-2"):
            return
        node.ask = lambda *_: None
        for key in range(1, 4):
            Write(options, [{"k": key, "v": key}]).run().commit()
        asked_for = {"retain_max": 1, "retain_min": 1, "max_deletes": 100}
        called(table_of(options), "expire_snapshots", within=jobs.options_of(options), **asked_for)

    node.ask = others
    stalled.commit()
    assert rows_of(table_of(options)) == {0: 0, 1: 1, 2: 2, 3: 3, 9: 9}
    names = [name.rpartition("/")[2] for name in node.files if "/snapshot/snapshot-" in name]
    assert sorted(names) == ["snapshot-4", "snapshot-5"]


def test_the_time_of_a_publish_is_that_of_the_rename(node: NameNode, files: HadoopFiles) -> None:
    between: list[int] = []
    node.ask = lambda asked, _: between.append(node.now()) if asked == "rename" else None
    published = files.publish(f"{ROOT}/name", b"ours")
    assert files.modified(f"{ROOT}/name") < between[0] * 1_000_000 < published
    assert published < node.now() * 1_000_000


@pytest.mark.parametrize("left", [False, True])
def test_a_rename_that_is_sent_again_has_taken_place(
    node: NameNode, files: HadoopFiles, left: bool
) -> None:
    if left:
        files.write(f"{ROOT}/name", b"old")
    node.is_deaf = True
    files.replace(f"{ROOT}/name", b"new")
    assert files.read(f"{ROOT}/name") == b"new"
    assert files.publish(f"{ROOT}/other", b"ours")
    assert files.publish(f"{ROOT}/other", b"ours") == 0
    assert sorted(files.names(ROOT)) == ["name", "other"]


def test_a_file_that_others_removed_is_not_renamed(node: NameNode, files: HadoopFiles) -> None:
    """As a table that is dropped meanwhile."""

    def dropped(asked: str, _: str) -> None:
        if asked == "rename":
            node.ask = lambda *_: None
            files.remove_folder(ROOT)

    for act in (files.replace, files.publish):
        node.ask = dropped
        with pytest.raises(FileNotFoundError, match=r"\.tmp-"):
            act(f"{ROOT}/name", b"new")


def test_a_rename_that_is_never_answered_is_not_known(node: NameNode, files: HadoopFiles) -> None:
    node.ask = failing("rename", 100)
    with pytest.raises(UnsettledError, match="it may still arrive"):
        files.publish(f"{ROOT}/name", b"ours")
    assert files.names(ROOT) == []


def failing(asked: str, times: int) -> Callable[[str, str], None]:
    """What makes the first requests of a name fail."""
    left = Counter({asked: times})

    def ask(name: str, _: str) -> None:
        if left[name] > 0:
            left[name] -= 1
            raise RuntimeError("connection refused")

    return ask


def test_a_folder_whose_file_was_never_renamed_is_an_orphan(
    request: pytest.FixtureRequest, node: NameNode
) -> None:
    options = {"warehouse": f"hdfs://{request.node.name.replace('_', '-')}:8020/lake"}
    jobs.made(options)
    table = table_of(options)
    left = f"{table.layout.location}/snapshot/.tmp-{uuid.UUID(int=0)}"
    table.files.write(f"{left}/snapshot-1", b"{}")
    asked = {"older_than": int(time.time() * 1000), "dry_run": False}
    within = jobs.options_of(options)
    for age, expected in ((1, 0), (-1, 1)):
        node.folders[urlsplit(left).path] = asked["older_than"] + age
        (row,) = called(table, "remove_orphan_files", within=within, **asked)
        assert row["deletedFileCount"] == expected
        assert table.files.is_folder(left) == (not expected)
