"""Transactions of tables that give keys their buckets: dynamic ones, those of keys across
partitions, and those of partitions.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold import ConflictError, Table
from keyfold.storage.commits.hash_indexes import JobIndexes
from keyfold.storage.commits.hash_indexes import indexed as indexed_after
from keyfold.wire.specs import CommitMessage
from tests.write.buckets import check_once, indexed
from tests.write.test_dynamic_buckets import Job, now, rows, rows_of

COLUMNS = {"p": "INT", "k": "BIGINT", "v": "BIGINT"}
DYNAMIC = {"bucket": "-1", "dynamic-bucket.target-row-num": "10"}
ONE_PART = {**DYNAMIC, "dynamic-bucket.assigner-parallelism": "1"}


def made(folder: Path, options: dict[str, str], *key: str) -> Table:
    """A table of two partitions."""
    catalog = keyfold.connect(folder, threads=2)
    return catalog.create_table("t", COLUMNS, key or ("p", "k"), ["p"], options)


def elsewhere(call: Callable[..., Any], *given: Any) -> None:
    """Another thread's call, as this one has a transaction."""
    thread = threading.Thread(target=call, args=given)
    thread.start()
    thread.join()


def index_files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("index/*")}


@pytest.mark.parametrize(
    "options",
    [DYNAMIC, {**ONE_PART, "changelog-producer": "input"}, {"bucket": "-2"}],
    ids=["dynamic", "one part, input", "postponed"],
)
def test_random_histories(tmp_path: Path, seed: int, options: dict[str, str]) -> None:
    rng, wanted = random.Random(seed), dict[int, int]()
    table = made(tmp_path, options)
    for step in range(5):
        calls = rng.choices(("upsert", "upsert", "delete", "replace"), k=rng.randint(1, 4))
        with table.transaction() as t:
            for number, call in enumerate(calls):
                keys = rng.sample(range(100), rng.randint(1, 40))
                wanted = called(t, call, keys, 10 * step + number, wanted)
                assert rows_of(t) == wanted, (step, calls[: number + 1])
            if "replace" not in calls:  # which takes away what others have written
                others = rng.sample(range(200, 300), 20)
                elsewhere(table.upsert, rows(others, step))
                wanted = wanted | dict.fromkeys(others, step)
        assert rows_of(table) == wanted, step
        if options["bucket"] == "-1":
            check_once(now(table))
    if options["bucket"] == "-1":
        table.alter(options={"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"})
        table.expire()
        assert len(index_files(tmp_path)) == len(indexed(now(table)))


def called(
    t: Any, what: str, keys: Sequence[int], value: int, wanted: dict[int, int]
) -> dict[int, int]:
    """The rows after a call of a transaction."""
    if what == "upsert":
        t.upsert(rows(keys, value))
        return wanted | dict.fromkeys(keys, value)
    if what == "delete":
        t.delete(where=f"k >= {keys[0]} AND k < {keys[0] + 10}")
        return {k: v for k, v in wanted.items() if not keys[0] <= k < keys[0] + 10}
    own = [k for k in keys if k % 2 == keys[0] % 2]
    t.overwrite(rows(own, value), where=f"p = {keys[0] % 2}")
    kept = {k: v for k, v in wanted.items() if k % 2 != keys[0] % 2}
    return kept | dict.fromkeys(own, value)


def test_a_key_that_another_job_put_into_another_bucket(tmp_path: Path) -> None:
    table = made(tmp_path, ONE_PART)
    table.upsert(rows(range(0, 6, 2), 0))
    before: set[str] = set()

    def two_calls() -> None:
        with table.transaction() as t:
            t.upsert(rows(range(0, 40, 2), 1))
            t.upsert(rows(range(40, 60, 2), 2))
            elsewhere(table.upsert, rows(range(100, 0, -2), 3))
            before.update(index_files(tmp_path))

    with pytest.raises(ConflictError, match="another job has assigned keys of p=0 to buckets"):
        two_calls()
    assert rows_of(table) == {0: 0} | dict.fromkeys(range(2, 101, 2), 3)
    check_once(now(table))
    assert index_files(tmp_path) < before


def test_another_attempt_has_the_keys_that_others_added(tmp_path: Path) -> None:
    """Two calls have added keys to one bucket, so that its index is made in two steps."""
    table = made(tmp_path, {**ONE_PART, "dynamic-bucket.target-row-num": "100"})
    table.upsert(rows([0], 0))
    given: list[CommitMessage] = []
    begun = now(table)
    with table.transaction() as t:
        for first in (2, 20):
            t.upsert(rows(range(first, first + 10, 2), 1))
        given = [*t._open.messages]
        spec = t._open._spec()
        indexes = JobIndexes(spec.hashes)
        first_base = begun.snapshots.latest()
        entries = indexed_after(begun, first_base, given, indexes, begun.live(), None)
        assert entries is not None
        assert [one.rows for one in entries] == [11]
        elsewhere(table.upsert, rows(range(40, 50, 2), 2))
        base = begun.snapshots.latest()
        assert base is not None
        live = begun.live(base.id)
        entries = indexed_after(begun, base, given, indexes, live, None)
        assert entries is not None
        assert [one.rows for one in entries] == [16]
    check_once(now(table))


def test_keys_across_partitions(tmp_path: Path, seed: int) -> None:
    rng, wanted = random.Random(seed), dict[int, tuple[int, int]]()
    table = made(tmp_path, DYNAMIC, "k")

    def places(of: Any) -> dict[int, tuple[int, int]]:
        found = of.scan().to_pylist()
        assert len({row["k"] for row in found}) == len(found)
        return {row["k"]: (row["p"], row["v"]) for row in found}

    for step in range(4):
        with table.transaction() as t:
            for call in range(rng.randint(1, 4)):
                given = {k: (rng.randint(0, 2), step) for k in rng.sample(range(60), 20)}
                if rng.random() < 0.7:
                    t.upsert([{"p": p, "k": k, "v": v} for k, (p, v) in given.items()])
                    wanted |= given
                else:
                    t.delete([{"k": k} for k in given])
                    wanted = {k: row for k, row in wanted.items() if k not in given}
                assert places(t) == wanted, (step, call)
            if rng.random() < 0.5:
                elsewhere(table.upsert, [{"p": 7, "k": k, "v": step} for k in range(100, 120)])
                wanted = wanted | dict.fromkeys(range(100, 120), (7, step))
        assert places(table) == wanted, step

    def meets_another() -> None:
        with table.transaction() as t:
            t.upsert([{"p": 0, "k": 500, "v": 0}])
            elsewhere(table.upsert, [{"p": 1, "k": 500, "v": 1}])

    with pytest.raises(ConflictError, match="put its keys into other buckets"):
        meets_another()
    assert places(table) == wanted | {500: (1, 1)}


def test_a_partition_that_gets_another_number_of_buckets(tmp_path: Path) -> None:
    table = made(tmp_path, {"bucket": "-2"})

    def meets_another() -> None:
        with table.transaction() as t:
            t.upsert(rows(range(9), 1))
            table_of_other = keyfold.connect(tmp_path).table("t")
            elsewhere(lambda: table_of_other.alter(options={"postpone.default-bucket-num": "2"}))
            elsewhere(table_of_other.upsert, rows(range(4), 2))

    with pytest.raises(ConflictError, match="a partition of 2 buckets by now, the job wrote 4"):
        meets_another()
    assert rows_of(table) == dict.fromkeys(range(4), 2)


def test_a_job_beside_a_transaction(tmp_path: Path) -> None:
    table = made(tmp_path, ONE_PART)
    job = Job(table, range(0, 20, 2), 1)
    with table.transaction() as t:
        t.upsert(rows(range(100, 110, 2), 2))
        t.upsert(rows(range(1, 20, 2), 3))
    job.commit()
    wanted = dict.fromkeys(range(0, 20, 2), 1) | dict.fromkeys(range(100, 110, 2), 2)
    assert rows_of(table) == wanted | dict.fromkeys(range(1, 20, 2), 3)
    check_once(now(table))
