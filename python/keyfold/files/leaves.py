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


def is_named(path: str, names: Collection[str]) -> bool:
    """Whether a leaf, or the column that it belongs to, is among the names."""
    return path in names or path.split(".")[0] in names
