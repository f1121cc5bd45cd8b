"""Under a `sequence.field` compactions keep deletes: a row that comes late stays hidden, whatever
was compacted before it came.
"""

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyfold.compact import kept_deletes
from keyfold.kernels.ops import DELETE, INSERT, UPDATE_BEFORE
from keyfold.merge.kinds import SEQUENCE_NUMBER, VALUE_KIND
from keyfold.storage.table import Table
from tests import readers
from tests.compact import harness as compaction
from tests.concurrency import jobs
from tests.concurrency.jobs import Changes
from tests.read import harness
from tests.storage import tables

COLUMNS = [tables.column(name) for name in ("k", "s", "v")]


def made(folder: Path, **options: str) -> Table:
    """Ten rows of sequence 5, the first half of them deleted, compacted."""
    new = tables.new_table(*COLUMNS, bucket="1", sequence__field="s", **options)
    table = jobs.catalog(str(folder)).create_table(["default"], "t", new)
    jobs.written(str(folder), [row(key, 5) for key in range(10)])
    deletes = [(DELETE, {"k": k, "_STORED_s": 5}) for k in range(5)]
    Changes(str(folder), deletes, "DELETE").run().commit()
    jobs.compacted(str(folder))
    return table


def row(key: int, sequence: int) -> dict[str, Any]:
    return {"k": key, "s": sequence, "v": key}


def found(folder: Path) -> list[dict[str, Any]]:
    return harness.rows(jobs.table_of(str(folder)))


def deletes_of(table: Table) -> list[int | None]:
    return [file.delete_rows for file in tables.reload(table).live_files()]


def test_late_rows_stay_hidden_and_later_ones_begin_anew(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert deletes_of(table) == [5]
    rest = [row(key, 5) for key in range(5, 10)]
    assert found(tmp_path) == rest
    jobs.written(str(tmp_path), [row(0, 4), row(1, 5), row(2, 6)])
    assert found(tmp_path) == [row(1, 5), row(2, 6), *rest]
    jobs.compacted(str(tmp_path))
    assert deletes_of(table) == [3]
    assert found(tmp_path) == [row(1, 5), row(2, 6), *rest]
    assert compaction.plan(table)["skipped"] == "no bucket needs merging"


@pytest.mark.parametrize("engine", ["pypaimon", "pypaimon-rust"])
def test_other_readers_do_not_see_deleted_rows(tmp_path: Path, engine: str) -> None:
    made(tmp_path)
    read = readers.read if engine == "pypaimon" else readers.read_by_rust
    got = read(tmp_path, "default.t").to_pylist()
    assert sorted(got, key=lambda one: one["k"]) == found(tmp_path)


def test_deletes_stay_from_the_first_number_on() -> None:
    numbers = [(8, INSERT), (8, DELETE), (9, UPDATE_BEFORE), (9, DELETE), (10, DELETE)]
    batch = pa.RecordBatch.from_arrays(
        [pa.array([n for n, _ in numbers]), pa.array([kind for _, kind in numbers], pa.int8())],
        [SEQUENCE_NUMBER, VALUE_KIND],
    )
    left = kept_deletes.kept(batch, 9).to_pylist()
    assert [tuple(row.values()) for row in left] == [numbers[0], *numbers[2:]]


def test_deletes_leave_when_their_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, keyfold__deletes__time_retained="1 h")
    assert deletes_of(table) == [5]
    assert compaction.plan(table)["skipped"] == "no bucket needs merging"
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3700)
    jobs.compacted(str(tmp_path))
    assert deletes_of(table) == [0]
    jobs.written(str(tmp_path), [row(0, 4)])
    assert found(tmp_path)[0] == row(0, 4)


def test_a_table_without_sequence_keeps_none(tmp_path: Path) -> None:
    jobs.made(str(tmp_path))
    jobs.written(str(tmp_path), [{"k": 1, "v": 1}, {"k": 2, "v": 2}])
    jobs.deleted(str(tmp_path), 1)
    jobs.compacted(str(tmp_path))
    assert deletes_of(jobs.table_of(str(tmp_path))) == [0]
