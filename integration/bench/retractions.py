"""Retractions in merges, in memory, one core: `python -m integration.bench.retractions [rows]`.

Four runs of random keys, of whose rows a tenth are retractions. Processor time of the merge that a
reader makes: of the runs as they were written; and of one run, the others having been compacted
into another, which then has marks. The best of five, kernels compiled.
"""

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from keyfold.kernels import jit
from keyfold.kernels.ops import DELETE, INSERT
from keyfold.merge.kinds import VALUE_KIND
from keyfold.merge.marks.mark_columns import is_marked
from keyfold.merge.plan import plan
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.testing.tables import layout
from keyfold.wire.layout import TableLayout

RUNS, ROUND, ROUNDS, PART = 4, 65536, 5, 0.1
COLUMNS = {"id": "BIGINT", "a": "BIGINT", "b": "BIGINT", "c": "BIGINT", "d": "STRING", "g": "INT"}
SUMS = {f"fields.{name}.aggregate-function": "sum" for name in ("a", "b", "c", "g")}
TABLES = {
    "sums": {"merge-engine": "aggregation", **SUMS, "fields.d.ignore-retract": "true"},
    "sums, last_non_null_value": {"merge-engine": "aggregation", **SUMS},
    "sums, -D removes": {
        "merge-engine": "aggregation",
        "aggregation.remove-record-on-delete": "true",
        **SUMS,
    },
    "sequence group": {"merge-engine": "partial-update", "fields.g.sequence-group": "a,b,c,d"},
}


def written(rows: int, part: float) -> list[pa.RecordBatch]:
    """The rows of each run, ascending by key."""
    found = []
    for number in range(RUNS):
        draw = np.random.default_rng(number)
        ids = np.sort(draw.choice(2 * rows, rows, replace=False))
        columns = {name: draw.integers(0, 1000, rows) for name in "abc"}
        columns |= {"d": pa.array(ids).cast(pa.string()), "g": np.full(rows, number, np.int32)}
        kinds = np.where(draw.random(rows) < part, DELETE, INSERT).astype(np.int8)
        found.append(pa.RecordBatch.from_pydict({"id": ids, **columns, VALUE_KIND: kinds}))
    return found


def as_runs(found: Sequence[pa.RecordBatch]) -> list[SortedRun]:
    return [
        SortedRun((rows.slice(at, ROUND) for at in range(0, rows.num_rows, ROUND)), (n, n))
        for n, rows in enumerate(found, 1)
    ]


def compacted(table: TableLayout, found: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Some runs as a compaction makes them one, of which older ones are elsewhere."""
    every = plan(table, list(COLUMNS), marks=True)
    merged = merge_runs(
        every, as_runs(found), system_columns=True, drop_deletes=False, has_oldest=False
    )
    return pa.Table.from_batches(list(merged)).combine_chunks().to_batches()[0]


def seconds(work: Callable[[], object]) -> float:
    """Of processor time, the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def read(table: TableLayout, found: Sequence[pa.RecordBatch]) -> int:
    merged = merge_runs(plan(table, list(COLUMNS)), as_runs(found))
    return sum(batch.num_rows for batch in merged)


def main(rows: int) -> None:
    """Print the figures of each table."""
    pa.set_cpu_count(1)
    jit.warm()
    print(f"{'processor time, no retractions = 1':36} {'retractions':>12} {'after a minor':>14}")
    for name, options in TABLES.items():
        table = layout(COLUMNS, ["id"], options)
        plain, runs = written(rows, 0.0), written(rows, PART)
        marked = [runs[0], compacted(table, runs[1:])]
        whole = [plain[0], compacted(table, plain[1:])]
        every = seconds(lambda of=plain, t=table: read(t, of))
        retracted = seconds(lambda of=runs, t=table: read(t, of)) / every
        base = seconds(lambda of=whole, t=table: read(t, of))
        after = seconds(lambda of=marked, t=table: read(t, of)) / base
        shown = f"{after:.2f}{'' if is_marked(marked[1]) else ', no marks'}"
        print(f"{name:36} {retracted:12.2f} {shown:>14}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
