"""Changelog files as they lie in a table, and changes folded on the rows before."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from keyfold.kernels.ops import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from keyfold.storage.metadata.avro_records import LISTED
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.metadata.snapshots import Snapshot
from keyfold.storage.table import Table
from keyfold.testing.tables import Record, records
from keyfold.types.arrow import to_arrow
from keyfold.wire.specs import KIND
from tests.random_values import same
from tests.storage import tables


def files_of(table: Table, snapshot: Snapshot) -> list[LiveFile]:
    """The changelog files of a snapshot."""
    if snapshot.changelog_manifest_list is None:
        return []
    name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    listed = table.manifests.records(LISTED, name, size)
    return [f for one in listed for f in table.manifests.added(one)]


def path_of(table: Table, file: LiveFile) -> str:
    """The path of a changelog file."""
    return f"{file.folder(table.layout)}/{file.name}"


def changes_of(table: Table, number: int) -> list[Record]:
    """The changes in the changelog files of a snapshot, as pyarrow reads them."""
    snapshot = table.snapshots.read(number)
    found: list[Record] = []
    for file in files_of(table, snapshot):
        stored = pq.read_table(path_of(table, file))
        assert len(stored) == file.rows
        names = [column.name for column in table.layout.columns]
        types = [to_arrow(column.type) for column in table.layout.columns]
        fields = [pa.field(n, t) for n, t in zip(names, types, strict=True)]
        schema = pa.schema([*fields, pa.field(KIND, pa.int8())])
        found += records(stored.select(schema.names).cast(schema).to_batches())
    assert len(found) == (snapshot.changelog_record_count or 0)
    return found


def changes_since(table: Table, number: int) -> list[Record]:
    """The changes of all snapshots after this one."""
    newest = tables.reload(table)
    last = newest.snapshot_id or 0
    return [one for at in range(number + 1, last + 1) for one in changes_of(newest, at)]


Rows = dict[tuple[Any, ...], dict[str, Any]]


def key_of(table: Table, row: dict[str, Any]) -> tuple[Any, ...]:
    """The key of a row, in a form that compares: NaN is NaN, -0.0 is not 0.0."""
    return tuple(repr(row[name]) for name in table.layout.primary_key)


def folded(table: Table, before: Rows, changes: list[Record]) -> Rows:
    """The rows after these changes. Each must fit the row it meets: the image before is the row as
    it was, an insert meets no row, an update changes one.
    """
    rows, taken = dict(before), None
    for kind, row in changes:
        key = key_of(table, row)
        if kind in (UPDATE_BEFORE, DELETE):
            assert taken is None
            assert all(same(rows[key][name], row[name]) for name in row), (rows[key], row)
            taken = rows.pop(key) if kind == UPDATE_BEFORE else rows.pop(key) and None
        else:
            assert key not in rows
            assert (kind == UPDATE_AFTER) == (taken is not None)
            assert kind in (UPDATE_AFTER, INSERT)
            assert taken is None or key_of(table, taken) == key
            rows[key], taken = row, None
    assert taken is None
    return rows


def check_rows(table: Table, found: Rows, expected: list[Record]) -> None:
    """The folded rows are those a reader sees."""
    assert len(found) == len(expected)
    for _, row in expected:
        own = found[key_of(table, row)]
        assert all(same(own[name], row[name]) for name in row), (own, row)
