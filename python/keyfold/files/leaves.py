"""The columns of a data file: those that statistics are kept of, and the leaves of others."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from keyfold.kernels.buffers import Mask
from keyfold.kernels.footers import CODEC, DEFINITIONS, REPETITIONS, TEXTS, TYPE, facts_of
from keyfold.kernels.pages import ABSENT

_TYPES = (
    "BOOLEAN",
    "INT32",
    "INT64",
    "INT96",
    "FLOAT",
    "DOUBLE",
    "BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY",
)
_CODECS = 8


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


def span_of(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """The bytes of a file from which and up to which a chunk is: its dictionary comes first."""
    start, size, first = chunk.data_page_offset, chunk.total_compressed_size, None
    if chunk.has_dictionary_page:
        first = chunk.dictionary_page_offset
    if first is not None and 0 < first < start:  # as Arrow takes it
        start = first
    return start, start + size


def check_chunks(metadata: pq.FileMetaData, footer: Mask, size: int) -> None:
    """Raises ValueError if a column chunk is not within a file of `size` bytes, has no name, or is
    not of its column. Arrow would end the process. `footer` are the bytes.
    """
    _check_facts(metadata, footer)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            name, stored = chunk.path_in_schema, chunk.total_compressed_size
            start, stop = span_of(chunk)
            if start < 0 or stored < 0 or stop > size:
                raise ValueError(
                    f"column {name} of row group {number} has {stored} bytes from byte {start} on, "
                    f"of {size}"
                )


def _check_facts(metadata: pq.FileMetaData, footer: Mask) -> None:
    leaves = [metadata.schema.column(place) for place in range(len(metadata.schema))]
    facts = facts_of(footer, metadata.num_row_groups * len(leaves))
    if facts is None or not len(facts):
        return
    expected = np.array(
        [
            (_TYPES.index(leaf.physical_type), leaf.max_repetition_level, leaf.max_definition_level)
            for leaf in leaves
        ]
    )
    kinds, repeats, defines = np.tile(expected, (metadata.num_row_groups, 1)).T
    texts = (facts[:, TEXTS] == ABSENT) | (kinds == _TYPES.index("BYTE_ARRAY"))
    is_right = (
        (facts[:, TYPE] == kinds) & (facts[:, CODEC] >= 0) & (facts[:, CODEC] < _CODECS) & texts
    )
    for place, levels in ((REPETITIONS, repeats), (DEFINITIONS, defines)):
        found = facts[:, place]
        is_right &= (found == ABSENT) | (found == 0) | (found == levels + 1)
    if not is_right.all():
        wrong = int(np.flatnonzero(~is_right)[0])
        group, name = wrong // len(leaves), leaves[wrong % len(leaves)].path
        raise ValueError(f"column {name} of row group {group} is not of the type of its column")
