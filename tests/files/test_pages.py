"""Checksums of pages: compared for every page pyarrow decodes, by whoever compares them."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keyfold.errors import CorruptDataError
from keyfold.files.pages import LEAST_CHUNK, checked
from keyfold.kernels.buffers import bytes_of
from keyfold.kernels.pages import ABSENT, CRC, START, STORED, headers_of
from keyfold.storage.table import Table
from tests.files.page_headers import Page, pages
from tests.read import harness
from tests.storage import tables

ROWS = 3000
WAYS: tuple[dict[str, Any], ...] = (
    {"data_page_version": "1.0", "compression": "none", "data_page_size": 1 << 12},
    {"data_page_version": "1.0", "compression": "zstd", "use_dictionary": True},
    {"data_page_version": "2.0", "compression": "zstd", "data_page_size": 1 << 12},
    {"data_page_version": "2.0", "compression": "none", "write_statistics": False},
)


def some_rows() -> pa.Table:
    draw = np.random.default_rng(5)
    numbers = draw.integers(0, 1 << 40, ROWS)
    return pa.table(
        {
            "a": numbers,
            "b": draw.random(ROWS),
            "c": pa.array([f"text {n % 40}" for n in numbers.tolist()]),
            "d": pa.array([None if n % 3 else n for n in numbers.tolist()]),
            "e": pa.array([[n, n + 1] if n % 5 else [] for n in numbers.tolist()]),
        }
    )


def stored(path: Path, way: dict[str, Any]) -> pa.Table:
    """A file of several column chunks and pages, with checksums."""
    table = some_rows()
    pq.write_table(table, path, write_page_checksum=True, **way)
    return table


def chunks(path: Path) -> Iterable[tuple[int, bytes]]:
    """Where each column chunk begins, and its bytes."""
    found, content = pq.read_metadata(path).row_group(0), path.read_bytes()
    for place in range(found.num_columns):
        chunk = found.column(place)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        yield start, content[start : start + chunk.total_compressed_size]


def read_by_arrow(path: Path, metadata: pq.FileMetaData) -> pa.Table:
    with pq.ParquetFile(
        path, metadata=metadata, pre_buffer=False, page_checksum_verification=True
    ) as file:
        return file.read(use_threads=False)


def read_by_us(path: Path, metadata: pq.FileMetaData) -> pa.Table:
    source = checked(pa.OSFile(str(path)), str(path))
    with pq.ParquetFile(source, metadata=metadata, pre_buffer=False) as file:
        return file.read(use_threads=False)


def found_by_kernel(chunk: bytes) -> list[Page]:
    rows = headers_of(bytes_of(pa.py_buffer(chunk))).tolist()
    return [
        Page(
            row[START],
            row[START] + row[STORED],
            None if row[CRC] == ABSENT else row[CRC] & 0xFFFFFFFF,
        )
        for row in rows
    ]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_headers_are_those_of_the_definition(tmp_path: Path, way: dict[str, Any]) -> None:
    """Of whole chunks, and of chunks with any one byte changed in and behind their first header."""
    path, draw = tmp_path / "file", random.Random(7)
    stored(path, way)
    for _, chunk in chunks(path):
        assert found_by_kernel(chunk) == list(pages(chunk))
        for at in range(min(80, len(chunk))):
            wrong = bytearray(chunk)
            wrong[at] = draw.randrange(256)
            assert found_by_kernel(bytes(wrong)) == list(pages(bytes(wrong))), at
        short = chunk[: draw.randrange(len(chunk))]
        assert found_by_kernel(short) == list(pages(short))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_pages_are_found_up_to_the_end_of_a_chunk(tmp_path: Path, way: dict[str, Any]) -> None:
    path = tmp_path / "file"
    stored(path, way)
    counts = []
    for _, chunk in chunks(path):
        found = list(pages(chunk))
        assert found[-1].stop == len(chunk)
        assert [page.crc for page in found] == [zlib.crc32(chunk[p.start : p.stop]) for p in found]
        counts.append(len(found))
    assert max(counts) > 1


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_file_without_checksums_is_read(tmp_path: Path, way: dict[str, Any]) -> None:
    path = tmp_path / "file"
    table = some_rows()
    pq.write_table(table, path, **way)
    assert {page.crc for _, chunk in chunks(path) for page in pages(chunk)} == {None}
    assert read_by_us(path, pq.read_metadata(path)).equals(table)


def outcome(
    read: Callable[[Path, pq.FileMetaData], pa.Table], path: Path, metadata: pq.FileMetaData
) -> pa.Table | None:
    """What is read; None if it is refused."""
    try:
        return read(path, metadata)
    except (OSError, pa.ArrowException, CorruptDataError):
        return None


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_wrong_bit_is_met_as_by_pyarrow(tmp_path: Path, way: dict[str, Any]) -> None:
    """In headers and in what follows them: refused by both, or no row is another."""
    path, draw = tmp_path / "file", random.Random(11)
    table = stored(path, way)
    metadata, good = pq.read_metadata(path), path.read_bytes()
    assert read_by_us(path, metadata).equals(table)
    places = []
    for start, chunk in chunks(path):
        places += [start + at for at in range(12)]
        places += [start + draw.randrange(len(chunk)) for _ in range(12)]
    refused = 0
    for place in places:
        wrong = bytearray(good)
        wrong[place] ^= 1 << draw.randrange(8)
        path.write_bytes(wrong)
        ours, theirs = outcome(read_by_us, path, metadata), outcome(read_by_arrow, path, metadata)
        assert (ours is None) == (theirs is None), place
        assert ours is None or ours.equals(theirs)
        refused += ours is None
    assert refused > len(places) // 2


@pytest.mark.parametrize("read", [pages, found_by_kernel])
def test_what_is_no_header_ends_the_pages(read: Callable[[bytes], Iterable[Page]]) -> None:
    assert list(read(b"\xff" * 100)) == []
    assert list(read(b"\x15")) == []
    assert list(read(b"\x00")) == [(1, 1, None)]
    assert list(read(b"\x35\x7f" + b"\x00" * 9)) == []  # a size below 0
    assert list(read(b"\x35\x7e" + b"\x00" * 9)) == []  # beyond the end


def damaged_table(folder: Path, rows: int, **options: str) -> tuple[Table, Path]:
    """A table with a wrong bit in the page of a column that no codec takes."""
    found = tables.table(folder, tables.new_table(bucket="1", **options))
    draw = random.Random(3)
    harness.upsert(found, [{"k": k, "v": draw.getrandbits(60)} for k in range(rows)])
    found = tables.reload(found)
    (file,) = Path(found.layout.location).glob("bucket-0/*.parquet")
    group = pq.read_metadata(file).row_group(0)
    places = {group.column(at).path_in_schema: at for at in range(group.num_columns)}
    chunk = group.column(places["v"])
    content = bytearray(file.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    file.write_bytes(content)
    return found, file


def rows_of(found: Table, **options: str) -> int:
    scan, splits, _ = harness.planned(found, **options)
    return sum(batch.num_rows for split in splits for batch in harness.read(scan, split))


@pytest.mark.parametrize("rows", [200, LEAST_CHUNK // 3])
def test_small_and_large_chunks_are_checked(tmp_path: Path, rows: int) -> None:
    found, file = damaged_table(tmp_path, rows, file__compression="none")
    with pytest.raises(CorruptDataError, match="expected checksum") as error:
        rows_of(found)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("rows", [200, LEAST_CHUNK // 3])
def test_checking_can_be_switched_off(tmp_path: Path, rows: int) -> None:
    found, _ = damaged_table(tmp_path, rows, file__compression="none")
    assert rows_of(found, **{"keyfold.data-file.verify": "false"}) == rows
    with pytest.raises(CorruptDataError):
        rows_of(found, **{"keyfold.data-file.verify": "true"})


def test_a_table_may_switch_it_off_and_a_reader_on(tmp_path: Path) -> None:
    options = {"file__compression": "none", "keyfold__data_file__verify": "false"}
    found, _ = damaged_table(tmp_path, 200, **options)
    assert rows_of(found) == 200
    with pytest.raises(CorruptDataError):
        rows_of(found, **{"keyfold.data-file.verify": "true"})
