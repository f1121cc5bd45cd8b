"""Metadata tables, such as `t$snapshots` or `t$files` of `t`, with Paimon's names and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keyfold.read.metadata import content, history
from keyfold.read.metadata.declare import MetadataTable

ALL: Mapping[str, MetadataTable] = {
    table.name: table
    for table in (
        history.SNAPSHOTS,
        content.FILES,
        history.OPTIONS,
        content.PARTITIONS,
        content.BUCKETS,
        history.SCHEMAS,
        content.MANIFESTS,
        history.TAGS,
        history.BRANCHES,
        history.CONSUMERS,
        history.STATISTICS,
    )
}
READ_OPTIMIZED = "ro"


def unknown(table: str, name: str, known: Iterable[str]) -> str:
    """The error of a name that is not one of the `known` metadata tables of a table."""
    return f"table {table} has no metadata table {name}; there are {', '.join(known)}"
