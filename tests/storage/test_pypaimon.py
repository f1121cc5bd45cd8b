"""pypaimon reads what we write, and we read what it writes: rows, keys, statistics, partitions."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.commits import commit
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.write.writer import write
from tests import readers
from tests.storage import tables
from tests.storage.tables import column

COLUMNS = (
    column("p", "string"),
    column("k", "long"),
    column("name", "string"),
    column("price", "decimal(20,2)"),
    column("day", "date"),
    column("at", "timestamp"),
    column("wall", "timestamp_ntz"),
    column("flag", "boolean"),
    column("ratio", "double"),
    column("raw", "binary"),
    column("tags", {"type": "array", "elementType": "string", "containsNull": True}),
)
UTC = datetime.timezone.utc


def row(p: str, k: int, version: int) -> dict[str, Any]:
    return {
        "p": p,
        "k": k,
        "name": None if k % 7 == 0 else f"a rather long name of {k} in version {version}",
        "price": Decimal(k * 100 + version).scaleb(-2),
        "day": datetime.date(2024, 1, 1) + datetime.timedelta(days=k),
        "at": datetime.datetime(2024, 1, 1, 12, 0, 0, k, tzinfo=UTC),
        "wall": datetime.datetime(2024, 1, 1, 12, 0, 0, k),
        "flag": k % 2 == 0,
        "ratio": k / 3,
        "raw": bytes([k % 256]) * (k % 20),
        "tags": [str(k), None],
    }


def insert(found: Table, rows: list[dict[str, Any]], sequence: int) -> None:
    batch = pa.RecordBatch.from_pylist(rows, found.layout.arrow_schema)
    spec = tables.spec(found, sequence)
    commit.append(found, spec, write(spec, iter([batch])))


def read_theirs(folder: Path, *keys: str) -> list[dict[str, Any]]:
    rows = readers.read(folder, "default.t").to_pylist()
    return sorted(rows, key=lambda found: [found[key] for key in keys])


@pytest.fixture
def written(tmp_path: Path) -> tuple[Table, dict[tuple[str, int], dict[str, Any]]]:
    new = NewTable(COLUMNS, ("p",), ("p", "k"), {"bucket": "2"})
    found = tables.table(tmp_path, new)
    expected: dict[tuple[str, int], dict[str, Any]] = {}
    for version in range(3):
        keys = range(version * 20, 60 + version * 20)
        rows = [row(p, k, version) for p in ("a", "b c=d/é") for k in keys]
        insert(found, rows, 100 + version)
        expected |= {(r["p"], r["k"]): r for r in rows}
    return tables.reload(found), expected


def test_rows(tmp_path: Path, written: Any) -> None:
    _, expected = written
    rows = read_theirs(tmp_path, "p", "k")
    assert rows == [expected[key] for key in sorted(expected)]


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [("equal", "p", "b c=d/é"), ("greater_than", "k", 88), ("less_than", "k", 3)],
)
def test_their_pruning_by_our_statistics(
    tmp_path: Path, written: Any, method: str, name: str, value: Any
) -> None:
    _, expected = written
    rows = readers.read(tmp_path, "default.t", [method, name, value]).to_pylist()
    tests = {"equal": lambda v: v == value, "greater_than": lambda v: v > value}
    passes = tests.get(method, lambda v: v < value)
    wanted = {key for key, r in expected.items() if passes(r[name])}
    assert {(r["p"], r["k"]) for r in rows if passes(r[name])} == wanted
    assert wanted


def test_their_manifests(tmp_path: Path, written: Any) -> None:
    found, _ = written
    entries = readers.files(tmp_path, "default.t")
    ours = {file.name: file for file in found.live_files()}
    assert {entry["name"] for entry in entries} == set(ours)
    for entry in entries:
        file = ours[entry["name"]]
        assert tuple(entry["min_key"]) == file.min_key
        assert tuple(entry["max_key"]) == file.max_key
        assert entry["rows"] == file.rows
        assert entry["is_dated"]


def test_their_reading_of_manifests_that_were_merged(tmp_path: Path) -> None:
    """Their entries are copied, in blocks of our own."""
    new = tables.new_table(tables.column("p"), tables.column("k"), key="p,k", by="p")
    found = tables.table(tmp_path, new)
    for p in (2, 1, 2):
        one = tables.message(found, partition=(p,), files=40)
        commit.append(found, tables.spec(found), [one])
    assert commit.compact_manifests(tables.reload(found)) == 4
    entries = readers.files(tmp_path, "default.t")
    live = {file.name: file for file in tables.reload(found).live_files()}
    assert len(entries) == len(live) == 120
    for entry in entries:
        assert tuple(entry["min_key"]) == live[entry["name"]].min_key
        assert entry["rows"] == live[entry["name"]].rows


def test_statistics_are_cut_and_dense(written: Any) -> None:
    found, _ = written
    stats = found.live_files()[0].value_stats(found.layout)
    assert "tags" not in stats
    low, high, nulls = stats["name"]
    assert (low, high) == ("a rather long na", "a rather long nb")
    assert nulls > 0
    assert stats["day"][0] >= 19723


def test_we_read_their_tables(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), False), ("s", pa.string()), ("d", pa.date32())])
    columns = {"k": "BIGINT NOT NULL", "s": "STRING", "d": "DATE"}
    readers.create(tmp_path, "default.t", columns, key=["k", "d"], by=["d"], bucket="2")
    day = datetime.date(2024, 1, 2)
    rows = [{"k": k, "s": f"text number {k:010}", "d": day} for k in range(50)]
    readers.write(tmp_path, "default.t", pa.Table.from_pylist(rows, schema))

    found = open_catalog("c", {"warehouse": str(tmp_path)}).load_table(["default"], "t")
    found.check_writable()
    assert found.layout.key == ("k",)
    files = found.live_files()
    assert sum(file.rows for file in files) == 50
    assert {file.partition for file in files} == {(19724,)}
    assert min(file.min_key for file in files) == (0,)
    assert len(found.live_files(partition_filter=lambda p: p[0] == 1)) == 0
    assert all(f.bucket == 1 for f in found.live_files(bucket_filter=lambda b, n: b == 1 < n))


def test_they_read_nulls_in_keys(tmp_path: Path) -> None:
    columns = (column("p", "string"), column("k", "long"), column("d", "decimal(20,2)"))
    options = {"bucket": "3", "primary-key.nullable": "true"}
    new = NewTable((*columns, column("v", "long")), ("p",), ("p", "k", "d"), options)
    found = tables.table(tmp_path, new)
    expected = {}
    for version in range(3):
        rows = [
            {"p": p, "k": k, "d": d, "v": version}
            for p in (None, "a")
            for k in (None, version, 7)
            for d in (None, Decimal("1.50"))
        ]
        insert(found, rows, 100 + version)
        expected |= {(row["p"], row["k"], row["d"]): row for row in rows}
    rows = readers.read(tmp_path, "default.t").to_pylist()
    assert sorted(rows, key=str) == sorted(expected.values(), key=str)


def test_they_read_thin_files_and_ours_beside_them(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(bucket="1"))
    insert(found, [{"k": k, "v": 0} for k in range(20)], 100)
    catalog = tables.catalog(tmp_path)
    change = {"change": "set_property", "key": "data-file.thin-mode", "value": "true"}
    catalog.alter_table(["default"], "t", [change])
    insert(tables.reload(found), [{"k": k, "v": 1} for k in range(10, 30)], 101)
    rows = read_theirs(tmp_path, "k")
    assert rows == [{"k": k, "v": int(k >= 10)} for k in range(30)]
