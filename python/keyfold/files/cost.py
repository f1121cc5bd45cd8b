"""The memory that reading a data file takes, judged by its footer.

For every column a reader holds one decompressed page and the part of the compressed chunk that it
has fetched. No number in a footer bounds a page. Writers end a page at 1 MiB; Java's, with long
values, end it after up to a hundred rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow.parquet as pq

from keyfold.files.leaves import chunks_of

_PAGE_BYTES = 1 << 20
_PAGE_ROWS = 100
_CHUNKS_BYTES = 4 << 20
_FETCHED_BYTES = 64 << 10
_PARSED = 11  # times the stored size of a footer
_COLUMN_BYTES = 12 << 10  # for each column that is read, whatever it holds
_LEAST_ROW_BYTES = 8  # for each column: decoded values take space even if encoded ones hardly do


def row_bytes(metadata: pq.FileMetaData, group: int, names: Collection[str]) -> float:
    """The bytes, roughly, of a decoded row of a row group in these columns; at least 1."""
    rows = max(metadata.row_group(group).num_rows, 1)
    chunks = chunks_of(metadata, group, names)
    sizes = (max(c.total_uncompressed_size / rows, _LEAST_ROW_BYTES) for c in chunks)
    return max(1.0, float(sum(sizes)))


def buffer_size(
    metadata: pq.FileMetaData, groups: Sequence[int], names: Collection[str], batch_bytes: int
) -> int:
    """The bytes of a column chunk to fetch at once. 0 means all of it: the row group is no larger
    than the batches that are made of it.
    """
    most = max((stored_bytes(metadata, group, names) for group in groups), default=0)
    return _FETCHED_BYTES if most > min(batch_bytes, _CHUNKS_BYTES) else 0


def chunk_bytes(metadata: pq.FileMetaData, group: int, names: Collection[str]) -> float:
    """The average size of a column chunk as stored, in bytes."""
    sizes = [int(c.total_compressed_size) for c in chunks_of(metadata, group, names)]
    return sum(sizes) / max(len(sizes), 1)


def held_bytes(metadata: pq.FileMetaData, names: Collection[str], batch_bytes: int) -> int:
    """The bytes held while a file's columns are read, besides the batches that come out."""
    groups = range(metadata.num_row_groups)
    largest = max(groups, key=lambda group: metadata.row_group(group).total_byte_size, default=None)
    footer = _PARSED * int(metadata.serialized_size)
    if largest is None:
        return footer
    fetched = buffer_size(metadata, [largest], names, batch_bytes)
    rows = max(metadata.row_group(largest).num_rows, 1)
    held = 0
    for chunk in chunks_of(metadata, largest, names):
        size, stored = chunk.total_uncompressed_size, chunk.total_compressed_size
        page = min(size, max(_PAGE_BYTES, size * _PAGE_ROWS // rows))
        dictionary = min(size, _PAGE_BYTES) if chunk.has_dictionary_page else 0
        held += _COLUMN_BYTES + page + dictionary + (min(stored, fetched) if fetched else stored)
    return footer + held


def stored_bytes(metadata: pq.FileMetaData, group: int, names: Collection[str]) -> int:
    """The bytes of a row group in these columns as stored."""
    return sum(int(c.total_compressed_size) for c in chunks_of(metadata, group, names))
