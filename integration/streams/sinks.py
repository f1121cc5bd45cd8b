"""Streams of small JSON files into tables of keyfold, and what they leave on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from integration.faults import processes
from keyfold.storage.table import Table
from tests.storage import tables
from tests.storage.snapshots import data_files


class Source:
    """A folder that a stream reads, a file at a time."""

    def __init__(self, spark: SparkSession, folder: Path, schema: str) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        self.files = 0
        folder.mkdir(exist_ok=True)

    def add(self, *rows: Mapping[str, Any]) -> None:
        """A file of these rows, in their order; streams read the file with the least time first."""
        text = "\n".join(json.dumps(row) for row in rows)
        partial = self.folder / f".{self.files}"
        partial.write_text(text)
        os.utime(partial, (self.files, self.files))
        partial.rename(self.folder / f"{self.files:05}.json")
        self.files += 1

    def stream(self) -> DataFrame:
        """One file a micro-batch, the oldest first."""
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.folder))


def drained(
    frame: DataFrame, table: str, checkpoint: Path, mode: str = "append", **options: str
) -> StreamingQuery:
    """Write what is there to a table, by its name or its path, and end."""
    writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    writer = writer.trigger(availableNow=True).options(**options)
    is_path = table.startswith("/")
    query = writer.format("keyfold").start(table) if is_path else writer.toTable(table)
    try:
        assert query.awaitTermination(processes.PATIENCE)
    finally:
        query.stop()
    return query


def loaded(warehouse: Path, name: str) -> Table:
    """The table `keyfold.<namespace>.<table>` as Python has it."""
    _, namespace, table = name.split(".")
    return tables.catalog(warehouse).load_table([namespace], table)


def stray(table: Table) -> set[str]:
    """Data files that no snapshot has."""
    kept = [table.snapshots.read(number) for number in table.snapshots.ids()]
    return data_files(table) - {f.name for s in kept for f in table.manifests.live(s)}


def rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    """All rows, by their first column."""
    return sorted(tuple(row) for row in spark.table(table).collect())


def folded(values: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The sums of values by key."""
    sums: dict[int, int] = {}
    for key, value in values:
        sums[key] = sums.get(key, 0) + value
    return sorted(sums.items())
