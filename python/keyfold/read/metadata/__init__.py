"""Metadata tables, such as `t$snapshots` or `t$files` of `t`, with Paimon's names and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from keyfold.read.metadata import content, history_tables
from keyfold.read.metadata.metadata_table import MetadataTable

ALL: Mapping[str, MetadataTable] = {
    table.name: table
    for table in (
        history_tables.SNAPSHOTS,
        content.FILES,
        history_tables.OPTIONS,
        content.PARTITIONS,
        content.BUCKETS,
        history_tables.SCHEMAS,
        content.MANIFESTS,
        history_tables.TAGS,
        history_tables.BRANCHES,
        history_tables.CONSUMERS,
        history_tables.STATISTICS,
    )
}
READ_OPTIMIZED = "ro"


def unknown(table: str, name: str, known: Iterable[str]) -> str:
    """The error of a name that is not one of the `known` metadata tables of a table."""
    return f"table {table} has no metadata table {name}; there are {', '.join(known)}"
