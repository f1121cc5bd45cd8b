"""What a table has on disk, told by pypaimon: snapshots, live files and their levels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pypaimon import CatalogFactory
from pypaimon.table.table import Table


@dataclass(frozen=True)
class Stored:
    """Counts of one table: `rows` are those of the live files, before any merge."""

    snapshots: int
    files: int
    bytes: int
    rows: int
    buckets: int
    levels: dict[int, int]

    def __str__(self) -> str:
        """One line for a terminal."""
        levels = ", ".join(
            f"{count} on level {level}" for level, count in sorted(self.levels.items())
        )
        return (
            f"{self.snapshots} snapshots, {self.files} live files ({levels}) in {self.buckets} "
            f"buckets, {self.rows:,} rows before the merge, {self.bytes / 1e6:.1f} MB"
        )


def open_table(warehouse: Path, name: str) -> Table:
    """The table `database.table` of a warehouse, through pypaimon alone."""
    return CatalogFactory.create({"warehouse": str(warehouse)}).get_table(name)


def describe(warehouse: Path, name: str) -> Stored:
    """Counts over the latest snapshot."""
    database, table = name.split(".")
    splits = open_table(warehouse, name).new_read_builder().new_scan().plan().splits()
    files = [file for split in splits for file in split.files]
    folder = warehouse / f"{database}.db" / table / "snapshot"
    return Stored(
        snapshots=len(list(folder.glob("snapshot-*"))),
        files=len(files),
        bytes=sum(file.file_size for file in files),
        rows=sum(file.row_count for file in files),
        buckets=len({(tuple(split.partition.values), split.bucket) for split in splits}),
        levels=dict(Counter(file.level for file in files)),
    )


def rows(warehouse: Path, name: str) -> pa.Table:
    """All merged rows, read by pypaimon's own reader."""
    builder = open_table(warehouse, name).new_read_builder()
    read: pa.Table = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    return read
