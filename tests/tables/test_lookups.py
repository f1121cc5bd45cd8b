"""Look-ups by a connection that keeps what it has read: exact at every moment, in bounds."""

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import CorruptDataError, NoSuchTableError, Table, TableError
from keyfold.tables.newest import Lookups

Row = dict[str, Any]
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "s"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
}
COLUMNS = {"a": "STRING", "b": "INT", "v": "BIGINT", "s": "INT", "t": "STRING"}
COMMITS = 12
NAMES = ("a", "b")
SMALL = {"bucket": "2", "bucket-key": "a", "keyfold.row-group.rows": "1024", "write-only": "true"}


def drawn(random: Random, count: int) -> Row:
    return {"a": f"a{random.randrange(8)}", "b": random.randrange(count)}


def compared(table: Table, random: Random, count: int) -> None:
    """All forms of look-ups give what a scan gives."""
    rows = table.scan().to_pylist()
    model = {tuple(row[n] for n in NAMES): row for row in rows}
    asked = [drawn(random, count) for _ in range(20)]
    wanted = [model.get(tuple(key.values())) for key in asked]
    assert [table.get(key) for key in asked] == wanted
    nothing = dict.fromkeys(table.columns)
    together = table.get_many(asked)
    assert together.to_pylist() == [row or nothing for row in wanted]
    assert pa.concat_tables([table.get_many([key]) for key in asked]) == together
    name = asked[0]["a"]
    found = sorted(table.prefix({"a": name}).to_pylist(), key=lambda row: row["b"])
    assert found == sorted((r for r in rows if r["a"] == name), key=lambda row: row["b"])


@pytest.mark.parametrize("engine", list(ENGINES))
def test_every_engine_through_a_history(tmp_path: Path, seed: int, engine: str) -> None:
    """One connection keeps row groups while another one changes the table in every way."""
    random, count = Random(seed), 300
    options = SMALL | ENGINES[engine]
    catalog = keyfold.connect(tmp_path, threads=2, lookup_memory=random.choice((1 << 16, 1 << 24)))
    table = catalog.create_table("t", COLUMNS, list(NAMES), options=options)
    writer = keyfold.connect(tmp_path, threads=1).table("t")

    def upsert() -> None:
        names = ["v", "s", "t"]
        if "merge-engine" in options and random.random() < 0.5 and engine != "first-row":
            names = random.sample(names, 2)
        values = {"v": random.randrange(9), "s": random.randrange(5), "t": f"t{random.random()}"}
        rows = [drawn(random, count) for _ in range(random.randrange(1, 2 * count))]
        writer.upsert([row | {name: values[name] for name in names} for row in rows])

    def delete() -> None:
        writer.delete([drawn(random, count) for _ in range(50)])

    steps: list[Callable[[], object]] = [
        upsert,
        upsert,
        delete if engine in ("deduplicate", "sequence", "aggregation") else upsert,
        lambda: writer.compact(random.choice(("full", "minor"))),
        lambda: writer.expire(retain_max=1, retain_min=1),
        lambda: writer.rollback(snapshot=max((writer.snapshot or 1) - 1, 1)),
    ]
    upsert()
    for _ in range(6):
        compared(table, random, count)
        step = random.choice(steps)
        if step is not steps[-1] or len(writer.snapshots()) > 1:
            step()
    writer.alter(add={"w": "INT"}, types={} if engine == "sequence" else {"s": "BIGINT"})
    compared(table, random, count)
    assert all(row["w"] is None for row in table.prefix({"a": "a1"}).to_pylist())
    writer.truncate()
    assert table.get({"a": "a1", "b": 1}) is None
    assert table.prefix({"a": "a1"}).num_rows == 0


def test_readers_see_what_was_committed_before_they_asked(tmp_path: Path) -> None:
    """Each commit sets all keys to its number. Meanwhile files are compacted and expire."""
    catalog = keyfold.connect(tmp_path, threads=1, lookup_memory=1 << 20)
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"], options={"bucket": "2"})
    count, age = 1_000, 50
    committed = begun = 0
    times: dict[int, float] = {}
    stop = threading.Event()

    def write() -> None:
        nonlocal committed, begun
        writer = keyfold.connect(tmp_path, threads=1).table("t")
        while not stop.is_set() and committed < COMMITS:
            begun += 1
            writer.upsert(pa.table({"k": range(count), "v": [begun] * count}))
            committed, times[begun] = begun, time.monotonic()
            if begun % 3 == 0:
                writer.compact()
                writer.expire(retain_max=1, retain_min=1)

    def oldest(moment: float) -> int:
        return max((n for n, at in list(times.items()) if at <= moment), default=0)

    def read(seed: int) -> int:
        random, asked = Random(seed), 0
        while not stop.is_set() and committed < COMMITS:
            key, refresh = {"k": random.randrange(count)}, random.choice((0, age))
            start = time.monotonic()
            least = committed if not refresh else oldest(start - age / 1000)
            form = random.randrange(3)
            if form == 0:
                row = table.get(key, refresh_ms=refresh)
                found = {row["v"]} if row else set()
            else:
                keys = pa.table({"k": random.sample(range(count), 50)})
                many = table.get_many(keys, ["v"], refresh_ms=refresh)
                found = {*many.column("v").to_pylist()}
            assert len(found) == 1  # of one snapshot
            assert least <= found.pop() <= begun
            asked += 1
        return asked

    table.upsert(pa.table({"k": range(count), "v": [0] * count}))
    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, seed) for seed in range(3)]
        writing = pool.submit(write)
        try:
            writing.result()
            assert all(reader.result() > 10 for reader in readers)
        finally:
            stop.set()


def test_an_answer_may_be_as_old_as_asked_for(tmp_path: Path) -> None:
    others = keyfold.connect(tmp_path).create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    others.upsert([{"k": 1, "v": 1}])
    table = keyfold.connect(tmp_path).table("t")
    assert table.get({"k": 1}, refresh_ms=3_600_000) == {"k": 1, "v": 1}
    others.upsert([{"k": 1, "v": 2}])
    assert table.get({"k": 1}, refresh_ms=3_600_000) == {"k": 1, "v": 1}
    assert table.get({"k": 1}) == {"k": 1, "v": 2}
    assert table.prefix({"k": 1}, refresh_ms=3_600_000).to_pylist() == [{"k": 1, "v": 2}]
    with pytest.raises(TableError, match="refresh_ms is -1; expected 0 or more"):
        table.get({"k": 1}, refresh_ms=-1)


def test_a_connection_sees_its_own_changes_at_once(tmp_path: Path) -> None:
    """Whatever age of answers is asked for; other connections may see what was before."""
    catalog = keyfold.connect(tmp_path)
    table = catalog.create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    table.upsert([{"k": 1, "v": 1}, {"k": 2, "v": 1}])
    table.tags.create("first")
    other = keyfold.connect(tmp_path).table("t")

    def seen(of: keyfold.Table = table) -> list[int | None]:
        keys = pa.table({"k": [1, 2]})
        found: list[int | None] = of.get_many(keys, ["v"], refresh_ms=3_600_000)["v"].to_pylist()
        row = of.get({"k": 1}, refresh_ms=3_600_000)
        assert found[0] == (row and row["v"])
        assert of.prefix({"k": 2}, refresh_ms=3_600_000)["v"].to_pylist() == [
            value for value in found[1:] if value is not None
        ]
        return found

    assert seen() == seen(other) == [1, 1]
    table.upsert([{"k": 1, "v": 2}])
    assert seen() == [2, 1]
    catalog.table("t").delete([{"k": 2}])  # another handle of the connection
    assert seen() == [2, None]
    table.delete(where="v = 2")
    assert seen() == [None, None]
    table.overwrite([{"k": 2, "v": 3}])
    assert seen() == [None, 3]
    table.truncate()
    assert seen() == [None, None]
    table.rollback(tag="first")
    assert seen() == seen(other) == [1, 1]
    table.branches.create("more", "first").upsert([{"k": 1, "v": 9}])
    table.branches.fast_forward("more")
    assert seen() == [9, 1]
    table.alter(add={"w": "INT"})
    assert table.get({"k": 2}, refresh_ms=3_600_000) == {"k": 2, "v": 1, "w": None}
    catalog.drop_table("t")
    with pytest.raises(NoSuchTableError):
        seen()
    assert seen(other) == [1, 1]


def test_only_what_changed_is_read_anew(tmp_path: Path) -> None:
    """The files of rows that were looked up before are gone, and their keys are found."""
    options = {"bucket": "1", "write-only": "true"}
    table = keyfold.connect(tmp_path).create_table(
        "t", {"k": "INT", "v": "INT"}, ["k"], (), options
    )
    table.upsert([{"k": k, "v": k} for k in range(1000)])
    assert table.get({"k": 5}) == {"k": 5, "v": 5}
    for file in Path(table.location).glob("bucket-0/*"):
        file.unlink()
    table.upsert([{"k": 7, "v": -7}])
    assert [table.get({"k": k}) for k in (5, 7)] == [{"k": 5, "v": 5}, {"k": 7, "v": -7}]


def test_keys_name_their_columns_in_any_letter_case(tmp_path: Path) -> None:
    options = {"bucket": "1", "bucket-key": "a"}
    columns = {"a": "INT", "Big": "INT", "v": "INT"}
    table = keyfold.connect(tmp_path).create_table("t", columns, ["a", "Big"], options=options)
    row = {"a": 1, "Big": 2, "v": 3}
    table.upsert([row])
    assert table.get({"A": 1, "big": 2}) == row
    assert table.prefix({"A": 1}).to_pylist() == [row]


def test_runs_below_the_newest_record_are_not_searched(tmp_path: Path) -> None:
    """Where records replace one another, files of older ones may be gone."""
    catalog = keyfold.connect(tmp_path, threads=1)
    for engine, is_needed in (("deduplicate", False), ("sequence", True), ("aggregation", True)):
        options = SMALL | ENGINES[engine]
        table = catalog.create_table(engine, COLUMNS, list(NAMES), options=options)
        old: set[Path] = set()
        for v in range(3):
            old = set(tmp_path.glob(f"**/{engine}/**/*.parquet"))
            table.upsert([{"a": "a", "b": b, "v": v, "s": 1} for b in range(v, 5)])
        for path in old:
            path.unlink()
        key = {"a": "a", "b": 4}
        if is_needed:
            with pytest.raises(CorruptDataError, match="it is missing"):
                table.get(key)
        else:
            assert table.get(key, ["v"]) == {"v": 2}
            with pytest.raises(CorruptDataError, match="it is missing"):
                table.get({"a": "a", "b": 0})


@pytest.mark.parametrize("most", [1, 100_000, 1 << 30])
def test_memory_is_bounded(tmp_path: Path, most: int) -> None:
    catalog = keyfold.connect(tmp_path, lookup_memory=most)
    options = {"keyfold.row-group.rows": "1024", "bucket": "1"}
    table = catalog.create_table("t", {"k": "BIGINT", "v": "BIGINT"}, ["k"], options=options)
    table.upsert(pa.table({"k": range(20_000), "v": range(20_000)}))
    random = Random(most)
    for _ in range(100):
        key = random.randrange(20_000)
        assert table.get({"k": key}) == {"k": key, "v": key}
    found: Lookups = catalog._session.lookups
    kept = found._kept.cache.total
    assert kept <= max(most, 0)
    assert (kept > 250_000) == (most > 1 << 20)


def test_memory_below_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"lookup_memory of 0 bytes or more, found .*-1"):
        keyfold.connect(tmp_path, lookup_memory=-1)


def looked_up(table: Table) -> Row | None:
    return table.get({"k": 1})


def test_forked_processes_begin_with_nothing(tmp_path: Path) -> None:
    """A process is forked while threads of this one look keys up, and hold locks."""
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    table.upsert([{"k": 1, "v": 1}])
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            looked_up(table)

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                found = pool.map_async(looked_up, [table] * 4).get(timeout=60)
            assert found == [{"k": 1, "v": 1}] * 4
    finally:
        stop.set()
        for thread in threads:
            thread.join()
