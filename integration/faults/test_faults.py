"""What goes wrong outside keyfold, seen from Spark: damaged files, full disks, killed processes of
the driver. docs/faults.md is the table of these.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.faults import harness, processes

KILLS = 8
KINDS = ("data", "manifest", "list", "snapshot", "schema")
HALF = "half", lambda good: good[: len(good) // 2]
NOISE = "noise", lambda good: bytes(byte ^ 0x5A for byte in good)


def make(spark: SparkSession, name: str, *more: str) -> str:
    options = ["'bucket' = '1'", "'write-only' = 'true'", *more]
    spark.sql(
        f"CREATE TABLE {name} (k BIGINT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        f"TBLPROPERTIES ({', '.join(options)})"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, 1 FROM range(1000)")
    return name


def summing(spark: SparkSession, name: str) -> str:
    return make(
        spark, name, "'merge-engine' = 'aggregation'", "'fields.v.aggregate-function' = 'sum'"
    )


def folder_of(warehouse: Path, name: str) -> Path:
    return warehouse / "it.db" / name.rpartition(".")[2]


def newest(table: Path, kind: str) -> Path:
    """The file of a kind that was written last."""
    patterns = {
        "data": "bucket-0/data-*",
        "manifest": "manifest/manifest-[!l]*",
        "list": "manifest/manifest-list-*-1",
        "snapshot": "snapshot/snapshot-*",
        "schema": "schema/schema-*",
    }
    return max(table.glob(patterns[kind]), key=lambda path: path.stat().st_mtime_ns)


@pytest.mark.parametrize("how", [HALF, NOISE], ids=["cut short", "wrong bytes"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_named_with_what_can_be_done(
    spark: SparkSession,
    warehouse: Path,
    fresh_name: Callable[[], str],
    kind: str,
    how: tuple[str, Callable[[bytes], bytes]],
) -> None:
    """The driver's process keeps what it has read of files that never change: it is a new one."""
    name = make(spark, fresh_name())
    path = newest(folder_of(warehouse, name), kind)
    good = path.read_bytes()
    path.write_bytes(how[1](good))
    new_processes(spark)
    with pytest.raises(Exception, match=r"can't be read: .*restore the file from a backup") as told:
        spark.sql(f"SELECT sum(v) FROM {name}").collect()
    assert str(path) in str(told.value)
    assert "Traceback" not in str(told.value).split("In Python:")[0]
    if kind == "data":
        spark.sql(f"INSERT OVERWRITE {name} VALUES (1, 7)")
        assert [tuple(row) for row in spark.table(name).collect()] == [(1, 7)]
    else:
        with pytest.raises(Exception, match="restore the file from a backup"):
            spark.sql(f"INSERT INTO {name} VALUES (1, 7)")
    path.write_bytes(good)


def new_processes(spark: SparkSession, bytes_: int = resource.RLIM_INFINITY) -> int:
    """No workers, and another process of the driver, which is returned; both may write files of so
    many bytes. The fork server stays.
    """
    server = processes.children(harness.jvm_of(spark)) & harness.children_of(spark)
    old = harness.children_of(spark) - server
    for pid in old:
        processes.kill(pid)
    assert processes.wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in old))
    for pid in server:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (bytes_, resource.RLIM_INFINITY))
    spark.sql("SHOW NAMESPACES IN keyfold").collect()  # the server has seen that they ended
    (driver,) = harness.children_of(spark) - server
    return driver


@contextmanager
def without_room(spark: SparkSession, bytes_: int) -> Iterator[None]:
    """Files that keyfold's processes write end after so many bytes, as on a disk that is full."""
    new_processes(spark, bytes_)
    try:
        yield
    finally:
        new_processes(spark)


@pytest.mark.parametrize(
    ("room", "rows", "met"), [(1500, 1000, "manifest"), (20_000, 100_000, "bucket-0")]
)
def test_a_disk_without_room(
    spark: SparkSession,
    warehouse: Path,
    fresh_name: Callable[[], str],
    room: int,
    rows: int,
    met: str,
) -> None:
    """Met where the commit writes its manifest, and where a task writes its data."""
    name = summing(spark, fresh_name())
    table = folder_of(warehouse, name)
    values = "1" if rows == 1000 else "pmod(xxhash64(id), 1000000)"  # compressed to 1 KB; 250 KB
    insert = f"INSERT INTO {name} SELECT id, {values} FROM range({rows})"
    before = {path for path in table.rglob("*") if path.is_file()}
    with (
        without_room(spark, room),
        pytest.raises(Exception, match="there is no room for it") as told,
    ):
        spark.sql(insert)
    assert str(table / met) in str(told.value)
    assert {path for path in table.rglob("*") if path.is_file()} == before
    spark.sql(insert)
    assert spark.sql(f"SELECT count(*) FROM {name}").first()[0] == rows


def test_a_fork_server_that_dies_before_it_gives_a_worker(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """The message says how it ended: it may have written nothing."""
    name = make(spark, fresh_name())
    new_processes(spark)
    (server,) = processes.children(harness.jvm_of(spark)) & harness.children_of(spark)
    socket = f"{Path(f'/proc/{server}/fd/2').readlink().parent}/fork.sock"
    os.kill(server, signal.SIGSTOP)
    listed = Path("/proc/net/unix")
    before = listed.read_text().count(socket)
    with ThreadPoolExecutor(1) as one:
        query = one.submit(spark.table(name).collect)
        assert processes.wait_until(
            lambda: Path("/proc/net/unix").read_text().count(socket) > before
        )
        os.kill(server, signal.SIGKILL)
        with pytest.raises(Exception, match=r"gave no worker .*: it was killed by signal 9; "):
            query.result()
    assert spark.table(name).count()


def test_the_drivers_process_is_killed_at_any_moment(
    spark: SparkSession, fresh_name: Callable[[], str]
) -> None:
    """Another one takes its place: what changes nothing is asked again, and whether a commit took
    place is looked up. Every INSERT ends well and counts once.
    """
    name, draw = summing(spark, fresh_name()), random.Random(KILLS)
    insert = f"INSERT INTO {name} SELECT id, 1 FROM range(1000)"
    usual = 0.0
    for attempt in range(KILLS):
        driver = new_processes(spark)
        killer = threading.Timer(draw.uniform(0, usual), processes.kill, [driver])
        if attempt:
            killer.start()
        begun = time.monotonic()
        spark.sql(insert)
        usual = usual or time.monotonic() - begun
        if attempt:
            killer.join()
    assert spark.sql(f"SELECT sum(v) FROM {name}").first()[0] == (1 + KILLS) * 1000
