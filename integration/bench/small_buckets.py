"""Full compactions of many small buckets, from Python: `python -m integration.bench.small_buckets`.

Partitions of one bucket, with two files of ten rows and five columns, half of their keys the same.
Each turn compacts a copy of the table. Files lie in the folder for temporary files: where that is
in memory (TMPDIR=/dev/shm), the figures tell what the work costs, not the disk's flushes.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import keyfold
from keyfold.kernels import jit

FILES, ROWS = 2, 10
COLUMNS = {"p": "INT", "id": "BIGINT", "a": "BIGINT", "b": "DOUBLE", "s": "STRING"}


def fill(warehouse: Path, partitions: int) -> None:
    """Make the table."""
    catalog = keyfold.connect(str(warehouse))
    options = {"bucket": "1", "write-only": "true"}
    table = catalog.create_table("t", COLUMNS, ["p", "id"], partitions=["p"], options=options)
    numbers = np.arange(ROWS * partitions)
    for file in range(FILES):
        columns = {"p": (numbers // ROWS).astype(np.int32), "id": numbers % ROWS + 5 * file}
        columns |= {"a": numbers, "b": numbers * 1.0, "s": pa.array(numbers % 97).cast("string")}
        table.upsert(pa.table(columns))


def turn(made: Path, folder: Path) -> tuple[float, float]:
    """Seconds of the clock, and of this process' processor time, that one compaction takes."""
    shutil.copytree(made, folder)
    table = keyfold.connect(str(folder)).table("t")
    started, worked = time.perf_counter(), time.process_time()
    table.compact()
    taken = time.perf_counter() - started, time.process_time() - worked
    shutil.rmtree(folder)
    return taken


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=3)
    said = parser.parse_args()
    jit.warm()
    with tempfile.TemporaryDirectory() as name:
        made = Path(name, "made")
        fill(made, said.partitions)
        turns = [turn(made, Path(name, "turn")) for _ in range(said.turns)]
    clock, processor = (statistics.median(column) for column in zip(*turns, strict=True))
    each = 1000 * processor / said.partitions
    print(f"{said.partitions} buckets: {clock:.2f} s, {processor:.2f} s of processor")
    print(f"{each:.2f} ms of processor a bucket; medians of {said.turns}")


if __name__ == "__main__":
    main()
