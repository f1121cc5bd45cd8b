"""What a name node's faults, and jobs that stall between two requests, do to files and tables."""

import gc
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from keyfold.errors import TableError
from keyfold.stores import hadoop
from keyfold.stores.files import UnsettledError
from keyfold.stores.hadoop import HadoopFiles
from keyfold.stores.opened import open_files
from keyfold.stores.settings import store_options
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


@pytest.mark.parametrize(("asked", "times"), [("create", 1), ("write", 4), ("close", 4)])
def test_a_file_that_could_not_be_written_stays_away(
    node: NameNode, files: HadoopFiles, asked: str, times: int
) -> None:
    """Also if the node is back when what is left of the file is closed, or collected."""
    for act in (files.write, files.publish, files.replace):
        node.ask = failing(asked, times)
        with pytest.raises(OSError, match=r"writing .* failed: connection refused"):
            act(f"{ROOT}/name", b"data")
        gc.collect()
        assert not node.files
    assert files.names(ROOT) == []


@pytest.mark.parametrize("asked", ["write", "close"])
def test_a_file_is_begun_anew(node: NameNode, files: HadoopFiles, asked: str) -> None:
    node.ask = failing(asked, 3)
    files.write(f"{ROOT}/name", b"data")
    assert files.read(f"{ROOT}/name") == b"data"


def test_a_name_node_that_is_down_is_asked_once(
    node: NameNode, files: HadoopFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has tried for long when it gives up."""
    monkeypatch.setattr(hadoop, "PATIENCE", 0.01)
    asked: Counter[str] = Counter()

    def down(name: str, _: str) -> None:
        asked[name] += 1
        time.sleep(0.02)
        raise OSError("Connection refused (os error 111)")

    node.ask = down
    with pytest.raises(OSError, match=r"is the name node there"):
        files.write(f"{ROOT}/name", b"data")
    assert asked == {"create": 1}
    node.ask = lambda name, path: down(name, path) if name == "rename" else None
    with pytest.raises(UnsettledError):
        files.publish(f"{ROOT}/name", b"data")
    assert asked == {"create": 1, "rename": 1}


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


def test_how_long_the_client_tries_is_an_option(node: NameNode) -> None:
    name = "dfs.client.failover.max.attempts"
    for options, expected in (({}, "5"), ({name: "9"}, "9")):
        assert not HadoopFiles(ROOT, options).exists(f"{ROOT}/name")
        assert node.settings == {name: expected}


@pytest.mark.parametrize("chosen", ["kerberos", "simple"])
def test_a_login_is_one_of_kerberos(node: NameNode, chosen: str) -> None:
    """The client uses none otherwise. What the catalog itself says goes before."""
    name = "hadoop.security.authentication"
    login = {"principal": "etl@HOME", "keytab": "/etc/etl.keytab"}
    given = {f"security.kerberos.login.{what}": value for what, value in login.items()}
    given |= {name: chosen} if chosen == "simple" else {}
    assert not HadoopFiles(ROOT, store_options(ROOT, given)).exists(f"{ROOT}/name")
    assert node.settings[name] == chosen
    assert node.login == {f"kerberos_{what}": value for what, value in login.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [("134217728", 1 << 27), ("128m", 1 << 27), (" 1G ", 1 << 30), ("64K", 1 << 16)],
)
def test_sizes_are_those_of_hadoop(node: NameNode, given: str, expected: int) -> None:
    options = {"dfs.blocksize": given, "dfs.replication": "2"}
    HadoopFiles(ROOT, options).write(f"{ROOT}/name", b"")
    assert node.sizes == {"block_size": expected, "replication": 2}


@pytest.mark.parametrize(
    ("name", "value"),
    [("dfs.blocksize", each) for each in ("128mb", "m", "-1", "0", "1.5g", "8e", "²")]
    + [("dfs.replication", each) for each in ("x", "0", "2k", "32768")],
)
def test_other_sizes_are_refused_by_name(node: NameNode, name: str, value: str) -> None:
    with pytest.raises(TableError, match=rf"setting {name} is '.*'; expected a number such as"):
        open_files(ROOT, {name: value})
