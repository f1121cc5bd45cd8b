"""Column chunks decoded here are those that pyarrow decodes, whatever their form and bytes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keyfold.errors import CorruptDataError
from keyfold.files.chunks import Chunks
from keyfold.files.leaves import leaves_of

KINDS = (
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("ms"),
    pa.string(),
    pa.binary(),
    pa.decimal128(10, 2),
    pa.bool_(),
)
WHOLE = [kind for kind in KINDS if pa.types.is_integer(kind) or pa.types.is_temporal(kind)]
TEXTS = (pa.string(), pa.binary())
DECODED = (*KINDS[2:8], *TEXTS)


def column(kind: pa.DataType, rows: int, draw: random.Random, null_rate: float) -> pa.Array:
    """Values of one of several widths and steps, the extreme ones among them."""
    bits = draw.choice((0, 1, 5, 17, 31, 57, 60, 64))
    if kind in TEXTS:
        made: Any = [b"x" * draw.choice((0, 1, 9, 200 if bits > 31 else 3)) for _ in range(rows)]
    else:
        numbers = np.array([draw.getrandbits(bits) for _ in range(rows)], dtype=np.uint64)
        if draw.random() < 0.5:
            numbers.sort()
        if pa.types.is_floating(kind):
            made = numbers.view(np.int64).astype(f"f{kind.bit_width // 8}").tolist()
        elif kind == pa.bool_():
            made = (numbers % 2 == 1).tolist()
        elif pa.types.is_decimal(kind):
            made = [int(n) for n in numbers % 10**8]
        else:
            made = (
                numbers.astype(f"u{kind.bit_width // 8}").view(f"i{kind.bit_width // 8}").tolist()
            )
    cells = [None if draw.random() < null_rate else value for value in made]
    if pa.types.is_decimal(kind):
        return pa.array(cells).cast(pa.decimal128(19, 0)).cast(kind)
    if pa.types.is_temporal(kind):
        return pa.array(cells, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    return pa.array(cells, pa.binary()).cast(kind) if kind in TEXTS else pa.array(cells, kind)


def settings(draw: random.Random, is_ours: bool) -> dict[str, Any]:
    """Arguments of the writer; with `is_ours` in the forms that keyfold writes."""
    encoding = {str(KINDS.index(kind)): "DELTA_BINARY_PACKED" for kind in WHOLE}
    encoding |= {str(KINDS.index(kind)): "DELTA_LENGTH_BYTE_ARRAY" for kind in TEXTS}
    is_plain = not is_ours and draw.random() < 0.5
    return {
        "compression": draw.choice(("none", "zstd", "snappy", "gzip", "lz4")[: 4 + (not is_ours)]),
        "use_dictionary": is_plain and draw.random() < 0.5,
        "column_encoding": None if is_plain else encoding,
        "data_page_size": draw.choice((1 << 7, 1 << 20)),
        "write_batch_size": draw.choice((10, 1000)),
        "data_page_version": "1.0" if is_ours else draw.choice(("1.0", "2.0")),
        "write_page_checksum": True,
    }


def stored(path: Path, draw: random.Random, *, is_ours: bool) -> pq.FileMetaData:
    """A file with a column of each type, in two row groups."""
    rows, null_rate = draw.choice((0, 1, 2, 40, 150)), 0.0 if is_ours else draw.choice((0.0, 0.3))
    nullable = draw.random() < 0.5 or null_rate > 0
    arrays = [column(kind, rows, draw, null_rate) for kind in KINDS]
    fields = [pa.field(str(place), kind, nullable) for place, kind in enumerate(KINDS)]
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    pq.write_table(table, path, row_group_size=max(rows // 2, 1), **settings(draw, is_ours))
    return pq.read_metadata(path)


def chunks_of(path: Path, metadata: pq.FileMetaData, *, is_checked: bool) -> Chunks:
    return Chunks(pa.OSFile(str(path)), str(path), metadata, leaves_of(metadata), is_checked)


@pytest.mark.parametrize("seed", range(24))
def test_a_chunk_is_what_pyarrow_reads(tmp_path: Path, seed: int) -> None:
    path, draw = tmp_path / "file", random.Random(seed)
    is_ours = seed % 2 == 0
    metadata = stored(path, draw, is_ours=is_ours)
    with pq.ParquetFile(path) as file:
        chunks = chunks_of(path, metadata, is_checked=True)
        for group in range(metadata.num_row_groups):
            for field in file.schema_arrow:
                found = chunks.column(group, field.name, field.type)
                if found is not None:
                    found.validate(full=True)
                    (expected,) = file.read_row_group(group, [field.name]).columns
                    assert found.equals(expected.combine_chunks()), field
                elif is_ours:
                    assert field.type not in DECODED, field


def test_wrong_bytes_end_nothing(tmp_path: Path) -> None:
    """Without checksums compared: a chunk is left to pyarrow, or has its number of values."""
    path, draw = tmp_path / "file", random.Random(3)
    left = 0
    for _ in range(6):
        metadata = stored(path, draw, is_ours=True)
        schema, good = pq.read_schema(path), path.read_bytes()
        for _ in range(25 if metadata.num_rows else 0):
            wrong = bytearray(good)
            for _ in range(draw.choice((1, 1, 4))):
                wrong[draw.randrange(4, len(wrong) - metadata.serialized_size - 8)] ^= (
                    1 << draw.randrange(8)
                )
            path.write_bytes(wrong)
            chunks = chunks_of(path, metadata, is_checked=False)
            for field in schema:
                found = chunks.column(0, field.name, field.type)
                left += found is None and field.type in DECODED
                if found is not None:
                    assert len(found) == metadata.row_group(0).num_rows
                    if field.type != pa.string():  # a text may be no text any more
                        found.validate(full=True)
    assert left > 10


def test_a_wrong_byte_of_a_page_is_an_error(tmp_path: Path) -> None:
    path, draw = tmp_path / "file", random.Random(5)
    metadata = stored(path, draw, is_ours=True)
    while metadata.num_rows < 40:
        metadata = stored(path, draw, is_ours=True)
    place = [*KINDS].index(pa.int64())
    chunk, content = metadata.row_group(0).column(place), bytearray(path.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 4
    path.write_bytes(content)
    with pytest.raises(CorruptDataError, match="expected checksum"):
        chunks_of(path, metadata, is_checked=True).column(0, str(place), pa.int64())
