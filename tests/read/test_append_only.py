"""Tables without a primary key, which pypaimon wrote: every row of every file, none merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfold.errors import NotSupportedError
from keyfold.read.folds.summary import summarized
from keyfold.read.provenance import metadata_columns
from keyfold.read.reader import read
from keyfold.storage.table import Table
from keyfold.wire.specs import Aggregate
from tests import readers
from tests.draws import draws
from tests.read import harness
from tests.read.harness import where
from tests.storage.tables import catalog

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), ("p", pa.int32())])
COLUMNS = {"k": "BIGINT", "v": "STRING", "p": "INT"}
Row = dict[str, Any]


def theirs(folder: Path, by: list[str], **options: str) -> Path:
    readers.create(folder, "default.t", COLUMNS, by=by, **options)
    return folder


def append(folder: Path, rows: list[Row], schema: pa.Schema = SCHEMA) -> None:
    readers.write(folder, "default.t", pa.Table.from_pylist(rows, schema))


def ours(folder: Path) -> Table:
    return catalog(folder).load_table(["default"], "t")


def found(table: Table, *columns: str, **more: Any) -> list[Row]:
    return sorted_rows(harness.rows(table, columns or None, **more))


def sorted_rows(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


ROWS = st.fixed_dictionaries(
    {
        "k": st.none() | st.integers(0, 3),
        "v": st.none() | st.sampled_from(["", "a", "b"]),
        "p": st.integers(1, 2),
    }
)


@draws(6)
@given(
    jobs=st.lists(st.lists(ROWS, min_size=1, max_size=6), min_size=1, max_size=4), data=st.data()
)
def test_every_row_is_there(tmp_path_factory: Any, jobs: list[list[Row]], data: Any) -> None:
    folder = tmp_path_factory.mktemp("append")
    by, options = data.draw(st.sampled_from([([], {}), (["p"], {}), ([], {"bucket": "2"})]))
    if options:
        options = {**options, "bucket_key": "k"}
        jobs = [[{**row, "k": row["k"] or 0} for row in job] for job in jobs]
    written = theirs(folder, by, **options)
    for job in jobs:
        append(written, job)
    rows = [row for job in jobs for row in job]
    table = ours(folder)
    table.check_readable()
    assert found(table) == sorted_rows(rows)
    assert found(table, "v") == sorted_rows([{"v": row["v"]} for row in rows])
    kept = found(table, filters=[where("=", "k", 1), where("=", "p", 2, type="int")])
    known = [row for row in rows if row["k"] == 1 and row["p"] == 2]
    assert [row for row in kept if row in known] == sorted_rows(known)
    assert [column.name for column in metadata_columns(table.layout)] == ["_file", "_bucket"]
    places = {(f"/bucket-{f.bucket}/{f.name}", f.bucket) for f in table.live_files()}
    told = harness.rows(table, ["_file", "_bucket", "v"])
    assert len(told) == len(rows)
    for row in told:
        assert any(row["_file"].endswith(f) and row["_bucket"] == b for f, b in places)
    by_columns = tuple(by)
    asked = Aggregate(by_columns, (("COUNT", None), ("MAX", "k")))
    scan, tasks, _ = harness.planned_tasks(table, ["k"], aggregate=asked)
    summed = [
        row for task in tasks for batch in summarized(scan, task) for row in batch.to_pylist()
    ]
    assert sum(row["COUNT 0"] for row in summed) == len(rows)
    most = [row["k"] for row in rows if row["k"] is not None]
    assert max((r["MAX 1"] for r in summed if r["MAX 1"] is not None), default=None) == max(
        most, default=None
    )


def test_rows_are_counted_where_no_column_is_read(tmp_path: Path) -> None:
    written = theirs(tmp_path, ["p"])
    append(written, [{"k": 1, "v": "a", "p": 1}, {"k": 1, "v": "a", "p": 2}])
    append(written, [{"k": 1, "v": "a", "p": 1}])
    scan, splits, _ = harness.planned(ours(tmp_path), [])
    assert sum(batch.num_rows for split in splits for batch in read(scan, split)) == 3


def test_old_schemas(tmp_path: Path) -> None:
    written = theirs(tmp_path, [])
    append(written, [{"k": 1, "v": "a", "p": 1}])
    catalog(tmp_path).alter_table(
        ["default"],
        "t",
        [{"change": "add_column", "name": ["w"], "type": "string", "nullable": True}],
    )
    more = SCHEMA.append(pa.field("w", pa.string()))
    append(written, [{"k": 2, "v": "b", "p": 1, "w": "x"}], more)
    assert found(ours(tmp_path)) == [
        {"k": 1, "v": "a", "p": 1, "w": None},
        {"k": 2, "v": "b", "p": 1, "w": "x"},
    ]


def test_they_are_not_written(tmp_path: Path) -> None:
    append(theirs(tmp_path, []), [{"k": 1, "v": "a", "p": 1}])
    with pytest.raises(NotSupportedError, match="append-only tables are read here, and written by"):
        ours(tmp_path).check_writable()
