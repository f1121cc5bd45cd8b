"""Rows that wait for their buckets (`postpone.merge-on-read`): scans show them as if they had come
last. A table with one bucket into which the same jobs went, in that order, says what is right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import NotSupportedError, Table
from keyfold.merge.plan import plan_merge
from keyfold.options.unparsed import TO_BUCKETS
from keyfold.read.waiting import waiting_records
from keyfold.resources import budget
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.waiting_files import waiting
from keyfold.streams.batches import Shown, following
from keyfold.streams.offsets import offset_at
from tests.option_names import option_names

COLUMNS = {"p": "INT", "k": "BIGINT", "v": "BIGINT", "w": "STRING"}
MERGED = {"bucket": "-2", "postpone.merge-on-read": "true"}
ENGINES: tuple[dict[str, str], ...] = (
    {},
    {"sequence__field": "v"},
    {"merge_engine": "partial-update"},
    {"merge_engine": "partial-update", "fields__v__sequence_group": "w"},
    {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"},
    {"merge_engine": "first-row"},
)
STARTS = ("seen", "late")
Row = dict[str, Any]
Job = tuple[str, list[Row]]


def made(folder: Path, name: str, options: dict[str, str]) -> Table:
    """A table of two partitions."""
    catalog = keyfold.connect(folder, threads=2)
    return catalog.create_table(name, COLUMNS, ["p", "k"], ["p"], options)


def job_of(rng: random.Random, step: int, engine: dict[str, str]) -> Job:
    """The rows of some keys, with their kind; some name only a part of the columns."""
    keys = rng.sample(range(60), rng.randint(1, 30))
    takes_deletes = engine.get("merge_engine") in (None, "aggregation")
    kind = "-D" if takes_deletes and rng.random() < 0.2 else "+I"
    names = list(COLUMNS)
    if engine.get("merge_engine") == "partial-update" and rng.random() < 0.5:
        names.remove(rng.choice("vw"))
    values = {"v": rng.randint(0, 99), "w": rng.choice("abcdef")}
    rows = [{"p": k % 2, "k": k, "v": values["v"] + k, "w": f"{values['w']}{step}"} for k in keys]
    return kind, [{name: row[name] for name in names} for row in rows]


def write(table: Table, job: Job) -> None:
    """Carry out a job."""
    kind, rows = job
    table.upsert(pa.Table.from_pylist(rows), row_kind=kind)


def ordered(found: Sequence[Row]) -> list[Row]:
    """Rows by their keys, each of which is there once."""
    assert len({row["k"] for row in found}) == len(found)
    return sorted(found, key=lambda row: row["k"])


def check_scans(table: Table, wanted: list[Row], why: Any) -> None:
    """Scans of every kind show the rows, and look-ups of keys find them."""
    assert ordered(table.scan().to_pylist()) == wanted, why
    assert table.scan().count() == len(wanted), why
    alone = ordered(table.scan(["k", "w"]).to_pylist())
    assert alone == [{"k": row["k"], "w": row["w"]} for row in wanted], why
    some = [row for row in wanted if row["p"] == 1 and row["k"] < 20]
    assert ordered(table.scan(where="p = 1 AND k < 20").to_pylist()) == some, why
    for one in wanted[:1]:
        asked = f"p = {one['p']} AND k = {one['k']}"
        assert table.scan(where=asked).to_pylist() == [one], why
        value = "v IS NULL" if one["v"] is None else f"v = {one['v']}"
        like = [row for row in wanted if row["v"] == one["v"]]
        assert ordered(table.scan(where=value).to_pylist()) == like, why
    assert len(table.scan(limit=3).to_pylist()) == min(3, len(wanted)), why
    third = table.get_many([{"p": k % 2, "k": k} for k in range(0, 60, 3)]).to_pylist()
    looked_up = [row for row in third if row["k"] is not None]
    assert looked_up == [row for row in wanted if row["k"] % 3 == 0], why
    odd = ordered(table.prefix({"p": 1}, ["k", "v"]).to_pylist())
    assert odd == [{"k": row["k"], "v": row["v"]} for row in wanted if row["p"] == 1], why


@pytest.mark.parametrize("engine", ENGINES, ids=lambda found: " ".join(found.values()) or "keep")
def test_random_histories(tmp_path: Path, seed: int, engine: dict[str, str]) -> None:
    rng, options = random.Random(f"{seed} {engine}"), option_names(engine)
    table = made(tmp_path, "t", options | MERGED | {"postpone.default-bucket-num": "3"})
    definition = made(tmp_path, "definition", options | {"bucket": "1"})
    seen, late = list[Job](), list[Job]()
    for step in range(6):
        what = rng.choice(("seen", "late", "late", "compact")) if step > 1 else STARTS[step]
        if what == "compact" and late:
            table.compact(strategy=rng.choice(("minor", "full")))
            seen, late = [*seen, *late], []
        else:
            job = job_of(rng, step, engine)
            table.alter(options={TO_BUCKETS.name: str(what == "seen").lower()})
            write(table, job)
            (seen if what == "seen" else late).append(job)
        if step % 2:
            definition.truncate()
            for one in (*seen, *late):
                write(definition, one)
            wanted = ordered(definition.scan().to_pylist())
            check_scans(table, wanted, (seed, engine, step, seen, late))
    table.compact()
    assert ordered(table.scan().to_pylist()) == wanted


def files_that_wait(table: Table) -> list[LiveFile]:
    """The files of rows without buckets."""
    return waiting(table._load())


def test_large_partitions_are_cut(tmp_path: Path) -> None:
    """Each range of keys merges what waits there."""
    options = {"source.split.target-size": "10 kb", "source.split.open-file-cost": "1 b"}
    options |= {"keyfold.row-group.rows": "1024", "postpone.default-bucket-num": "2"}
    table = made(tmp_path, "t", MERGED | options | {TO_BUCKETS.name: "false"})
    for value in (1, 2):
        late = range(5990, 10, -7 * value)  # in no order that is that of the keys
        table.upsert([{"p": 0, "k": k, "v": value, "w": "late"} for k in late])
    table.upsert([{"p": 1, "k": 1, "v": 1, "w": "alone"}])
    table.alter(options={TO_BUCKETS.name: "true"})
    table.upsert([{"p": 0, "k": k, "v": k * k % 9973, "w": f"{k * k}"} for k in range(6000)])
    wanted = {k: k * k % 9973 for k in range(6000)}
    for value in (1, 2):
        wanted |= dict.fromkeys(range(5990, 10, -7 * value), value)
    scan = table.scan(where="p = 0")
    told = scan.explain()
    assert told["tasks"] > 4
    assert (told["files"], told["files_skipped"]) == (4, 0)
    assert {row["k"]: row["v"] for row in ordered(scan.to_pylist())} == wanted
    assert scan.count() == 6000
    assert table.scan(where="p = 1").to_pylist() == [{"p": 1, "k": 1, "v": 1, "w": "alone"}]


def test_records_that_do_not_fit_into_memory(tmp_path: Path) -> None:
    table = made(tmp_path, "t", MERGED)
    layout = table._load().layout
    merge = plan_merge(layout, ("k", "v"))
    batches = [
        pa.record_batch({"k": pa.array(range(n % 5, 40_000, 5)), "v": pa.array([n] * 8000)})
        for n in range(30)
    ]
    with budget.limited(0):
        runs = waiting_records.sorted_runs(merge, batches, 7, None)
    assert len(runs) > 3
    numbers = [7 + 8000 * part for part in (0, *(run.sequence[1] // 8000 for run in runs))]
    assert [run.sequence for run in runs] == [(n, end - 1) for n, end in pairwise(numbers)]
    found = [batch for run in runs for batch in run.batches]
    for batch in found:
        keys = batch.column("k").to_pylist()
        assert keys == sorted(keys)
    assert sum(batch.num_rows for batch in found) == 30 * 8000
    values = [row["v"] for batch in found for row in batch.to_pylist() if row["k"] == 3]
    assert values == list(range(3, 30, 5))  # a key's in the order in which they came


def test_refusals(tmp_path: Path) -> None:
    table = made(tmp_path, "t", MERGED | {TO_BUCKETS.name: "false"})
    table.upsert([{"p": 1, "k": 1, "v": 1, "w": "a"}])
    table.alter(options={TO_BUCKETS.name: "true"})
    found = table.scan().to_pylist()
    assert found == [{"p": 1, "k": 1, "v": 1, "w": "a"}]
    match = "rows wait for their buckets"
    key = {"p": 1, "k": 1}
    assert table.get(key) == table.get_or_insert(key) == found[0]
    assert table.get({"p": 1, "k": 3}) is None
    for call in (
        lambda: table.update("k = 1", {"v": 5}),
        lambda: table.delete([key]),
        lambda: table.get_or_insert({"p": 1, "k": 3}),
    ):
        with pytest.raises(NotSupportedError, match=match):
            call()
    with pytest.raises(NotSupportedError, match=r"changes of table .* is 'true'"):
        table.changes(0).to_arrow()
    loaded = table._load()
    with pytest.raises(NotSupportedError, match=r"streaming table .* is 'true'"):
        following(loaded, offset_at(loaded, 0), Shown("rows"), {})
    assert len(files_that_wait(table)) == 1
    table.compact()
    assert table.get(key) == found[0]
    table.update("k = 1", {"v": 5})
    assert table.scan().to_pylist() == [{**found[0], "v": 5}]


def test_reads_of_the_highest_level_leave_them_out(tmp_path: Path) -> None:
    table = made(tmp_path, "t", MERGED | {TO_BUCKETS.name: "false"})
    table.upsert([{"p": 1, "k": 1, "v": 1, "w": "a"}])
    assert table.scan(options={"read-optimized": "true"}).to_pylist() == []
    first = table.scan().snapshot
    table.upsert([{"p": 1, "k": 1, "v": 2, "w": "b"}])
    assert [row["v"] for row in table.scan().to_pylist()] == [2]
    assert [row["v"] for row in table.scan(snapshot=first).to_pylist()] == [1]
    table.alter(options={"postpone.merge-on-read": "false"})
    assert table.scan().to_pylist() == []
