"""What upserts while the service answers: Spark, or a Python program, each in a process of its own.

A commit sets the version of some rows to its number. What was committed, and when, is known by the
clock that all processes of a machine share.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa

import keyfold
from integration import sessions

NAMESPACE, TABLE = "shop", "shop.items"
BATCH, HOT = 500, 100  # rows of a commit; the first ones are of all commits


def rows_of(keys: list[int], version: int) -> pa.Table:
    """Rows of the table."""
    names = [f"item {key}" for key in keys]
    prices = [key / 4 for key in keys]
    versions = [version] * len(keys)
    columns: list[pa.Array] = [pa.array(keys, pa.int64()), *map(pa.array, (names, prices))]
    return pa.table([*columns, pa.array(versions, pa.int64())], ["k", "name", "price", "version"])


def made(warehouse: Path, rows: int, runs: int = 4) -> None:
    """A table of these rows of version 0, in several runs."""
    catalog = keyfold.connect(warehouse)
    catalog.create_namespace(NAMESPACE)
    columns = {"k": "BIGINT", "name": "STRING", "price": "DOUBLE", "version": "BIGINT"}
    table = catalog.create_table(TABLE, columns, ["k"])
    for run in range(runs):
        table.upsert(rows_of(list(range(run, rows, runs)), 0))


def by_python(folder: Path) -> Callable[[list[int], int], None]:
    """Upserts of a program without Spark."""
    table = keyfold.connect(folder / "warehouse", threads=1).table(TABLE)

    def upsert(keys: list[int], version: int) -> None:
        table.upsert(rows_of(keys, version))

    return upsert


def by_spark(folder: Path) -> Callable[[list[int], int], None]:
    """INSERTs of a Spark session."""
    spark = sessions.start(folder, "local[1]")

    def upsert(keys: list[int], version: int) -> None:
        spark.createDataFrame(rows_of(keys, version)).writeTo(f"keyfold.{TABLE}").append()

    return upsert


def main() -> None:
    """Upsert until the input ends; a line of JSON for each commit: moments and keys."""
    how, folder, count, pause = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    upsert = {"python": by_python, "spark": by_spark}[how](folder)
    random, version = Random(0), 0
    while sys.stdin.readline():
        version += 1
        keys = [*range(HOT), *random.sample(range(HOT, count), BATCH - HOT)]
        upsert(keys, version)
        print(json.dumps({"version": version, "at": time.monotonic(), "keys": keys}), flush=True)
        time.sleep(pause)


if __name__ == "__main__":
    main()
