"""Footers of which bytes are wrong: an error names the file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyfold
from keyfold.errors import CorruptDataError
from keyfold.files.leaves import check_chunks
from keyfold.kernels.buffers import bytes_of
from keyfold.kernels.footers import CODEC, facts_of
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


def test_a_dictionary_that_is_longer_than_the_footer(tmp_path: Path) -> None:
    """The last column begins with it, so that its data is nearer to the end than its size says."""
    table = keyfold.connect(tmp_path, threads=1).create_table(
        "t", {"k": "INT", "v": "STRING"}, ["k"], options={"bucket": "1"}
    )
    words = [f"{at * 7919 % 99_991:x}-{at * at}" for at in range(1000)]
    table.upsert([{"k": k, "v": words[k % 1000]} for k in range(20_000)])
    (file,) = tmp_path.rglob("bucket-0/*.parquet")
    last = pq.read_metadata(file).row_group(0).column(4)
    assert (last.path_in_schema, last.has_dictionary_page) == ("v", True)
    assert last.data_page_offset + last.total_compressed_size > file.stat().st_size
    rows = table.scan().to_pylist()
    assert {row["k"]: row["v"] for row in rows} == {k: words[k % 1000] for k in range(20_000)}


@pytest.mark.parametrize("what", ["a type", "a codec", "a histogram"])
def test_facts_by_which_arrow_would_end_the_process(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file"
    rows = pa.table({"k": pa.array(range(9), pa.int32()), "s": ["x"] * 9})
    pq.write_table(rows, path, compression="zstd", use_dictionary=False)
    metadata, good = pq.read_metadata(path), path.read_bytes()
    footer = bytearray(good[-8 - metadata.serialized_size : -8])
    check_chunks(metadata, bytes_of(pa.py_buffer(footer)), len(good))
    ours, skipped, wrong = {  # of column k: its type and encodings, codec, definition levels
        "a type": (b"\x1c\x15\x02\x19\x25", 2, 4),
        "a codec": (b"\x18\x01k\x15\x0c", 4, 0x7E),
        "a histogram": (b"\x19\x26\x00\x12", 1, 0x16),
    }[what]
    footer[footer.index(ours) + skipped] = wrong
    with pytest.raises(ValueError, match=r"column [ks] of row group 0 is not of the type"):
        check_chunks(metadata, bytes_of(pa.py_buffer(footer)), len(good))


def test_columns_of_all_shapes_are_followed() -> None:
    """The facts are those that Arrow shows, of nested columns and many row groups too."""
    inner = pa.struct([("x", pa.decimal128(20, 2)), ("y", pa.list_(pa.string()))])
    kinds = {"l": pa.list_(inner), "m": pa.map_(pa.string(), pa.int8()), "b": pa.bool_()}
    cells = {"l": [{"x": None, "y": ["a"]}], "m": [("k", 1)], "b": True}
    rows = pa.table({name: pa.array([cells[name], None], kinds[name]) for name in kinds})
    for settings in ({}, {"compression": "none", "version": "1.0", "write_statistics": False}):
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, row_group_size=1, **settings)
        data = sink.getvalue().to_pybytes()
        metadata = pq.read_metadata(pa.BufferReader(data))
        footer = bytes_of(pa.py_buffer(data[-8 - metadata.serialized_size : -8]))
        facts = facts_of(footer, metadata.num_row_groups * len(metadata.schema))
        assert facts is not None
        codecs = {0 if settings else 1}
        assert set(facts[:, CODEC].tolist()) == codecs
        check_chunks(metadata, footer, len(data))
