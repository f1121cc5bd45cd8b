"""A disk that is full, or refuses to write, at any moment of a job: the error names the file and
what to do, the table is as before, nothing of the job is left, and with room the job runs.

A process's limit on the size of files stands for the disk: it is met in the middle of a write, as a
full disk is, and needs no file system of its own. Small ones that root mounts are really filled.
"""

import errno
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from keyfold.bridge import frames
from tests import disks
from tests.concurrency import jobs
from tests.concurrency.processes import elsewhere
from tests.concurrency.test_killed_at import ROWS, copied, make, new, state
from tests.storage import tables

LIMITS = (0, 3, 200, 700, 1000, 1300, 1600, 2000, 3000, 1 << 20)
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
        said: str = frames.failure(error, "the job")["error"]["message"]
        return said
    return None


def contents(folder: str) -> dict[str, bytes]:
    """Every file, but for the hints of the newest snapshot."""
    found = [p for p in Path(folder).rglob("*") if p.is_file() and p.name not in ("LATEST",)]
    return {str(path): path.read_bytes() for path in found}


JOBS = [insert, overwrite, delete, compaction, alter, create]


@pytest.mark.parametrize("job", JOBS)
def test_a_full_disk(tmp_path: Path, job: Job) -> None:
    outcomes, origin = [], make(tmp_path / "origin")
    for limit in LIMITS:
        folder = copied(origin, tmp_path / str(limit))
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


def test_a_partition_value_too_long_for_a_folder(tmp_path: Path) -> None:
    columns = tables.column("k"), tables.column("p", "string")
    tables.table(tmp_path, tables.new_table(*columns, key="k,p", by="p"))
    before = contents(str(tmp_path))
    rows = [{"k": 1, "p": "x" * 300}]
    said = _said(lambda folder: jobs.written(folder, rows), str(tmp_path), errno.ENAMETOOLONG)
    assert said is not None
    assert "in it has 302 bytes, more than the file system takes, mostly 255" in said
    assert "called column=value" in said
    assert contents(str(tmp_path)) == before


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


@disks.needs_mount
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """A little less each time, until the job has room."""
    with disks.small(tmp_path / "small") as small:
        filler = small / "filler"

        def fill(attempt: int) -> list[Path]:
            free = os.statvfs(small)
            with filler.open("wb") as file:
                size = max(1, (free.f_bavail - attempt) * free.f_bsize)
                os.posix_fallocate(file.fileno(), 0, size)
            return [filler]

        until_there_is_room(small, insert, fill)


@disks.needs_mount
@pytest.mark.parametrize("job", JOBS)
def test_inodes_used_up(tmp_path: Path, job: Job) -> None:
    with disks.small(tmp_path / "small", inodes=300) as small:
        until_there_is_room(small, job, lambda but: disks.use_up_inodes(small, but=but))


def until_there_is_room(small: Path, job: Job, fill: Callable[[int], list[Path]]) -> None:
    """The job on a disk that is filled but for so much, more each time."""
    origin = make(small.with_name("origin"))
    for attempt in range(400):
        folder = copied(origin, small / str(attempt))
        before = contents(folder)
        fillers = fill(attempt)
        said = elsewhere(_said, job, folder, errno.ENOSPC)
        for filler in fillers:
            filler.unlink()
        if said is None:
            break
        assert "inodes (df -i)" in said
        assert folder in said, "the file is named"
        assert contents(folder) == before, said
        job(folder)
        shutil.rmtree(folder)
    assert attempt, "it was never full"
    assert said is None


@disks.needs_mount
@pytest.mark.parametrize("job", JOBS)
def test_a_disk_that_became_read_only(tmp_path: Path, job: Job) -> None:
    with disks.small(tmp_path / "small") as small:
        folder = make(small / "warehouse")
        before = contents(folder)
        disks.make_read_only(small)
        said = elsewhere(_said, job, folder, errno.EROFS)
        assert "mount it writable" in said
        assert folder in said, "the file is named"
        assert contents(folder) == before
        assert rows_of(folder) == ROWS
