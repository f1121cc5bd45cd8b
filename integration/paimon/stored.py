"""What a table has on disk as pypaimon sees it: snapshots, live files and their levels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests import readers


@dataclass(frozen=True)
class Stored:
    """Counts of one table: `rows` are those of the live files, before any merge."""

    snapshots: int
    files: int
    rows: int
    buckets: int
    levels: dict[int, int]


def describe(warehouse: Path, name: str) -> Stored:
    """Counts over the latest snapshot of the table `database.table`."""
    database, table = name.split(".")
    files = readers.files(warehouse, name)
    folder = warehouse / f"{database}.db" / table / "snapshot"
    return Stored(
        snapshots=len(list(folder.glob("snapshot-*"))),
        files=len(files),
        rows=sum(file["rows"] for file in files),
        buckets=len({tuple(file["place"]) for file in files}),
        levels=dict(Counter(file["level"] for file in files)),
    )
