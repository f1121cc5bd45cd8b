"""The cases by keyfold."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

import keyfold
from integration.bench.without_spark.serve import COLUMNS, PARTS, Keys, Work, rows_of, serve
from keyfold import Table


@cache
def opened(path: str) -> Table:
    """The table, which stays open as in a service."""
    return keyfold.connect(Path(path).parent).table(path)


def make(path: str, keys: Keys) -> Work:
    """The rows in four commits, whose key ranges overlap."""
    catalog = keyfold.connect(Path(path).parent)
    options = {"write-only": "true"}

    def work() -> int:
        table = catalog.create_table(path, COLUMNS, ["k"], options=options)
        for part in np.array_split(keys, PARTS):
            table.upsert(rows_of(part))
        return len(keys)

    return work


def scan(path: str, keys: Keys) -> Work:
    """All rows, a batch at a time."""
    return lambda: sum(batch.num_rows for batch in opened(path).scan().to_batches())


def to_arrow(path: str, keys: Keys) -> Work:
    """All rows in memory."""
    return lambda: int(opened(path).scan().to_arrow().num_rows)


def upsert(path: str, keys: Keys) -> Work:
    """Rows of keys that are there."""
    rows = rows_of(np.unique(keys))

    def work() -> int:
        opened(path).upsert(rows)
        return int(rows.num_rows)

    return work


def get(path: str, keys: Keys) -> Work:
    """Keys one after another."""
    asked = [{"k": key} for key in keys.tolist()]

    def work() -> int:
        return sum(opened(path).get(key) is not None for key in asked)

    return work


def get_many(path: str, keys: Keys) -> Work:
    """Keys at once."""
    asked = pa.table({"k": keys})
    return lambda: len(keys) - opened(path).get_many(asked).column("k").null_count


CASES = {
    "make": make,
    "scan": scan,
    "to_arrow": to_arrow,
    "upsert": upsert,
    "get": get,
    "get_many": get_many,
}

if __name__ == "__main__":
    serve(CASES)
