"""Dynamic buckets from Python: a key stays in its bucket, whoever writes and in whatever order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import CorruptDataError, NotSupportedError, Table, TableError
from keyfold.errors import ConflictError
from keyfold.files.hash_index import hash_path
from keyfold.storage import table as storage
from keyfold.storage.commits.hash_indexes import JobIndexes
from keyfold.storage.commits.hash_indexes import indexed as indexed_after
from keyfold.storage.metadata.index_manifests import read_entries, write_entries
from keyfold.tables import writes
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write import jobs
from keyfold.write.writer import write
from tests.option_names import option_names
from tests.write.buckets import check_once, indexed

COLUMNS = {"p": "INT", "k": "BIGINT", "v": "BIGINT"}
SCHEMA = pa.schema([("p", pa.int32()), ("k", pa.int64()), ("v", pa.int64())])


def made(folder: Path, **options: str) -> Table:
    """A table of two partitions, whose buckets take 10 keys."""
    names = {"bucket": "-1", "dynamic-bucket.target-row-num": "10"} | option_names(options)
    catalog = keyfold.connect(folder, threads=2)
    return catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], names)


def rows(keys: Sequence[int], value: int) -> list[dict[str, Any]]:
    """Rows of keys, whose partition is the rest by two."""
    return [{"p": key % 2, "k": key, "v": value} for key in keys]


def now(table: Table) -> storage.Table:
    """The table as storage has it."""
    return table._load()


def rows_of(table: Table) -> dict[int, int]:
    """The rows by key; fails if a key is there twice."""
    found = table.scan().to_pylist()
    assert len({row["k"] for row in found}) == len(found)
    return {row["k"]: row["v"] for row in found}


class Job:
    """A write that is planned and written, and committed later."""

    def __init__(
        self, table: Table, keys: Sequence[int], value: int, *, only_new: bool = False
    ) -> None:
        self.table, loaded = table, now(table)
        self.spec: WriteSpec = jobs.plan_job(loaded, tuple(COLUMNS), only_new=only_new)
        batch = pa.RecordBatch.from_pylist(rows(keys, value), SCHEMA)
        plans = jobs.task_lookups(loaded, self.spec)
        self.messages: list[CommitMessage] = write(self.spec, [batch], plans)

    def commit(self) -> None:
        """Publish it, or leave nothing behind."""
        try:
            jobs.publish(now(self.table), self.spec, self.messages)
        except BaseException:
            jobs.abandon(now(self.table), self.spec, self.messages)
            raise


def test_random_histories(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for round_ in range(2):
        options = {"dynamic_bucket__assigner_parallelism": str(rng.randint(1, 3))}
        table = made(tmp_path / str(round_), **options)
        wanted: dict[int, int] = {}
        for step in range(9):
            keys, what = rng.sample(range(150), rng.randint(1, 60)), rng.randrange(7)
            if what < 3:
                table.upsert(rows(keys, step))
                wanted |= dict.fromkeys(keys, step)
            elif what == 3:
                table.delete(where=f"k < {keys[0]} AND k > {keys[0] - 20}")
                wanted = {k: v for k, v in wanted.items() if not keys[0] - 20 < k < keys[0]}
            elif what == 4:
                table.update(f"k > {keys[0]}", {"v": -step})
                wanted = {k: -step if k > keys[0] else v for k, v in wanted.items()}
            elif what == 5:
                own = [k for k in keys if k % 2 == keys[0] % 2]
                table.overwrite(rows(own, step), where=f"p = {keys[0] % 2}")
                wanted = {k: v for k, v in wanted.items() if k % 2 != keys[0] % 2}
                wanted |= dict.fromkeys(own, step)
            else:
                table.compact()
            assert rows_of(table) == wanted, (step, what)
            check_once(now(table))


def test_buckets_are_filled_up_to_their_target(tmp_path: Path) -> None:
    table = made(tmp_path, dynamic_bucket__assigner_parallelism="2")
    for first in range(0, 200, 50):
        table.upsert(rows(range(first, first + 50), first))
    found = {place: len(keys) for place, keys in indexed(now(table)).items()}
    assert max(found.values()) == 10
    for values in ((0,), (1,)):
        of = sorted(count for (partition, _), count in found.items() if partition == values)
        assert sum(of) == 100
        assert sum(count < 10 for count in of) <= 2  # of each of the two parts the last one
    table.upsert(rows(range(200), 7))
    assert {place: len(keys) for place, keys in indexed(now(table)).items()} == found


def test_no_more_buckets_than_allowed(tmp_path: Path) -> None:
    table = made(tmp_path, dynamic_bucket__max_buckets="3")
    table.upsert(rows(range(300), 1))
    table.upsert(rows(range(100, 400), 2))
    assert {bucket for _, bucket in check_once(now(table))} == {0, 1, 2}
    first = made(tmp_path / "first", dynamic_bucket__initial_buckets="1")
    first.upsert(rows(range(8), 1))
    assert {bucket for _, bucket in check_once(now(first))} == {0}


def test_two_jobs_of_other_keys(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 0))
    one, other = Job(table, range(10, 40), 1), Job(table, range(40, 70), 2)
    one.commit()
    other.commit()
    assert rows_of(table) == dict.fromkeys(range(10), 0) | dict.fromkeys(
        range(10, 40), 1
    ) | dict.fromkeys(range(40, 70), 2)
    check_once(now(table))


def test_two_jobs_that_put_a_key_into_two_buckets(tmp_path: Path) -> None:
    table = made(tmp_path, dynamic_bucket__assigner_parallelism="1")
    one = Job(table, range(0, 40, 2), 1)
    other = Job(table, range(100, 0, -2), 2)  # the same keys, of which other ones come first
    one.commit()
    snapshot, files = now(table).snapshot_id, sorted(tmp_path.rglob("index/*"))
    with pytest.raises(ConflictError, match="another job has assigned keys of p=0 to buckets"):
        other.commit()
    assert now(table).snapshot_id == snapshot
    assert rows_of(table) == dict.fromkeys(range(0, 40, 2), 1)
    left = {path for path in tmp_path.rglob("index/*") if path not in files}
    assert not left
    assert len(files) > len(sorted(tmp_path.rglob("index/*"))) > 0


def test_a_key_that_another_inserts_into_another_bucket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, dynamic_bucket__assigner_parallelism="1")
    keys = [{"p": 0, "k": k} for k in range(40)]
    publish = writes.ByCommit.publish

    def late(*given: Any) -> int | None:
        monkeypatch.undo()
        table.upsert(rows(range(100, 0, -2), 2))  # of which other keys come first
        return publish(*given)

    monkeypatch.setattr(writes.ByCommit, "publish", late)
    found = table.get_or_insert_many(keys, ["k", "v"]).to_pylist()
    assert [row["k"] for row in found] == list(range(40))
    assert [row["v"] for row in found] == [2 if k and k % 2 == 0 else None for k in range(40)]
    assert rows_of(table).keys() == {*range(40), *range(40, 101, 2)}
    check_once(now(table))


def test_a_job_beside_an_overwrite(tmp_path: Path) -> None:
    table = made(tmp_path, dynamic_bucket__assigner_parallelism="1")
    table.upsert(rows(range(0, 60, 2), 0))
    job = Job(table, range(0, 60, 2), 1)
    table.overwrite(rows(range(58, -2, -2)[:25], 2))
    with pytest.raises(ConflictError, match="run the job again"):
        job.commit()
    assert set(rows_of(table).values()) == {2}
    check_once(now(table))


def test_a_job_whose_indexes_have_expired(tmp_path: Path) -> None:
    options = {"snapshot__num_retained__min": "1", "snapshot__num_retained__max": "1"}
    table = made(tmp_path, **options, dynamic_bucket__assigner_parallelism="1")
    table.upsert(rows(range(12), 0))
    job = Job(table, range(6, 16), 1)
    files = {file.name for file in job.spec.hashes}
    table.upsert(rows(range(20, 24), 2))
    table.expire()
    assert files.isdisjoint(path.name for path in tmp_path.rglob("index/*"))
    job.commit()
    wanted = dict.fromkeys(range(6), 0) | dict.fromkeys(range(6, 16), 1)
    assert rows_of(table) == wanted | dict.fromkeys(range(20, 24), 2)
    check_once(now(table))


def test_a_job_whose_keys_are_gone(tmp_path: Path) -> None:
    options = {"snapshot__num_retained__min": "1", "snapshot__num_retained__max": "1"}
    table = made(tmp_path, **options, dynamic_bucket__assigner_parallelism="1")
    table.upsert(rows(range(0, 20, 2), 0))
    job = Job(table, range(0, 20, 2), 1)
    table.overwrite(rows(range(100, 120, 2), 2))
    table.expire()
    with pytest.raises(ConflictError, match=r"replaced rows of p=0 .* found in bucket 0"):
        job.commit()
    assert rows_of(table) == dict.fromkeys(range(100, 120, 2), 2)
    again = Job(table, range(100, 120, 2), 3)
    table.truncate()
    with pytest.raises(ConflictError, match="replaced rows of p=0"):
        again.commit()
    assert rows_of(table) == {}


@pytest.mark.parametrize("is_last", [False, True])
def test_keys_of_one_of_two_tasks_are_gone(tmp_path: Path, *, is_last: bool) -> None:
    """Two tasks wrote to one bucket, as its keys have been given to more parts since."""
    table = made(tmp_path, dynamic_bucket__assigner_parallelism="1")
    table.upsert(rows(range(0, 18, 2), 0))
    gone, job = Job(table, range(0, 6, 2), 1), Job(table, range(6, 18, 2), 1)
    job.messages = [*job.messages, *gone.messages] if is_last else [*gone.messages, *job.messages]
    table.overwrite(rows(range(6, 18, 2), 2), where="p = 0")
    with pytest.raises(ConflictError, match=r"replaced rows of p=0 .* found in bucket 0"):
        job.commit()
    assert rows_of(table) == dict.fromkeys(range(6, 18, 2), 2)
    check_once(now(table))


def test_new_keys_that_others_store_meanwhile(tmp_path: Path) -> None:
    table = made(tmp_path, dynamic_bucket__assigner_parallelism="1")
    job = Job(table, range(0, 40, 2), 1, only_new=True)
    table.upsert(rows(range(0, 40, 2), 2))
    job.commit()
    assert rows_of(table) == dict.fromkeys(range(0, 40, 2), 2)
    names = {message.hashes.name for message in job.messages if message.hashes is not None}
    assert names
    assert names.isdisjoint(path.name for path in tmp_path.rglob("index/*"))


def test_another_attempt_writes_no_index_again(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(0, 8, 2), 0))
    job, loaded = Job(table, range(2, 14, 2), 1), now(table)
    table.upsert(rows(range(20, 24, 2), 2))
    base = now(table).snapshots.latest()
    assert base is not None
    indexes = JobIndexes(job.spec.hashes)

    def attempt() -> tuple[Any, set[int]]:
        live = now(table).live(base.id)
        entries = indexed_after(loaded, base, job.messages, indexes, live, None)
        names = [m.hashes.name for m in job.messages if m.hashes is not None]
        assert names
        return entries, {Path(hash_path(loaded.layout, name)).stat().st_ino for name in names}

    assert attempt() == attempt()


def test_planning_lists_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 0))
    loaded = now(table)
    for way in ("live_files", "live", "to_read"):
        monkeypatch.setattr(storage.Table, way, None)
    assert len(jobs.plan_job(loaded, tuple(COLUMNS)).hashes) == len(indexed(loaded))


def test_buckets_without_an_index(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 0))
    loaded = now(table)
    snapshot = loaded.snapshots.latest()
    assert snapshot is not None
    assert snapshot.index_manifest is not None
    path = Path(loaded.manifests.path(snapshot.index_manifest))
    entries = read_entries(loaded.manifests, snapshot.index_manifest)
    for partition in (0,), None:
        path.unlink()
        left = [one for one in entries if one.partition != partition and partition is not None]
        write_entries(loaded.manifests, path.name, left)
        with pytest.raises(NotSupportedError, match=r"bucket \d has data file data-.* no index of"):
            table.upsert(rows([2], 1))
    assert rows_of(table) == dict.fromkeys(range(20), 0)


def test_an_overwrite_begins_anew(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(100), 0))
    table.overwrite(rows(range(90, 95), 1), where="p = 0 OR p = 1")
    assert sum(map(len, indexed(now(table)).values())) == 5
    table.truncate()
    assert indexed(now(table)) == {}
    table.upsert(rows(range(3), 1))
    assert rows_of(table) == dict.fromkeys(range(3), 1)


def test_history_has_its_index(tmp_path: Path) -> None:
    table = made(tmp_path, snapshot__num_retained__min="1", snapshot__num_retained__max="1")
    table.upsert(rows(range(40), 0))
    table.tags.create("old")
    table.upsert(rows(range(100), 1))
    table.upsert(rows(range(130), 2))
    table.expire()
    check_once(now(table))
    table.rollback(tag="old")
    table.upsert(rows(range(60), 3))
    assert rows_of(table) == dict.fromkeys(range(60), 3)
    check_once(now(table))


def test_what_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(5), 0))
    with pytest.raises(NotSupportedError, match="can't be rescaled from bucket = -1 to 3"):
        table.rescale(3)
    with pytest.raises(TableError, match="option bucket-key goes with a fixed number"):
        made(tmp_path / "keyed", bucket_key="k")


def test_indexes_that_are_lost_or_cut(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(5), 0))
    (path, *_) = tmp_path.rglob("index/index-*")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptDataError, match="bytes, expected"):
        table.upsert(rows(range(5), 1))
    path.unlink()
    with pytest.raises(CorruptDataError, match="it is missing"):
        table.upsert(rows(range(5), 1))
    assert hash_path(now(table).layout, path.name) == str(path)
