"""Data files are flushed to disk: whole files, and no descriptor stays open.

Descriptors are counted in processes of their own: in that of the tests others come and go.
"""

import errno
import os
from pathlib import Path

import pytest

from keyfold.write.durable import PART_BYTES, TOGETHER, Flush
from keyfold.write.writer import write
from tests.concurrency.processes import elsewhere
from tests.read import harness
from tests.storage import tables


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def flushed(path: Path) -> int:
    """How many descriptors are left of a file that is flushed in parts."""
    before, content = descriptors(), bytes(PART_BYTES)
    with path.open("wb", buffering=0) as sink:
        flush = Flush(str(path))
        for part in range(1, 4):
            sink.write(content)
            flush.begin(part * PART_BYTES)
        flush.begin(3 * PART_BYTES + 1)
        flush.end()
        flush.close()
    return descriptors() - before


def test_a_file_is_flushed_in_parts(tmp_path: Path) -> None:
    assert elsewhere(flushed, tmp_path / "data") == 0
    assert (tmp_path / "data").stat().st_size == 3 * PART_BYTES


def written(folder: Path, sync: str) -> tuple[int, int]:
    """The rows of a second job, and how many descriptors are left of it."""
    found = tables.table(folder, tables.new_table(keyfold__data_file__sync=sync))
    rows = [{"k": k, "v": k} for k in range(100)]
    write(tables.spec(found), harness.batches(found.layout, rows))
    before = descriptors()
    messages = write(tables.spec(found), harness.batches(found.layout, rows))
    left = descriptors() - before
    return sum(file.rows for message in messages for file in message.files), left


@pytest.mark.parametrize("sync", ["true", "false"])
def test_a_job_leaves_no_descriptor(tmp_path: Path, sync: str) -> None:
    assert elsewhere(written, tmp_path, sync) == (100, 0)


def failed(folder: Path) -> int:
    """How many descriptors are left of a job that fails."""
    columns = tables.column("k"), tables.column("v", nullable=False)
    found = tables.table(folder, tables.new_table(*columns))
    rows = [{"k": k, "v": None} for k in range(10)]
    before = descriptors()
    with pytest.raises(Exception, match="null"):
        write(tables.spec(found), harness.batches(found.layout, rows))
    return descriptors() - before


def test_a_job_that_fails_leaves_no_descriptor(tmp_path: Path) -> None:
    assert elsewhere(failed, tmp_path) == 0


def flushed_files(folder: Path, places: int) -> tuple[list[Path], list[int]]:
    """The data files whose flush ended while a job made them, one file in each of so many
    partitions, and how many files there were whenever one ended.
    """
    columns = tables.column("p", nullable=False), tables.column("k")
    found = tables.table(folder, tables.new_table(*columns, key="p,k", by="p", bucket="1"))
    rows = [{"p": p, "k": p} for p in range(places)]
    ended, made, end = [], [], Flush.end

    def told(flush: Flush) -> None:
        end(flush)
        ended.append(Path(flush.path))
        made.append(len(list(folder.rglob("data-*"))))

    Flush.end = told  # type: ignore[method-assign]
    before = descriptors()
    messages = write(tables.spec(found), harness.batches(found.layout, rows, places))
    assert descriptors() == before
    assert sum(len(message.files) for message in messages) == places
    return ended, made


def test_many_small_files_are_flushed_together(tmp_path: Path) -> None:
    ended, made = elsewhere(flushed_files, tmp_path, 2 * TOGETHER + 1)
    assert sorted(ended) == sorted(tmp_path.rglob("data-*"))
    assert set(made) == {TOGETHER, 2 * TOGETHER, 2 * TOGETHER + 1}


def unflushed(folder: Path) -> tuple[str, list[Path], int]:
    """What is said where the last file can't be flushed, the files that are left, descriptors."""
    found = tables.table(folder, tables.new_table(bucket="4"))
    rows = [{"k": k, "v": k} for k in range(100)]
    end, left = Flush.end, [3]

    def refused(flush: Flush) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(flush.path))
        end(flush)

    Flush.end = refused  # type: ignore[method-assign]
    before = descriptors()
    with pytest.raises(OSError, match="data-") as error:
        write(tables.spec(found), harness.batches(found.layout, rows))
    return str(error.value), list(folder.rglob("data-*")), descriptors() - before


def test_a_job_with_a_file_that_can_t_be_flushed_leaves_nothing(tmp_path: Path) -> None:
    said, files, left = elsewhere(unflushed, tmp_path)
    assert str(tmp_path) in said
    assert (files, left) == ([], 0)
