"""Avro data files, which other engines write: opened, and read by the block."""

from collections.abc import Iterator

import pyarrow as pa

from keyfold.files import damage
from keyfold.files.avro.columns import check_records
from keyfold.files.avro.program import program_of
from keyfold.files.fetch import in_ranges
from keyfold.stores import avro_blocks
from keyfold.stores.avro_blocks import AvroSource
from keyfold.stores.files import Files

SUFFIX = ".avro"
# Writers end a block once it has tens of KB, so that only a large value makes one large.
MOST_OF_BLOCK = 1 << 30
_AHEAD, _AHEAD_ELSEWHERE = 1 << 18, 8 << 20  # bytes that are asked of a file at once


def opened(store: Files, path: str, size: int) -> AvroSource:
    """An Avro file behind its header. Raises CorruptDataError if it is missing, not as long as the
    manifest says, or not Avro.
    """
    with damage.present(path):
        found = store.open(path) if store.is_local else in_ranges(store, path, size)
    if found.size() != size:
        raise damage.data_file(path, damage.of_size(found.size(), size))
    ahead = _AHEAD if store.is_local else _AHEAD_ELSEWHERE
    with damage.decoding(path, is_remote=not store.is_local):
        return avro_blocks.opened(pa.BufferedInputStream(found, ahead), size)


def blocks(source: AvroSource) -> Iterator[tuple[int, bytes]]:
    """The number of records in each block, and their bytes."""
    return avro_blocks.blocks(source, MOST_OF_BLOCK)


def decoded_rows(store: Files, path: str, size: int) -> int:
    """The number of rows of a file. Raises CorruptDataError if one is not as Avro encodes it."""
    source, total = opened(store, path, size), 0
    with damage.decoding(path, is_remote=not store.is_local):
        program = program_of(source.schema, ())
        for rows, content in blocks(source):
            check_records(content, rows, program)
            total += rows
    return total
