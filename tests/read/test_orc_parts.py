"""ORC files: lost fields of structs, names that are paths too, and times that can't be read."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import keyfold
from keyfold.errors import NotSupportedError
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


def test_times_of_other_centuries_are_refused_as_such(tmp_path: Path) -> None:
    """They are no damage, for which a backup would be advised."""
    columns = {"k": "BIGINT NOT NULL", "t": "TIMESTAMP(6)"}
    readers.create(tmp_path, "default.t", columns, key=["k"], bucket="1", **{"file.format": "orc"})
    schema = pa.schema([pa.field("k", pa.int64(), False), ("t", pa.timestamp("us"))])
    rows = {"k": [1], "t": [dt.datetime(9999, 12, 31)]}
    readers.write(tmp_path, "default.t", pa.table(rows, schema))
    table = keyfold.connect(tmp_path).table("t")
    with pytest.raises(NotSupportedError, match=r"\.orc can't be read here: .* 1677 to 2262"):
        table.scan().to_arrow()
    assert table.scan(["k"]).to_pylist() == [{"k": 1}]
    assert table.check(pages=True) == []
