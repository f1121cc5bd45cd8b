"""Look-ups of a table with many files: planned by partition, they find what those of a table with
few find, and need no manifest of other partitions.
"""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import CorruptDataError, Table
from keyfold.lookup import of_table
from tests.storage import damaged

COLUMNS = {"p": "STRING", "q": "INT", "k": "INT", "v": "INT"}
KEY = ("p", "q", "k")
STEPS = 8
Row = dict[str, Any]


def made(folder: Path, **options: str) -> Table:
    """A table partitioned by two columns of its key."""
    catalog = keyfold.connect(folder, threads=2)
    return catalog.create_table("t", COLUMNS, KEY, ("p", "q"), options)


def drawn(draw: Random) -> Row:
    return {"p": draw.choice("abc"), "q": draw.randrange(3), "k": draw.randrange(20)}


def at(row: Row, *names: str) -> tuple[Any, ...]:
    """The values of some columns."""
    return tuple(row[name] for name in names)


def compared(table: Table, draw: Random) -> None:
    """Every form of look-up gives the rows of a scan."""
    rows = table.scan().to_pylist()
    model = {tuple(row[name] for name in KEY): row for row in rows}
    asked = [drawn(draw) for _ in range(30)] + [{"p": "new", "q": 7, "k": 1}]
    wanted = [model.get(tuple(key.values())) for key in asked]
    assert [table.get(key) for key in asked] == wanted
    assert table.get_many(asked).to_pylist() == [row or dict.fromkeys(COLUMNS) for row in wanted]
    one = asked[0]
    assert table.prefix(one).to_pylist() == [row for row in rows if at(row, *KEY) == at(one, *KEY)]
    found = sorted(table.prefix({"k": one["k"]}).to_pylist(), key=lambda row: at(row, *KEY))
    of_k = [row for row in rows if row["k"] == one["k"]]
    assert found == sorted(of_k, key=lambda row: at(row, *KEY))


@pytest.mark.parametrize("many", [0, of_table.MANY_FILES])
def test_rows_are_those_of_a_scan(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(of_table, "MANY_FILES", many)
    draw, table = Random(seed), made(tmp_path, bucket="2")
    for step in range(STEPS):
        table.upsert([drawn(draw) | {"v": step} for _ in range(draw.randrange(1, 40))])
        if step % 3 == 1:
            table.delete([drawn(draw) for _ in range(20)])
        if step % 4 == 3:
            table.compact("full")
        compared(table, draw)
    merged = table.merge([drawn(draw) | {"v": -1} for _ in range(5)], on=KEY)
    merged.when_matched_update_all().when_not_matched_insert_all().execute()
    with table.transaction() as inside:
        inside.upsert([{"p": "a", "q": 0, "k": 0, "v": -2}, {"p": "b", "q": 1, "k": 1, "v": -2}])
        assert inside.get({"p": "b", "q": 1, "k": 1}) == {"p": "b", "q": 1, "k": 1, "v": -2}
    compared(table, draw)


def test_other_partitions_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path)
    for name in "ab":
        table.upsert([{"p": name, "q": 1, "k": 1, "v": 5}])
    monkeypatch.setattr(of_table, "MANY_FILES", 0)
    of_b = damaged.path_of(table._load(), "manifest")
    of_b.write_bytes(b"broken")
    damaged.forget()
    fresh = keyfold.connect(tmp_path).table("t")
    assert fresh.get({"p": "a", "q": 1, "k": 1}) == {"p": "a", "q": 1, "k": 1, "v": 5}
    assert fresh.prefix({"p": "a", "q": 1}).num_rows == 1
    assert fresh.get_many([{"p": "a", "q": 1, "k": 2}])["v"] == pa.chunked_array(
        [[None]], pa.int32()
    )
    with pytest.raises(CorruptDataError, match=of_b.name):
        fresh.get({"p": "b", "q": 1, "k": 1})
    with pytest.raises(CorruptDataError, match=of_b.name):
        fresh.prefix({"k": 1})


@pytest.mark.parametrize("many", [0, of_table.MANY_FILES])
def test_keys_across_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """A key of another engine's table that does not name the partition is looked for in all."""
    table = made(tmp_path, bucket="1")
    table.upsert([{"p": "a", "q": 1, "k": 1, "v": 1}, {"p": "b", "q": 1, "k": 2, "v": 2}])
    schema = next(tmp_path.rglob("schema-0"))
    said = json.loads(schema.read_text())
    said["primaryKeys"], said["options"]["bucket"] = ["k"], "-1"
    schema.write_text(json.dumps(said))
    damaged.forget()
    monkeypatch.setattr(of_table, "MANY_FILES", many)
    found = keyfold.connect(tmp_path).table("t")
    assert found.get({"k": 2}) == {"p": "b", "q": 1, "k": 2, "v": 2}
    assert found.get_many([{"k": 2}, {"k": 3}, {"k": 1}])["v"].to_pylist() == [2, None, 1]
