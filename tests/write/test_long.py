"""Files with very long values: which columns go without statistics, and what manifests say."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keyfold.options.parsing import parse
from keyfold.read.formats.data_file import read_file
from keyfold.read.formats.wanted import Wanted
from keyfold.stores.local import LocalFiles
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import DataFile, FileMeta, ScanSpec
from keyfold.write.encoding import LONG, long_columns
from keyfold.write.parquet import Target, write_files
from tests.read import harness
from tests.write.described import key_stats_of, keys_of, value_stats_of

VERY = "v" * LONG
TEXTS = {"type": "ARRAY", "element": "STRING"}
ROW = {"type": "ROW", "fields": [{"id": 9, "name": "x", "type": "STRING"}]}
MAP = {"type": "MAP", "key": "STRING NOT NULL", "value": "BYTES"}


def written(found: TableLayout, folder: Path, *chunks: list[dict[str, Any]]) -> list[FileMeta]:
    target = Target(found, parse(found))
    batches = [batch for rows in chunks for batch in harness.batches(found, rows)]
    return write_files(target, str(folder), batches, 5)


def read_back(found: TableLayout, folder: Path, files: list[FileMeta]) -> list[dict[str, Any]]:
    scan = ScanSpec(found, tuple(found.arrow_schema.names), {})
    rows: list[dict[str, Any]] = []
    for f in files:
        file = DataFile(f.name, f.size, f.rows, 0, f.min_sequence, f.max_sequence, 0, f.level)
        for batch in read_file(scan, LocalFiles(), str(folder), file, Wanted(scan.columns)):
            rows += batch.to_pylist()
    return rows


def with_statistics(path: Path) -> set[str]:
    metadata = pq.read_metadata(path)
    chunks = [
        metadata.row_group(group).column(place)
        for group in range(metadata.num_row_groups)
        for place in range(metadata.num_columns)
    ]
    return {chunk.path_in_schema for chunk in chunks if chunk.statistics is not None}


SYSTEM = {"_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "k"}


def test_only_the_long_column_goes_without_statistics(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("t", "STRING"), ("s", "STRING"))
    rows = [{"k": 1, "t": None, "s": "a"}, {"k": 2, "t": VERY, "s": "b"}]
    (file,) = written(found, tmp_path, rows)
    assert with_statistics(tmp_path / file.name) == SYSTEM | {"s"}
    assert value_stats_of(found, file) == {"k": [1, 2], "t": [None, None], "s": ["a", "b"]}
    assert file.value_stats.nulls == (0, 1, 0)
    assert read_back(found, tmp_path, [file]) == rows


def test_rows_before_a_long_one_keep_their_statistics(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("t", "STRING"))
    found.options["keyfold.row-group.rows"] = "1024"  # type: ignore[index]
    rows = [{"k": k, "t": f"{k:09}"} for k in range(2048)]
    long, after = {"k": len(rows), "t": VERY * 9}, {"k": len(rows) + 1, "t": None}
    files = written(found, tmp_path, rows, [long], [after])
    assert [file.rows for file in files] == [len(rows), 2]
    assert value_stats_of(found, files[0])["t"] == [rows[0]["t"], rows[-1]["t"]]
    assert value_stats_of(found, files[1])["t"] == [None, None]
    assert [file.value_stats.nulls for file in files] == [(0, 0), (0, 1)]
    assert read_back(found, tmp_path, files) == [*rows, long, after]


def test_a_long_key_is_found_by_its_bounds(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "STRING NOT NULL"), ("v", "INT"))
    rows = [{"k": "a", "v": 1}, {"k": VERY, "v": 2}]
    (file,) = written(found, tmp_path, rows)
    assert with_statistics(tmp_path / file.name) == {"_SEQUENCE_NUMBER", "_VALUE_KIND", "v"}
    assert keys_of(found, file) == {"k": ["a", VERY]}
    assert key_stats_of(found, file) == {"k": [None, None]}
    assert read_back(found, tmp_path, [file]) == rows


@pytest.mark.parametrize(
    ("kind", "value"),
    [(TEXTS, ["a", VERY]), (ROW, {"x": VERY}), (MAP, [("a", b"b"), ("c", VERY.encode())])],
    ids=["array", "row", "map"],
)
def test_long_values_are_found_in_nested_ones(tmp_path: Path, kind: Any, value: Any) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("n", kind))
    rows = [{"k": 1, "n": None}, {"k": 2, "n": value}]
    (file,) = written(found, tmp_path, rows)
    assert with_statistics(tmp_path / file.name) == SYSTEM
    assert read_back(found, tmp_path, [file]) == rows


def test_many_short_values_are_not_long() -> None:
    many = pa.array(["x" * 1000] * 5000)
    almost = pa.array(["x" * (LONG - 1)] * 2 + [None] * 4998)
    lists = pa.array([[1] * LONG] + [None] * 4999, pa.list_(pa.int64()))
    slices = pa.table({"a": many, "b": almost, "c": lists})
    assert long_columns(slices) == frozenset()
    assert long_columns(pa.table({"a": [VERY, "b"], "b": ["", ""]}).slice(1)) == frozenset()
