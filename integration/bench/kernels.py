"""Merging and folding alone, in memory, one core: `python -m integration.bench.kernels [rows]`.

Four fully overlapping runs with random keys, on the columns of the design's speed section. Figures
are input rows per second, the best of five, kernels compiled.
"""

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.kernels import jit
from keyfold.kernels.groups.by_key import group_starts
from keyfold.kernels.keys.closed import encode_closed
from keyfold.kernels.keys.hash import bucket_hash
from keyfold.kernels.keys.order import merge_order
from keyfold.merge.buffer import fold_unsorted
from keyfold.merge.plan import plan_merge
from keyfold.merge.run import merge_runs
from keyfold.merge.sorted_run import SortedRun
from keyfold.testing.tables import layout
from keyfold.wire.layout import TableLayout

RUNS, ROUND, ROUNDS = 4, 65536, 5
COLUMNS = {
    "id": "BIGINT",
    "seq": "BIGINT",
    "a": "BIGINT",
    "b": "BIGINT",
    "c": "DOUBLE",
    "d": "STRING",
    "e": "INT",
}
SUMS = {f"fields.{name}.aggregate-function": "sum" for name in ("a", "b", "c", "e")}
TABLES = {
    "deduplicate": ("id", {}),
    "deduplicate, sequence.field": ("id", {"sequence.field": "seq"}),
    "deduplicate, STRING key": ("d", {}),
    "aggregation, 4 sums and max": (
        "id",
        {"merge-engine": "aggregation", "fields.seq.aggregate-function": "max", **SUMS},
    ),
    "partial-update": ("id", {"merge-engine": "partial-update"}),
    "partial-update, 2 sequence groups": (
        "id",
        {
            "merge-engine": "partial-update",
            "fields.seq.sequence-group": "a,b",
            "fields.e.sequence-group": "c,d",
        },
    ),
    "partial-update, a group with a sum": (
        "id",
        {
            "merge-engine": "partial-update",
            "fields.seq.sequence-group": "a,b,c",
            "fields.a.aggregate-function": "sum",
        },
    ),
    "first-row": ("id", {"merge-engine": "first-row"}),
}


def rows(ids: np.ndarray, random: np.random.Generator) -> pa.RecordBatch:
    """Rows of these ids; `d` is the id in ten digits, so that it sorts as the id does."""
    count = len(ids)
    return pa.RecordBatch.from_pydict(
        {
            "id": ids,
            "seq": random.integers(0, 1 << 40, count),
            "a": random.integers(0, 1000, count),
            "b": random.integers(0, 1 << 40, count),
            "c": random.random(count),
            "d": pa.array([f"{number:010d}" for number in ids.tolist()], pa.utf8()),
            "e": random.integers(0, 1000, count).astype(np.int32),
        }
    )


def thinned(batch: pa.RecordBatch, random: np.random.Generator) -> pa.RecordBatch:
    """The same rows, half of the cells beside the key NULL."""
    columns = [
        column
        if name == "id"
        else pc.if_else(pa.array(random.random(len(column)) < 0.5), column, None)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Batches as a reader gives them."""
    return (batch.slice(at, ROUND) for at in range(0, batch.num_rows, ROUND))


def report(what: str, count: int, work: Callable[[], object]) -> None:
    """Run five times, print the best rate."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    print(f"{what:45} {count / min(times) / 1e6:7.1f} M rows/s")


def merge_all(table: TableLayout, runs: list[pa.RecordBatch]) -> int:
    """Rows merged out of all runs."""
    merge = plan_merge(table, list(COLUMNS))
    sources = [SortedRun(cut(run), (i, i)) for i, run in enumerate(runs)]
    return sum(out.num_rows for out in merge_runs(merge, sources))


def pick_all(runs: list[pa.Array]) -> None:
    """Order, group and pick alone, in rounds of what fits the processor's caches."""
    for at in range(0, len(runs[0]), ROUND):
        parts = [run.slice(at, ROUND) for run in runs]
        keys = encode_closed([pa.concat_arrays(parts)])
        words, order = merge_order(keys, [len(part) for part in parts])
        order[group_starts(keys, words, order)[1:] - 1]


def main() -> None:
    """Print every figure."""
    each = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    random = np.random.default_rng(1)
    ids = [np.sort(random.choice(2 * each, each, replace=False)) for _ in range(RUNS)]
    runs = [rows(run, random) for run in ids]
    buffer = [
        rows(part, random) for part in np.array_split(random.integers(0, 2 * each, 2 * each), 64)
    ]
    print(f"{jit.warm()} kernel signatures, {RUNS} runs of {each} rows")
    columns = [run.column("id") for run in runs]
    report("order, group, pick", RUNS * each, lambda: pick_all(columns))
    for name, (key, options) in TABLES.items():
        table = layout(COLUMNS, [key], options)
        report(f"merge: {name}", RUNS * each, lambda table=table: merge_all(table, runs))
    thin = [thinned(run, random) for run in runs]
    for name in (name for name in TABLES if name.startswith("partial-update")):
        table = layout(COLUMNS, ["id"], TABLES[name][1])
        report(f"merge: {name}, half NULL", RUNS * each, lambda table=table: merge_all(table, thin))
    for name, (key, options) in TABLES.items():
        merge = plan_merge(layout(COLUMNS, [key], options), list(COLUMNS))
        report(f"fold a buffer: {name}", 2 * each, lambda merge=merge: fold_unsorted(merge, buffer))
    report("bucket hash: BIGINT", each, lambda: bucket_hash([columns[0]]))
    report("bucket hash: STRING(10)", each, lambda: bucket_hash([runs[0].column("d")]))


if __name__ == "__main__":
    main()
