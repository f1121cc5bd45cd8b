"""Data files are flushed to disk: whole files, and no descriptor stays open."""

import os
from pathlib import Path

import pytest

from keyfold.write.durable import PART_BYTES, Flush
from keyfold.write.writer import write
from tests.read import harness
from tests.storage import tables


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_file_is_flushed_in_parts(tmp_path: Path) -> None:
    path, before = tmp_path / "data", descriptors()
    content = os.urandom(PART_BYTES)
    with path.open("wb", buffering=0) as sink:
        flush = Flush(path)
        for part in range(1, 4):
            sink.write(content)
            flush.begin(part * PART_BYTES)
        flush.begin(3 * PART_BYTES + 1)
        flush.end()
        flush.close()
    assert path.stat().st_size == 3 * PART_BYTES
    assert descriptors() == before


@pytest.mark.parametrize("sync", ["true", "false"])
def test_a_job_leaves_no_descriptor(tmp_path: Path, sync: str) -> None:
    found = tables.table(tmp_path, tables.new_table(keyfold__data_file__sync=sync))
    rows = [{"k": k, "v": k} for k in range(100)]
    write(tables.spec(found), harness.batches(found.layout, rows))
    before = descriptors()
    messages = write(tables.spec(found), harness.batches(found.layout, rows))
    assert sum(file.rows for message in messages for file in message.files) == 100
    assert descriptors() == before


def test_a_job_that_fails_leaves_no_descriptor(tmp_path: Path) -> None:
    found = tables.table(
        tmp_path, tables.new_table(tables.column("k"), tables.column("v", nullable=False))
    )
    rows = [{"k": k, "v": None} for k in range(10)]
    before = descriptors()
    with pytest.raises(Exception, match="null"):
        write(tables.spec(found), harness.batches(found.layout, rows))
    assert descriptors() == before
