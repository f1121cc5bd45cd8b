"""Older snapshots, tags, branches, rollback and changes."""

import itertools
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import Catalog, NotSupportedError, SnapshotExpiredError, Table, TableError
from keyfold.read.metadata import ALL

COLUMNS = {"k": "INT", "v": "STRING"}
State = dict[int, str]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return keyfold.connect(tmp_path, threads=2)


def rows_of(table: Table, **when: Any) -> State:
    return {row["k"]: row["v"] for row in table.scan(**when).to_pylist()}


def grown(table: Table, random: Random, count: int) -> list[State]:
    """The states after each of `count` commits, beginning with nothing."""
    states: list[State] = [{}]
    for _ in range(count):
        state = dict(states[-1])
        if random.random() < 0.3 and state:
            gone = random.sample(sorted(state), min(3, len(state)))
            table.delete([{"k": k} for k in gone])
            states.append({k: v for k, v in state.items() if k not in gone})
        else:
            fresh = {random.randrange(30): random.choice("xyz") for _ in range(8)}
            table.upsert([{"k": k, "v": v} for k, v in fresh.items()])
            states.append(state | fresh)
    return states


def test_times_that_are_given_have_a_zone(catalog: Catalog) -> None:
    """So that they can be given back, as in `scan(timestamp=…)`, and mean the same elsewhere."""
    before = datetime.now(timezone.utc)
    table = catalog.create_table("t", COLUMNS, ["k"])
    table.upsert([{"k": 1, "v": "x"}])
    table.tags.create("one")
    table.branches.create("more", "one")
    found = 0
    for name in ALL:
        rows = table.metadata(name)
        for column in rows.columns:
            if pa.types.is_timestamp(column.type):
                times = [time for time in column.to_pylist() if time is not None]
                assert column.type.tz == "UTC"
                assert all(abs(time - before) < timedelta(hours=1) for time in times), name
                found += len(times)
    assert found >= 6
    (here,) = table.snapshots("+05:30")["commit_time"].to_pylist()
    assert [here] == table.snapshots()["commit_time"].to_pylist()
    assert here.utcoffset() == timedelta(hours=5, minutes=30)
    assert table.scan(timestamp=here).count() == 1
    (change,) = table.changes().to_pylist()
    assert change["_commit_timestamp"] == here
    for wrong in ("", "Nowhere"):
        with pytest.raises(TableError, match="expected a time zone such as UTC"):
            table.snapshots(wrong)


def test_older_snapshots(catalog: Catalog, seed: int) -> None:
    table = catalog.create_table("t", COLUMNS, ["k"], options={"write-only": "true"})
    states = grown(table, Random(seed), 6)
    snapshots = table.snapshots()
    for number, state in enumerate(states[1:], 1):
        assert rows_of(table, snapshot=number) == state
        at = snapshots.column("commit_time").to_pylist()[number - 1]
        assert rows_of(table, timestamp=at) == state
    table.tags.create("two", 2)
    table.alter(rename={"v": "value"})
    assert table.scan(tag="two", where="v = 'x'").schema.names == ["k", "v"]
    assert rows_of(table, tag="two") == states[2]
    with pytest.raises(TableError, match="expected one of snapshot, tag and timestamp"):
        table.scan(snapshot=1, tag="two")
    with pytest.raises(TableError, match="no tag 'three'; it has two"):
        table.scan(tag="three")
    table.expire(retain_max=1, retain_min=1)
    assert rows_of(table, tag="two") == states[2]
    with pytest.raises(SnapshotExpiredError, match="has expired, the earliest kept is 6"):
        table.scan(snapshot=3)


def test_tags_and_branches(catalog: Catalog, seed: int) -> None:
    table = catalog.create_table("t", COLUMNS, ["k"])
    states = grown(table, Random(seed), 3)
    table.tags.create("a", retained=timedelta(days=1))
    table.tags.rename("a", "b")
    assert table.tags.names() == ["b"]
    branch = table.branches.create("try", "b")
    branch.upsert([{"k": 99, "v": "new"}])
    assert rows_of(table.branches["try"]) == states[-1] | {99: "new"}
    assert rows_of(table) == states[-1]
    table.branches.rename("try", "done")
    table.branches.fast_forward("done")
    assert rows_of(table) == states[-1] | {99: "new"}
    table.branches.delete("done")
    assert table.branches.names() == []
    with pytest.raises(TableError, match="done"):
        table.branches["done"]
    assert table.rollback(tag="b", token=("ops", 1)) == table.snapshot
    assert rows_of(table) == states[-1]
    table.branches.create("more", "b").upsert([{"k": 98, "v": "more"}])
    assert table.branches.fast_forward("more", token=("ops", 2)) == table.snapshot
    table.upsert([{"k": 97, "v": "late"}])  # which stays if they are repeated
    assert table.branches.fast_forward("more", token=("ops", 2)) is None
    with pytest.raises(TableError, match="version 1 of 'ops' is lower than 2"):
        table.rollback(tag="b", token=("ops", 1))
    table.branches.delete("more")
    assert rows_of(table) == states[-1] | {97: "late", 98: "more"}
    assert table.tags.delete("b")
    assert not table.tags.delete("b")


def compared(before: State, after: State) -> set[tuple[Any, ...]]:
    """The changes between two states, as views name them."""
    found = {("delete", k, v) for k, v in before.items() if k not in after}
    found |= {("insert", k, v) for k, v in after.items() if k not in before}
    for k in before.keys() & after.keys():
        if before[k] != after[k]:
            found |= {("update_preimage", k, before[k]), ("update_postimage", k, after[k])}
    return found


def change_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["_change_type"], row["k"], row["v"]


def test_changes_are_what_snapshots_show(catalog: Catalog, seed: int) -> None:
    table = catalog.create_table("t", COLUMNS, ["k"], options={"write-only": "true"})
    assert table.changes().to_pylist() == []
    states = grown(table, Random(seed), 6)
    for row in table.changes().to_pylist():
        number = row["_commit_version"]
        assert change_of(row) in compared(states[number - 1], states[number])
    whole = table.changes(2, 5).to_arrow()
    wanted = [compared(a, b) for a, b in itertools.pairwise(states[2:6])]
    assert whole.num_rows == sum(map(len, wanted))
    net = {change_of(row) for row in table.changes(2, 5, net=True).to_pylist()}
    assert net == compared(states[2], states[5])
    table.tags.create("five", 5)
    assert {change_of(row) for row in table.changes(2, "five", net=True).to_pylist()} == net
    some = table.changes(2, where="v = 'x'", columns=["k"]).to_pylist()
    assert len(some) == sum(row["v"] == "x" for row in table.changes(2).to_pylist())
    since = table.snapshots().column("commit_time").to_pylist()[3]
    times = {row["_commit_version"] for row in table.changes(since).to_pylist()}
    assert times <= {5, 6}
    assert table.changes(5, view="audit_log", limit=1).to_arrow().schema.names[0] == "rowkind"
    for wrong, reason in (
        ({"view": "other"}, "expected one of changes, audit_log, binlog, rows"),
        ({"columns": ["no"]}, "has no column no"),
        ({"after": 3, "until": 2}, "ends before it starts"),
        ({"after": datetime(2026, 1, 1), "until": 2}, "two times or two versions"),
    ):
        with pytest.raises(TableError, match=reason):
            table.changes(**wrong)  # type: ignore[arg-type]
    with pytest.raises(NotSupportedError, match="take no condition"):
        table.changes(view="binlog", where="k = 1")


@pytest.mark.parametrize("producer", ["none", "lookup", "input"])
@pytest.mark.parametrize("buckets", ["1", "4"])
def test_changes_of_a_key_come_in_their_order(
    catalog: Catalog, seed: int, producer: str, buckets: str
) -> None:
    """Whichever of two threads is the first to read: applied as they come, they end in the rows."""
    options = {"changelog-producer": producer, "bucket": buckets}
    table = catalog.create_table("t", COLUMNS, ["k"], options=options)
    table.upsert([{"k": k, "v": "first"} for k in range(20_000)])  # longer to read than the others
    grown(table, Random(seed), 4)
    table.rescale(3)
    grown(table, Random(seed + 1), 4)
    found: State = {}
    newest: dict[int, int] = {}
    for row in table.changes().to_pylist():
        assert newest.get(row["k"], 0) <= row["_commit_version"]
        newest[row["k"]] = row["_commit_version"]
        if row["_change_type"] in ("insert", "update_postimage"):
            found[row["k"]] = row["v"]
        else:
            found.pop(row["k"], None)
    assert found == rows_of(table)


def test_times_have_a_zone(tmp_path: Path) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT"}, ["k"])
    table.upsert([{"k": 1}])
    now = datetime.now(timezone.utc) + timedelta(seconds=5)
    for moment in (now, now.isoformat(), now.astimezone(timezone(timedelta(hours=9)))):
        assert table.scan(timestamp=moment).to_pylist() == [{"k": 1}]
    wrong: Any
    for wrong in (datetime(2026, 1, 1), "2020-01-01", "yesterday", 1577836800, b"x", [], True):
        with pytest.raises(TableError, match=r"timestamp.*expected a datetime with its zone"):
            table.scan(timestamp=wrong)
        with pytest.raises(TableError, match=r"older_than.*expected a datetime with its zone"):
            table.expire(older_than=wrong)
        with pytest.raises(TableError, match=r"older_than.*expected a datetime with its zone"):
            table.remove_orphans(older_than=wrong)


def test_tags_and_branches_are_names(tmp_path: Path) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT"}, ["k"])
    table.upsert([{"k": 1}])
    table.tags.create("one")
    table.branches.create("two", "one")
    assert (list(table.tags), list(table.branches)) == (["one"], ["two"])
    assert "one" in table.tags
    assert "one" not in table.branches
