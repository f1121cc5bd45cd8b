"""What one task of a scan hands over: rows of small files in few batches, in their order."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from keyfold.read.task import MOST_BYTES, MOST_ROWS, joined, read_task
from tests.read import harness
from tests.storage import tables


def batches(*sizes: int) -> Iterator[pa.RecordBatch]:
    """Batches of so many rows, whose values count on."""
    start = 0
    for size in sizes:
        yield pa.record_batch({"n": pa.array(range(start, start + size))})
        start += size


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([3], [3]),
        ([3, 4, 5], [12]),
        ([MOST_ROWS, 1], [MOST_ROWS, 1]),
        ([1, MOST_ROWS - 1, 1], [MOST_ROWS, 1]),
        ([1, MOST_ROWS + 1, 2, 3], [1, MOST_ROWS + 1, 5]),
        ([MOST_ROWS + 1, MOST_ROWS + 1], [MOST_ROWS + 1, MOST_ROWS + 1]),
    ],
)
def test_small_batches_are_joined(sizes: list[int], expected: list[int]) -> None:
    found = list(joined(batches(*sizes)))
    assert [batch.num_rows for batch in found] == expected
    assert [n for batch in found for n in batch["n"].to_pylist()] == list(range(sum(sizes)))


def test_few_rows_of_many_bytes_are_not_joined() -> None:
    wide = pa.record_batch({"s": ["x" * MOST_BYTES]})
    assert [batch.num_rows for batch in joined(iter([wide, wide]))] == [1, 1]


def test_batches_without_columns_keep_their_rows() -> None:
    empty = [batch.select([]) for batch in batches(2, 3)]
    assert [batch.num_rows for batch in joined(iter(empty))] == [5]


def test_files_of_many_buckets_become_one_batch(tmp_path: Path) -> None:
    columns = tables.column("p", nullable=False), tables.column("k")
    found = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p", bucket="2"))
    rows = [{"p": p, "k": k} for p in range(20) for k in range(10)]
    harness.upsert(found, rows)
    scan, (task,), report = harness.planned_tasks(
        found, options={"source__split__target_size": "1 gb"}
    )
    assert report.files_read == 40
    (batch,) = read_task(scan, task)
    assert sorted(batch.to_pylist(), key=str) == sorted(rows, key=str)


def test_a_limit_counts_joined_rows(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(bucket="4"))
    harness.upsert(found, [{"k": k, "v": k} for k in range(100)])
    scan, tasks, _ = harness.planned_tasks(found, limit=7)
    read = [sum(batch.num_rows for batch in read_task(scan, task)) for task in tasks]
    assert max(read) == 7
