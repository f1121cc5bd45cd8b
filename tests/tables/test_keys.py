"""Look-ups of keys against a dictionary of what scans give."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import Table, TableError

COLUMNS = {"p": "DATE", "a": "STRING", "b": "INT", "v": "DOUBLE", "m": "MAP<STRING, INT>"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, seed: int) -> Table:
    """Three overlapping runs in two partitions of two buckets."""
    random = Random(seed)
    catalog = keyfold.connect(tmp_path_factory.mktemp("keys"), threads=2)
    table = catalog.create_table("t", COLUMNS, ["p", "a", "b"], ["p"], {"bucket": "2"})
    for number in range(3):
        rows = [
            {
                "p": pa.scalar(random.randrange(2), pa.int32()).cast(pa.date32()).as_py(),
                "a": f"a{random.randrange(6)}",
                "b": random.randrange(50),
                "v": float(number),
                "m": [("x", number)],
            }
            for _ in range(300)
        ]
        table.upsert(rows)
    return table


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["p"], row["a"], row["b"]


def test_many_keys_come_in_their_order(filled: Table, seed: int) -> None:
    random, rows = Random(seed), filled.scan().to_pylist()
    model = {key_of(row): row for row in rows}
    assert len(model) == len(rows) > 300
    nothing = dict.fromkeys(COLUMNS)
    for count in (0, 1, 7, 10_000):
        keys = [
            {**random.choice(rows), "b": random.randrange(60)} if random.random() < 0.5
            else random.choice(rows)
            for _ in range(count)
        ]  # fmt: skip
        keys = [{name: key[name] for name in random.sample("pab", 3)} for key in keys[:1]] + [
            {name: key[name] for name in "pab"} for key in keys[1:]
        ]
        found = filled.get_many(keys)
        assert found.schema.names == list(COLUMNS)
        assert found.to_pylist() == [model.get(key_of(key), nothing) for key in keys]
    some = filled.get_many([{n: rows[0][n] for n in "pab"}], ["v", "b"])
    assert some.to_pylist() == [{"v": rows[0]["v"], "b": rows[0]["b"]}]


def test_one_key_and_the_newest_snapshot(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path)
    table = catalog.create_table("t", {"k": "STRING", "v": "INT"}, ["k"])
    assert table.get({"k": "a"}) is None
    for number in range(3):
        table.upsert([{"k": "a", "v": number}, {"k": f"b{number}", "v": 0}])
        assert table.get({"k": "a"}) == {"k": "a", "v": number}
        assert table.get({"k": "a"}, ["v"]) == {"v": number}
    table.rollback(snapshot=1)
    assert table.get({"k": "a"}) == {"k": "a", "v": 0}
    table.upsert([{"k": "a", "v": 9}])
    assert (table.snapshot, table.get({"k": "a"})) == (2, {"k": "a", "v": 9})
    table.delete([{"k": "a"}])
    assert table.get({"k": "a"}) is None
    table.alter(add={"w": "INT"})
    assert table.get({"k": "b0"}) == {"k": "b0", "v": 0, "w": None}
    for wrong in ({}, {"v": 1}, {"k": "a", "v": 1}, {"k": 1}):
        with pytest.raises(TableError, match="key"):
            table.get(wrong)


def test_what_are_no_keys(tmp_path: Path) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT", "v": "INT"}, ["k"])
    table.upsert([{"k": 1, "v": 2}])
    for wrong, words in (
        ([1, 2], "expected an Arrow table, batch or stream.*, found int"),
        ([{"k": "x"}], r"row 1 \(k = 'x'\): column k, of type INT"),
        ([{"no": 1}], "it has no column no; it has k, v"),
        ([{"k": 1}, 5], "expected dictionaries, as the first row is, found 5"),
    ):
        with pytest.raises(TableError, match=f"^looking up in table .*: {words}"):
            table.get_many(wrong)
        with pytest.raises(TableError, match=f"^deleting from table .*: {words}"):
            table.delete(wrong)
    assert table.get_many([{"k": None}, {"k": 1}])["v"].to_pylist() == [None, 2]


def test_prefixes(filled: Table) -> None:
    rows = filled.scan().to_pylist()
    for given in ({"a": "a3"}, {"p": rows[0]["p"], "a": "a1"}, {"a": "a2", "b": 7}, {"a": "no"}):
        wanted = [row for row in rows if all(row[n] == value for n, value in given.items())]
        found = filled.prefix(given).to_pylist()
        assert sorted(found, key=key_of) == sorted(wanted, key=key_of)
    for wrong in ({}, {"b": 7}, {"v": 1.0}):
        with pytest.raises(TableError, match="expected the first columns of the key"):
            filled.prefix(wrong)
