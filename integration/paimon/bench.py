"""One table that keyfold, through Spark, and Paimon's Java library both read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasketches import compact_theta_sketch, hll_sketch
from pyspark.sql import SparkSession

from integration.keyed import properties
from integration.paimon import library
from integration.paimon.library import Paimon
from integration.planning.plans import assert_ours
from tests.option_names import option_names


class Bench:
    """One table of both sides."""

    def __init__(self, spark: SparkSession, paimon: Paimon, warehouse: Path, name: str) -> None:
        self.spark, self.paimon, self.name = spark, paimon, name
        _, database, table = name.split(".")
        self.folder = warehouse / f"{database}.db" / table

    def create(self, columns: str, partitions: str = "", **options: str) -> Bench:
        """CREATE TABLE; `__` in a name of an option stands for a dot, `_` for `-`."""
        stated = option_names(options)
        return self.made(columns, stated, partitions)

    def made(self, columns: str, options: Mapping[str, str], partitions: str = "") -> Bench:
        by = f" PARTITIONED BY ({partitions})" if partitions else ""
        self.spark.sql(f"CREATE TABLE {self.name} ({columns}){by}{properties(options)}")
        return self

    def insert(self, *jobs: str) -> Bench:
        """Each text is what follows INSERT INTO t."""
        for job in jobs:
            self.spark.sql(f"INSERT INTO {self.name} {job}")
        return self

    def alter(self, change: str) -> Bench:
        self.spark.sql(f"ALTER TABLE {self.name} {change}")
        return self

    def agree(self, rows: int, free: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Both read the same rows, this many, which are given as Python values; the order of
        elements of the arrays in `free` is theirs.
        """
        table = assert_ours(self.spark.table(self.name)).toArrow()
        assert table.num_rows == rows
        answer = self.paimon.read(self.folder)
        theirs = library.table(table.schema, answer)
        assert in_order(theirs, free) == in_order(table, free)
        found: list[dict[str, Any]] = table.to_pylist()
        return found


def in_order(table: pa.Table, free: Sequence[str] = ()) -> list[str]:
    """Rows in one order, the elements of the free columns too."""
    is_free = [name in free for name in table.schema.names]
    rows = library.cells(table)
    return sorted(
        repr(
            [
                sorted(cell, key=repr) if f and cell else cell
                for cell, f in zip(r, is_free, strict=True)
            ]
        )
        for r in rows
    )


def sql(state: bytes) -> str:
    """A literal."""
    return f"X'{state.hex()}'"


def hll(state: bytes) -> float:
    return float(hll_sketch.deserialize(state).get_estimate())


def theta(state: bytes) -> float:
    return float(compact_theta_sketch.deserialize(state).get_estimate())


def decoded(cell: str) -> bytes:
    return bytes(library.value(cell, pa.binary()))
