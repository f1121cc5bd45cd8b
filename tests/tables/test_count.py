"""`scan.count()` is the number of rows that the scan gives, and reads no more than it must."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import keyfold
from keyfold import CorruptDataError

COLUMNS = {"k": "INT", "p": "INT", "v": "BIGINT"}
OPTIONS: list[dict[str, str]] = [
    {},
    {"sequence.field": "v"},
    {"merge-engine": "first-row"},
    {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
]
SCANS: list[dict[str, Any]] = [
    {},
    {"where": "p = 1"},
    {"where": "p IN (0, 2) AND k < 20"},
    {"where": "v > 50"},
    {"where": "p = 1 AND v > 50"},
    {"where": pc.field("v") + 1 > 50},
    {"columns": ["v"], "where": "k = 3"},
    {"columns": []},
    {"limit": 5},
    {"limit": 0},
    {"limit": 5, "where": "v > 50"},
    {"where": "p = 7"},
    {"snapshot": 2},
    {"options": {"read-optimized": "true"}},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_the_number_of_rows(tmp_path: Path, seed: int, options: dict[str, str]) -> None:
    random = Random(seed)
    catalog = keyfold.connect(tmp_path, threads=2)
    table = catalog.create_table("t", COLUMNS, ["p", "k"], ["p"], options | {"bucket": "1"})
    assert table.scan().count() == 0
    assert table.scan(where="v > 1").count() == 0
    for step in range(4):
        table.upsert(
            [
                {"k": random.randrange(40), "p": random.randrange(3), "v": random.randrange(100)}
                for _ in range(60)
            ]
        )
        if "first-row" not in options.values() and step % 2:
            table.delete(where=f"k = {random.randrange(40)}")
        if step == 2:
            table.compact()
        known = SCANS if step else SCANS[:-2]  # which ask for snapshot 2, or a compaction
        for asked in known if step == 3 else random.sample(known, 4):
            scan = table.scan(**asked)
            assert scan.count() == len(scan.to_pylist()), asked
    changes = table.changes()
    assert changes.count() == len(changes.to_pylist())


def test_footers_tell_it_of_files_that_need_no_merge(tmp_path: Path) -> None:
    """All pages of the data are overwritten: whatever reads one fails."""
    table = keyfold.connect(tmp_path).create_table("t", COLUMNS, ["p", "k"], ["p"])
    table.upsert([{"k": k, "p": k % 2, "v": k} for k in range(1000)])
    table.compact()
    for path in tmp_path.rglob("data-*.parquet"):
        _without_pages(path)
    assert table.scan().count() == 1000
    assert table.scan(where="p = 1").count() == 500
    assert table.scan(where=pc.field("p") == 1, limit=7).count() == 7
    for other in (table.scan(where="v >= 0").count, table.scan().to_arrow):
        with pytest.raises(CorruptDataError):
            other()


def _without_pages(path: Path) -> None:
    footer = pq.ParquetFile(path).metadata.serialized_size + 8
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(len(data) - footer - 4) + data[-footer:])
    assert len(data) == path.stat().st_size
