"""The columns of a data file that statistics are kept of, by name."""

from collections.abc import Mapping
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
