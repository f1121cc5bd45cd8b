"""Metadata tables: pypaimon's own system tables say the same of the same table."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import CorruptDataError, NotSupportedError, TableError
from keyfold.questions.metadata import find
from keyfold.read import metadata
from keyfold.read.metadata.metadata_table import BATCH_ROWS, wall_clock
from keyfold.storage.commits import commit
from keyfold.storage.maintenance import consumers
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.types import paimon as paimon_types
from keyfold.types.literals import Constant
from keyfold.wire.predicates import Named, Predicate
from tests import readers
from tests.read import harness
from tests.storage import damaged, tables
from tests.storage.tables import column

COLUMNS = (
    column("p", "string"),
    column("d", "date"),
    column("k", "long"),
    column("name", "string"),
    column("price", "decimal(20,2)"),
    column("at", "timestamp_ntz"),
    column("ratio", "double"),
    column("tags", {"type": "array", "elementType": "string", "containsNull": True}),
)
MANY = BATCH_ROWS + 1000
DAY = datetime.date(2024, 1, 2)
# What keyfold says otherwise, and why: docs/operate.md, "Looking inside a table".
DIFFERS = {
    "schemas": {"fields"},  # the stored JSON, not pypaimon's reading of it
    "files": {"partition", "file_path", "file_source", "creation_time"},
    "partitions": {"partition", "last_update_time"},
    "buckets": {"partition", "last_update_time"},
}
OURS = {"snapshots": ["statement"]}  # columns behind Paimon's


def row(p: str | None, k: int) -> dict[str, Any]:
    return {
        "p": p,
        "d": DAY,
        "k": k,
        "name": None if k % 3 == 0 else f"a rather long name of {k}",
        "price": None,
        "at": datetime.datetime(2024, 1, 2, 3, 4, 5, 678_000),
        "ratio": k / 4,
        "tags": ["x"],
    }


THEIRS = [name for name in metadata.ALL if name != "statistics"]  # pypaimon has none


def rows_of(
    found: Table, name: str, *names: str, zone: str = "UTC", where: Sequence[Predicate] = ()
) -> list[dict[str, Any]]:
    table = metadata.ALL[name]
    wanted = names or [declared.name for declared in table.columns]
    return [r for batch in table.batches(found, wanted, zone, where) for r in batch.to_pylist()]


def about(op: str, *texts: str) -> Predicate:
    """A condition on the column `partition`."""
    return Predicate(op, (Named(("partition",)), *(Constant(text, "string") for text in texts)))


@pytest.fixture
def theirs(tmp_path: Path) -> Callable[..., Any]:
    """What pypaimon says of the same table."""
    return partial(readers.ask, catalog=readers.options(tmp_path), table="default.t")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two partitions, three jobs, two schemas."""
    new = NewTable(COLUMNS, ("p", "d"), ("p", "d", "k"), {"bucket": "2", "comment": "of things"})
    found = tables.table(tmp_path, new)
    harness.upsert(found, [row(p, k) for p in ("a", "b c") for k in range(20)])
    harness.upsert(found, [row("a", k) for k in range(10, 30)])
    change = {"change": "add_column", "name": ["extra"], "type": "integer"}
    found = tables.catalog(tmp_path).alter_table(["default"], "t", [change])
    harness.upsert(found, [row("a", k) | {"extra": 1} for k in range(5)])
    return tables.reload(found)


@pytest.mark.parametrize("name", THEIRS)
def test_columns_are_paimons(table: Table, theirs: Callable[..., Any], name: str) -> None:
    found = theirs("system_columns", name=name)
    expected = [(column, paimon_types.from_paimon(kind)) for column, kind in found]
    own = [(c.name, c.type) for c in metadata.ALL[name].columns]
    assert own[: len(expected)] == expected
    assert [column for column, _ in own[len(expected) :]] == OURS.get(name, [])


@pytest.mark.parametrize("name", THEIRS)
def test_rows_are_theirs(table: Table, theirs: Callable[..., Any], name: str) -> None:
    listed = theirs("system_rows", name=name).to_pylist()
    differs = DIFFERS.get(name, set()).union(OURS.get(name, ()))
    assert _comparable(rows_of(table, name), differs) == _comparable(listed, differs)
    assert listed or name in ("tags", "branches", "consumers")


def _comparable(rows: list[dict[str, Any]], differs: set[str]) -> list[str]:
    """Rows in one order; JSON by what it means, DATE columns apart from how they are written."""
    kept = [
        {k: _parsed(v) for k, v in found.items() if k not in differs and k != "total_buckets"}
        for found in rows
    ]
    return sorted(map(repr, kept))


def _parsed(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in "[{" and not value.startswith("{a"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def test_files(table: Table) -> None:
    found = rows_of(table, "files", "partition", "file_path", "file_source", "file_format", "level")
    assert {r["partition"] for r in found} == {"p=a/d=2024-01-02", "p=b c/d=2024-01-02"}
    assert all(Path(r["file_path"]).is_file() for r in found)
    kinds = {(r["file_source"], r["file_format"], r["level"]) for r in found}
    assert kinds == {("APPEND", "parquet", 0)}
    assert len(found) == len(table.live_files())


def test_schemas(table: Table) -> None:
    last = rows_of(table, "schemas", "fields", "comment")[-1]
    fields = [
        (f["id"], f["name"], paimon_types.from_paimon(f["type"]))
        for f in json.loads(last["fields"])
    ]
    assert fields == [(c.id, c.name, c.type) for c in table.layout.columns]
    assert last["comment"] == "of things"


def test_sums(table: Table) -> None:
    files = rows_of(table, "files")
    for name, by in (("partitions", ["partition"]), ("buckets", ["partition", "bucket"])):
        for found in rows_of(table, name):
            own = [f for f in files if all(f[column] == found[column] for column in by)]
            assert found["file_count"] == len(own)
            assert found["record_count"] == sum(f["record_count"] for f in own)
            assert found["file_size_in_bytes"] == sum(f["file_size_in_bytes"] for f in own)
            assert found["last_update_time"] == max(f["creation_time"] for f in own)


def test_points_in_time_are_seen_from_the_sessions_zone(table: Table) -> None:
    millis = table.snapshots.read(1).time_millis
    utc = datetime.datetime.fromtimestamp(millis / 1000, datetime.timezone.utc)
    for zone, hours in (("Asia/Tokyo", 9), ("+09:00", 9), ("-02:00", -2), ("Z", 0)):
        (first, *_) = rows_of(table, "snapshots", "commit_time", zone=zone)
        assert first["commit_time"] == utc.replace(tzinfo=None) + datetime.timedelta(hours=hours)
    assert wall_clock([None], "UTC").to_pylist() == [None]


def test_files_are_a_little_older_than_their_snapshot(table: Table) -> None:
    last = max(r["commit_time"] for r in rows_of(table, "snapshots", zone="Asia/Tokyo"))
    written = max(r["creation_time"] for r in rows_of(table, "files", zone="Asia/Tokyo"))
    assert datetime.timedelta() <= last - written < datetime.timedelta(minutes=1)


def test_tags_branches_and_consumers(table: Table, theirs: Callable[..., Any]) -> None:
    theirs("tag", name="v1", snapshot=2, branch="b")
    folder = Path(table.layout.location)
    consumers.note(table, "c", consumers.Position(3, "job", all_rows=True))
    tag = json.loads((folder / "tag" / "tag-v1").read_text())
    timed = tag | {"tagCreateTime": [2024, 1, 2, 3, 4, 5], "tagTimeRetained": 93784.5}
    (folder / "tag" / "tag-v2").write_text(json.dumps(timed))
    for name in ("tags", "branches", "consumers"):
        listed = theirs("system_rows", name=name).to_pylist()
        listed.sort(key=lambda row: next(iter(row.values())))  # theirs are as the folder lists them
        assert rows_of(table, name) == listed
        assert listed


def test_a_table_without_data(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    filled = {name for name in metadata.ALL if rows_of(found, name)}
    assert filled == {"options", "schemas"}


def test_partitions_that_are_named_are_listed_without_the_manifests_of_others(
    tmp_path: Path,
) -> None:
    columns = map(tables.column, ("p", "k", "v"))
    found = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p"))
    for value in (1, 2):
        ours = [tables.message(found, partition=(value,))]
        assert commit.append(found, tables.spec(found), ours)
    found = tables.reload(found)
    assert found.snapshot_id is not None
    _, other = found.manifests.listed(found.snapshots.read(found.snapshot_id))
    damaged.forget()
    Path(found.manifests.path(other["_FILE_NAME"])).write_bytes(b"Obj\x01")
    for name in ("files", "buckets", "partitions"):
        (row,) = rows_of(found, name, where=[about("=", "p=1"), about("IN", "p=1", "p=7")])
        assert row["partition"] == "p=1"
        for where in (about("=", "p=2"), about("STARTS_WITH", "p=1")):
            with pytest.raises(CorruptDataError, match=other["_FILE_NAME"]):
                rows_of(found, name, where=[where])


def test_any_text_of_a_partition_is_found(table: Table) -> None:
    every = rows_of(table, "files", "partition", "file_path")
    texts = {row["partition"] for row in every}
    assert len(texts) > 1
    for text in (*texts, "p=a", "p=a/d=soon", "p=a/d=2024-01-02/d=2024-01-02", ""):
        wanted = [row for row in every if row["partition"] == text]
        assert rows_of(table, "files", "partition", "file_path", where=[about("=", text)]) == wanted


def test_many_files_come_in_batches(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    one = tables.message(found)
    files = tuple(replace(one.files[0], name=f"data-{n}-0.parquet") for n in range(MANY))
    commit.append(found, tables.spec(found), [replace(one, files=files)])
    found = tables.reload(found)
    batches = list(metadata.ALL["files"].batches(found, ["level", "record_count"], "UTC"))
    assert [batch.num_rows for batch in batches] == [BATCH_ROWS, MANY - BATCH_ROWS]
    assert batches[0].schema.names == ["level", "record_count"]
    few = metadata.ALL["files"].batches(found, ["level"], "UTC", limit=3)
    assert [batch.num_rows for batch in few] == [3]
    (sums,) = metadata.ALL["buckets"].batches(found, ["file_count"], "UTC")
    assert sums.column(0).to_pylist() == [MANY]


def test_names(tmp_path: Path, table: Table) -> None:
    catalog = tables.catalog(tmp_path)
    found, view = find(catalog, ["default"], "t$Files")
    assert (view["name"], view["view"]) == ("test.default.`t$Files`", "metadata")
    assert found.layout == table.layout
    assert find(catalog, ["default"], "t") == (found, {})
    with pytest.raises(NotSupportedError, match=r"no metadata table \$nope; there are \$snapshots"):
        find(catalog, ["default"], "t$nope")
    with pytest.raises(TableError, match="read only"):
        catalog.drop_table(["default"], "t$files")
    with pytest.raises(TableError, match="not allowed"):
        tables.table(tmp_path, name="u$v")
