"""Footers of which bytes are wrong: an error names the file."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from keyfold.errors import CorruptDataError
from keyfold.storage.table import Table
from tests.read import harness
from tests.storage import damaged, tables


def number(value: int) -> bytes:
    """A number as Thrift's compact protocol has it."""
    rest, out = value * 2, bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*out, rest])


def rows_of(found: Table) -> int:
    damaged.forget()
    scan, splits, _ = harness.planned(found)
    return sum(batch.num_rows for split in splits for batch in harness.read(scan, split))


@pytest.mark.parametrize("what", ["a name", "a size", "a place"])
def test_wrong_chunks_are_damage_that_names_the_file(tmp_path: Path, what: str) -> None:
    """A name that is not UTF-8, and a size and a place below zero: Arrow believes them."""
    found = tables.table(tmp_path, tables.new_table(bucket="1"))
    harness.upsert(found, [{"k": k, "v": k} for k in range(20)])
    found = tables.reload(found)
    (file,) = Path(found.layout.location).glob("bucket-0/*.parquet")
    assert rows_of(found) == 20
    metadata, good = pq.read_metadata(file), file.read_bytes()
    group = metadata.row_group(0)
    chunks = {chunk.path_in_schema: chunk for chunk in map(group.column, range(group.num_columns))}
    size = b"\x16" + number(chunks["v"].total_compressed_size)
    place = b"\x26" + number(chunks["v"].data_page_offset)
    ours, skipped = {
        "a name": (b"\x18\x01v", 2),
        "a size": (size + place, 1),
        "a place": (place, 1),
    }[what]
    at = good.index(ours, len(good) - 8 - metadata.serialized_size) + skipped
    content = bytearray(good)
    content[at] = 0xFF if what == "a name" else content[at] | 1  # the lowest bit is the sign
    file.write_bytes(content)
    with pytest.raises(CorruptDataError, match=r"data file .* can't be read: ") as error:
        rows_of(found)
    assert str(file) in str(error.value)
