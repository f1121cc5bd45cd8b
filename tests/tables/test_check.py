"""`table.check` finds each kind of damage to a file, and none where there is none."""

import os
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

import keyfold


@pytest.fixture
def table(tmp_path: Path) -> Any:
    columns = {"k": "INT", "v": "STRING", "p": "INT"}
    # Without a codec, which has checksums of its own.
    options = {"bucket": "1", "write-only": "true", "file.compression": "none"}
    made = keyfold.connect(tmp_path, threads=2).create_table(
        "t", columns, ["k", "p"], ["p"], options
    )
    for start in (0, 500):
        made.upsert([{"k": k, "v": f"text {k}", "p": k % 2} for k in range(start, start + 500)])
    return made


def files(table: Any) -> list[Path]:
    return sorted(Path(table.location).rglob("data-*.parquet"))


def test_a_whole_table_has_no_problems(table: Any) -> None:
    assert len(files(table)) == 4
    for how in ({}, {"pages": True}, {"history": True}, {"pages": True, "history": True}):
        assert table.check(**how) == []


def test_a_file_that_is_missing_cut_or_longer_is_found(table: Any) -> None:
    missing, cut, longer, _ = files(table)
    missing.unlink()
    os.truncate(cut, cut.stat().st_size - 7)
    with longer.open("ab") as end:
        end.write(b"!")
    found = table.check()
    assert len(found) == 3
    for path, words in ((missing, "it is missing"), (cut, "cut short"), (longer, "longer than")):
        (line,) = [line for line in found if path.name in line]
        assert words in line
        assert "restore the file from a backup" in line


def test_a_byte_of_a_page_that_changed_is_found(table: Any, seed: int) -> None:
    path, random = files(table)[0], Random(seed)
    whole, group = path.read_bytes(), pq.read_metadata(path).row_group(0)
    for number in range(group.num_columns):
        chunk = group.column(number)
        begin = chunk.dictionary_page_offset or chunk.data_page_offset
        end = begin + chunk.total_compressed_size  # the last bytes are of a page, not of its header
        place = end - 1 - random.randrange(4)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        assert table.check() == []  # sizes and footers alone
        (line,) = table.check(pages=True)
        assert path.name in line
    path.write_bytes(whole)
    assert table.check(pages=True) == []


def test_history_looks_at_files_that_only_old_snapshots_name(table: Any) -> None:
    old = files(table)
    table.compact()
    old[0].unlink()
    assert table.check() == []
    (line,) = table.check(history=True)
    assert old[0].name in line
    for manifest in Path(table.location).rglob("manifest/manifest-[0-9a-f]*"):
        manifest.unlink()
    assert "manifest" in table.check()[0]
