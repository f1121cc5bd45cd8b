"""Data files alone, without Spark, one core: `python -m integration.bench.datapath [rows]`.

A task's write (conform, hash, fold, Parquet), the raw read of one run and the merge of four fully
overlapping ones, on the columns of the design's speed section. Rows per second of processor time,
the best of three; of a merge, input rows. Then one file in other encodings and row groups.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.kernels import jit
from keyfold.read.reader import read
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import ORDINAL, DataFile, ScanSpec, Split, WriteSpec
from keyfold.write.writer import write

COLUMNS = {
    "id": "BIGINT NOT NULL",
    "seq": "BIGINT",
    "a": "BIGINT",
    "b": "BIGINT",
    "c": "DOUBLE",
    "d": "STRING",
    "e": "INT",
}
RUNS, BATCH, ROUNDS = 4, 32768, 3
WHOLE = ["_KEY_id", "_SEQUENCE_NUMBER", "_VALUE_KIND", "id", "seq", "a", "b", "e"]
DELTA = dict.fromkeys(WHOLE, "DELTA_BINARY_PACKED")
WRITTEN: dict[str, dict[str, Any]] = {
    "dictionary for all": {},
    "plain": {"use_dictionary": False},
    "delta": {"use_dictionary": False, "column_encoding": DELTA},
    "delta, 32 Ki groups": {
        "use_dictionary": False,
        "column_encoding": DELTA,
        "row_group_size": 1 << 15,
    },
    "delta, 128 Ki groups": {
        "use_dictionary": False,
        "column_encoding": DELTA,
        "row_group_size": 1 << 17,
    },
    "delta, 256 Ki groups": {
        "use_dictionary": False,
        "column_encoding": DELTA,
        "row_group_size": 1 << 18,
    },
}


def layout(folder: Path, **options: str) -> TableLayout:
    made = [Column(i, n, paimon_types.from_paimon(t)) for i, (n, t) in enumerate(COLUMNS.items())]
    settings = {"bucket": "1", "write-buffer-size": "4 gb", "target-file-size": "4 gb"} | options
    return TableLayout("bench.t", str(folder), 0, tuple(made), ("id",), (), settings)


def rows(count: int, seed: int) -> pa.Table:
    """Rows with keys drawn from twice as many, in random order, with their ordinals."""
    draw = np.random.default_rng(seed)
    text = np.char.mod("%010d", draw.integers(0, 10**10, count))
    return pa.table(
        {
            "id": draw.integers(0, 2 * count, count),
            "seq": draw.integers(0, 1 << 40, count),
            "a": draw.integers(0, 1 << 40, count),
            "b": draw.integers(0, 1000, count),
            "c": draw.random(count),
            "d": pa.array(text),
            "e": draw.integers(0, 1 << 30, count).astype("i4"),
            ORDINAL: np.arange(count),
        }
    )


def show(label: str, count: int, work: Callable[[], object]) -> None:
    """Print the rate of the best of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{label:32} {count / best / 1e6:7.2f} M rows/s", flush=True)


def written(found: TableLayout, table: pa.Table, sequence: int) -> tuple[DataFile, ...]:
    """One job's files, a run."""
    spec = WriteSpec(found, tuple(COLUMNS), True, sequence, f"job {sequence}")
    files = [file for message in write(spec, table.to_batches(BATCH)) for file in message.files]
    return tuple(
        DataFile(f.name, f.size, f.rows, 0, f.min_sequence, f.max_sequence, 0, 0) for f in files
    )


def writes(folder: Path, table: pa.Table) -> None:
    count = len(table)
    for label, options in {
        "write, 1 bucket": {},
        "write, 4 buckets": {"bucket": "4"},
        "write, spilling at 64 MB": {"write-buffer-size": "64 mb"},
    }.items():
        found = layout(folder / label, **options)
        show(label, count, partial(written, found, table, 1))
        shutil.rmtree(folder / label)


def reads(folder: Path, count: int) -> None:
    found = layout(folder)
    runs = tuple(written(found, rows(count, seed), seed + 1) for seed in range(RUNS))
    stored = [sum(file.rows for file in run) for run in runs]

    def drained(columns: tuple[str, ...], section: Any) -> Callable[[], int]:
        split = Split(UNPARTITIONED, 0, f"{folder}/bucket-0", (section,))
        scan = ScanSpec(found, columns, {})
        return lambda: sum(batch.num_rows for batch in read(scan, split))

    for columns in (tuple(COLUMNS), ("id",), ("id", "c")):
        name = "all columns" if len(columns) == len(COLUMNS) else ", ".join(columns)
        show(f"raw read, {name}", stored[0], drained(columns, runs[:1]))
        show(f"merge of {RUNS}, {name}", sum(stored), drained(columns, runs))
    encodings(folder, pq.read_table(f"{folder}/bucket-0/{runs[0][0].name}"))


def encodings(folder: Path, table: pa.Table) -> None:
    path = folder / "file.parquet"
    for label, settings in WRITTEN.items():
        show(f"file, {label}: write", len(table), partial(encoded, path, table, settings))
        print(f"{'':32} {path.stat().st_size / len(table):7.2f} bytes per row")
        show(f"file, {label}: read", len(table), partial(decoded, path))


def encoded(path: Path, table: pa.Table, settings: dict[str, Any]) -> None:
    given = {"row_group_size": 1 << 16, "compression": "zstd", "compression_level": 1} | settings
    pq.write_table(table, path, **given)


def decoded(path: Path) -> None:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        for _ in file.iter_batches(batch_size=1 << 16, columns=list(COLUMNS), use_threads=False):
            pass


def main(count: int) -> None:
    """Print all figures."""
    pa.set_cpu_count(1)
    jit.warm()
    with tempfile.TemporaryDirectory() as folder:
        writes(Path(folder), rows(count, 1))
        reads(Path(folder), count)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
