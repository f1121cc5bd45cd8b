"""Postponed buckets (`bucket` = -2) from Python: rows are seen once they have a bucket, those of a
partition have as many as it began with, and what came last stays.
"""

from __future__ import annotations

import datetime as dt
import random
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import ConflictError, NotSupportedError, Table, TableError
from keyfold.compact import postponed
from keyfold.compact.jobs import PlannedJob
from keyfold.compact.moved import moved
from keyfold.questions.commit import delete_where
from keyfold.storage.commits import commit
from keyfold.storage.commits.compaction import Compaction
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshot_files import live_of_snapshot
from keyfold.storage.support import check_writable
from keyfold.streams.batches import Shown, following
from keyfold.streams.offsets import offset_at
from keyfold.write.jobs import plan_job, publish
from keyfold.write.writer import write
from tests.concurrency import jobs
from tests.option_names import option_names
from tests.read import harness
from tests.write.test_dynamic_buckets import now, rows, rows_of

COLUMNS = {"p": "INT", "k": "BIGINT", "v": "BIGINT"}
SEEN = "postpone.batch-write-fixed-bucket"


def made(folder: Path, **options: str) -> Table:
    """A table of two partitions, whose rows get buckets later."""
    names = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}
    catalog = keyfold.connect(folder, threads=2)
    return catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], names | option_names(options))


def files_of(table: Table) -> list[LiveFile]:
    """All files, those of rows without a bucket too."""
    loaded = now(table)
    assert loaded.snapshot_id is not None
    snapshot = loaded.snapshots.read(loaded.snapshot_id)
    return live_of_snapshot(loaded.manifests, snapshot).files()


def test_seen_after_a_compaction(tmp_path: Path) -> None:
    table = made(tmp_path, postpone__default_bucket_num="3")
    for value in range(3):
        table.upsert(rows(range(5 * value, 30), value))
    assert rows_of(table) == {}
    assert table.get({"p": 1, "k": 7}) is None
    assert {(file.bucket, file.total_buckets) for file in files_of(table)} == {(-2, -2)}
    # one writer for Paimon's compactions, which read files of others beside each other
    folders = {path.parent.name for path in tmp_path.rglob("data-u-*-s-0-w-*.parquet")}
    assert folders == {"bucket-postpone"}
    done = table.compact().to_pylist()
    assert {row["bucket"] for row in done} == {-2, 0, 1, 2}
    wanted = {k: min(k // 5, 2) for k in range(30)}
    assert rows_of(table) == wanted
    assert table.get({"p": 1, "k": 7}) == {"p": 1, "k": 7, "v": 1}
    assert {file.total_buckets for file in files_of(table)} == {3}
    assert all(row["status"] == "skipped" for row in table.compact().to_pylist())


def test_partitions_keep_their_number(tmp_path: Path) -> None:
    table = made(tmp_path, postpone__batch_write_fixed_bucket="true")
    table.alter(options={"postpone.default-bucket-num": "2"})
    table.upsert(rows(range(0, 40, 2), 1))
    table.alter(options={"postpone.default-bucket-num": "5"})
    table.upsert(rows(range(40), 2))
    assert rows_of(table) == dict.fromkeys(range(40), 2)
    totals = {(file.partition, file.total_buckets) for file in files_of(table)}
    assert totals == {((0,), 2), ((1,), 5)}
    table.alter(options={"postpone.batch-write-fixed-bucket": "false"})
    table.upsert(rows(range(20, 60), 3))
    assert rows_of(table) == dict.fromkeys(range(40), 2)
    table.compact()
    assert rows_of(table) == dict.fromkeys(range(20), 2) | dict.fromkeys(range(20, 60), 3)
    assert {(file.partition, file.total_buckets) for file in files_of(table)} == totals


def test_random_histories(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    engine = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}
    for round_ in range(2):
        sums = round_ == 1
        table = made(tmp_path / str(round_), **engine if sums else {})
        seen, waiting = dict[int, int](), list[tuple[str, dict[int, int]]]()
        for step in range(12):
            what = rng.choice(("write", "write", "seen", "delete", "compact", "some"))
            keys = dict.fromkeys(rng.sample(range(40), rng.randint(1, 20)), step)
            if what in ("write", "delete", "seen"):
                kind = "+I" if what != "delete" or sums else "-D"
                is_seen = str(what == "seen").lower()
                table.alter(options={"postpone.batch-write-fixed-bucket": is_seen})
                table.upsert([row for k in keys for row in rows([k], step)], row_kind=kind)
                if what == "seen":
                    fold(seen, kind, keys, sums=sums)
                else:
                    waiting.append((kind, keys))
            else:
                table.compact(strategy="full" if what == "compact" else "minor")
                for kind, keys in waiting:
                    fold(seen, kind, keys, sums=sums)
                waiting.clear()
            assert rows_of(table) == seen, (seed, round_, step)


def fold(seen: dict[int, int], kind: str, keys: dict[int, int], *, sums: bool) -> None:
    """What becomes of the rows that are seen when others come."""
    for key, value in keys.items():
        if kind == "-D":
            seen.pop(key, None)
        else:
            seen[key] = seen.get(key, 0) + value if sums else value


def test_health_tells_of_rows_that_wait(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 1))
    found = table.health().to_pylist()
    assert [(one["partition"], one["bucket"], one["rows"]) for one in found] == [
        ("p=0", -2, 10),
        ("p=1", -2, 10),
    ]
    assert all("10 rows wait for their buckets" in one["advice"] for one in found)
    (of_catalog,) = keyfold.connect(tmp_path).health().tables
    assert (of_catalog.rows, of_catalog.read_amplification) == (20, 1.0)
    table.compact()
    assert {one["bucket"] for one in table.health().to_pylist()} <= set(range(4))


def test_partitions_of_rows_that_wait_expire(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 1))
    time.sleep(0.01)
    asked = {"expiration_time": "1 ms", "expire_strategy": "update-time"}
    assert sorted(table.expire_partitions(**asked, dry_run=True)) == ["p=0", "p=1"]
    assert sorted(table.expire_partitions(**asked)) == ["p=0", "p=1"]
    assert files_of(table) == []


def test_rows_that_get_buckets_are_not_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a partition that is left alone for long enough stays that, and is compacted at once."""
    table, clock = made(tmp_path), time.time
    monkeypatch.setattr(time, "time", lambda: clock() - 2 * 86400)
    table.upsert(rows(range(20), 1))
    monkeypatch.setattr(time, "time", clock)
    table.upsert(rows(range(1, 20, 2), 2))
    table.compact(strategy="full", partition_idle_time="1 d")
    assert rows_of(table) == dict.fromkeys(range(0, 20, 2), 1)
    assert {(file.partition, file.level > 0) for file in files_of(table)} == {
        ((0,), True),
        ((1,), False),
    }


def test_statements_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(9), 1))
    match = "postpone.batch-write-fixed-bucket is 'false'"
    with pytest.raises(NotSupportedError, match=match):
        table.update("k = 1", {"v": 5})
    with pytest.raises(NotSupportedError, match=match):
        table.delete([{"p": 1, "k": 1}])
    with pytest.raises(NotSupportedError, match=match):
        table.get_or_insert({"p": 1, "k": 1})
    with pytest.raises(NotSupportedError, match=f"transaction .* {match}"):
        table.transaction().__enter__()
    with pytest.raises(NotSupportedError, match="each partition keeps its number"):
        table.rescale(4)
    table.alter(options={"postpone.batch-write-fixed-bucket": "true"})
    table.compact()
    table.update("k = 1", {"v": 5})
    assert rows_of(table) == dict.fromkeys(range(9), 1) | {1: 5}


def test_a_call_that_is_wrong_moves_no_rows(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(9), 1))
    with pytest.raises(TableError, match="compact_strategy is 'most'"):
        table.compact(strategy="most")
    with pytest.raises(TableError, match="max_bytes is 0"):
        table.compact(max_bytes=0)
    assert rows_of(table) == {}


def test_no_more_bytes_than_asked_for_are_moved(tmp_path: Path) -> None:
    table = made(tmp_path)
    for value in range(3):
        table.upsert(rows(range(0, 20, 2), value))
    most = 2 * max(file.size for file in files_of(table))
    done = table.compact(max_bytes=most).to_pylist()
    assert [(one["bucket"], one["files_before"]) for one in done if one["bucket"] == -2] == [
        (-2, 2)
    ]
    assert rows_of(table) == dict.fromkeys(range(0, 20, 2), 1)
    assert table.compact(max_bytes=1).num_rows == 0
    table.compact(max_bytes=most)
    assert rows_of(table) == dict.fromkeys(range(0, 20, 2), 2)


def test_an_order_by_snapshots_is_refused_later_too(tmp_path: Path) -> None:
    """Rows that get their buckets would come after all that is written later."""
    table = made(tmp_path, write_only="true")
    match = "sequence.snapshot-ordering does not go with postponed buckets"
    with pytest.raises(NotSupportedError, match=match):
        table.alter(options={"sequence.snapshot-ordering": "true"})
    by_paimon = {**now(table).layout.options, "sequence.snapshot-ordering": "true"}
    with pytest.raises(NotSupportedError, match=match):
        check_writable(replace(now(table).layout, options=by_paimon))


def test_partitions_that_are_replaced(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 1))
    table.overwrite(rows(range(0, 10, 2), 2), "p = 0")
    table.compact()
    wanted = dict.fromkeys(range(0, 10, 2), 2) | dict.fromkeys(range(1, 20, 2), 1)
    assert rows_of(table) == wanted
    table.upsert(rows(range(100, 120), 3))
    table.truncate()
    table.compact()
    assert rows_of(table) == {}
    assert files_of(table) == []


def test_a_delete_of_partitions_is_one_of_the_rows_that_are_seen(tmp_path: Path) -> None:
    """From Spark, which names a partition, and from Python, which names its rows."""
    table = made(tmp_path)
    table.upsert(rows(range(6), 1))
    table.compact()
    table.upsert(rows(range(4, 8), 3))

    def delete_partition() -> None:
        where = [harness.where("<=>", "p", 1, type="integer").to_json()]
        delete_where(jobs.question(now(table), str(tmp_path), filters=where))

    deletes = (delete_partition, lambda: table.delete(where="p = 0"))
    for delete in deletes:
        with pytest.raises(NotSupportedError, match=f"{SEEN} is 'false'"):
            delete()
    table.alter(options={SEEN: "true", "postpone.merge-on-read": "true"})
    for delete in deletes:
        with pytest.raises(NotSupportedError, match="rows wait for their buckets, which"):
            delete()
    table.alter(options={"postpone.merge-on-read": "false"})
    delete_partition()
    assert rows_of(table) == {0: 1, 2: 1, 4: 1}
    table.delete(where="p = 0")
    assert rows_of(table) == {}
    table.compact()
    assert rows_of(table) == dict.fromkeys(range(4, 8), 3)


def test_changes_show_rows_once_they_are_seen(tmp_path: Path) -> None:
    for producer in ("none", "input", "lookup"):
        table = made(tmp_path / producer, changelog_producer=producer)
        table.upsert(rows(range(6), 1))
        written = now(table).snapshot_id
        assert written is not None
        assert table.changes(0, written).to_arrow().num_rows == 0
        table.compact()
        last = now(table).snapshot_id
        found = table.changes(written, last).to_arrow().to_pylist()
        assert {row["k"]: row["v"] for row in found} == dict.fromkeys(range(6), 1), producer
        assert len(found) == 6


def test_batches_of_a_stream_count_rows_once_they_are_seen(tmp_path: Path) -> None:
    table = made(tmp_path)
    for value in range(3):
        table.upsert(rows(range(30), value))
        table.compact(strategy="minor")
    start, ends = offset_at(now(table), 0), list[int]()
    while (end := following(now(table), start, Shown("rows"), {"rows": 10})) != start:
        start = end
        ends.append(end.snapshot)
    assert ends == [1, 3, 5, 6]  # rows that wait are nothing yet


def test_clones_hold_them(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 1))
    copy = table.clone("copy")
    copy.compact()
    assert rows_of(copy) == dict.fromkeys(range(20), 1)
    assert rows_of(table) == {}


def test_two_compactions_at_once(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert(rows(range(20), 1))
    planned = [postponed.plan_moves(now(table)) for _ in range(2)]
    table.upsert(rows(range(10, 30), 2))  # comes meanwhile, and waits for the next
    assert [len(carried_out(table, job)) for job in planned] == [0, 2]
    assert rows_of(table) == dict.fromkeys(range(20), 1)
    table.compact()
    assert rows_of(table) == dict.fromkeys(range(10), 1) | dict.fromkeys(range(10, 30), 2)


def carried_out(table: Table, job: PlannedJob) -> list[str]:
    """What keeps planned steps from giving rows their buckets."""
    compactions = []
    for step in job.steps:
        messages = [moved(job.spec, task, task.number or 0, lambda: None) for task in step.tasks]
        compactions.append(Compaction(step.step, messages))
    return [str(error) for error in commit.compact(now(table), compactions)[1].values()]


def test_nobody_writes_to_rows_that_are_about_to_be_seen(tmp_path: Path) -> None:
    """A job that begins after a compaction has not seen them. Other keys are not in the way."""
    for key in (2, 6):
        table = made(tmp_path / str(key), merge_engine="partial-update")
        for is_seen in (True, False):
            table.alter(options={SEEN: str(is_seen).lower()})
            table.upsert(rows(range(0, 20, 2 if is_seen else 3), 1 if is_seen else 100))
        planned = postponed.plan_moves(now(table))
        table.alter(options={SEEN: "true"})
        table.update(f"k = {key}", {"v": pc.add(pc.field("v"), 1)})
        errors = carried_out(table, planned)
        assert len(errors) == (key == 6)
        assert all("p=0: data file" in error for error in errors)
        assert all("holds keys of rows that wait for their buckets" in error for error in errors)
        table.compact()
        wanted = dict.fromkeys(range(0, 20, 2), 1) | {key: 2} | dict.fromkeys(range(0, 20, 3), 100)
        assert rows_of(table) == wanted


def test_a_partition_that_gets_another_number_of_buckets_meanwhile(tmp_path: Path) -> None:
    table = made(tmp_path, postpone__batch_write_fixed_bucket="true")
    late = plan_job(now(table), tuple(COLUMNS))
    table.alter(options={"postpone.default-bucket-num": "2"})
    table.upsert(rows(range(0, 9, 2), 1))
    messages = write(late, pa.Table.from_pylist(rows(range(4), 2), table.schema).to_batches())
    with pytest.raises(ConflictError, match="a partition of 2 buckets by now, the job wrote 4"):
        publish(now(table), late, messages)
    assert rows_of(table) == dict.fromkeys(range(0, 9, 2), 1)


@pytest.mark.parametrize(
    ("zone", "first", "second"),
    [
        ("Europe/Berlin", "2026-03-28T23:30Z", "2026-03-29T00:15Z"),
        ("America/New_York", "2026-03-08T10:45Z", "2026-03-08T11:15Z"),
    ],
)
def test_rows_keep_their_order_where_clocks_are_set_forward(
    tmp_path: Path, zone: str, first: str, second: str
) -> None:
    """Manifests have the times of files as a clock on the wall shows them."""
    table = made(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        for value, at in enumerate((first, second)):
            patch.setattr(time, "time", dt.datetime.fromisoformat(at).timestamp)
            table.upsert(rows(range(4), value))
        table.compact()
        assert rows_of(table) == dict.fromkeys(range(4), 1)
    time.tzset()


def test_partitions_that_nobody_wrote_to_lately(tmp_path: Path) -> None:
    """What waits was written too, where it is all that a partition has as well."""
    table = made(tmp_path)
    table.upsert(rows(range(20), 1))
    table.compact(partition_idle_time="1 d")
    assert rows_of(table) == {}
    time.sleep(0.01)
    table.compact(partition_idle_time="1 ms")
    assert rows_of(table) == dict.fromkeys(range(20), 1)
