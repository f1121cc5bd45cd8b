"""The bench's input, made with numpy and kept as Parquet: each table's runs, upserts, minutes.

Keys are drawn at random; the values of a column sum up exactly in a double, in any order, so that
answers of different systems are equal or wrong. What Paimon's Java library writes is kept a second
time as records of fixed width.
"""

from __future__ import annotations

import multiprocessing
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

KEYS = {"BIGINT": {"id": "BIGINT"}, "STRING": {"id": "STRING"}}
KEYS["INT, STRING"] = {"region": "INT", "id": "STRING"}
VALUES = {"a": "BIGINT", "b": "BIGINT", "c": "DOUBLE", "d": "STRING", "e": "INT"}
REGIONS, TEXT, GROUP = 100, 10, 256 * 1024
FILES = 4
ARROW = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string(), "INT": pa.int32()}
RECORD = np.dtype(
    {
        "names": ["id", "seq", "a", "b", "c", "d", "e"],
        "formats": ["<i8", "<i8", "<i8", "<i8", "<f8", "S10", "<i4"],
    }
)


@dataclass(frozen=True)
class Shape:
    """A table's rows: `runs` writes of `rows` rows each, distinct keys in each.

    overlap: `random` draws each run's keys out of half as many as there are rows in all; `none`
    gives each run a range of keys, `1 %` lets so many of its keys stray all over, `half` draws half
    of them from one range that all runs share, `full` has the same keys in all.
    """

    runs: int
    rows: int
    key: str = "BIGINT"
    width: int = 7
    overlap: str = "random"

    @property
    def name(self) -> str:
        """For folders and tables."""
        words = f"{self.runs}x{self.rows} {self.key} {self.width} {self.overlap}"
        return "t" + "".join(c if c.isalnum() else "_" for c in words.replace(" %", "pc"))

    @property
    def columns(self) -> dict[str, str]:
        """SQL type of each column: key, `seq`, then a, b, c, d, e over and over."""
        found = {**KEYS[self.key], "seq": "BIGINT"}
        for number in range(self.width - 2):
            name, kind = list(VALUES.items())[number % len(VALUES)]
            turn = number // len(VALUES)
            found[f"{name}{turn}" if turn else name] = kind
        return found

    @property
    def keys(self) -> list[str]:
        """Names of the key columns."""
        return list(KEYS[self.key])

    @property
    def total(self) -> int:
        """Rows of all runs."""
        return self.runs * self.rows


def drawn(shape: Shape, run: int, random: np.random.Generator) -> np.ndarray:
    """The keys of one run as numbers from 0, in no order."""
    rows = shape.rows
    if shape.overlap == "random":
        space = max(shape.total // 2, rows)
        return random.permutation(space)[:rows]
    if shape.overlap == "full":
        return random.permutation(rows)
    own = np.arange(run * rows, (run + 1) * rows)
    if shape.overlap == "none":
        return random.permutation(own)
    if shape.overlap == "half":
        shared = random.permutation(rows)[: rows // 2] + shape.total
        return random.permutation(np.concatenate([own[: rows - len(shared)], shared]))
    strays = random.choice(shape.total, max(rows // 100, 1), replace=False)
    kept = random.permutation(np.setdiff1d(own, strays))[: rows - len(strays)]
    return random.permutation(np.concatenate([kept, strays]))


def texts(cells: np.ndarray) -> pa.Array:
    """An Arrow array of strings as long as the matrix of bytes is wide."""
    rows, width = cells.shape
    offsets = np.arange(0, rows * width + 1, width, dtype=np.int32)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(cells.tobytes()))


def digits(numbers: np.ndarray) -> pa.Array:
    """`user-` and ten digits each, in the order of the numbers."""
    cells = np.empty((len(numbers), 15), np.uint8)
    cells[:, :5] = list(b"user-")
    for place in range(10):
        cells[:, 14 - place] = 48 + numbers // 10**place % 10
    return texts(cells)


def key_columns(shape: Shape, numbers: np.ndarray) -> list[pa.Array]:
    """What the numbers of keys are in the table."""
    if shape.key == "BIGINT":
        return [pa.array(numbers.astype(np.int64))]
    if shape.key == "STRING":
        return [digits(numbers)]
    each = max(shape.total // REGIONS, 1)
    return [pa.array((numbers // each).astype(np.int32)), digits(numbers)]


def batch(
    shape: Shape, numbers: np.ndarray, first_sequence: int, random: np.random.Generator
) -> pa.Table:
    """One row per number."""
    rows = len(numbers)
    columns = [*key_columns(shape, numbers), np.arange(first_sequence, first_sequence + rows)]
    for name in list(shape.columns)[len(columns) :]:
        columns.append(
            {
                "a": lambda: random.integers(0, 1_000_000, rows),
                "b": lambda: random.integers(0, 2**27, rows),
                "c": lambda: random.integers(0, 2**20, rows) / 1024,
                "d": lambda: texts(random.integers(97, 123, (rows, TEXT), dtype=np.uint8)),
                "e": lambda: random.integers(0, 1000, rows, dtype=np.int32),
            }[name[0]]()
        )
    return pa.table(columns, names=list(shape.columns))


def write(folder: Path, table: pa.Table, records: bool = False) -> None:
    """A few files, so that every core has some to read."""
    folder.mkdir(parents=True)
    step = max(-(-table.num_rows // FILES), 1)
    for number in range(-(-table.num_rows // step)):
        part = table.slice(number * step, step)
        parquet.write_table(part, folder / f"{number}.parquet", row_group_size=GROUP)
    if records:
        made = np.empty(table.num_rows, RECORD)
        for name in RECORD.names or ():
            made[name] = table[name].to_numpy(zero_copy_only=False)
        made.tofile(folder.with_suffix(".records"))


def random_of(seed: int, *words: object) -> np.random.Generator:
    """The same numbers for the same words."""
    return np.random.default_rng([seed, zlib.crc32(repr(words).encode())])


def make_run(folder: Path, seed: int, records: bool, of: tuple[Shape, int]) -> None:
    """One run of one table."""
    shape, run = of
    random = random_of(seed, shape, run)
    table = batch(shape, drawn(shape, run, random), run * shape.rows, random)
    write(folder / shape.name / f"run{run}", table, records)


def make_few(folder: Path, seed: int, shape: Shape, of: tuple[str, int, int]) -> None:
    """An upsert into a table of one run: so many rows, keys drawn from all."""
    name, number, rows = of
    random = random_of(seed, name, number)
    table = batch(shape, random.permutation(shape.total)[:rows], 10 * shape.total, random)
    write(folder / name / str(number), table, records=True)


def generate(
    folder: Path,
    seed: int,
    shapes: set[Shape],
    recorded: set[Shape],
    upserts: list[tuple[Shape, list[tuple[str, int, int]]]],
) -> None:
    """All input, by as many processes as there are cores; upserts are (name, number, rows)."""
    shutil.rmtree(folder, ignore_errors=True)
    with multiprocessing.get_context("spawn").Pool() as pool:
        for keep in (True, False):
            runs = [(s, run) for s in shapes if (s in recorded) == keep for run in range(s.runs)]
            pool.map(partial(make_run, folder, seed, keep), runs, chunksize=1)
        for shape, few in upserts:
            pool.map(partial(make_few, folder, seed, shape), few, chunksize=1)


def runs(folder: Path, shape: Shape) -> Iterator[Path]:
    """Where each run of a table is."""
    return (folder / shape.name / f"run{run}" for run in range(shape.runs))
