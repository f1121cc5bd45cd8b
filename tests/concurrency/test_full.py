"""A disk that is full at any moment of a job: the error names the file and what to do, the table is
as before, nothing of the job is left, and with room the job runs.

A process's limit on the size of files stands for the disk: it is met in the middle of a write, as a
full disk is, and needs no file system of its own. KEYFOLD_SMALL_DISK names a folder on a small file
system (`mount -t tmpfs -o size=4m tmpfs /mnt/small`), which is then really filled.
"""

import errno
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from keyfold.worker import wire
from tests.concurrency import jobs
from tests.concurrency.processes import elsewhere
from tests.concurrency.test_killed_at import ROWS, make, new, state
from tests.storage import tables

LIMITS = (0, 3, 200, 700, 1000, 1300, 1600, 2000, 3000, 1 << 20)
SMALL_DISK = os.environ.get("KEYFOLD_SMALL_DISK")
ADDED = {"change": "add_column", "name": ["w"], "type": "long"}
Job = Callable[[str], object]


def insert(folder: str) -> object:
    return jobs.written(folder, [{"k": k, "v": 1} for k in range(2, 700)])


def overwrite(folder: str) -> object:
    return jobs.written(folder, [{"k": k, "v": 1} for k in range(2, 700)], "overwrite")


def delete(folder: str) -> object:
    return jobs.deleted(folder, 1)


def compaction(folder: str) -> object:
    return jobs.compacted(folder)


def alter(folder: str) -> object:
    return jobs.altered(folder, [ADDED])


def create(folder: str) -> object:
    return tables.catalog(Path(folder)).create_table(["default"], "u", new()).layout.name


def limited(limit: int, job: Job, folder: str) -> str | None:
    """In a process of its own: a job where files may have so many bytes; what it says if it fails
    for that.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    return _said(job, folder, errno.EFBIG)


def _said(job: Job, folder: str, expected: int) -> str | None:
    try:
        job(folder)
    except OSError as error:
        if error.errno != expected:
            raise
        said: str = wire.failure(error, "the job")["error"]["message"]
        return said
    return None


def contents(folder: str) -> dict[str, bytes]:
    """Every file, but for the hints of the newest snapshot."""
    found = [p for p in Path(folder).rglob("*") if p.is_file() and p.name not in ("LATEST",)]
    return {str(path): path.read_bytes() for path in found}


@pytest.mark.parametrize("job", [insert, overwrite, delete, compaction, alter, create])
def test_a_full_disk(tmp_path: Path, job: Job) -> None:
    outcomes = []
    for limit in LIMITS:
        folder = make(tmp_path / str(limit))
        before, rows = contents(folder), rows_of(folder)
        said = elsewhere(limited, limit, job, folder)
        outcomes.append(said is None)
        if said is None:
            continue
        assert "no room for it" in said
        assert folder in said, "the file is named"
        assert contents(folder) == before, f"{limit} bytes: {said}"
        assert rows_of(folder) == rows
        job(folder)
    assert not outcomes[0]
    assert outcomes[-1]


def rows_of(folder: str) -> dict[int, int]:
    return jobs.rows_of(jobs.table_of(folder))


def test_spilled_rows_without_room(tmp_path: Path) -> None:
    folder = make(tmp_path)
    before = contents(folder)
    said = elsewhere(limited_spill, folder)
    assert "no room for it" in said
    assert "spark.local.dir" in said
    assert contents(folder) == before
    assert state(folder) == (("k", "v"), ROWS)


def limited_spill(folder: str) -> str | None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    table = jobs.table_of(folder)
    table.layout.options["write-buffer-size"] = "1 mb"  # type: ignore[index]
    return _said(lambda _: many(table), folder, errno.EFBIG)


def many(table: jobs.Table) -> None:
    spec = tables.spec(table)
    rows = [{"k": k * 7919 % 1_000_003, "v": k} for k in range(120_000)]
    jobs.write(spec, jobs.harness.batches(table.layout, rows, 8192))


def fill_really(small: str) -> None:
    """A disk that is filled a little less each time, until the job has room."""
    failed = 0
    for attempt in range(400):
        folder = make(Path(small) / str(attempt))
        before, filler = contents(folder), Path(small) / "filler"
        free = os.statvfs(small)
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, (free.f_bavail - attempt) * free.f_bsize))
        said = elsewhere(_said, insert, folder, errno.ENOSPC)
        filler.unlink()
        if said is None:
            break
        failed += 1
        assert "no room for it" in said
        assert contents(folder) == before, said
        insert(folder)
    assert failed
    assert said is None


if SMALL_DISK is not None:

    def test_a_disk_that_is_really_full() -> None:
        assert SMALL_DISK is not None
        fill_really(SMALL_DISK)
