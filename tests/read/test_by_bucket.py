"""Which tables can be read bucket by bucket, and the tasks of such a read."""

from dataclasses import replace
from pathlib import Path

import pytest

from keyfold.errors import CorruptDataError, NotSupportedError, TableError
from keyfold.options.calls import READ_BY_BUCKET
from keyfold.read.by_bucket import POSSIBLE, bucket_column, grouped
from keyfold.storage.commits import commit
from tests.read import harness
from tests.storage import damaged, tables

K, V = tables.column("k", nullable=False), tables.column("v")
CASES = [
    (tables.new_table(K, V), None),
    (tables.new_table(K, V, key="k,v"), r"several columns \(k, v\)"),
    (tables.new_table(V, K, key="v,k", by="v"), None),
    (
        tables.new_table(tables.column("k", "double", nullable=False), V),
        "bucket key k is of a type",
    ),
    (tables.new_table(tables.column("k", "timestamp", nullable=False), V), "key k is of a type"),
]


@pytest.mark.parametrize(("new", "reason"), CASES)
def test_what_can_be_read_so(tmp_path: Path, new: tables.NewTable, reason: str | None) -> None:
    found = tables.table(tmp_path, new)
    assert bucket_column(found, {}) is None
    assert bucket_column(found, {READ_BY_BUCKET: "false"}) is None
    assert bucket_column(found, {READ_BY_BUCKET: POSSIBLE}) == (None if reason else "k")
    if reason is None:
        assert bucket_column(found, {READ_BY_BUCKET: "true"}) == "k"
        with pytest.raises(TableError, match="read-by-bucket: expected"):
            bucket_column(found, {READ_BY_BUCKET: "maybe"})
    else:
        with pytest.raises(NotSupportedError, match=reason):
            bucket_column(found, {READ_BY_BUCKET: "true"})


def test_lists_of_manifests_say_the_number_of_buckets(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(V, K, key="v,k", by="v"))
    for total in (2, 3):
        message = tables.message(found, partition=(total,), total=total)
        assert commit.append(found, tables.spec(found), [message])
        found = tables.reload(found)
    with pytest.raises(NotSupportedError, match="another number of buckets"):
        bucket_column(found, {READ_BY_BUCKET: "true"})
    for path in Path(found.layout.location, "manifest").glob("manifest-*-0"):
        if "list" not in path.name:
            path.unlink()
    damaged.forget()
    assert bucket_column(replace(found, snapshot_id=1), {READ_BY_BUCKET: "true"}) == "k"
    with pytest.raises(CorruptDataError, match="manifest"):
        bucket_column(found, {READ_BY_BUCKET: "true"})


def test_each_bucket_is_one_task(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(bucket="5", write_only="true"))
    for low in (0, 3):
        harness.upsert(found, [{"k": k, "v": low} for k in range(low, low + 4)])
    _, tasks, _ = harness.planned_tasks(found, cores=4)
    by_bucket = grouped(found, "k", tasks)
    assert by_bucket is not None
    made = by_bucket.tasks
    assert len(made) == 5
    assert by_bucket.keys.to_pydict() == {"bucket": [0, 1, 2, 3, 4]}
    for bucket, splits in enumerate(made):
        assert {split.bucket for split in splits} <= {bucket}
    read = [split for task in tasks for split in task]
    assert sorted(map(str, read)) == sorted(str(split) for task in made for split in task)


def test_buckets_of_partitions(tmp_path: Path) -> None:
    new = tables.new_table(V, K, key="v,k", by="v", bucket="2", write_only="true")
    found = tables.table(tmp_path, new)
    assert grouped(found, "k", []) is None
    for v in (7, 8, 7):
        harness.upsert(found, [{"k": k, "v": v} for k in range(9)])
    _, tasks, _ = harness.planned_tasks(found, cores=4)
    by_bucket = grouped(found, "k", tasks)
    assert by_bucket is not None
    assert by_bucket.columns == ("v", "k")
    keys = by_bucket.keys.to_pylist()
    assert sorted((key["v"], key["bucket"]) for key in keys) == [(7, 0), (7, 1), (8, 0), (8, 1)]
    for key, splits in zip(keys, by_bucket.tasks, strict=True):
        assert splits
        assert {split.bucket for split in splits} == {key["bucket"]}
        assert {split.partition.values for split in splits} == {(key["v"],)}
