"""A disk that refuses a program without Spark: the error is keyfold's, names the table, the file
and what lacks, and nothing has changed.

Modes of files don't stop root, so these jobs run in processes of a user without rights.
"""

import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold import StoreError
from tests import disks
from tests.concurrency.processes import elsewhere

NOBODY = 65534
COLUMNS = {"k": "BIGINT", "v": "BIGINT"}
OPTIONS = {"bucket": "1", "write-only": "true"}
Job = Callable[[keyfold.Catalog], Any]


def upsert(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").upsert([{"k": k, "v": 1} for k in range(500)])


def overwrite(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").overwrite([{"k": k, "v": 1} for k in range(500)])


def delete(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").delete([{"k": 1}])


def compact(catalog: keyfold.Catalog) -> Any:
    (row,) = catalog.table("t").compact().to_pylist()
    if row["status"] == "failed":  # one step may fail while others end well
        raise StoreError(row["message"])
    return row


def alter(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").alter(add={"w": "INT"})


def tag(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").tags.create("a")


def branch(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").branches.create("b")


def expire(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").expire(retain_max=1)


def rollback(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").rollback(snapshot=1)


def create(catalog: keyfold.Catalog) -> Any:
    return catalog.create_table("u", COLUMNS, ["k"])


def drop(catalog: keyfold.Catalog) -> Any:
    return catalog.drop_table("t")


def scan(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").scan().to_pylist()


def get(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").get({"k": 1})


def changes(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").changes().to_arrow()


def snapshots(catalog: keyfold.Catalog) -> Any:
    return catalog.table("t").snapshots()


def stream(catalog: keyfold.Catalog) -> Any:
    return list(catalog.table("t").scan().to_batches())


WRITES: list[Job] = [
    upsert, overwrite, delete, compact, alter, tag, branch, expire, rollback, create, drop
]  # fmt: skip
READS: list[Job] = [scan, stream, get, changes, snapshots]
FULL: list[Job] = [upsert, overwrite, delete, compact, alter, tag, branch, create]


@pytest.fixture
def warehouse() -> Iterator[Path]:
    """A warehouse that other users may reach, with a table of two commits."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    filled(place / "wh")
    yield place / "wh"
    shutil.rmtree(place)


def filled(place: Path, **options: str) -> None:
    table = keyfold.connect(place).create_table("t", COLUMNS, ["k"], options=OPTIONS | options)
    for number in range(2):
        table.upsert([{"k": k, "v": number} for k in range(50)])


def contents(place: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in place.rglob("*") if p.is_file() and p.name != "LATEST"}


def told(jobs: list[Job], place: str) -> dict[str, str]:
    """The messages of jobs that are refused."""
    said = {}
    for job in jobs:
        try:
            job(keyfold.connect(place, threads=1))
        except StoreError as error:
            said[job.__name__] = str(error)
    return said


def as_nobody(jobs: list[Job], place: str) -> dict[str, str]:
    """The same, as a user who may do little."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    return told(jobs, place)


def limited(jobs: list[Job], place: str) -> dict[str, str]:
    """The same where files may have no bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    return told(jobs, place)


def names(jobs: list[Job]) -> list[str]:
    return [job.__name__ for job in jobs]


def forbid(place: Path, mode: int) -> None:
    """Give all folders a mode, the deepest first."""
    for path in sorted(place.rglob("*"), reverse=True):
        if path.is_dir():
            path.chmod(mode)
    place.chmod(mode)


def test_folders_that_may_not_be_written(warehouse: Path) -> None:
    before = contents(warehouse)
    forbid(warehouse, 0o555)
    said = elsewhere(as_nobody, WRITES, str(warehouse))
    forbid(warehouse, 0o755)
    assert list(said) == names(WRITES)
    for job, message in said.items():
        assert "Permission denied" in message
        assert str(warehouse) in message
        assert "may not make and remove files in" in message, message
        assert " of user " in message
        assert ("catalog keyfold" if job in ("create", "drop") else "t failed") in message
    assert contents(warehouse) == before


@pytest.mark.parametrize("what", ["bucket-0/*", "manifest/*", "snapshot/snapshot-2", "schema/*"])
def test_files_that_may_not_be_read(warehouse: Path, what: str) -> None:
    found = list((warehouse / "default.db" / "t").glob(what))
    for path in found:
        path.chmod(0)
    said = elsewhere(as_nobody, READS, str(warehouse))
    reads = [job for job in READS if job is not snapshots or what[0] == "s"]  # it opens no others
    assert list(said) == names(reads)
    for message in said.values():
        assert "may not read" in message
        assert any(str(path) in message for path in found)
        assert "keyfold" in message
        assert "backup" not in message


def test_folders_that_may_not_be_entered(warehouse: Path) -> None:
    place = warehouse / "default.db" / "t"
    place.chmod(0o600)
    said = elsewhere(as_nobody, READS, str(warehouse))
    assert list(said) == names(READS)
    assert all(f"may not enter {place}, which is drw-------" in one for one in said.values())


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_a_full_disk(tmp_path: Path, producer: str) -> None:
    filled(tmp_path, **{"changelog-producer": producer})
    before = contents(tmp_path)
    said = elsewhere(limited, FULL, str(tmp_path))
    assert list(said) == names(FULL)
    assert all("no room for it" in one and str(tmp_path) in one for one in said.values())
    assert contents(tmp_path) == before
    for job in FULL:
        job(keyfold.connect(tmp_path))


@disks.needs_mount
def test_a_small_disk_that_is_full(tmp_path: Path) -> None:
    with disks.small(tmp_path / "small", inodes=500) as small:
        filled(small / "wh")
        before = contents(small / "wh")
        fillers = disks.use_up_inodes(small)
        said = elsewhere(told, FULL, str(small / "wh"))
        for filler in fillers:
            filler.unlink()
        assert list(said) == names(FULL)
        assert all("inodes (df -i)" in one for one in said.values())
        assert contents(small / "wh") == before
        for job in FULL:
            job(keyfold.connect(small / "wh"))
