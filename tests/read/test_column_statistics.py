"""Files of statistics, as Paimon stores them: what is written reads back, and commits keep it."""

import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import CorruptDataError
from keyfold.read.column_statistics import of_scan, store
from keyfold.storage.metadata import table_statistics
from keyfold.storage.metadata.table_statistics import TableStatistics, number_of, text_of
from keyfold.storage.table import Table
from keyfold.types.paimon import from_paimon
from tests.read import harness
from tests.storage import tables

# Type, manifest value, text as Paimon's serializers write it, and the number that Spark holds.
TEXTS = [
    ("BOOLEAN", True, "true", "true"),
    ("INT", -5, "-5", "-5"),
    ("DATE", 20454, "20454", "20454"),
    ("DOUBLE", 1e300, "1.0E300", "1.0E300"),
    ("FLOAT", 0.5, "0.5", "0.5"),
    ("DOUBLE", math.nan, "NaN", "NaN"),
    ("DECIMAL(12, 2)", Decimal("3E+2"), "300", "300"),
    ("TIMESTAMP(6)", 1_500_000, "1970-01-01 00:00:01.500000", "1500000"),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", -1_000_000, "1969-12-31 23:59:59", "-1000000"),
    ("STRING", "text", None, None),
    ("BIGINT", None, None, None),
]


@pytest.mark.parametrize(("kind", "value", "text", "number"), TEXTS)
def test_least_and_greatest_values(kind: str, value: Any, text: str | None, number: Any) -> None:
    assert text_of(value, from_paimon(kind)) == text
    assert number_of(text, from_paimon(kind)) == number


def stored(found: Table, rows: int, *columns: dict[str, Any]) -> int | None:
    """Store what Spark has counted."""
    known = {"distinct": 3, "low": None, "high": None, "nulls": 4, "average": 8, "longest": 8}
    return store(found, rows, [known | column for column in columns])


def literal(value: int) -> dict[str, Any]:
    return {"literal": value, "type": "long"}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two jobs of ten rows each, of the same keys."""
    found = tables.table(tmp_path)
    for _ in range(2):
        harness.upsert(found, [{"k": k, "v": k % 3} for k in range(10)])
    return tables.reload(found)


def test_they_are_stored_kept_and_scaled(table: Table) -> None:
    assert of_scan(table, ["k"], 20) is None
    assert stored(table, 10, {"name": "k", "low": literal(0), "high": literal(9)}) == 3
    analyzed = tables.reload(table)
    assert analyzed.snapshots.read(3).commit_kind == "ANALYZE"
    (file,) = (Path(table.layout.location) / "statistics").iterdir()
    content = json.loads(file.read_text())
    assert (content["snapshotId"], content["mergedRecordCount"]) == (2, 10)
    assert content["colStats"] == {
        "k": {
            "colId": 0, "distinctCount": 3, "min": "0", "max": "9", "nullCount": 4,
            "avgLen": 8, "maxLen": 8,
        }
    }  # fmt: skip
    found = of_scan(analyzed, ["k", "v"], 10)
    assert found is not None
    assert found["rows"] == 5
    assert found["columns"]["k"] | {"distinct": 3, "nulls": 2} == found["columns"]["k"]
    harness.upsert(analyzed, [{"k": 100, "v": 1}])
    later = tables.reload(table)
    assert later.snapshot_id == 4
    assert of_scan(later, ["k"], 21) is not None
    assert stored(later, 11, {"name": "v"}) == 5
    both = of_scan(tables.reload(table), ["k", "v"], 21)
    assert both is not None
    assert [both["rows"], *both["columns"]] == [11, "k", "v"]


def test_columns_are_known_by_their_ids(table: Table) -> None:
    stored(table, 10, {"name": "k"}, {"name": "v"})
    catalog = tables.catalog(Path(table.layout.location).parents[1])
    change = {"change": "rename_column", "name": ["v"], "to": "w"}
    catalog.alter_table(["default"], "t", [change])
    found = of_scan(tables.reload(table), ["k", "w"], 20)
    assert found is not None
    assert list(found["columns"]) == ["k", "w"]


def test_other_content_is_refused_by_name(table: Table) -> None:
    stored(table, 10, {"name": "k"})
    (file,) = (Path(table.layout.location) / "statistics").iterdir()
    known = json.loads(file.read_text())
    assert TableStatistics.from_json(known).to_json() == known
    for content in ("{}", "[", json.dumps(known | {"colStats": {"k": {"colId": "0"}}})):
        file.write_text(content)
        with pytest.raises(CorruptDataError, match=file.name):
            table_statistics.read(table.files, table.layout.location, file.name)
    file.unlink()
    assert of_scan(tables.reload(table), ["k"], 20) is None
