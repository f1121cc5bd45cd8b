"""What a transaction of Python takes, refuses and leaves behind."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import keyfold
from keyfold import (
    Catalog,
    ConflictError,
    NotSupportedError,
    SnapshotExpiredError,
    Table,
    TableError,
)
from keyfold.tables.transactions.transaction import Transaction

Call = Callable[[Any], Any]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return keyfold.connect(tmp_path, threads=2)


@pytest.fixture
def table(catalog: Catalog) -> Table:
    table = catalog.create_table("t", {"p": "INT", "k": "INT", "n": "BIGINT"}, ["p", "k"], ["p"])
    table.upsert([{"p": 0, "k": k, "n": 10 * k} for k in range(4)])
    return table


def rows(table: Any) -> dict[int, int]:
    return {row["k"]: row["n"] for row in table.scan().to_pylist()}


def row(k: int, n: int, p: int = 0) -> list[dict[str, int]]:
    return [{"p": p, "k": k, "n": n}]


def key(k: int) -> list[dict[str, int]]:
    return [{"p": 0, "k": k}]


def elsewhere(table: Table, rows: Any) -> None:
    """Another job, as it has another thread."""
    thread = threading.Thread(target=table.upsert, args=(rows,))
    thread.start()
    thread.join()


def files(table: Table) -> set[Path]:
    return {path for path in Path(table.location).rglob("*") if path.is_file()}


def orphans(table: Table) -> list[str]:
    found = table.remove_orphans(older_than=datetime.now(timezone.utc), dry_run=True)
    return [str(path) for path in found.column("path").to_pylist()]


def test_calls_are_one_snapshot_and_see_each_other(table: Table) -> None:
    with table.transaction() as t:
        t.upsert(row(9, 1))
        assert t.update("k = 9", {"n": pc.field("n") + 1}) is None
        assert t.get({"p": 0, "k": 9}, ["n"]) == {"n": 2}
        t.delete(key(0))
        merge = t.merge([*row(1, 0), *row(8, 0)]).when_matched_update_all()
        merge.when_not_matched_insert_all().execute()
        t.upsert(pa.table({"p": [0], "k": [2], "n": [77]}))
        seen = {1: 0, 2: 77, 3: 30, 8: 0, 9: 2}
        assert (rows(t), len(t.prefix({"p": 0})), t.snapshot) == (seen, 5, None)
        assert rows(table) == {0: 0, 1: 10, 2: 20, 3: 30}
        assert {r["k"] for r in pa.table(t).to_pylist()} == {*seen}
    assert (rows(table), t.snapshot, table.snapshot) == (seen, 2, 2)
    told = table.snapshots().column("statement").to_pylist()[-1]
    assert json.loads(told) == {"command": "TRANSACTION", "calls": 5}
    assert orphans(table) == []


def test_a_row_of_a_new_key_is_there_once(table: Table) -> None:
    with table.transaction() as t:
        for _ in range(2):
            assert t.get_or_insert({"p": 0, "k": 7}) == {"p": 0, "k": 7, "n": None}
        found = t.get_or_insert_many([{"p": 0, "k": 7}, {"p": 1, "k": 1}])
    assert (found.num_rows, table.scan().count()) == (2, 6)


@pytest.mark.parametrize("call", [lambda t: t.upsert([{"k": 1}]), lambda t: 1 // 0])
def test_an_error_leaves_nothing_behind(table: Table, call: Call) -> None:
    before = files(table), rows(table)
    with pytest.raises((TableError, ZeroDivisionError)):  # noqa: PT012, SIM117
        with table.transaction() as t:
            t.upsert(row(9, 1))
            t.overwrite(row(5, 5))
            t.update(None, {"n": 0})
            assert rows(t) == {5: 0}
            call(t)
    assert (files(table), rows(table), t.snapshot) == (*before, None)


def test_a_call_that_fails_is_not_part_of_it(table: Table) -> None:
    with table.transaction() as t:
        t.upsert(row(9, 1))
        with pytest.raises(TableError, match="no column x"):
            t.update(None, {"x": 1})
    assert rows(table) == {0: 0, 1: 10, 2: 20, 3: 30, 9: 1}


def test_nothing_is_no_snapshot(table: Table) -> None:
    with table.transaction() as t:
        t.delete(where="k > 100")
    assert (t.snapshot, table.snapshot) == (None, 1)


def nested(table: Table, t: Transaction) -> None:
    with table.transaction():
        pass


def again(table: Table, t: Transaction) -> None:
    with t:
        pass


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (nested, "one of table keyfold.default.t is open in this thread, and transactions are not"),
        (again, "it is used twice"),
        (lambda table, _: table.upsert(row(9, 9)), "call the methods of the transaction: with tab"),
        (lambda table, _: table.truncate(), "this would be a commit of its own"),
        (lambda table, _: table.alter(comment="c"), "this would be a commit of its own"),
        (lambda _, t: t.upsert(row(9, 9), token=("a", 1)), r"table.transaction\(token=…\)"),
    ],
)
def test_what_it_refuses(table: Table, call: Callable[..., Any], words: str) -> None:
    with table.transaction() as t:
        with pytest.raises(TableError, match=words):
            call(table, t)
        t.upsert(row(9, 1))
    assert table.snapshot == 2
    assert rows(table)[9] == 1


def test_two_tables_are_refused_by_name(catalog: Catalog, table: Table) -> None:
    other = catalog.create_table("other", {"k": "INT"}, ["k"])
    words = "a transaction changes one table: change keyfold.default.other before or after it"
    with table.transaction() as t:
        for call in (lambda: other.upsert([{"k": 1}]), lambda: other.transaction().__enter__()):
            with pytest.raises(TableError, match=words):
                call()
        t.merge(other, on={"k": "k"}).when_matched_delete().execute()  # it may be read
    assert (other.snapshot, rows(table)) == (None, {0: 0, 1: 10, 2: 20, 3: 30})


def test_it_ends_with_its_block(table: Table) -> None:
    unused = table.transaction()
    with pytest.raises(TableError, match="it has not begun: with table"):
        unused.upsert(row(9, 1))
    with table.transaction() as t:
        t.upsert(row(9, 1))
        scan = t.scan()
    for call in (lambda: t.get({"p": 0, "k": 9}), lambda: t.scan(), lambda: t.delete(key(9))):
        with pytest.raises(TableError, match="it has ended; begin another one"):
            call()
    with pytest.raises(TableError, match="the transaction has ended; what it wrote is read from"):
        scan.to_arrow()
    with pytest.raises(TableError, match="it is used twice"):
        t.__enter__()
    table.upsert(row(9, 2))
    assert rows(table)[9] == 2


def test_tables_ordered_by_snapshots_are_refused(catalog: Catalog) -> None:
    options = {"sequence.snapshot-ordering": "true", "write-only": "true"}
    table = catalog.create_table("o", {"k": "INT"}, ["k"], options=options)
    with pytest.raises(NotSupportedError, match="snapshot-ordering = true rows are ordered"):
        table.transaction().__enter__()
    table.upsert([{"k": 1}])  # none is open


WRITES: dict[str, Call] = {
    "update": lambda t: t.update("k = 1", {"n": pc.field("n") + 1}),
    "delete": lambda t: t.delete(key(1)),
    "scan": lambda t: (t.scan().count(), t.upsert(row(1, 5))),
    "get": lambda t: (t.get({"p": 0, "k": 3}), t.upsert(row(1, 5))),
    "replaces": lambda t: (t.scan().count(), t.overwrite(row(5, 5), "p = 0")),
    "empties": lambda t: (t.scan().count(), t.truncate()),
    "upsert": lambda t: t.upsert(row(1, 5)),
    "overwrite": lambda t: t.overwrite(row(5, 5)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("other", [row(1, 77), row(8, 8), row(8, 8, p=1)])
def test_conflicts_are_those_of_statements(table: Table, name: str, other: Any) -> None:
    """Rows that it has read, and those of others that it writes or removes."""
    meets = {"empties": True, "replaces": other[0]["p"] == 0, "upsert": False, "overwrite": False}
    is_refused = meets.get(name, other == row(1, 77))

    def run() -> None:
        with table.transaction() as t:
            WRITES[name](t)
            elsewhere(table, other)

    if is_refused:
        with pytest.raises(ConflictError, match="changed rows"):
            run()
        assert rows(table) == {0: 0, 1: 10, 2: 20, 3: 30} | {other[0]["k"]: other[0]["n"]}
    else:
        run()
        assert (other[0]["k"] in rows(table)) == (name not in ("overwrite",))
    assert orphans(table) == []


def test_under_serializable_any_change_is_a_conflict(catalog: Catalog, table: Table) -> None:
    table.alter(options={"keyfold.row-changes.isolation": "serializable"})
    with pytest.raises(ConflictError, match="snapshot 2 changed rows"):  # noqa: PT012, SIM117
        with table.transaction() as t:
            t.upsert(row(9, t.scan().count()))
            elsewhere(table, row(8, 8))
    assert 9 not in rows(table)


def test_a_token_is_that_of_the_whole(table: Table) -> None:
    for version, is_new in ((7, True), (7, False), (8, True)):
        before = rows(table)
        with table.transaction(token=("orders", version)) as t:
            assert t.is_repeated is not is_new
            t.update("k = 1", {"n": pc.field("n") + 1})
            t.upsert(row(9, version))
        assert (t.snapshot is not None) is is_new
        assert rows(table) == (before | {1: before[1] + 1, 9: version} if is_new else before)
        assert orphans(table) == []
    lower = "7 of 'orders' is lower than 8, .* expected 8"
    with pytest.raises(TableError, match=lower), table.transaction(token=("orders", 7)):
        pytest.fail("it has begun")
    assert table.truncate(token=("orders", 8)) is None
    assert table.truncate(token=("orders", 9)) == 4
    table.upsert(row(1, 1))
    assert table.truncate(token=("orders", 9)) is None
    assert rows(table) == {1: 1}


def test_numbers_are_given_once(catalog: Catalog) -> None:
    """A key that another job stores meanwhile has the number of that job."""
    options = {"auto-increment.fields": "id"}
    table = catalog.create_table("i", {"k": "STRING", "id": "BIGINT"}, ["k"], options=options)
    with table.transaction() as t:
        t.upsert([{"k": "a"}, {"k": "b"}])
        t.upsert([{"k": "b"}, {"k": "c"}])
        seen = {r["k"]: r["id"] for r in t.scan().to_pylist()}
    assert {r["k"]: r["id"] for r in table.scan().to_pylist()} == seen
    assert len({*seen.values()}) == 3
    with table.transaction() as t:
        t.upsert([{"k": "d"}, {"k": "e"}])
        t.upsert([{"k": "d"}])
        elsewhere(table, [{"k": "d"}])
        theirs = table.get({"k": "d"})
    assert table.get({"k": "d"}) == theirs
    assert len({r["id"] for r in table.scan().to_pylist()}) == 5
    assert orphans(table) == []


def test_threads_take_turns(table: Table) -> None:
    with table.transaction() as t:
        threads = [threading.Thread(target=t.upsert, args=(row(k, k),)) for k in range(10, 18)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(rows(table)) == 12


def test_its_first_snapshot_may_expire(table: Table) -> None:
    """Then it can't read any more; one that has read nothing is committed."""

    def expire() -> None:
        for number in range(3):
            table.upsert(row(4, number))
        table.compact()
        assert table.expire(retain_max=1, retain_min=1) > 3

    def run(read: Call) -> None:
        with table.transaction() as t:
            t.upsert(row(1, 5))
            thread = threading.Thread(target=expire)
            thread.start()
            thread.join()
            read(t)

    with pytest.raises(SnapshotExpiredError, match=r"is gone: snapshot 1 .* has expired"):
        run(rows)
    assert rows(table) == {0: 0, 1: 10, 2: 20, 3: 30, 4: 2}
    run(lambda _: None)
    assert rows(table) == {0: 0, 1: 5, 2: 20, 3: 30, 4: 2}


def test_a_compaction_meanwhile_does_not_put_it_first(table: Table) -> None:
    """Its rows come after those that were merged, in the order of its calls."""
    table.alter(options={"write-only": "true"})
    with table.transaction() as t:
        t.upsert(row(1, 1))
        t.upsert(row(1, 2))
        t.delete(key(2))
        t.upsert(row(2, 3))
        t.upsert(row(3, 4))
        t.delete(key(3))
        table.compact()
    assert rows(table) == {0: 0, 1: 2, 2: 3}
    table.compact()
    assert rows(table) == {0: 0, 1: 2, 2: 3}
