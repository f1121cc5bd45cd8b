"""A warehouse on HDFS, with two real name nodes and two data nodes; one of each is killed."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from integration.cluster import hadoop
from integration.cluster.hadoop import Cluster
from integration.keyed import create_keyed
from keyfold.errors import NotSupportedError
from keyfold.stores.hadoop import HadoopFiles
from tests.concurrency import jobs
from tests.concurrency.jobs import Options, Write, rows_of, table_of
from tests.stores.life import lived

WRITERS, NAMES = 5, 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with hadoop.running(tmp_path_factory.mktemp("hdfs")) as found:
        yield found


@pytest.fixture
def options(cluster: Cluster, request: pytest.FixtureRequest) -> Options:
    return {"warehouse": f"{cluster.uri}/{request.node.name}"}


@pytest.fixture
def files(options: Options) -> HadoopFiles:
    return HadoopFiles(options["warehouse"])


def test_files_and_folders(files: HadoopFiles) -> None:
    root = files.root
    assert files.names(root) == files.folders(root) == []
    files.write(f"{root}/a/one", b"1")
    files.write(f"{root}/a/b=x%2Fy z/ä+&#?", b"22")
    assert sorted(files.names(f"{root}/a")) == ["b=x%2Fy z", "one"]
    assert files.folders(f"{root}/a") == ["b=x%2Fy z"]
    assert files.read(f"{root}/a/b=x%2Fy z/ä+&#?") == b"22"
    assert files.exists(f"{root}/a/one")
    assert not files.exists(f"{root}/a")
    assert files.is_folder(f"{root}/a")
    with pytest.raises(FileNotFoundError):
        files.read(f"{root}/a/none")
    with pytest.raises(FileNotFoundError):
        files.stamp(f"{root}/a/none")
    before = files.stamp(f"{root}/a/one")
    files.replace(f"{root}/a/one", b"three")
    assert files.stamp(f"{root}/a/one") != before
    files.remove(f"{root}/a/one")
    files.remove(f"{root}/a/one")
    assert files.remove_below(root, lambda path, _: path == f"{root}/a/b=x%2Fy z/ä+&#?")
    assert files.names(f"{root}/a/b=x%2Fy z") == []
    assert files.move_folder(f"{root}/a", f"{root}/b")
    files.make_folder(f"{root}/a")
    assert not files.move_folder(f"{root}/b", f"{root}/a")
    assert files.remove_folder(root)
    assert not files.remove_folder(root)


def test_a_large_file(files: HadoopFiles) -> None:
    data = bytes(range(256)) * (60 << 10)
    path = f"{files.root}/large"
    with files.create(path) as file:
        for start in range(0, len(data), 1 << 20):
            file.write(data[start : start + (1 << 20)])
    end, size = files.tail(path, 5)
    assert (end.to_pybytes(), size) == (data[-5:], len(data))
    assert files.tail(path, 1 << 30)[0].to_pybytes() == data
    spans = [(0, 3), (size - 2, size + 9), (size + 1, size + 2)]
    found = [each.to_pybytes() for each in files.ranges(path, spans)]
    assert found == [data[:3], data[-2:], b""]


def test_no_name_is_won_twice(files: HadoopFiles) -> None:
    barrier = threading.Barrier(WRITERS)
    won: list[tuple[int, int]] = []

    def race(number: int) -> None:
        ours = HadoopFiles(files.root)
        for name in range(NAMES):
            barrier.wait(60)
            if ours.publish(f"{ours.root}/name-{name}", b"%d" % number):
                won.append((name, number))

    threads = [threading.Thread(target=race, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(name for name, _ in won) == dict.fromkeys(range(NAMES), 1)
    assert len({number for _, number in won}) > 1, "one writer won all: no race took place"
    for name, number in won:
        assert files.read(f"{files.root}/name-{name}") == b"%d" % number
    assert len(files.names(files.root)) == NAMES  # no temporary file is left


@contextlib.contextmanager
def deaf(uri: str, word: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The URI of a server before the name node, which passes the first request with that word on
    and cuts its answer off; and what was cut.
    """
    place, cut = urlsplit(uri), list[bytes]()

    def pumped(source: socket.socket, target: socket.socket, is_asking: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if is_asking and word in data and not cut:
                    cut.append(b"asked")
                elif not is_asking and cut == [b"asked"]:
                    cut.append(data)
                    break
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        source.close()

    def served(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = server.accept()
                there = socket.create_connection((place.hostname, place.port))
                for pair in ((here, there, True), (there, here, False)):
                    threading.Thread(target=pumped, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=served, args=(server,), daemon=True).start()
        yield f"hdfs://127.0.0.1:{server.getsockname()[1]}", cut
        server.shutdown(socket.SHUT_RDWR)


def test_a_rename_without_an_answer_is_found_again(cluster: Cluster, files: HadoopFiles) -> None:
    with deaf(cluster.uri, b"rename2") as (uri, cut):
        ours = HadoopFiles(files.root.replace(cluster.uri, uri))
        assert ours.publish(f"{ours.root}/name", b"ours")
        assert len(cut) == 2
        assert not ours.publish(f"{ours.root}/name", b"ours")
    assert files.read(f"{files.root}/name") == b"ours"
    assert files.names(files.root) == ["name"]


def test_a_publish_is_dated_by_its_rename(
    files: HadoopFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name node dates the file by its writing, and the folder it leaves by the rename."""
    rename = HadoopFiles._rename

    def stalled(ours: HadoopFiles, made: str, path: str, *, overwrite: bool) -> int:
        files.write(f"{files.root}/between", b"")
        time.sleep(0.02)
        return rename(ours, made, path, overwrite=overwrite)

    monkeypatch.setattr(HadoopFiles, "_rename", stalled)
    published = files.publish(f"{files.root}/name", b"ours")
    files.write(f"{files.root}/after", b"")
    written, between, after = (
        files.modified(f"{files.root}/{name}") for name in ("name", "between", "after")
    )
    assert written <= between < published <= after
    assert sorted(files.names(files.root)) == ["after", "between", "name"]


def test_the_life_of_a_table(options: Options) -> None:
    lived(options)
    jobs.made(options)
    with pytest.raises(NotSupportedError, match="keyfold makes no use"):
        jobs.catalog(options).rename_table(["default"], "t", ["default"], "u")


def test_sql(spark: SparkSession, options: Options) -> None:
    spark.conf.set("spark.sql.catalog.hadoop", "keyfold.spark.KeyfoldCatalog")
    spark.conf.set("spark.sql.catalog.hadoop.warehouse", options["warehouse"])
    spark.sql("CREATE NAMESPACE hadoop.shop")
    create_keyed(spark, "hadoop.shop.t", "k BIGINT, v BIGINT")
    for value in range(2):
        spark.sql(f"INSERT INTO hadoop.shop.t SELECT id, {value} FROM RANGE({value}, 100)")
    found = spark.sql("SELECT COUNT(*), SUM(v) FROM hadoop.shop.t").collect()
    assert [tuple(row) for row in found] == [(100, 99)]
    spark.sql("DROP TABLE hadoop.shop.t")


def test_refusals_name_the_reason(
    cluster: Cluster, files: HadoopFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write(f"{files.root}/one", b"1")
    cluster.admin("DFSAdmin", "-setQuota", "2", urlsplit(files.root).path)
    with pytest.raises(OSError, match=r"writing .*two failed: .*quota of the folder is reached"):
        files.write(f"{files.root}/two", b"2")
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")
    other = HadoopFiles(files.root)
    with pytest.raises(OSError, match=r"failed: .*give the user the right to write"):
        other.publish(f"{other.root}/three", b"3")
    cluster.admin("DFSAdmin", "-safemode", "enter")
    try:
        assert files.read(f"{files.root}/one") == b"1"
        with pytest.raises(OSError, match=r"failed: .*in safe mode: wait until"):
            files.publish(f"{files.root}/four", b"4")
    finally:
        cluster.admin("DFSAdmin", "-safemode", "leave")


def test_a_killed_data_node(cluster: Cluster, options: Options) -> None:
    """Files are read from the other one, and written to it once the name node no longer proposes
    the dead one, which it does only for files of one replica before it is sure.
    """
    jobs.made(options)
    Write(options, [{"k": 1, "v": 1}]).run().commit()
    cluster.nodes[-1].kill()
    assert rows_of(table_of(options)) == {1: 1}
    options = options | {"dfs.replication": "1"}
    Write(options, [{"k": 2, "v": 2}]).run().commit()
    assert rows_of(table_of(options)) == {1: 1, 2: 2}


def test_a_name_node_that_fails_over(cluster: Cluster) -> None:
    """A job that writes meanwhile goes on with the other one, and each row counts once."""
    options = cluster.service | {
        "warehouse": f"hdfs://{hadoop.SERVICE}/failing-over",
        "dfs.replication": "1",
        "dfs.client.failover.max.attempts": "15",
    }
    jobs.made(options)

    def fail() -> None:
        cluster.nodes[0].kill()
        cluster.nodes[0].wait()
        cluster.admin("DFSHAAdmin", "-transitionToActive", "--forceactive", hadoop.NAME_NODES[1])

    failing = threading.Thread(target=fail)
    written = 0
    while written < 2 or failing.is_alive():
        Write(options, [{"k": written, "v": written}]).run().commit()
        if written == 0:
            failing.start()
        written += 1
    failing.join()
    Write(options, [{"k": written, "v": written}]).run().commit()
    table = table_of(options)
    assert rows_of(table) == {number: number for number in range(written + 1)}
    assert table.snapshots.latest_id() == written + 1
