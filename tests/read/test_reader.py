"""Files read under other schemas, deletes that no count mentions, and how much is alive at once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from keyfold.errors import CorruptDataError
from keyfold.read import reader
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column, TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import CommitMessage, DataFile, ScanSpec, Split
from keyfold.write.writer import write
from tests.read import harness
from tests.read.harness import planned, rows, rows_of, upsert, where
from tests.storage import tables

ARRAY = {"type": "ARRAY", "element": "INT"}


def section_of(*jobs: list[CommitMessage]) -> tuple[tuple[DataFile, ...], ...]:
    """One section of a run for each job."""
    return tuple(
        tuple(
            DataFile(f.name, f.size, f.rows, 0, f.min_sequence, f.max_sequence, f.schema_id, 0)
            for message in messages
            for f in message.files
        )
        for messages in jobs
    )


def split_of(found: TableLayout, *jobs: list[CommitMessage]) -> Split:
    return Split(UNPARTITIONED, 0, f"{found.location}/bucket-0", (section_of(*jobs),))


def row(*fields: tuple[int, str, Any]) -> Any:
    return {"type": "ROW", "fields": [{"id": i, "name": n, "type": t} for i, n, t in fields]}


OLD = (
    (0, "k", "INT NOT NULL"),
    (1, "small", "TINYINT"),
    (2, "gone", "STRING"),
    (3, "old name", "INT"),
    (4, "nested", row((10, "a", "INT"), (11, "b", ARRAY), (12, "c", "INT"))),
    (5, "list", {"type": "ARRAY", "element": row((13, "x", "INT"))}),
    (6, "map", {"type": "MAP", "key": "INT NOT NULL", "value": row((14, "x", "FLOAT"))}),
    (7, "price", "DECIMAL(5, 2)"),
)
NEW = (
    (7, "price", "DECIMAL(20, 4)"),
    (0, "k", "INT NOT NULL"),
    (1, "small", "BIGINT"),
    (8, "gone", "STRING"),
    (3, "new name", "DOUBLE"),
    (4, "nested", row((12, "renamed", "BIGINT"), (15, "added", "STRING"), (11, "b", ARRAY))),
    (5, "list", {"type": "ARRAY", "element": row((13, "x", "BIGINT"), (16, "y", "INT"))}),
    (6, "map", {"type": "MAP", "key": "INT NOT NULL", "value": row((14, "x", "DOUBLE"))}),
)


def versioned(folder: Path, schema_id: int, columns: Any) -> TableLayout:
    made = tuple(Column(i, n, paimon_types.from_paimon(t)) for i, n, t in columns)
    return TableLayout("db.t", str(folder), schema_id, made, ("k",), (), {"bucket": "1"})


def test_older_files_are_read_by_field_id(tmp_path: Path) -> None:
    old, new = versioned(tmp_path, 0, OLD), versioned(tmp_path, 1, NEW)
    first = {
        "k": 1, "small": -5, "gone": "x", "old name": 7, "nested": {"a": 1, "b": [2, None], "c": 3},
        "list": [{"x": 1}, None], "map": [(1, {"x": 0.5})], "price": 1,
    }  # fmt: skip
    empty = {"k": 2}
    written = write(harness.job(old), harness.batches(old, [first, empty, {"k": 3}]))
    later = write(harness.job(new), harness.batches(new, [{"k": 3, "gone": "back"}]))
    scan = ScanSpec(new, tuple(new.arrow_schema.names), {0: OLD})
    found = harness.rows_of(scan, [split_of(new, written, later)])
    none = dict.fromkeys(new.arrow_schema.names)
    assert found == [
        none | {
            "k": 1, "small": -5, "new name": 7.0, "price": 1,
            "nested": {"renamed": 3, "added": None, "b": [2, None]},
            "list": [{"x": 1, "y": None}, None], "map": [(1, {"x": 0.5})],
        },
        none | {"k": 2},
        none | {"k": 3, "gone": "back"},
    ]  # fmt: skip
    sliced = ScanSpec(new, ("nested", "list", "map"), {0: OLD}, limit=1)
    (only,) = harness.rows_of(sliced, [split_of(new, written)])
    assert only == {name: found[0][name] for name in sliced.columns}
    with pytest.raises(CorruptDataError, match="schema id 0"):
        harness.rows_of(ScanSpec(new, ("k",), {}), [split_of(new, written)])


def test_deletes_are_seen_although_the_count_says_none(tmp_path: Path) -> None:
    columns = (("k", "INT NOT NULL"), ("kind", "STRING"))
    found = harness.layout(tmp_path, *columns, **{"rowkind.field": "kind"})

    def kinds(*texts: str) -> list[CommitMessage]:
        rows = [{"k": k, "kind": kind} for k, kind in enumerate(texts)]
        return write(harness.job(found), harness.batches(found, rows))

    first, second = kinds("+I", "+I", "+U", "-D"), kinds("-D", "+U", "-U", "+I")
    scan = ScanSpec(found, ("k",), {})
    assert [r["k"] for r in harness.rows_of(scan, [split_of(found, first)])] == [0, 1, 2]
    assert [r["k"] for r in harness.rows_of(scan, [split_of(found, first, second)])] == [1, 3]


@pytest.mark.parametrize("section", [(0,), (1,), (0, 1), (1, 0)])
def test_thin_and_full_files_are_read_alike(tmp_path: Path, section: tuple[int, ...]) -> None:
    columns = (("s", "STRING NOT NULL"), ("k", "INT NOT NULL"), ("v", "INT"))
    full = harness.layout(tmp_path, *columns, key="s,k")
    thin = replace(full, options={**full.options, "data-file.thin-mode": "true"})
    rows = [{"s": f"{i % 3}", "k": i, "v": i} for i in range(9)]
    jobs = [write(harness.job(table), harness.batches(table, rows)) for table in (full, thin)]
    names = [pq.read_schema(tmp_path / "bucket-0" / job[0].files[0].name).names for job in jobs]
    assert names[0] == ["_KEY_s", "_KEY_k", *names[1]]
    assert names[1] == ["_SEQUENCE_NUMBER", "_VALUE_KIND", "s", "k", "v"]
    first, second = (job[0].files[0] for job in jobs)
    assert (second.keys, second.key_stats) == (first.keys, first.key_stats)
    scan = ScanSpec(thin, ("v",), {}, key_filter=(harness.where(">=", "k", 0, type="integer"),))
    found = harness.rows_of(scan, [split_of(thin, *(jobs[at] for at in section))])
    assert sorted(row["v"] for row in found) == list(range(9))


def test_interleaved_sequence_ranges_are_decided_by_the_column(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "STRING"))
    directory = tmp_path / "bucket-0"
    directory.mkdir()
    runs = []
    for name, numbers in (("a", [1, 20]), ("b", [10, 11])):
        table = pa.table(
            {
                "_SEQUENCE_NUMBER": pa.array(numbers),
                "_VALUE_KIND": pa.array([0, 0], pa.int8()),
                "k": pa.array([1, 2], pa.int32()),
                "v": pa.array([name, name]),
            }
        )
        pq.write_table(table, directory / name)
        size = (directory / name).stat().st_size
        runs.append((DataFile(name, size, 2, 0, numbers[0], numbers[1], 0, 0),))
    section = (runs[1], runs[0])
    scan = ScanSpec(found, ("v",), {})
    rows = harness.rows_of(scan, [Split(UNPARTITIONED, 0, str(directory), (section,))])
    assert [r["v"] for r in rows] == ["b", "a"]


def test_row_groups_outside_a_key_filter_are_not_decoded(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "INT"))
    found.options["keyfold.row-group.rows"] = "1024"  # type: ignore[index]
    jobs = [
        write(
            harness.job(found), harness.batches(found, [{"k": i, "v": v} for i in range(8000)], 999)
        )
        for v in range(2)
    ]
    narrow = (harness.where("=", "k", 5000, type="integer"),)
    for given in (jobs, jobs[:1]):
        scan = ScanSpec(found, ("k", "v"), {}, None, narrow)
        rows = harness.rows_of(scan, [split_of(found, *given)])
        assert 0 < len(rows) <= 1024
        assert {"k": 5000, "v": len(given) - 1} in rows


def test_only_a_few_batches_of_a_run_are_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("v", "INT"))
    jobs = [
        write(harness.job(found), harness.batches(found, [{"k": i, "v": v} for i in range(4)]))
        for v in range(3)
    ]
    before = pa.total_allocated_bytes()
    most = 0

    def long(scan: Any, store: Any, path: str, file: DataFile, wanted: Any) -> Iterator[Any]:
        nonlocal most
        for start in range(0, 8_000_000, 1 << 16):
            keys = pc.add(
                pa.array(np.arange(1 << 16, dtype=np.int32)), pa.scalar(start, pa.int32())
            )
            most = max(most, pa.total_allocated_bytes() - before)
            yield pa.RecordBatch.from_arrays([keys, keys], schema=found.arrow_schema)

    monkeypatch.setattr(reader, "read_file", long)
    scan = ScanSpec(found, ("k", "v"), {}, limit=6_000_000)
    rows = sum(b.num_rows for b in reader.read(scan, split_of(found, *jobs)))
    assert rows == 6_000_000
    assert most < 48 << 20  # 3 runs of 64 MB


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"))
    messages = write(harness.job(found), harness.batches(found, [{"k": 1}]))
    (tmp_path / "bucket-0" / messages[0].files[0].name).unlink()
    with pytest.raises(CorruptDataError, match=r"it is missing; restore the file"):
        harness.rows_of(ScanSpec(found, ("k",), {}), [split_of(found, messages)])


def test_a_replaced_table_is_read_to_the_end(tmp_path: Path) -> None:
    found = tables.table(tmp_path, tables.new_table(bucket="1"))
    upsert(found, [{"k": 1, "v": 10}])
    scan, splits, _ = planned(found)
    ours = tables.catalog(tmp_path)
    new = tables.new_table(tables.column("other"), key="other")
    ours.commit_staged(ours.stage(["default"], "t", new, "create_or_replace"))
    assert rows_of(scan, splits) == [{"k": 1, "v": 10}]
    assert planned(found)[1] == []


def test_a_column_with_dots_is_not_a_field_of_another(tmp_path: Path) -> None:
    struct = {
        "type": "struct",
        "fields": [{"name": "b", "type": "long", "nullable": True, "metadata": {}}],
    }
    columns = (tables.column("a.b"), tables.column("a", struct), tables.column("b"))
    found = tables.table(tmp_path, tables.new_table(*columns, key="a.b", bucket="1"))
    row = {"a.b": 1, "a": {"b": 9}, "b": 5}
    upsert(found, [row])
    assert rows(found, filters=[where("=", "a.b", 1)]) == [row]
    assert rows(found, ["a"]) == [{"a": {"b": 9}}]
    assert rows(found, ["b", "a.b"]) == [{"b": 5, "a.b": 1}]
