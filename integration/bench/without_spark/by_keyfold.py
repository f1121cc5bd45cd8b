"""The cases by keyfold."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import keyfold
from integration.bench.without_spark.serve import (
    COLUMNS,
    PARTS,
    Keys,
    Work,
    few_rows,
    rows_of,
    rows_of_parts,
    serve,
    small_rows,
    touched,
)
from keyfold import Table

COMPACTED, HELD, FEW = "compacted", "held", "few"  # tables beside the one of the cases
BUCKETS = "256"  # of a table of many files
HELD_PART = 4  # of so many rows one is a key of the second


@cache
def opened(path: str, name: str = "") -> Table:
    """The table, or one beside it, which stays open as in a service."""
    return keyfold.connect(Path(path).parent).table(path if not name else _beside(path, name))


def _beside(path: str, name: str) -> str:
    return str(Path(path).with_name(name))


def created(path: str) -> Table:
    """A table that keeps its runs."""
    options = {"write-only": "true"}
    return keyfold.connect(Path(path).parent).create_table(path, COLUMNS, ["k"], options=options)


def make(path: str, keys: Keys) -> Work:
    """The rows in four commits, whose key ranges overlap."""
    parts = [rows_of(part) for part in np.array_split(keys, PARTS)]

    def work() -> int:
        table = created(path)
        for part in parts:
            table.upsert(part)
        return len(keys)

    return work


def make_beside(path: str, keys: Keys) -> Work:
    """The same rows compacted, and a table whose keys all four runs hold."""

    def work() -> int:
        compacted, held = created(_beside(path, COMPACTED)), created(_beside(path, HELD))
        compacted.upsert(rows_of(keys))
        compacted.compact()
        for _ in range(PARTS):
            held.upsert(rows_of(np.arange(len(keys) // HELD_PART)))
        return len(keys)

    return work


def scan(path: str, keys: Keys, name: str = "") -> Work:
    """All rows, a batch at a time."""
    return lambda: touched(opened(path, name).scan().to_batches())


def to_arrow(path: str, keys: Keys, name: str = "") -> Work:
    """All rows in memory."""
    return lambda: int(opened(path, name).scan().to_arrow().num_rows)


def scan_compacted(path: str, keys: Keys) -> Work:
    """All rows of one run."""
    return scan(path, keys, COMPACTED)


def to_arrow_compacted(path: str, keys: Keys) -> Work:
    """All rows of one run in memory."""
    return to_arrow(path, keys, COMPACTED)


def upsert(path: str, keys: Keys) -> Work:
    """Rows of keys that are there."""
    rows = rows_of(np.unique(keys))

    def work() -> int:
        opened(path).upsert(rows)
        return int(rows.num_rows)

    return work


@cache
def _filled(path: str) -> Table:
    """A small table with the options that it has by default."""
    table = keyfold.connect(Path(path).parent).create_table(_beside(path, FEW), COLUMNS, ["k"])
    table.upsert(small_rows())
    return table


def upsert_few(path: str, keys: Keys) -> Work:
    """Ten rows of a few thousand, again and again; compactions are among it."""
    table, parts = _filled(path), list(few_rows(keys))

    def work() -> int:
        for rows in parts:
            table.upsert(rows)
        return len(keys)

    return work


def many_files(path: str, keys: Keys) -> Work:
    """A commit whose files are many and small, into a new table."""
    rows, turn = rows_of_parts(len(keys)), int(keys[0])
    table = keyfold.connect(Path(path).parent).create_table(
        _beside(path, f"files_{turn}"),
        COLUMNS | {"p": "INT"},
        ["p", "k"],
        partitions=["p"],
        options={"bucket": BUCKETS, "write-only": "true"},
    )

    def work() -> int:
        table.upsert(rows)
        return int(rows.num_rows)

    return work


def changed(table: Table) -> int:
    """The rows that the last statement changed."""
    statement = table.snapshots().column("statement")[-1].as_py()
    return int(json.loads(statement)["updated"])


def update(path: str, keys: Keys) -> Work:
    """One row of a hundred."""
    first = int(keys[0]) % 100 * 10

    def work() -> int:
        opened(path).update(f"a BETWEEN {first} AND {first + 9}", {"d": pc.field("d") + 1})
        return changed(opened(path))

    return work


def merge(path: str, keys: Keys) -> Work:
    """Rows of keys that are there, which are added to."""
    rows, total = rows_of(np.unique(keys)), pc.field("target", "d") + pc.field("source", "d")

    def work() -> int:
        made = opened(path).merge(rows).when_matched_update({"d": total})
        made.when_not_matched_insert_all().execute()
        return changed(opened(path))

    return work


def get(path: str, keys: Keys, name: str = "") -> Work:
    """Keys one after another."""
    asked = [{"k": key} for key in keys.tolist()]

    def work() -> int:
        return sum(opened(path, name).get(key) is not None for key in asked)

    return work


def get_held(path: str, keys: Keys) -> Work:
    """Keys of which all four runs have a record."""
    return get(path, keys // HELD_PART, HELD)


def get_many(path: str, keys: Keys) -> Work:
    """Keys at once."""
    asked = pa.table({"k": keys})
    return lambda: len(keys) - opened(path).get_many(asked).column("k").null_count


def get_many_on_one_core(path: str, keys: Keys) -> Work:
    """Keys at once, by a process that has one core."""
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    return get_many(path, keys)


CASES = {
    case.__name__: case
    for case in (
        *(make, make_beside, scan, to_arrow, scan_compacted, to_arrow_compacted),
        *(upsert, upsert_few, many_files, update, merge),
        *(get, get_held, get_many, get_many_on_one_core),
    )
}

if __name__ == "__main__":
    serve(CASES)
