"""Value columns are decoded only for row groups that hold a winner: others may hold anything."""

from collections import deque
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfold.errors import CorruptDataError
from keyfold.merge.deferred import Deferred
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.read.reader import read
from keyfold.stores.opened import store_of
from keyfold.wire.layout import TableLayout
from keyfold.wire.partitions import UNPARTITIONED
from keyfold.wire.specs import DataFile, ScanSpec, Split
from keyfold.write.writer import write
from tests.read import harness

COLUMNS = (("k", "BIGINT NOT NULL"), ("v", "STRING"), ("w", "DOUBLE"))
ROWS, GROUP = 4096, 1024


def made(folder: Path, engine: dict[str, str]) -> TableLayout:
    options = {"keyfold.row-group.rows": str(GROUP)} | engine
    return harness.layout(folder, *COLUMNS, **options)


def written(found: TableLayout, keys: range, text: str) -> tuple[DataFile, ...]:
    given = [{"k": k, "v": f"{text} {k}", "w": k / 8} for k in keys]
    (message,) = write(harness.job(found), harness.batches(found, given, 1000))
    return tuple(
        DataFile(f.name, f.size, f.rows, 0, f.min_sequence, f.max_sequence, 0, 0)
        for f in message.files
    )


def destroy(
    folder: Path, file: DataFile, groups: range, names: tuple[str, ...] = ("v", "w")
) -> None:
    """Overwrite columns of some row groups; the footer stays."""
    path = folder / "bucket-0" / file.name
    metadata, data = pq.read_metadata(path), bytearray(path.read_bytes())
    for group in groups:
        for place in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(place)
            if chunk.path_in_schema in names:
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                data[start : start + chunk.total_compressed_size] = b"\xff" * (
                    chunk.total_compressed_size
                )
    path.write_bytes(bytes(data))


def rows(found: TableLayout, *runs: tuple[DataFile, ...], **scan: Any) -> list[dict[str, Any]]:
    split = Split(UNPARTITIONED, 0, f"{found.location}/bucket-0", (runs,))
    spec = ScanSpec(found, tuple(name for name, _ in COLUMNS), {}, **scan)
    return [row for batch in read(spec, split) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("engine", "winner"),
    [({}, "new"), ({"merge-engine": "first-row"}, "old"), ({"sequence.field": "w"}, "new")],
)
def test_row_groups_without_a_winner_are_not_decoded(
    tmp_path: Path, engine: dict[str, str], winner: str
) -> None:
    found = made(tmp_path, engine)
    old, new = written(found, range(ROWS), "old"), written(found, range(ROWS), "new")
    loser = old if winner == "new" else new
    destroy(tmp_path, loser[0], range(ROWS // GROUP), ("v",))
    assert [row["v"] for row in rows(found, old, new)] == [f"{winner} {k}" for k in range(ROWS)]


def test_a_row_group_with_one_winner_is_decoded(tmp_path: Path) -> None:
    found = made(tmp_path, {})
    old = written(found, range(ROWS), "old")
    new = written(found, range(GROUP, ROWS), "new")
    destroy(tmp_path, old[0], range(1, ROWS // GROUP))
    merged = rows(found, old, new)
    assert [row["v"] for row in merged[GROUP - 1 : GROUP + 1]] == ["old 1023", "new 1024"]
    destroy(tmp_path, old[0], range(1))
    with pytest.raises(CorruptDataError, match="can't be read"):
        rows(found, old, new)


@pytest.mark.parametrize("engine", [{}, {"merge-engine": "partial-update"}])
@pytest.mark.parametrize(("runs", "absent"), [(1, 6001), (2, -5)])
def test_a_filter_by_key_decodes_the_row_groups_of_what_it_finds(
    tmp_path: Path, engine: dict[str, str], runs: int, absent: int
) -> None:
    """The absent key lies between the keys of a destroyed row group, or below all."""
    found = made(tmp_path, engine)
    files = [written(found, range(first, 2 * ROWS, 2), f"{first}") for first in range(runs)]
    for file in files:
        destroy(tmp_path, file[0], range(2, ROWS // GROUP))
    filters = (harness.where("IN", "k", 10, absent),)
    assert [row["k"] for row in rows(found, *files, key_filter=filters)] == [10]


@pytest.mark.parametrize("engine", [{}, {"merge-engine": "first-row"}, {"sequence.field": "w"}])
def test_a_filter_by_value_decodes_the_row_groups_of_what_it_finds(
    tmp_path: Path, engine: dict[str, str]
) -> None:
    """Of several runs too: the columns that are not compared are destroyed in all others."""
    found = made(tmp_path, engine)
    files = [written(found, range(first, 2 * ROWS, 2), f"{first}") for first in range(2)]
    for file in files:
        destroy(tmp_path, file[0], range(1, ROWS // GROUP), ("v",))
    filters = (harness.where("IN", "w", 1.25, 1.0, 10**6 + 0.5, type="double"),)
    assert rows(found, *files, value_filter=filters) == [
        {"k": 8, "v": "0 8", "w": 1.0},
        {"k": 10, "v": "0 10", "w": 1.25},
    ]


def test_where_every_row_group_is_needed_most_are_decoded_whole(tmp_path: Path) -> None:
    found = made(tmp_path, {})
    (file,) = written(found, range(16 * GROUP), "new")
    scan = ScanSpec(found, tuple(name for name, _ in COLUMNS), {})
    wanted = Wanted(scan.columns, decide=("k",))
    store = store_of(f"{found.location}/bucket-0", found.options)
    deferred, texts = 0, []
    for batch in read_file(scan, store, f"{found.location}/bucket-0", file, wanted):
        deferred += isinstance(batch, Deferred)
        texts += batch.column("v").to_pylist()
    assert texts == [f"new {k}" for k in range(16 * GROUP)]
    assert 2 < deferred < 8


def test_what_is_not_needed_stays_deferred(tmp_path: Path) -> None:
    found = made(tmp_path, {})
    (file,) = written(found, range(16 * GROUP), "new")
    scan = ScanSpec(found, tuple(name for name, _ in COLUMNS), {})
    wanted = Wanted(scan.columns, decide=("k",))
    store = store_of(f"{found.location}/bucket-0", found.options)
    batches = read_file(scan, store, f"{found.location}/bucket-0", file, wanted)
    assert all(isinstance(batch, Deferred) for batch in batches)


@given(
    groups=st.lists(st.integers(1, 90), min_size=1, max_size=6),
    batch_rows=st.integers(1, 40),
    lag=st.integers(0, 8),
    skipped=st.sets(st.integers(0, 60), max_size=5),
)
@example(groups=[83, 67], batch_rows=10, lag=4, skipped=set())
def test_rows_stay_together_whenever_they_are_decoded(
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[int],
    batch_rows: int,
    lag: int,
    skipped: set[int],
) -> None:
    """A merge looks at the keys of batches to come, maybe of another row group, before it decodes
    a batch.
    """
    found = made(tmp_path_factory.mktemp("t"), {})
    (file,) = written(found, range(sum(groups)), "new")
    path = Path(found.location) / "bucket-0" / file.name
    regroup(path, groups)
    file = replace(file, size=path.stat().st_size)
    scan = ScanSpec(found, tuple(name for name, _ in COLUMNS), {})
    wanted = Wanted(scan.columns, decide=("k",), batch_rows=batch_rows)
    store = store_of(f"{found.location}/bucket-0", found.options)
    waiting: deque[pa.RecordBatch | Deferred] = deque()
    keys = 0
    for place, batch in enumerate(
        read_file(scan, store, f"{found.location}/bucket-0", file, wanted)
    ):
        keys += batch.num_rows
        if place not in skipped:
            waiting.append(batch)
        while len(waiting) > lag:
            check(waiting.popleft())
    for batch in waiting:
        check(batch)
    assert keys == sum(groups)


def regroup(path: Path, groups: list[int]) -> None:
    """The same rows in row groups of these sizes, as other writers make them."""
    table = pq.read_table(path)
    with pq.ParquetWriter(path, table.schema) as writer:
        for size, stop in zip(groups, accumulate(groups), strict=True):
            writer.write_table(table.slice(stop - size, size))


def check(batch: pa.RecordBatch | Deferred) -> None:
    keys = batch.column("k").to_pylist()
    assert batch.column("v").to_pylist() == [f"new {k}" for k in keys]
    assert batch.column("w").to_pylist() == [k / 8 for k in keys]
