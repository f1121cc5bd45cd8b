"""The columns of a data file: those that statistics are kept of, and the leaves of others."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import pyarrow.parquet as pq


class Leaf(NamedTuple):
    """A top-level atomic column of a file: its place, its physical type by the schema, and whether
    it may hold NULL.
    """

    place: int
    physical: str
    is_optional: bool


Leaves = Mapping[str, Leaf]


def leaves_of(metadata: pq.FileMetaData) -> Leaves:
    """The top-level atomic columns; `a.b` is a column of that name, never a field."""
    found = enumerate(metadata.schema.column(place) for place in range(len(metadata.schema)))
    return {
        leaf.path: Leaf(at, leaf.physical_type, leaf.max_definition_level > 0)
        for at, leaf in found
        if leaf.path == leaf.name
    }


def chunks_of(
    metadata: pq.FileMetaData, group: int, names: Collection[str]
) -> list[pq.ColumnChunkMetaData]:
    """The chunks of a row group whose column, or leaf of a column, is among the names."""
    found = metadata.row_group(group)
    chunks = map(found.column, range(found.num_columns))
    paths = ((chunk, chunk.path_in_schema) for chunk in chunks)
    return [chunk for chunk, path in paths if path in names or path.split(".")[0] in names]


def check_chunks(metadata: pq.FileMetaData, size: int) -> None:
    """Raises ValueError if a column chunk is not within a file of `size` bytes, or has no name."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            name, start = chunk.path_in_schema, chunk.data_page_offset
            stored = chunk.total_compressed_size
            if start < 0 or stored < 0 or start + stored > size:
                raise ValueError(
                    f"column {name} of row group {number} has {stored} bytes from byte {start} on, "
                    f"of {size}"
                )
