"""Retractions in merges, in memory, one core: `python -m integration.bench.retractions [rows]`.

Four runs of random keys, of whose rows a tenth are -D. Processor time of the merge that a reader
makes: of the runs as they were written; and of the oldest, the others having been compacted into
another, which may have marks then. Last the time of that compaction. The best of five turns, taken
with the same rows without -D, kernels compiled.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from keyfold.kernels import jit
from keyfold.kernels.ops import DELETE, INSERT
from keyfold.merge.kinds import VALUE_KIND
from keyfold.merge.marks.mark_columns import is_marked
from keyfold.merge.plan import plan_merge
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
    return [SortedRun(rounds(rows), (n, n)) for n, rows in enumerate(found, 1)]


def rounds(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a run, as its reader hands them out."""
    return (rows.slice(at, ROUND) for at in range(0, rows.num_rows, ROUND))


def compacted(table: TableLayout, found: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Some runs as a compaction makes them one, of which older ones are elsewhere."""
    every = plan_merge(table, list(COLUMNS), marks=True)
    merged = merge_runs(
        every, as_runs(found), system_columns=True, drop_deletes=False, has_oldest=False
    )
    return pa.Table.from_batches(list(merged)).combine_chunks().to_batches()[0]


def ratio(work: Callable[[], object], base: Callable[[], object]) -> float:
    """Of the processor's time, the best of some rounds of each, which take turns."""
    times: list[tuple[float, ...]] = []
    for _ in range(ROUNDS):
        at = [time.process_time()]
        for one in (work, base):
            one()
            at.append(time.process_time())
        times.append((at[1] - at[0], at[2] - at[1]))
    best = [min(of) for of in zip(*times, strict=True)]
    return best[0] / best[1]


def read(table: TableLayout, found: Sequence[pa.RecordBatch]) -> int:
    merged = merge_runs(plan_merge(table, list(COLUMNS)), as_runs(found))
    return sum(batch.num_rows for batch in merged)


def main(rows: int) -> None:
    """Print the figures of each table."""
    pa.set_cpu_count(1)
    jit.warm()
    heads = f"{'retractions':>12} {'after a minor':>14} {'the minor':>10}"
    print(f"{'processor time, no retractions = 1':36} {heads}")
    for name, options in TABLES.items():
        table = layout(COLUMNS, ["id"], options)
        plain, runs = written(rows, 0.0), written(rows, PART)
        marked = [runs[0], compacted(table, runs[1:])]
        whole = [plain[0], compacted(table, plain[1:])]
        retracted = ratio(partial(read, table, runs), partial(read, table, plain))
        after = ratio(partial(read, table, marked), partial(read, table, whole))
        minor = ratio(partial(compacted, table, runs[1:]), partial(compacted, table, plain[1:]))
        shown = f"{after:.2f}{'' if is_marked(marked[1]) else ', no marks'}"
        print(f"{name:36} {retracted:12.2f} {shown:>14} {minor:10.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500_000)
