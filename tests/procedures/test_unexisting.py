"""remove_unexisting_files: what is left can be read again, and nothing else is taken away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keyfold
from keyfold import CorruptDataError, Table
from keyfold.procedures import procedures
from keyfold.procedures.declare import ProcedureCall
from keyfold.write.jobs import plan_job, publish
from keyfold.write.writer import write
from tests.option_names import option_names
from tests.procedures.called import Caller

COLUMNS = {"p": "INT", "k": "BIGINT", "v": "BIGINT"}


def made(folder: Path, **options: str) -> Table:
    """A table of two partitions and two buckets in each, of three jobs."""
    catalog = keyfold.connect(folder, threads=2)
    names = {"bucket": "2", "write-only": "true"} | option_names(options)
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], names)
    for value in range(3):
        table.upsert([{"p": k % 2, "k": k, "v": value} for k in range(10 * value, 40)])
    return table


def called(table: Table, *, dry_run: bool = False) -> list[dict[str, Any]]:
    """The rows of a call."""
    call = ProcedureCall(table._load(), table._load, Caller())
    return procedures()["remove_unexisting_files"].rows(call, {"dry_run": dry_run})


@pytest.mark.parametrize("bucket", ["2", "-1", "-2"])
def test_other_rows_can_be_read_again(tmp_path: Path, bucket: str) -> None:
    table = made(tmp_path, bucket=bucket)
    assert called(table) == []
    files = {file["file_path"]: file for file in table.files().to_pylist()}
    first, *_, last = sorted(files, key=lambda path: Path(path).stat().st_mtime_ns)
    before = {row["k"]: row["v"] for row in table.scan().to_pylist()}
    for path in (first, last):
        Path(path).unlink()
    with pytest.raises(CorruptDataError, match="is missing"):
        table.scan().to_arrow()
    found = called(table, dry_run=True)
    assert {row["file_path"] for row in found} == {first, last}
    assert table.files().num_rows == len(files)
    assert called(table) == found
    assert called(table) == []
    assert table.files().num_rows == len(files) - 2
    after = {row["k"]: row["v"] for row in table.scan().to_pylist()}
    changed = {k for k in before if after.get(k) != before[k]}
    assert 0 < len(changed) <= sum(row["rows"] for row in found)
    assert all(after[k] < before[k] for k in changed & after.keys())
    table.upsert([{"p": 1, "k": 1, "v": 9}])
    table.compact()
    assert table.get({"p": 1, "k": 1}) == {"p": 1, "k": 1, "v": 9}


def test_rows_that_vectors_mark(tmp_path: Path) -> None:
    table = made(tmp_path, deletion_vectors__enabled="true", write_only="false", bucket="1")
    table.compact()
    table.upsert([{"p": 0, "k": k, "v": 7} for k in range(0, 20, 2)])
    files = {file["file_path"]: file for file in table.files().to_pylist()}
    path = max((p for p in files if "/p=0/" in p), key=lambda path: files[path]["record_count"])
    Path(path).unlink()
    assert [row["file_path"] for row in called(table)] == [path]
    rows = table.scan().to_pylist()
    assert {row["v"] for row in rows if row["p"] == 0} == {7}
    assert len([row for row in rows if row["p"] == 1]) == 20


def test_rows_that_wait_for_buckets(tmp_path: Path) -> None:
    table = made(tmp_path, bucket="-2")
    before = {row["k"]: row["v"] for row in table.scan().to_pylist()}
    table.alter(options={"postpone.batch-write-fixed-bucket": "false"})
    table.upsert([{"p": k % 2, "k": k, "v": 8} for k in range(40)])
    lost, kept = sorted(tmp_path.rglob("data-u-*"))
    lost.unlink()
    (found,) = called(table)
    assert found["file_path"] == str(lost)
    assert called(table) == []
    table.compact()
    shown = dict.fromkeys((k for k in before if f"/p={k % 2}/" in str(kept)), 8)
    assert {row["k"]: row["v"] for row in table.scan().to_pylist()} == before | shown


def test_one_of_the_files_that_tasks_of_a_job_wrote_to_a_bucket(tmp_path: Path) -> None:
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}
    table = made(tmp_path, bucket="1", **options)
    found = table._load()
    spec = plan_job(found, tuple(COLUMNS))
    tasks = ([{"p": 0, "k": k, "v": 5} for k in range(first, 40, 4)] for first in (0, 2))
    batches = (pa.Table.from_pylist(rows, table.schema).to_batches() for rows in tasks)
    messages = [message for task in batches for message in write(spec, task)]
    publish(found, spec, messages)
    before = {row["k"]: row["v"] for row in table.scan().to_pylist()}
    name = messages[0].files[0].name
    next(tmp_path.rglob(name)).unlink()
    assert [Path(row["file_path"]).name for row in called(table)] == [name]
    after = {row["k"]: row["v"] for row in table.scan().to_pylist()}
    assert after == before | {k: before[k] - 5 for k in range(0, 40, 4)}
