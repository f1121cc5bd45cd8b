"""Keys that are one across partitions: each is in one partition at a time, whoever writes it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyfold
from keyfold import NotSupportedError, Table
from keyfold.errors import ConflictError
from keyfold.storage import table as storage
from keyfold.wire.specs import CommitMessage, WriteSpec
from keyfold.write import jobs
from keyfold.write.keys import across_partitions
from keyfold.write.writer import write

COLUMNS = {"p": "INT", "k": "BIGINT", "v": "BIGINT"}
SCHEMA = pa.schema([("p", pa.int32()), ("k", pa.int64()), ("v", pa.int64())])
Row = dict[str, Any]
Rows = dict[int, tuple[int | None, int | None]]  # partition and value by key


def made(folder: Path, engine: str = "deduplicate", **more: str) -> Table:
    """A table partitioned by p, whose key is k alone and whose buckets take 10 keys."""
    options = {"merge-engine": engine, "dynamic-bucket.target-row-num": "10"} | more
    if engine == "aggregation":
        options["fields.v.aggregate-function"] = "sum"
    return keyfold.connect(folder, threads=2).create_table("t", COLUMNS, ["k"], ["p"], options)


def row(p: int | None, k: int, v: int | None) -> Row:
    """A row of the table."""
    return {"p": p, "k": k, "v": v}


def rows_of(table: Table) -> Rows:
    """The rows by key; fails if a key is there twice."""
    found = table.scan().to_pylist()
    assert len({one["k"] for one in found}) == len(found)
    return {one["k"]: (one["p"], one["v"]) for one in found}


def now(table: Table) -> storage.Table:
    """The table as storage has it."""
    return table._load()


class Job:
    """A write that is planned and written, and committed later."""

    def __init__(self, table: Table, rows: Sequence[Row]) -> None:
        self.table, loaded = table, now(table)
        self.spec: WriteSpec = jobs.plan_job(loaded, tuple(COLUMNS))
        plans = jobs.task_lookups(loaded, self.spec)
        batch = pa.RecordBatch.from_pylist(list(rows), SCHEMA)
        self.messages: list[CommitMessage] = write(self.spec, [batch], plans)

    def commit(self) -> None:
        """Publish it, or leave nothing behind."""
        try:
            jobs.publish(now(self.table), self.spec, self.messages)
        except BaseException:
            jobs.abandon(now(self.table), self.spec, self.messages)
            raise


def written(engine: str, stored: Rows, given: Sequence[Row]) -> Rows:
    """The definition: rows are written one after the other."""
    found = dict(stored)
    for one in given:
        key, before = one["k"], found.get(one["k"])
        if engine == "deduplicate" or before is None:
            found[key] = one["p"], one["v"]
        elif engine == "partial-update":
            found[key] = before[0], before[1] if one["v"] is None else one["v"]
        elif engine == "aggregation":
            found[key] = before[0], (before[1] or 0) + (one["v"] or 0)
    return found


def changed(table: Table, draw: random.Random, stored: Rows, step: int) -> Rows:
    """The rows after one random change of the table."""
    engine, what = table.options["merge-engine"], draw.randrange(8)
    low = draw.randrange(60)
    inside = {k for k in stored if low <= k < low + 15}
    if what < 4:
        keys = [draw.randrange(80) for _ in range(draw.randint(1, 50))]
        given = [row(draw.choice((1, 2, 3, None)), k, draw.choice((k, step))) for k in keys]
        table.upsert(given)
        return written(engine, stored, given)
    if what == 4:
        table.delete(where=f"k >= {low} AND k < {low + 15}")
        return {k: v for k, v in stored.items() if k not in inside}
    if what == 5:
        table.delete([{"k": k} for k in range(low, low + 15)])
        return {k: v for k, v in stored.items() if k not in inside}
    if what == 6:
        values = draw.choice(({"p": step % 4}, {"v": step}, {"p": 2, "v": 7}))
        table.update(f"k >= {low} AND k < {low + 15}", values)
        return stored | {
            k: (values.get("p", stored[k][0]), values.get("v", stored[k][1])) for k in inside
        }
    table.compact("full" if draw.random() < 0.5 else "minor")
    return stored


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
def test_random_histories(tmp_path: Path, engine: str, seed: int) -> None:
    draw = random.Random(seed)
    for history in range(2):
        table, wanted = made(tmp_path / str(history), engine), Rows()
        for step in range(9):
            wanted = changed(table, draw, wanted, step)
            assert rows_of(table) == wanted, (history, step)
        table.compact("full")
        assert rows_of(table) == wanted


def test_a_key_with_one_of_two_partition_columns(tmp_path: Path) -> None:
    columns = {"a": "STRING", "b": "INT", "k": "INT", "v": "INT"}
    table = keyfold.connect(tmp_path).create_table("t", columns, ["a", "k"], ["a", "b"])
    table.upsert([{"a": a, "b": 1, "k": k, "v": 0} for a in "xy" for k in range(5)])
    table.upsert([{"a": "x", "b": 2, "k": k, "v": 1} for k in range(3)])
    found = {(r["a"], r["k"]): (r["b"], r["v"]) for r in table.scan().to_pylist()}
    assert found == {(a, k): (1, 0) for a in "xy" for k in range(5)} | {
        ("x", k): (2, 1) for k in range(3)
    }
    assert table.scan().to_arrow().num_rows == 10
    assert table.get({"a": "y", "k": 1})["b"] == 1
    assert table.get({"a": "x", "k": 1})["b"] == 2


def test_rows_that_are_spilled_and_sent_on_in_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(across_partitions, "MOST_KEYS", 700)
    table = made(tmp_path, **{"write-buffer-size": "64 kb", "dynamic-bucket.target-row-num": "900"})
    draw, wanted = random.Random(7), Rows()
    for step in range(3):
        given = [row(draw.randrange(4), draw.randrange(9000), step) for _ in range(9000)]
        table.upsert(pa.Table.from_pylist(given, SCHEMA).to_reader(max_chunksize=1000))
        wanted = written("deduplicate", wanted, given)
        assert rows_of(table) == wanted


def test_new_keys_go_to_buckets_with_room(tmp_path: Path) -> None:
    table = made(tmp_path, **{"dynamic-bucket.assigner-parallelism": "2"})
    for first in range(0, 200, 50):
        table.upsert([row(1, k, 0) for k in range(first, first + 50)])
    table.upsert([row(2, k, 0) for k in range(30)])
    keys: dict[tuple[Any, int], set[int]] = {}
    for file in now(table).live_files():
        path = f"{file.folder(now(table).layout)}/{file.name}"
        of_file = pq.read_table(path)["k"].to_pylist()
        keys.setdefault((file.partition, file.bucket), set()).update(of_file)
    assert max(map(len, keys.values())) == 10
    assert len(keys) >= 20


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_two_jobs_with_one_new_key(tmp_path: Path, engine: str) -> None:
    table = made(tmp_path, engine)
    table.upsert([row(1, 0, 0)])
    first, second = Job(table, [row(1, 5, 1)]), Job(table, [row(2, 5, 2), row(2, 6, 2)])
    apart, alike = Job(table, [row(3, 7, 3)]), Job(table, [row(1, 5, 4)])
    first.commit()
    with pytest.raises(ConflictError, match="put its keys into other buckets"):
        second.commit()
    apart.commit()
    alike.commit()
    assert rows_of(table) == {0: (1, 0), 5: (1, 4), 7: (3, 3)}
    live = {file.name for file in now(table).live_files()}
    assert {path.name for path in tmp_path.rglob("*.parquet")} == live


def test_two_jobs_that_move_one_key(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert([row(1, k, 0) for k in range(4)])
    jobs_ = [Job(table, [row(2, 1, 1)]), Job(table, [row(3, 1, 2)]), Job(table, [row(1, 1, 3)])]
    beside = Job(table, [row(2, 2, 4)])
    jobs_[0].commit()
    table.compact("full")  # whose files hold the key, and are not another job's
    for late in jobs_[1:]:
        with pytest.raises(ConflictError, match="put its keys into other buckets"):
            late.commit()
    beside.commit()
    assert rows_of(table) == {0: (1, 0), 1: (2, 1), 2: (2, 4), 3: (1, 0)}


def test_two_jobs_in_an_empty_table(tmp_path: Path) -> None:
    table = made(tmp_path)
    first, second = Job(table, [row(1, 5, 1)]), Job(table, [row(2, 5, 2)])
    first.commit()
    with pytest.raises(ConflictError, match="put its keys into other buckets"):
        second.commit()
    assert rows_of(table) == {5: (1, 1)}


def test_the_first_partition_of_a_new_key_that_folds(tmp_path: Path) -> None:
    table = made(tmp_path, "aggregation", **{"fields.default-aggregate-function": "sum"})
    table.upsert([row(3, 1, 5), row(7, 1, 6), row(9, 2, 1)])
    table.upsert([row(8, 1, 1)])
    assert rows_of(table) == {1: (3, 12), 2: (9, 1)}
    table.compact("full")
    assert rows_of(table) == {1: (3, 12), 2: (9, 1)}


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_the_first_partition_of_rows_that_are_spilled(tmp_path: Path, engine: str) -> None:
    table = made(tmp_path, engine, **{"write-buffer-size": "64 kb"})
    keys = np.tile(np.arange(5000), 50)  # each is in most of the runs
    turns = np.repeat(np.arange(50), 5000)
    columns = ((turns + keys) % 4).astype(np.int32), keys, turns
    given = pa.table([pa.array(column) for column in columns], schema=SCHEMA)
    table.upsert(given.to_reader(max_chunksize=5000))
    total = 49 if engine == "partial-update" else 1225
    assert rows_of(table) == {k: (k % 4, total) for k in range(5000)}


def test_an_overwrite_replaces_all(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.upsert([row(1, k, 0) for k in range(20)])
    table.overwrite([row(2, 3, 1), row(1, 4, 1), row(3, 4, 2)])
    assert rows_of(table) == {3: (2, 1), 4: (3, 2)}
    for how in ({"where": "p = 1"}, {"dynamic": True}):
        with pytest.raises(NotSupportedError, match=r"of partitions in table .* one across"):
            table.overwrite([row(1, 3, 9)], **how)
    table.delete(where="p = 3")
    assert rows_of(table) == {3: (2, 1)}


def test_retractions_go_where_the_key_is(tmp_path: Path) -> None:
    table = made(tmp_path, "aggregation")
    table.upsert([row(1, 1, 5), row(1, 2, 5)])
    table.upsert([row(2, 1, 2)], row_kind="-U")
    assert rows_of(table) == {1: (1, 3), 2: (1, 5)}
    kept = made(tmp_path / "last")
    kept.upsert([row(1, 1, 5), row(1, 2, 5)])
    kept.upsert([row(2, 1, 5), row(2, 9, 5)], row_kind="-D")
    assert rows_of(kept) == {2: (1, 5)}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bucket": "4"}, "its option bucket is '4'; expected -1"),
        ({"ignore-delete": "true"}, "option ignore-delete is 'true'"),
        ({"keyfold.partial-insert": "true"}, "option keyfold.partial-insert is"),
        ({"changelog-producer": "input"}, "option changelog-producer is 'input'"),
        ({"auto-increment.fields": "v"}, "option auto-increment.fields is 'v'"),
    ],
)
def test_options_that_are_refused(tmp_path: Path, options: Mapping[str, str], words: str) -> None:
    with pytest.raises(NotSupportedError, match=rf"\(k\) lacks partition column p.*{words}"):
        made(tmp_path, **options)
