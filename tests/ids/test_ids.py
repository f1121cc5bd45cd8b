"""The auto-increment column of tables from Python: who gets which id, and that it stays."""

import multiprocessing
import os
import shutil
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import NotSupportedError, Table, TableError
from keyfold.kernels.ops import DELETE, INSERT
from keyfold.write import jobs
from keyfold.write.writer import write

IDS = {"auto-increment.fields": "id", "bucket": "1"}
COLUMNS = {"k": "STRING", "id": "BIGINT", "v": "INT"}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "input": {"changelog-producer": "input"},
    "lookup": {"changelog-producer": "lookup"},
}


def table(folder: Path, name: str = "t", **options: str) -> Table:
    given = IDS | {name.replace("_", "-"): text for name, text in options.items()}
    catalog = keyfold.connect(folder, threads=1)
    return catalog.create_table(name, COLUMNS, ["k"], options=given)


def ids(of: Table) -> dict[str, int]:
    return {row["k"]: row["id"] for row in of.scan().to_pylist()}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_keeps_its_id(tmp_path: Path, engine: str) -> None:
    """New keys are numbered as they come; a key keeps its id whatever is written and compacted."""
    own = table(tmp_path, **{"write-only": "true"} | ENGINES[engine])
    own.upsert([{"k": "c"}, {"k": "a", "v": 1}, {"k": "c", "v": 2}])
    own.upsert([{"k": "b"}, {"k": "a", "v": 3}])
    assert ids(own) == {"c": 1, "a": 2, "b": 3}
    own.compact()
    own.upsert(pa.table({"k": ["d", "c", "b"], "v": [1, None, 5]}))
    own.overwrite([{"k": "a"}, {"k": "e"}, {"k": "d"}])
    assert ids(own) == {"a": 2, "e": 5, "d": 4}
    own.compact()
    assert ids(own) == {"a": 2, "e": 5, "d": 4}
    shown = own.changes(view="audit_log").to_arrow().to_pylist()
    assert {(row["k"], row["id"]) for row in shown} == {
        ("c", 1), ("a", 2), ("b", 3), ("d", 4), ("e", 5)
    }  # fmt: skip


def test_spilled_rows_have_one_id(tmp_path: Path) -> None:
    """Keys that come again after others were spilled, in data files and in the changelog."""
    own = table(tmp_path, **{"write-buffer-size": "1 mb", "changelog-producer": "input"})
    names = [f"k{number % 5000:05d}" for number in range(60000)]
    own.upsert(pa.table({"k": names, "v": list(range(60000))}))
    found = ids(own)
    assert len(found) == len(set(found.values())) == 5000
    for row in own.changes(view="audit_log").to_arrow().to_pylist():
        assert found[row["k"]] == row["id"]


def test_deleted_keys(tmp_path: Path) -> None:
    own = table(tmp_path)
    own.upsert([{"k": "a"}, {"k": "b"}])
    own.delete([{"k": "a"}])
    own.upsert([{"k": "x", "v": 1}], row_kind="-D")
    own.upsert([{"k": "a"}])
    assert ids(own) == {"b": 2, "a": 3}
    own.rollback(snapshot=1)
    own.upsert([{"k": "c"}])  # no number comes again
    assert ids(own) == {"a": 1, "b": 2, "c": 4}


def test_a_delete_of_named_columns_leaves_the_id(tmp_path: Path) -> None:
    """As in Fluss, whose rows of such a table stay: the id is a value that the -D does not name."""
    own = table(tmp_path)
    schema = pa.schema({"k": pa.string(), "v": pa.int32(), "_VALUE_KIND": pa.int8()})
    for kind, value in ((INSERT, 1), (DELETE, None), (INSERT, 2)):
        handle = own._load()
        told = {"target-columns": "k,v"}
        spec = jobs.plan_job(handle, ("k", "v"), options=told, kinds=True)
        rows = pa.record_batch([["a", "b"], [value] * 2, [kind] * 2], schema=schema)
        with own._session.working():
            messages = write(spec, [rows.slice(kind == DELETE)], jobs.task_lookups(handle, spec))
            jobs.publish(handle, spec, messages)
        found = {row["k"]: (row["id"], row["v"]) for row in own.scan().to_pylist()}
        assert found == {"a": (1, value or 1), "b": (2, value)}
    own.delete([{"k": "b"}])
    assert ids(own) == {"a": 1}


def test_nobody_writes_ids(tmp_path: Path) -> None:
    words = "Explicitly specifying values for the auto increment column id is not allowed"
    for number, engine in enumerate(("deduplicate", "partial-update")):
        own = table(tmp_path, f"t{number}", **ENGINES[engine])
        for data in ([{"k": "a", "id": 1}], pa.table({"k": ["a"], "ID": [1]})):
            with pytest.raises(TableError, match=words):
                own.upsert(data)
        assert own.scan().to_pylist() == []


@pytest.mark.parametrize(
    ("options", "columns", "words"),
    [
        ({"auto-increment.fields": "id,v"}, {}, "Multiple auto increment columns"),
        ({"auto-increment.fields": "x"}, {}, "'x' can not be found"),
        ({}, {"id": "SMALLINT"}, "must be INT or BIGINT, column id is SMALLINT"),
        ({"auto-increment.fields": "k"}, {"k": "BIGINT"}, "can not be used as the primary key"),
        ({}, {"id": "BIGINT NOT NULL"}, "leave NOT NULL out"),
        ({"sequence.field": "id"}, {}, "is in sequence.field too"),
        (
            {"merge-engine": "aggregation", "fields.id.aggregate-function": "sum"},
            {},
            "function sum of column id makes other values",
        ),
        (
            {"merge-engine": "partial-update", "fields.v.sequence-group": "id"},
            {},
            "is in fields.v.sequence-group",
        ),
        ({"table.auto-increment.cache-size": "0"}, {}, "table.auto-increment.cache-size"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, options: dict[str, str], columns: dict[str, str], words: str
) -> None:
    catalog = keyfold.connect(tmp_path)
    with pytest.raises((TableError, NotSupportedError), match=words):
        catalog.create_table("t", COLUMNS | columns, ["k"], options=IDS | options)


def test_options_stay(tmp_path: Path) -> None:
    own = table(tmp_path, **{"table.auto-inc.batch-size": "7"})
    for name in ("auto-increment.fields", "table.auto-increment.cache-size"):
        with pytest.raises(TableError, match=name):
            own.alter(options={name: "9"})
    with pytest.raises(NotSupportedError, match=r"auto-increment\.fields"):
        own.alter(drop=["id"])
    own.upsert([{"k": "a"}])
    own.alter(rename={"id": "number"})
    own.upsert([{"k": "b"}])
    assert sorted(row["number"] for row in own.scan().to_pylist()) == [1, 2]


def test_a_table_whose_numbers_are_lost(tmp_path: Path) -> None:
    """As in a copy of its data files alone: new numbers are above those that are stored."""
    own = table(tmp_path)
    own.upsert([{"k": "a"}, {"k": "b"}])
    (folder,) = tmp_path.glob("**/auto-increment")
    shutil.rmtree(folder)
    own.upsert([{"k": "c"}, {"k": "a"}])
    assert ids(own) == {"a": 1, "b": 2, "c": 3}


def test_orphan_removal_leaves_the_numbers(tmp_path: Path) -> None:
    own = table(tmp_path)
    own.upsert([{"k": "a"}])
    (folder,) = tmp_path.glob("**/auto-increment")
    for file in (*folder.rglob("*"),):
        os.utime(file, (0, 0))
    own.remove_orphans()
    own.upsert([{"k": "b"}])
    assert ids(own) == {"a": 1, "b": 2}


def test_insert_if_not_there(tmp_path: Path) -> None:
    """Rows that are there stay as they are, under every engine."""
    for number, engine in enumerate(("deduplicate", "partial-update", "aggregation")):
        own = table(tmp_path, f"t{number}", **ENGINES[engine])
        own.upsert([{"k": "a", "v": 7}])
        assert own.get_or_insert({"k": "a"}) == {"k": "a", "id": 1, "v": 7}
        assert own.get_or_insert({"k": "b"}, ["id"]) == {"id": 2}
        asked = pa.table({"k": ["c", "a", "c", "d"]})
        found = own.get_or_insert_many(asked, ["k", "id", "v"]).to_pylist()
        assert [tuple(row.values()) for row in found] == [
            ("c", 3, None), ("a", 1, 7), ("c", 3, None), ("d", 4, None)
        ]  # fmt: skip
        before = own.scan().snapshot
        own.get_or_insert_many([{"k": "d"}, {"k": "b"}])
        assert own.scan().snapshot == before  # nothing to insert
        assert all("keyfold" not in file.name for file in tmp_path.glob("**/data-*"))


def test_insert_if_not_there_needs_no_ids(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path, threads=1)
    own = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    own.upsert([{"k": 1, "v": 5}])
    found = own.get_or_insert_many([{"k": 2}, {"k": 1}]).to_pylist()
    assert found == [{"k": 2, "v": None}, {"k": 1, "v": 5}]
    summed = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    own = catalog.create_table("d", {"k": "INT", "v": "INT DEFAULT 5"}, ["k"], options=summed)
    found = own.get_or_insert_many([{"k": 1}, {"k": 2}, {"k": 1}]).to_pylist()
    assert found == [{"k": 1, "v": 5}, {"k": 2, "v": 5}, {"k": 1, "v": 5}]
    strict = catalog.create_table("s", {"k": "INT", "d": "STRING NOT NULL"}, ["k"])
    with pytest.raises(TableError, match=r"auto increment columns: \[d\]"):
        strict.get_or_insert({"k": 1})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("only_new", [False, True])
def test_the_first_commit_is_right(tmp_path: Path, engine: str, only_new: bool) -> None:
    """A job meets a new key that another one has written since it looked."""
    own = table(tmp_path, **{"write-only": "true"} | ENGINES[engine])
    own.upsert([{"k": "x"}])
    handle = own._load()
    spec = jobs.plan_job(handle, ("k", "v"), only_new=only_new)
    schema = pa.schema({"k": pa.string(), "v": pa.int32()})
    rows = pa.record_batch([["a", "b", "x"], [1, 2, 3]], schema=schema)
    with own._session.working():
        messages = write(spec, [rows], jobs.task_lookups(handle, spec))
        own.upsert([{"k": "c"}, {"k": "b", "v": 9}])
        own.upsert([{"k": "d"}])
        own.compact()
        jobs.publish(own._load(), spec, messages)
    found = {row["k"]: (row["id"], row["v"]) for row in own.scan().to_pylist()}
    assert {name: number for name, (number, _) in found.items()} == {
        "x": 1, "a": 2, "c": 4, "b": 5, "d": 6
    }  # fmt: skip
    assert (found["b"][1] == 9) is (only_new or engine == "first-row")
    assert (found["x"][1] is None) is (only_new or engine == "first-row")
    own.compact()  # which writes what a producer has not shown yet
    shown = {(row["k"], row["id"]) for row in own.changes().to_arrow().to_pylist()}
    assert shown == {(name, number) for name, (number, _) in found.items()}


def asked(own: Table, seed: int) -> dict[str, int]:
    """The ids that one process is given, of keys that all ask for and keys of its own."""
    random, found = Random(seed), dict[str, int]()
    for turn in range(6):
        names = [f"all{random.randrange(turn * 10, 90)}" for _ in range(30)] + [f"{seed}-{turn}"]
        if turn % 3 == 2:  # an INSERT of the same keys, which has to keep them too
            own.upsert([{"k": name, "v": seed} for name in names])
        rows = own.get_or_insert_many([{"k": name} for name in names], ["k", "id"]).to_pylist()
        for row in rows:
            assert found.setdefault(row["k"], row["id"]) == row["id"]
    return found


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_processes_agree(tmp_path: Path, engine: str) -> None:
    """All processes are given one id for a key, and each id is of one key, whoever is killed."""
    more = {"bucket": "2", "table.auto-increment.cache-size": "3", "commit.min-retry-wait": "1 ms"}
    own = table(tmp_path, **ENGINES[engine] | more)
    victim = multiprocessing.get_context("fork").Process(target=asked, args=(own, 90))
    victim.start()
    timer = threading.Timer(1.0, victim.kill)
    timer.start()
    with ProcessPoolExecutor(4, multiprocessing.get_context("fork")) as pool:
        found = list(pool.map(asked, [own] * 4, range(4)))
    victim.join()
    timer.cancel()
    assert victim.exitcode in (0, -signal.SIGKILL)
    stored = ids(own)
    for given in found:
        assert given.items() <= stored.items()
    assert len(set(stored.values())) == len(stored)
    shown: dict[str, set[Any]] = {}
    for row in own.changes().to_arrow().to_pylist():
        shown.setdefault(row["k"], set()).add(row["id"])
    assert {name: {number} for name, number in stored.items()} == shown
