"""The bench's input: runs of `id, seq, a, b, c, d, e`, made with numpy and kept as Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

COLUMNS = "id BIGINT, seq BIGINT, a BIGINT, b BIGINT, c DOUBLE, d STRING, e INT"
NAMES = ("id", "seq", "a", "b", "c", "d", "e")
RUNS = 4
UPSERTS = 8
FILES = 4


@dataclass(frozen=True)
class Sizes:
    """`rows` in each run, keys drawn from twice as many, of which the base table holds all."""

    rows: int

    @property
    def keys(self) -> int:
        """How many different keys there are."""
        return 2 * self.rows

    @property
    def upsert(self) -> int:
        """Rows of a small upsert: 40 K where the base table has 8 M."""
        return max(self.rows // 100, 1)


def batch(random: np.random.Generator, ids: np.ndarray, first_sequence: int) -> pa.Table:
    """One row per id; `d` is ten lower-case letters."""
    rows = len(ids)
    letters = random.integers(97, 123, rows * 10, dtype=np.uint8)
    offsets = np.arange(0, rows * 10 + 1, 10, dtype=np.int32)
    words = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters))
    columns = [
        ids.astype(np.int64),
        np.arange(first_sequence, first_sequence + rows),
        random.integers(0, 1_000_000, rows),
        random.integers(0, 2**40, rows),
        random.random(rows),
        words,
        random.integers(0, 1000, rows, dtype=np.int32),
    ]
    return pa.table(columns, names=list(NAMES))


def write(folder: Path, table: pa.Table) -> None:
    """A few files, so that every core has some to read."""
    folder.mkdir(parents=True)
    step = -(-table.num_rows // FILES)
    for number in range(FILES):
        part = table.slice(number * step, step)
        parquet.write_table(part, folder / f"{number}.parquet", row_group_size=256 * 1024)


def generate(folder: Path, sizes: Sizes, seed: int) -> None:
    """`base` (every key once), `run0`.. (distinct random keys in each), `upsert0`.. (few keys)."""
    random = np.random.default_rng(seed)
    write(folder / "base", batch(random, random.permutation(sizes.keys), 0))
    for run in range(RUNS):
        ids = random.permutation(sizes.keys)[: sizes.rows]
        write(folder / f"run{run}", batch(random, ids, run * sizes.rows))
    for number in range(UPSERTS):
        ids = random.permutation(sizes.keys)[: sizes.upsert]
        write(folder / f"upsert{number}", batch(random, ids, 10 * sizes.keys))
