"""Merge-on-read alone, without Spark, one core: `python -m integration.bench.merges [rows]`.

Runs, overlap, kinds of key, widths and engines, one varied at a time. Input rows per second of
processor time, the best of three, beside what decoding every column of the same files takes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.kernels import jit
from keyfold.read.reader import read
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import DataFile, ScanSpec, Split, WriteSpec
from keyfold.write.writer import write

Ids = np.ndarray
ROUNDS, BATCH = 3, 32768
VALUES = ("BIGINT", "BIGINT", "BIGINT", "DOUBLE", "STRING", "INT")
SUMS = {f"fields.v{place}.aggregate-function": "sum" for place in (1, 2, 3, 5)}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "versioned": {"sequence.field": "v0"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v0.aggregate-function": "max", **SUMS},
}
KEYS: dict[str, tuple[tuple[str, ...], Callable[[Ids], list[pa.Array]]]] = {
    "BIGINT": (("BIGINT",), lambda ids: [pa.array(ids)]),
    "hashed BIGINT": (("BIGINT",), lambda ids: [pa.array(np.sort(_hashed(ids).view(np.int64)))]),
    "STRING": (("STRING",), lambda ids: [pa.array(np.char.mod("customer-%012d", ids))]),
    "hexadecimal STRING": (
        ("STRING",),
        lambda ids: [pa.array([f"{n:016x}-{n % 977:08x}" for n in np.sort(_hashed(ids)).tolist()])],
    ),
    "BIGINT, INT": (
        ("BIGINT", "INT"),
        lambda ids: [pa.array(ids // 1000), pa.array((ids % 1000).astype("i4"))],
    ),
    "STRING, BIGINT": (
        ("STRING", "BIGINT"),
        lambda ids: [pa.array(np.char.mod("shop-%06d", ids // 100)), pa.array(ids % 100)],
    ),
}


@dataclass(frozen=True)
class Case:
    """What is merged; `overlap` names how the keys of the runs lie to one another."""

    key: str = "BIGINT"
    width: int = 7
    overlap: str = "random"
    runs: int = 4
    engine: str = "deduplicate"


def cases() -> Iterator[Case]:
    usual = Case()
    yield from (replace(usual, runs=runs) for runs in (1, 2, 4, 8, 16, 32, 64))
    for overlap in ("none", "1 %", "half", "full"):
        yield from (replace(usual, overlap=overlap, runs=runs) for runs in (4, 32))
    for key in KEYS:
        yield from (replace(usual, key=key, runs=runs) for runs in (4, 32))
    yield from (replace(usual, width=width) for width in (2, 20, 200))
    for engine in ENGINES:
        yield from (replace(usual, engine=engine, overlap=o) for o in ("random", "full"))


def _hashed(ids: Ids) -> Ids:
    return ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def ids_of(case: Case, rows: int) -> list[Ids]:
    """The keys of each run, ascending."""
    draw, runs, each = np.random.default_rng(7), case.runs, rows // case.runs
    match case.overlap:
        case "none":
            return [np.arange(each) + run * each for run in range(runs)]
        case "half":
            return [np.arange(each) + run * each // 2 for run in range(runs)]
        case "full":
            return [np.arange(each)] * runs
        case "1 %":
            few = rows // 100 // (runs - 1)
            base = np.arange(rows - rows // 100)
            return [
                base,
                *(np.sort(draw.choice(base, few, replace=False)) for _ in range(runs - 1)),
            ]
    return [np.sort(draw.choice(2 * each, each, replace=False)) for _ in range(runs)]


def column(kind: str, draw: np.random.Generator, rows: int) -> pa.Array:
    match kind:
        case "DOUBLE":
            return pa.array(draw.random(rows))
        case "INT":
            return pa.array(draw.integers(0, 1000, rows).astype("i4"))
        case "STRING":
            letters = draw.integers(97, 123, rows * 10, dtype="u1")
            offsets = np.arange(0, rows * 10 + 1, 10, dtype="i4")
            buffers = pa.py_buffer(offsets), pa.py_buffer(letters)
            return pa.StringArray.from_buffers(rows, *buffers)
    return pa.array(draw.integers(0, 1 << 40, rows))


def layout(folder: Path, case: Case) -> TableLayout:
    kinds = KEYS[case.key][0]
    columns = [(f"k{place}", f"{kind} NOT NULL") for place, kind in enumerate(kinds)]
    rest = max(case.width - len(kinds), 0)
    columns += [(f"v{place}", VALUES[place % len(VALUES)]) for place in range(rest)]
    made = [Column(i, n, paimon_types.from_paimon(t)) for i, (n, t) in enumerate(columns)]
    key = tuple(name for name, _ in columns[: len(kinds)])
    options = {"bucket": "1", "write-buffer-size": "4 gb", "target-file-size": "4 gb"}
    return TableLayout("bench.t", str(folder), 0, tuple(made), key, (), options)


def stored(found: TableLayout, case: Case, rows: int) -> list[tuple[DataFile, ...]]:
    """Files of each run."""
    names, runs = found.arrow_schema.names, []
    for number, ids in enumerate(ids_of(case, rows)):
        draw = np.random.default_rng(number)
        keys = KEYS[case.key][1](ids)
        values = [
            column(VALUES[place % len(VALUES)], draw, len(ids))
            for place in range(len(names) - len(keys))
        ]
        batches = pa.table([*keys, *values], names=names).to_batches(BATCH)
        spec = WriteSpec(found, tuple(names), False, number + 1, f"job {number}")
        files = [file for message in write(spec, batches) for file in message.files]
        runs.append(
            tuple(
                DataFile(f.name, f.size, f.rows, 0, f.min_sequence, f.max_sequence, 0, 0)
                for f in files
            )
        )
    return runs


def merged(found: TableLayout, case: Case, runs: list[tuple[DataFile, ...]]) -> int:
    sections = tuple((run,) for run in runs) if case.overlap == "none" else (tuple(runs),)
    options = {**found.options, **ENGINES[case.engine]}
    scan = ScanSpec(replace(found, options=options), tuple(found.arrow_schema.names), {})
    split = Split(UNPARTITIONED, 0, f"{found.location}/bucket-0", sections)
    return sum(batch.num_rows for batch in read(scan, split))


def decoded(found: TableLayout, runs: list[tuple[DataFile, ...]]) -> None:
    for file in (file for run in runs for file in run):
        with pq.ParquetFile(f"{found.location}/bucket-0/{file.name}", pre_buffer=False) as opened:
            names = found.arrow_schema.names
            for _ in opened.iter_batches(1 << 16, columns=names, use_threads=False):
                pass


def rate(rows: int, work: Callable[[], object]) -> float:
    """Million rows per second, the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return rows / min(times) / 1e6


def main(rows: int, some: int | None) -> None:
    """Print every figure, or those of the first so many cases."""
    pa.set_cpu_count(1)
    jit.warm()
    print(f"{'M input rows/s of one core':60} {'merge':>8} {'decode':>8}")
    for case in islice(cases(), some):
        count = rows if case.width < 50 else rows // 8
        with tempfile.TemporaryDirectory() as folder:
            found = layout(Path(folder), case)
            runs = stored(found, case, count)
            total = sum(file.rows for run in runs for file in run)
            merge = rate(total, partial(merged, found, case, runs))
            decode = rate(total, partial(decoded, found, runs))
        words = f"{case.runs} runs, {case.overlap}, {case.key}, {case.width} columns, {case.engine}"
        print(f"{words:60} {merge:8.2f} {decode:8.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 21, None)
