"""Handles in threads, in forked and in spawned processes, and writers at the same time."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import keyfold
from keyfold import Table

WRITERS, ROUNDS = 2, 3


def worked(table: Table, writer: int) -> list[int]:
    """Add one to a row of all writers, and write a row of its own, ROUNDS times."""
    for number in range(ROUNDS):
        table.upsert([{"k": -1, "n": 1}, {"k": writer * 1000 + number, "n": writer}])
    own = f"k >= {writer * 1000} AND k < {writer * 1000 + ROUNDS}"
    assert table.get({"k": writer * 1000}) == {"k": writer * 1000, "n": writer}
    return sorted(row["k"] for row in table.scan(where=own).to_pylist())


@pytest.mark.parametrize("how", ["threads", "fork", "spawn"])
def test_writers_at_the_same_time(tmp_path: Path, how: str) -> None:
    catalog = keyfold.connect(tmp_path, threads=2)
    options = {
        "merge-engine": "aggregation",
        "fields.n.aggregate-function": "sum",
        "num-sorted-run.compaction-trigger": "3",
    }
    table = catalog.create_table("t", {"k": "INT", "n": "BIGINT"}, ["k"], options=options)
    table.upsert([{"k": -1, "n": 0}])  # threads, locks and caches of this process are not new
    table.get({"k": -1})
    pool: ThreadPoolExecutor | ProcessPoolExecutor = ThreadPoolExecutor(WRITERS)
    if how != "threads":
        pool = ProcessPoolExecutor(WRITERS, multiprocessing.get_context(how))
    with pool:
        found: Sequence[list[int]] = list(pool.map(worked, [table] * WRITERS, range(WRITERS)))
    for writer, keys in enumerate(found):
        assert keys == [writer * 1000 + number for number in range(ROUNDS)]
    assert table.get({"k": -1}) == {"k": -1, "n": WRITERS * ROUNDS}
    assert table.scan().to_arrow().num_rows == 1 + WRITERS * ROUNDS
    kinds = table.snapshots().column("commit_kind").to_pylist()
    assert kinds.count("APPEND") == 1 + WRITERS * ROUNDS
