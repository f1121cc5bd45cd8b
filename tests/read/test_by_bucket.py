"""Which tables can be read bucket by bucket, and the tasks of such a read."""

from pathlib import Path

import pytest

from keyfold.errors import NotSupportedError, TableError
from keyfold.read.by_bucket import POSSIBLE, bucket_column, grouped
from tests.read import harness
from tests.storage import tables

K, V = tables.column("k", nullable=False), tables.column("v")
CASES = [
    (tables.new_table(K, V), None),
    (tables.new_table(K, V, key="k,v"), r"several columns \(k, v\)"),
    (tables.new_table(K, V, key="k,v", by="v"), "each of its partitions"),
    (
        tables.new_table(tables.column("k", "double", nullable=False), V),
        "bucket key k is of a type",
    ),
    (tables.new_table(tables.column("k", "timestamp", nullable=False), V), "key k is of a type"),
]


@pytest.mark.parametrize(("new", "reason"), CASES)
def test_what_can_be_read_so(tmp_path: Path, new: tables.NewTable, reason: str | None) -> None:
    found = tables.table(tmp_path, new)
    assert bucket_column(found, None) is None
    assert bucket_column(found, "false") is None
    assert bucket_column(found, POSSIBLE) == (None if reason else "k")
    if reason is None:
        assert bucket_column(found, "true") == "k"
        with pytest.raises(TableError, match="read-by-bucket: expected"):
            bucket_column(found, "maybe")
    else:
        with pytest.raises(NotSupportedError, match=reason):
            bucket_column(found, "true")


def test_each_bucket_is_one_task(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(bucket="5", write_only="true"))
    for low in (0, 3):
        harness.upsert(found, [{"k": k, "v": low} for k in range(low, low + 4)])
    _, tasks, _ = harness.planned_tasks(found, cores=4)
    made = grouped(tasks, 5)
    assert len(made) == 5
    for bucket, splits in enumerate(made):
        assert {split.bucket for split in splits} <= {bucket}
    read = [split for task in tasks for split in task]
    assert sorted(map(str, read)) == sorted(str(split) for task in made for split in task)
