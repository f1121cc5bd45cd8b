"""Answers one case of one system, a line of JSON for each number on stdin. The environments of all
systems run it, so it needs numpy and pyarrow alone.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Keys = npt.NDArray[np.int64]
Work = Callable[[], int]
Case = Callable[[str, Keys], Work]
COLUMNS = {"k": "BIGINT", "a": "INT", "b": "DOUBLE", "c": "STRING", "d": "BIGINT"}
PARTS = 4
FEW_ROWS, AT_ONCE = 4000, 10  # of a small table, of one upsert into it
PARTITIONS = 8  # of a table of many files
NAMES = pa.array([f"name {number}" for number in range(5000)])


def touched(batches: Iterable[pa.RecordBatch]) -> int:
    """The number of rows. Every cell is looked at, by the greatest of each column."""
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for column in batch.columns:
            pc.max(column)
    return rows


def rows_of(keys: Keys) -> pa.Table:
    """The rows of keys."""
    names = NAMES.take(pa.array(keys % len(NAMES)))
    values = [keys, (keys % 1000).astype(np.int32), keys * 0.5, names, keys * 3]
    return pa.table(values, list(COLUMNS))


def small_rows() -> pa.Table:
    """The rows of a small table."""
    return rows_of(np.arange(FEW_ROWS))


def few_rows(keys: Keys) -> Iterator[pa.Table]:
    """Some of them at a time."""
    for part in np.split(keys % FEW_ROWS, len(keys) // AT_ONCE):
        yield rows_of(np.unique(part))


def rows_of_parts(count: int) -> pa.Table:
    """So many rows, spread over partitions `p`."""
    keys = np.arange(count)
    return rows_of(keys).append_column("p", pa.array((keys % PARTITIONS).astype(np.int32)))


def serve(cases: Mapping[str, Case]) -> None:
    """Arguments: a case, the path of a table, its rows, the keys of one turn. Each number on stdin
    is the seed of a turn; the keys of a turn are made before its time counts.
    """
    case, path, rows, count = cases[sys.argv[1]], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    for line in sys.stdin:
        random = np.random.default_rng(int(line))
        whole = count == rows
        keys = random.permutation(rows) if whole else random.integers(0, rows, count)
        work = case(path, keys)
        start, used = time.perf_counter(), time.process_time()
        found = work()
        answer = {
            "seconds": time.perf_counter() - start,
            "cpu": time.process_time() - used,
            "rows": found,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(answer), flush=True)
