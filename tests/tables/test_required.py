"""NOT NULL fields of STRUCTs, in tables that programs write."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import TableError

NEEDED = pa.struct([pa.field("a", pa.int32(), False)])


def test_a_null_struct_needs_no_field(tmp_path: Path) -> None:
    catalog = keyfold.connect(tmp_path)
    table = catalog.create_table("t", {"k": "INT", "v": "INT", "s": NEEDED}, ["k"])
    table.upsert([{"k": 1, "v": 1, "s": {"a": 1}}, {"k": 2, "v": 2, "s": None}, {"k": 3}])
    table.upsert([{"k": 4, "v": 4}])
    table.delete([{"k": 1}])
    table.delete(where="k = 3")
    table.compact()
    expected = [{"k": 2, "v": 2, "s": None}, {"k": 4, "v": 4, "s": None}]
    assert sorted(table.scan().to_pylist(), key=str) == expected


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (NEEDED, {"a": None}, "s.a"),
        (NEEDED, {}, "s"),
        (pa.list_(NEEDED), [None, {"a": 1}, {"a": None}], "s.element.a"),
        (pa.map_(pa.string(), NEEDED), {"x": {"a": None}}.items(), "s.value.a"),
        (pa.struct([pa.field("r", NEEDED)]), {"r": {"a": None}}, "s.r.a"),
    ],
)
def test_a_struct_needs_its_field(tmp_path: Path, kind: pa.DataType, value: Any, path: str) -> None:
    table = keyfold.connect(tmp_path).create_table("t", {"k": "INT", "s": kind}, ["k"])
    rows = [{"k": 1, "s": None}, {"k": 2, "s": list(value) if "map" in str(kind) else value}]
    with pytest.raises(TableError, match=rf"row 2 \(k = 2\): column {path}, of type"):
        table.upsert(rows)
    assert table.scan().to_pylist() == []
