"""`table.clone`: the same rows of any snapshot in a table of its own, or nothing at all."""

from pathlib import Path
from typing import Any

import pytest

import keyfold
from keyfold.errors import (
    KeyfoldError,
    SnapshotExpiredError,
    TableError,
    TableExistsError,
)
from keyfold.storage.branching import clone

OPTIONS = {
    "merge-engine": "aggregation",
    "fields.v.aggregate-function": "sum",
    "changelog-producer": "lookup",
    "bucket": "2",
}


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    made = keyfold.connect(tmp_path / "w", threads=2)
    made.create_namespace("shop")
    table = made.create_table(
        "shop.t", {"k": "INT", "p": "STRING", "v": "BIGINT"}, ["k", "p"], ["p"], OPTIONS, "words"
    )
    for _ in range(3):
        table.upsert([{"k": k, "p": "ab"[k % 2], "v": 1} for k in range(40)])
        table.alter(add={f"c{table.snapshot}": "INT"})
    table.upsert([{"k": 1, "p": "b", table.schema.names[-1]: 7}])
    return made


def rows(table: Any, **version: Any) -> list[str]:
    return sorted(map(str, table.scan(**version).to_pylist()))


def test_a_clone_has_the_rows_of_its_snapshot_and_goes_its_own_way(catalog: Any) -> None:
    table = catalog.table("shop.t")
    first = table.metadata("snapshots").column("snapshot_id").to_pylist()[0]
    table.tags.create("old", snapshot=first)
    for how in ({}, {"snapshot": first}, {"tag": "old"}):
        made = table.clone(f"shop.c{len(list(catalog.tables('shop')))}", **how)
        assert rows(made) == rows(table, **how)
        assert made.schema == table.scan(**how).to_arrow().schema
        assert made.check(pages=True, history=True) == []
        assert (made.comment, made.snapshot) == ("words", how.get("snapshot", made.snapshot))
    made = catalog.table("shop.c1")
    before, of_table = rows(made), rows(table)
    assert {key: made.options[key] for key in OPTIONS} == OPTIONS
    made.upsert([{"k": 1, "p": "b", "v": 5}, {"k": 99, "p": "z", "v": 1}])
    told = made.changes(made.snapshot - 1).to_arrow().num_rows
    assert told == 3
    made.compact()
    made.expire(retain_max=1, retain_min=1)
    assert rows(table) == of_table
    assert table.check(pages=True) == []
    catalog.drop_table("shop.t")
    assert len(rows(made)) == len(before) + 1
    assert catalog.tables("shop") == ["c1", "c2", "c3"]


def test_ids_go_on_where_they_were(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path)
    table = catalog.create_table(
        "w",
        {"word": "STRING", "id": "BIGINT"},
        ["word"],
        (),
        {"auto-increment.fields": "id", "bucket": "1"},
    )
    table.upsert([{"word": f"w{n}"} for n in range(20)])
    last = max(table.scan().to_pylist(), key=lambda row: int(row["id"]))
    table.delete([{"word": last["word"]}])  # its number must not come again
    table.compact()
    made = table.clone(str(tmp_path / "elsewhere" / "w"))
    made.upsert([{"word": f"x{n}"} for n in range(20)])
    assert rows(table)[0] in rows(made)
    found = [row["id"] for row in made.scan().to_pylist()]
    assert len(set(found)) == 39
    assert last["id"] not in found
    empty = catalog.create_table("e", {"k": "INT"}, ["k"])
    assert (empty.clone("f").snapshot, catalog.table("f").columns) == (None, {"k": "INT NOT NULL"})


def test_what_can_not_be_cloned_leaves_nothing(catalog: Any, monkeypatch: Any) -> None:
    table = catalog.table("shop.t")
    folder = Path(table.location).parent
    catalog.create_table("shop.other", {"k": "INT"}, ["k"])
    for to, how, error, words in (
        ("shop.other", {}, TableExistsError, "other exists"),
        ("nowhere.c", {}, KeyfoldError, "namespace nowhere does not exist"),
        ("shop.c", {"snapshot": 99}, TableError, "99"),
        ("shop.c", {"snapshot": 1, "tag": "x"}, TableError, "expected one of"),
        ("a.b.c.d", {}, TableError, "is not a name of a table"),
    ):
        with pytest.raises(error, match=words):
            table.clone(to, **how)
    old = table.metadata("snapshots").column("snapshot_id").to_pylist()[0]
    copy = clone._copy

    def expiring(*given: Any) -> None:
        table.expire(retain_max=1, retain_min=1)
        copy(*given)

    with monkeypatch.context() as patched:
        patched.setattr(clone, "_copy", expiring)
        with pytest.raises(SnapshotExpiredError):
            table.clone("shop.c", snapshot=old)
    for path in Path(table.location).rglob("data-*.parquet"):
        path.unlink()
    with pytest.raises(KeyfoldError, match="it is missing"):
        table.clone("shop.c")
    assert sorted(p.name for p in folder.iterdir() if p.is_dir()) == ["other", "t"]
