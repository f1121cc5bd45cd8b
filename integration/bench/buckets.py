"""`--buckets`: how rows spread over tasks, and what reading and writing cost, by bucket count."""

from __future__ import annotations

from dataclasses import replace

from integration.bench.measure import seconds
from integration.bench.speed import Bench, scan
from integration.plans import rows_of_tasks

COUNTS = (1, 2, 4, 8, 16)


def measure(bench: Bench, buckets: int) -> dict[str, object]:
    """Medians are not needed here: the least of `repeat` turns of each."""
    of = replace(bench, buckets=buckets)
    rows, small = of.input("run0"), of.input("upsert0")
    name = ""
    writes, loads = [], []
    for turn in range(of.repeat):
        name = of.create("spread")
        group = f"buckets-{buckets}-{turn}"
        of.spark.sparkContext.setJobGroup(group, group)
        writes.append(seconds(lambda _: rows.writeTo("keyfold.bench.spread").append(), turn))
        loads = rows_of_tasks(of.spark, group)
    reads = [seconds(lambda _: scan(of, of.spark.table(name)), turn) for turn in range(of.repeat)]
    append = [seconds(lambda _: small.writeTo(name).append(), turn) for turn in range(of.repeat)]
    busy = [load for load in loads if load]
    return {
        "buckets": buckets,
        "tasks": len(loads),
        "busy": len(busy),
        "most": round(max(busy) * len(busy) / sum(busy), 2),
        "write": round(min(writes), 3),
        "read": round(min(reads), 3),
        "upsert": round(min(append), 3),
    }


def run(bench: Bench) -> list[dict[str, object]]:
    """One line per count; `most` is the busiest task's share of a fair one."""
    found = []
    print("buckets  tasks  busy  most x fair   write s    read s  upsert s")
    for buckets in COUNTS:
        row = measure(bench, buckets)
        found.append(row)
        print(
            f"{row['buckets']:>7}{row['tasks']:>7}{row['busy']:>6}{row['most']:>13}"
            f"{row['write']:>10}{row['read']:>10}{row['upsert']:>10}",
            flush=True,
        )
    return found
