"""ORC files whose structs have lost a field since, or whose columns are named as a field is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import keyfold
from tests import readers
from tests.storage import tables


def test_a_field_keeps_its_values_where_another_is_dropped(tmp_path: Path) -> None:
    struct = pa.struct([("p", pa.int32()), ("q", pa.int32())])
    fields = [{"id": 10 + n, "name": name, "type": "INT"} for n, name in enumerate("pq")]
    columns = {"k": "BIGINT NOT NULL", "r": {"type": "ROW", "fields": fields}}
    options = {"bucket": "1", "file.format": "orc"}
    readers.create(tmp_path, "default.t", columns, key=["k"], **options)
    schema = pa.schema([pa.field("k", pa.int64(), False), ("r", struct)])
    rows = {"k": [1, 2], "r": [{"p": 1, "q": 2}, {"p": 3, "q": 4}]}
    readers.write(tmp_path, "default.t", pa.table(rows, schema))
    change = {"change": "delete_column", "name": ["r", "p"]}
    tables.catalog(tmp_path).alter_table(["default"], "t", [change])
    found = keyfold.connect(tmp_path).table("t").scan().to_pylist()
    assert found == [{"k": 1, "r": {"q": 2}}, {"k": 2, "r": {"q": 4}}]


def test_a_column_named_as_the_field_of_another(tmp_path: Path) -> None:
    struct = pa.struct([("b", pa.int32()), ("c", pa.int32())])
    fields = [{"id": 10 + n, "name": name, "type": "INT"} for n, name in enumerate("bc")]
    columns = {"k": "BIGINT NOT NULL", "a.b": "STRING", "a": {"type": "ROW", "fields": fields}}
    options = {"bucket": "1", "file.format": "orc"}
    readers.create(tmp_path, "default.t", columns, key=["k"], **options)
    schema = [pa.field("k", pa.int64(), False), ("a.b", pa.string()), ("a", struct)]
    rows = {"k": [1, 2], "a.b": ["x", "y"], "a": [{"b": 1, "c": 2}, {"b": 3, "c": 4}]}
    readers.write(tmp_path, "default.t", pa.table(rows, pa.schema(schema)))
    scan = keyfold.connect(tmp_path).table("t").scan()
    wanted = [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    assert scan.to_pylist() == wanted
