"""Buckets cut by key range: every key once, every core busy, no row group decoded in vain."""

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keyfold.files.column_mapping import sources
from keyfold.files.footers import Footer
from keyfold.read.key_cuts import group_ranges
from keyfold.read.keyrange import KeyRange
from keyfold.read.reader import may_matter
from keyfold.storage.table import Table
from keyfold.wire.specs import ScanSpec, Split
from tests.read import harness
from tests.storage import tables

START = datetime.datetime(1969, 12, 31, 12)
BEGIN = START.replace(tzinfo=datetime.timezone.utc)
KEYS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "long": ("long", lambda i: i - 5000),
    "date": ("date", lambda i: datetime.date(1960, 1, 1) + datetime.timedelta(days=i)),
    "string": ("string", lambda i: f"ключ-{i:06d}" + "x" * (i % 40)),
    "binary": ("binary", lambda i: i.to_bytes(4, "big")),
    "decimal": ("decimal(12,3)", lambda i: Decimal(i - 6000).scaleb(-3)),
    "long decimal": ("decimal(30,10)", lambda i: Decimal(i - 6000) * 10**9),
    "timestamp": ("timestamp_ntz", lambda i: START + datetime.timedelta(microseconds=i * 7)),
    "local timestamp": ("timestamp", lambda i: BEGIN + datetime.timedelta(seconds=i)),
    "double": ("double", lambda i: (i - 6000) / 4),
}  # fmt: skip


def made(folder: Path, *columns: Any, key: str, **options: str) -> Table:
    settings = {"bucket": "1", "keyfold.row-group.rows": "1024"} | options
    return tables.table(folder, tables.new_table(*columns, key=key, **settings))


def overlapping(table: Table, rows: Callable[[int, int], dict[str, Any]], count: int) -> Any:
    """Three jobs over the same keys; what they leave, by number."""
    model = {}
    for job in range(3):
        numbers = range(job, count, job + 1)
        harness.upsert(table, [rows(i, job) for i in numbers])
        model |= {i: rows(i, job) for i in numbers}
    return model


def decoded_for_nothing(scan: ScanSpec, splits: list[Split]) -> int:
    """Row groups that a split would decode without a row of it in them."""
    found = 0
    for split in splits:
        within = KeyRange.of(split, scan.layout)
        assert within is not None
        for file in split.files:
            opened = pq.ParquetFile(f"{split.path}/{file.name}")
            keyed = sources(scan, file.schema_id, scan.layout.key)
            known = group_ranges(Footer(opened.metadata), keyed)
            for group, ranges in enumerate(known):
                if may_matter(scan.key_filter, within, scan.layout.key, ranges):
                    keys = opened.read_row_group(group, columns=list(scan.layout.key))
                    fields = [scan.layout.column(name).arrow_field for name in keys.column_names]
                    (batch,) = keys.cast(pa.schema(fields)).combine_chunks().to_batches()
                    # Statistics don't say where rows of several leading values end.
                    is_known = len(fields) == 1 or len(batch.column(0).unique()) == 1
                    found += is_known and not within.cut(batch).num_rows
    return found


@pytest.mark.parametrize("name", list(KEYS))
def test_every_type_of_key_is_cut(tmp_path: Path, name: str) -> None:
    kind, value = KEYS[name]
    by_file = {"target-file-size": "16 kb"} if name == "double" else {}
    table = made(tmp_path, tables.column("k", kind, False), tables.column("v"), key="k", **by_file)
    model = overlapping(table, lambda i, job: {"k": value(i), "v": job}, 12_000)
    scan, splits = tasks(table, cores=4)
    assert (2 if by_file else 3) <= len(splits) <= 6
    parts = [harness.rows_of(scan, [split]) for split in splits]
    assert all(parts)
    rows = [row for part in parts for row in part]
    assert rows == [model[i] for i in sorted(model)]
    if not by_file:  # the upper bounds of row groups are known
        assert max(map(len, parts)) < 2 * len(rows) / len(parts)
        assert decoded_for_nothing(scan, splits) == 0


def tasks(table: Table, cores: int, **options: str) -> tuple[ScanSpec, list[Split]]:
    small = {"source__split__open_file_cost": "1 b"} | options
    scan, found, _ = harness.planned_tasks(table, options=small, cores=cores)
    assert all(len(task) == 1 for task in found)
    return scan, [split for (split,) in found]


@pytest.mark.parametrize("leads", [1, 2, 50])
def test_a_leading_column_of_few_values_does_not_keep_a_bucket_whole(
    tmp_path: Path, leads: int
) -> None:
    columns = [tables.column(n, t, False) for n, t in (("a", "integer"), ("b", "string"))]
    table = made(tmp_path, *columns, tables.column("v"), key="a,b")
    model = overlapping(
        table, lambda i, job: {"a": i * leads // 12_000, "b": f"{i:05d}", "v": job}, 12_000
    )
    scan, splits = tasks(table, cores=3)
    assert len(splits) >= 3
    parts = [harness.rows_of(scan, [split]) for split in splits]
    assert [row for part in parts for row in part] == [model[i] for i in sorted(model)]
    assert max(map(len, parts)) < 6_500
    assert decoded_for_nothing(scan, splits) == 0


def test_a_run_of_few_keys_is_read_where_they_are(tmp_path: Path, seed: int) -> None:
    """Most rows are upserts of the last keys: pieces share them, not the keys."""
    table = made(tmp_path, tables.column("k"), tables.column("v"), key="k")
    draw = random.Random(seed)
    model = {k: {"k": k, "v": -1} for k in range(8_000)}
    harness.upsert(table, model.values())
    for job in range(4):
        rows = [{"k": k, "v": draw.randrange(1 << 40)} for k in range(4_000 + job, 8_000, 1)]
        harness.upsert(table, rows)
        model |= {row["k"]: row for row in rows}
    scan, splits = tasks(table, cores=4)
    assert len(splits) >= 3
    parts = [harness.rows_of(scan, [split]) for split in splits]
    assert [row for part in parts for row in part] == [model[k] for k in sorted(model)]
    assert decoded_for_nothing(scan, splits) == 0
    assert len(parts[0]) >= 4_000 - 1_024


def test_a_narrow_filter_is_one_task(tmp_path: Path) -> None:
    table = made(tmp_path, tables.column("k"), tables.column("v"), key="k")
    model = overlapping(table, lambda i, job: {"k": i, "v": job}, 12_000)
    small = {"source__split__open_file_cost": "1 b"}
    narrow = [harness.where("=", "k", 7_000)]
    scan, found, _ = harness.planned_tasks(table, filters=narrow, options=small, cores=4)
    assert len(found) == 1
    assert harness.rows_of(scan, found[0]) == [model[7_000]]
    _, everything, _ = harness.planned_tasks(table, options=small, cores=4)
    assert len(everything) > 2


def test_many_small_files_are_few_tasks(tmp_path: Path) -> None:
    columns = tables.column("p", "integer", False), tables.column("k"), tables.column("v")
    table = tables.table(tmp_path, tables.new_table(*columns, key="p,k", by="p", bucket="4"))
    rows = [{"p": p, "k": k, "v": p * k} for p in range(20) for k in range(40)]
    harness.upsert(table, rows)
    scan, found, report = harness.planned_tasks(table, cores=2)
    assert report.files_read == 80
    assert 2 <= len(found) <= 4
    read = [row for task in found for row in harness.rows_of(scan, task)]
    assert sorted(read, key=str) == sorted(rows, key=str)
    assert len(harness.planned_tasks(table, cores=16)[1]) in range(12, 21)
