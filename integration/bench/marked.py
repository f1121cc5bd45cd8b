"""Deletion vectors beside the merge that they save: `python -m integration.bench.marked [rows]`.

Four fully overlapping runs, as `datapath` writes them, are read by one process, without Spark:
merged, with the replaced rows marked in vectors of 32 and of 64 bits, and as one run, which a full
compaction leaves. Each also with a condition that 1 % of the rows pass. Seconds of processor time,
the best of three, and how many times as long the merge took.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from integration.bench.datapath import COLUMNS, ROUNDS, RUNS, layout, rows, written
from keyfold.kernels import jit
from keyfold.kernels.buffers import Rows
from keyfold.read.reader import read
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import DataFile, ScanSpec, Section, Split, Vector
from tests.read.harness import where
from tests.storage.marked import index_file

SHARE = 0.01  # of the rows that pass the condition


def replaced(bucket: Path, files: Sequence[DataFile]) -> dict[str, Rows]:
    """The positions in each file of the rows whose key a later one has."""
    newest, found = np.empty(0, dtype=np.int64), {}
    for file in reversed(files):
        keys = pq.read_table(bucket / file.name, columns=["id"])["id"].to_numpy()
        found[file.name] = np.flatnonzero(np.isin(keys, newest, assume_unique=True))
        newest = np.union1d(newest, keys)
    return found


def marked(folder: Path, files: Sequence[DataFile], bits: int) -> list[DataFile]:
    """The files on levels of their own, with vectors in an index file."""
    marks = {name: at.tolist() for name, at in replaced(folder / "bucket-0", files).items()}
    data, parts = index_file(marks, bits)
    path = folder / "index" / f"index-{bits}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    places = {part["f0"]: (part["f1"], part["f2"], part["_CARDINALITY"]) for part in parts}
    return [
        replace(file, level=level, vector=Vector(path.name, len(data), *places[file.name]))
        for level, file in enumerate(files, 1)
    ]


def seconds(work: Callable[[], int]) -> tuple[float, int]:
    """The processor time of the best round, and the number of rows."""
    best, count = float("inf"), 0
    for _ in range(ROUNDS):
        start = time.process_time()
        count = work()
        best = min(best, time.process_time() - start)
    return best, count


def drained(found: TableLayout, sections: Sequence[Section], least: int | None) -> int:
    """The number of rows of sections, or of those whose `a` is large enough."""
    split = Split(UNPARTITIONED, 0, f"{found.location}/bucket-0", tuple(sections))
    values = () if least is None else (where(">=", "a", least),)
    scan = ScanSpec(found, tuple(COLUMNS), {}, value_filter=values)
    return sum(batch.num_rows for batch in read(scan, split))


def main(count: int) -> None:
    """Write, read in each form, and print."""
    pa.set_cpu_count(1)
    jit.warm()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        found = layout(folder)
        runs = [written(found, rows(count, seed), seed + 1) for seed in range(RUNS)]
        files = [file for run in runs for file in run]
        split = Split(UNPARTITIONED, 0, f"{folder}/bucket-0", (tuple(runs),))
        merged = pa.Table.from_batches(list(read(ScanSpec(found, tuple(COLUMNS), {}), split)))
        merged = merged.append_column("_ORDINAL", pa.array(np.arange(len(merged))))
        forms: dict[str, list[Section]] = {
            f"merge of {RUNS} runs": [tuple(runs)],
            "vectors of 32 bits": [((file,),) for file in marked(folder, files, 32)],
            "vectors of 64 bits": [((file,),) for file in marked(folder, files, 64)],
            "one run": [(written(found, merged, RUNS + 1),)],
        }
        for least in (None, int((1 << 40) * (1 - SHARE))):
            print("every row:" if least is None else f"{SHARE:.0%} of the rows:")
            slowest = 0.0
            for label, sections in forms.items():
                took, read_rows = seconds(partial(drained, found, sections, least))
                slowest = slowest or took
                print(f"  {label:20} {took:7.2f} s  {slowest / took:5.2f}  {read_rows} rows")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000)
