"""Look-ups of keys that are not there, with Bloom filters and without, from Python:
`python -m integration.bench.absent_keys`.

A table of one bucket whose runs all span the whole range of keys, as those of a write-only table
do: without filters each look-up opens all. Every key that is asked for lies between two that are
there. Each turn opens the table anew. Files lie in the folder for temporary files.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import keyfold
from keyfold.kernels import jit

COLUMNS = {"id": "BIGINT", "a": "BIGINT", "b": "DOUBLE", "s": "STRING"}


def fill(warehouse: Path, name: str, runs: int, rows: int, *, filters: bool) -> float:
    """Make a table; returns the seconds of processor that a write takes."""
    options = {"bucket": "1", "write-only": "true"}
    if filters:
        options |= {"file-index.bloom-filter.columns": "id"}
        options |= {"file-index.bloom-filter.id.items": str(rows)}
        options |= {"file-index.bloom-filter.id.fpp": "0.01"}
    table = keyfold.connect(str(warehouse)).create_table(name, COLUMNS, ["id"], options=options)
    numbers, taken = np.random.default_rng(1).permutation(runs * rows), []
    for run in range(runs):
        ids = 2 * numbers[run * rows : (run + 1) * rows]
        columns = {"id": ids, "a": ids, "b": ids * 1.0, "s": pa.array(ids % 97).cast("string")}
        started = time.process_time()
        table.upsert(pa.table(columns))
        taken.append(time.process_time() - started)
    return statistics.median(taken)


def turn(warehouse: Path, name: str, asked: np.ndarray, size: int) -> tuple[float, float]:
    """Milliseconds of a look-up of some keys: the first, and the median of the others."""
    table, taken = keyfold.connect(str(warehouse)).table(name), []
    for at in range(0, len(asked), size):
        keys = [{"id": int(one)} for one in asked[at : at + size]]
        started = time.perf_counter()
        found = table.get_many(keys)
        taken.append(1000 * (time.perf_counter() - started))
        assert found["a"].null_count == len(keys)
    return taken[0], statistics.median(taken[1:])


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=10, help="of a look-up")
    parser.add_argument("--turns", type=int, default=3)
    said = parser.parse_args()
    jit.warm()
    draw = np.random.default_rng(2)
    asked = 2 * draw.integers(0, said.runs * said.rows, 50 * said.keys) + 1
    with tempfile.TemporaryDirectory() as folder:
        for name, filters in (("plain", False), ("filters", True)):
            written = fill(Path(folder), name, said.runs, said.rows, filters=filters)
            turns = [turn(Path(folder), name, asked, said.keys) for _ in range(said.turns)]
            first, others = (statistics.median(column) for column in zip(*turns, strict=True))
            print(
                f"{name}: {said.runs} runs of {said.rows} rows, {said.keys} keys that are not "
                f"there: {first:.1f} ms the first time, then {others:.1f} ms; a write takes "
                f"{written:.2f} s of processor"
            )


if __name__ == "__main__":
    main()
