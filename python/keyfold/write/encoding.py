"""The row groups of a data file, and the encoding and compression of its columns, chosen by the
sizes that a sample of its rows gets.

Measured, one core, ns per value. Whole numbers: DELTA_BINARY_PACKED reads in 1.5 (PLAIN with zstd
in 8, pyarrow's dictionary for all in 9) and is the smallest. Text and floating point get a
dictionary only if a sample repeats itself: a dictionary that is given up again costs half the
write. Other text is DELTA_LENGTH_BYTE_ARRAY if that compresses better, as it does unless neighbours
are alike: 14 against 16 to read, 35 against 42 to write for random letters. Columns that hardly
compress are not compressed: random doubles read in 0.7 instead of 5.7 and are a fifteenth larger. A
file of a few rows takes a block of the disk anyway: it has no compression and no dictionary,
because setting up zstd for each page is half the time that ten rows of seven columns take. Readers
of Paimon since 1.1, of Spark, Trino and pypaimon know all of these encodings. Pages have checksums,
so that a wrong byte is an error and not a wrong row. They cost 3-15 % of a read (files/pages.py),
and hardly anything of a write.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from keyfold.options.declared import TableOptions

_SAMPLE = 1 << 12
_TRIED_ROWS = 1 << 14
FEW_BYTES = 1 << 11
# Compression stays if it saves an eighth; beside a dictionary, which may be given up later; and if
# the sample says little, such as nulls.
_LEAST_GAIN = 8
_LEAST_SHORTER = 20  # lengths are stored apart if that makes a text a twentieth smaller
_INT64_DIGITS = 18
# Columns with values this long get no Parquet statistics and no dictionary. The writer would copy
# such a value eight times to find the least and the greatest, and then leave them out: a file never
# holds statistics longer than 4 KiB. Writing a value of 100 MB would take 860 MB; without them it
# takes 260 MB. Shorter values cost the same share of a small cap.
LONG = 1 << 16
# Pages hold all rows of a row group, up to 1 MiB. Pyarrow would end them after 20,000 rows. That is
# more to set up, and values that are stored as they are would be put together again, which takes
# 1 to 1.5 ns per value. Older versions of pyarrow end no page by its rows.
_PARAMETERS = inspect.signature(pq.ParquetWriter.__init__).parameters
_PAGE = "max_rows_per_page"
_WHOLE_CHUNKS = {_PAGE: 1 << 20} if _PAGE in _PARAMETERS else {}
# The size of a row group. Reading a run holds about one, so their size decides how many runs can be
# merged at once. With 200 columns of 8 bytes, 8 MiB are 4,200 rows: they read at 317 K rows/s of a
# core, groups of 16 MiB at 373 K, of 2 MiB at 195 K.
MOST_BYTES = 8 << 20


def writer_settings(
    options: TableOptions, schema: pa.Schema, first: pa.Table, long: Collection[str] = ()
) -> dict[str, Any]:
    """The arguments of ParquetWriter for a file whose first rows are `first`, of more than
    FEW_BYTES. No statistics and no samples are taken of `long` columns.
    """
    repeated = [
        field.name
        for field in schema
        if field.name not in long and _may_repeat(field.type) and _repeats(first[field.name])
    ]
    settings = _settings(options, schema, long) | {"use_dictionary": repeated or False}
    if long or len(first) < _TRIED_ROWS or options.file_compression == "none":
        return settings
    return settings | _tried(settings, first.slice(0, _TRIED_ROWS), repeated)


def settings_of_few(options: TableOptions, schema: pa.Schema) -> dict[str, Any]:
    """The arguments of ParquetWriter for a file of up to FEW_BYTES."""
    return _settings(options, schema) | {"compression": "none", "compression_level": None}


def _settings(
    options: TableOptions, schema: pa.Schema, long: Collection[str] = ()
) -> dict[str, Any]:
    """The arguments that do not depend on rows."""
    # Statistics are named by leaf; those below the top level are never read.
    known = [f.name for f in schema if f.name not in long and not pa.types.is_nested(f.type)]
    encoding = {field.name: "DELTA_BINARY_PACKED" for field in schema if _is_whole(field.type)}
    return {
        "compression": options.file_compression,
        "compression_level": options.zstd_level if options.file_compression == "zstd" else None,
        "use_dictionary": False,
        "column_encoding": encoding,
        "store_decimal_as_integer": True,
        "store_schema": False,
        "data_page_version": "1.0",
        **_WHOLE_CHUNKS,
        "write_page_checksum": True,
        "write_statistics": known if long else True,
    }


def _tried(settings: dict[str, Any], sample: pa.Table, repeated: Sequence[str]) -> dict[str, Any]:
    """The settings with encodings of text, and codecs, chosen by the sample's sizes with each."""
    encoding, found = settings["column_encoding"], _sizes(sample, settings)
    texts = [f.name for f in sample.schema if _is_text(f.type) and f.name not in repeated]
    if texts:
        apart = dict.fromkeys(texts, "DELTA_LENGTH_BYTE_ARRAY")
        other = settings | {"column_encoding": apart, "use_dictionary": False}
        for name, sizes in _sizes(sample.select(texts), other).items():
            if sizes[0] * _LEAST_SHORTER < found[name][0] * (_LEAST_SHORTER - 1):
                encoding, found[name] = encoding | {name: apart[name]}, sizes
    pays = {
        path: path in repeated
        or plain * 2 < len(sample)
        or small * _LEAST_GAIN < plain * (_LEAST_GAIN - 1)
        for path, (small, plain) in found.items()
    }
    codec, level = settings["compression"], settings["compression_level"]
    return {
        "column_encoding": encoding,
        "compression": {path: codec if pays[path] else "none" for path in pays},
        "compression_level": None
        if level is None
        else {path: level for path in pays if pays[path]},
    }


def _sizes(sample: pa.Table, settings: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """The bytes of each leaf of the sample, compressed and not, by its path in the file."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, sample.schema, **settings) as writer:
        writer.write_table(sample)
    group = writer.writer.metadata.row_group(0)
    leaves = [group.column(place) for place in range(group.num_columns)]
    return {
        leaf.path_in_schema: (leaf.total_compressed_size, leaf.total_uncompressed_size)
        for leaf in leaves
    }


def _may_repeat(data_type: pa.DataType) -> bool:
    return _is_text(data_type) or bool(pa.types.is_floating(data_type))


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_binary(data_type))


def _is_whole(data_type: pa.DataType) -> bool:
    if pa.types.is_decimal(data_type):
        return bool(data_type.precision <= _INT64_DIGITS)
    return bool(pa.types.is_signed_integer(data_type) or pa.types.is_temporal(data_type))


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a sample of the column holds each value about four times or more."""
    step = max(1, len(column) // _SAMPLE)
    sample = column.take(pa.array(np.arange(0, len(column), step)))
    return bool(pc.count_distinct(sample).as_py() * 4 <= len(sample))


def long_columns(table: pa.Table) -> frozenset[str]:
    """The columns that hold a text or binary of LONG bytes or more, at any depth."""
    if table.nbytes < LONG:
        return frozenset()
    large = [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if column.nbytes >= LONG
    ]
    return frozenset(name for name in large if any(map(_is_long, table[name].chunks)))


def _is_long(column: pa.Array) -> bool:
    longest = (pc.max(pc.binary_length(texts)).as_py() for texts in _texts(column))
    return any(length is not None and length >= LONG for length in longest)


def _texts(column: pa.Array) -> Iterator[pa.Array]:
    """The leaves of a column that are text or binary."""
    kind = column.type
    if pa.types.is_struct(kind):
        for child in column.flatten():
            yield from _texts(child)
    elif pa.types.is_map(kind):
        yield from _texts(column.keys)
        yield from _texts(column.items)
    elif pa.types.is_list(kind):
        yield from _texts(column.flatten())
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        yield column


def group_rows(most_rows: int, rows: int, size: int) -> int:
    """The number of rows of a row group, at least one, if `rows` rows have `size` bytes."""
    return max(1, min(most_rows, rows * MOST_BYTES // max(size, 1)))


def regrouped(batches: Iterable[pa.RecordBatch], most_rows: int) -> Iterator[tuple[pa.Table, int]]:
    """Rows as tables of whole row groups, each with the rows of one group. The last group
    has the rows that are left.
    """
    held: list[pa.RecordBatch] = []
    count = size = 0
    rows = most_rows
    for batch in batches:
        held.append(batch)
        count, size = count + batch.num_rows, size + batch.nbytes
        rows = group_rows(most_rows, count, size)
        if count >= rows:
            table = pa.Table.from_batches(held)
            whole = count - count % rows
            yield table.slice(0, whole), rows
            held = table.slice(whole).to_batches()
            count, size = count - whole, sum(part.nbytes for part in held)
    if count:
        yield pa.Table.from_batches(held), rows
