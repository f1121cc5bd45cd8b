"""Data files: types, field ids, statistics, rolling and what is left after a failure."""

import datetime
import random
from collections.abc import Iterator
from decimal import Decimal
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
from keyfold.write.parquet import Target, write_files
from tests.read import harness
from tests.write.described import key_stats_of, keys_of, value_stats_of

UTC = datetime.timezone.utc
NESTED = {
    "type": "MAP",
    "key": "STRING NOT NULL",
    "value": {"type": "ARRAY", "element": "BIGINT"},
}
ROW = {
    "type": "ROW",
    "fields": [{"id": 90, "name": "x", "type": "INT"}, {"id": 91, "name": "y", "type": NESTED}],
}
# name, Paimon type, two values in order, Parquet's physical type
TYPES: tuple[tuple[str, Any, Any, Any, str], ...] = (
    ("bo", "BOOLEAN", False, True, "BOOLEAN"),
    ("i1", "TINYINT", -128, 127, "INT32"),
    ("i2", "SMALLINT", -32768, 32767, "INT32"),
    ("i4", "INT", -(2**31), 2**31 - 1, "INT32"),
    ("i8", "BIGINT", -(2**63), 2**63 - 1, "INT64"),
    ("f4", "FLOAT", -1.5, 2.5, "FLOAT"),
    ("f8", "DOUBLE", -1e300, 1e-300, "DOUBLE"),
    ("d9", "DECIMAL(9, 2)", Decimal("-9999999.99"), Decimal("0.01"), "INT32"),
    (
        "d18",
        "DECIMAL(18, 18)",
        Decimal("-0.1").quantize(Decimal(1).scaleb(-18)),
        Decimal(0),
        "INT64",
    ),
    ("d38", "DECIMAL(38, 0)", Decimal(-(10**38) + 1), Decimal(10**38 - 1), "FIXED_LEN_BYTE_ARRAY"),
    ("s", "STRING", "", "é\u4e2d\U0001f600", "BYTE_ARRAY"),
    ("vc", "VARCHAR(5)", "a", "abcde", "BYTE_ARRAY"),
    ("b", "BYTES", b"", b"\xff\x00", "BYTE_ARRAY"),
    ("da", "DATE", datetime.date(1900, 1, 1), datetime.date(9999, 12, 31), "INT32"),
    (
        "t3",
        "TIMESTAMP(3)",
        datetime.datetime(1969, 1, 1, 1, 1, 1, 1000),
        datetime.datetime(2024, 1, 1),
        "INT64",
    ),
    (
        "t6",
        "TIMESTAMP(6)",
        datetime.datetime(1, 1, 1),
        datetime.datetime(2024, 1, 1, 0, 0, 0, 1),
        "INT64",
    ),
    (
        "tz",
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        datetime.datetime(1969, 1, 1, tzinfo=UTC),
        datetime.datetime(2024, 1, 1, 0, 0, 0, 1, UTC),
        "INT64",
    ),
)
OTHERS = (
    ("ar", {"type": "ARRAY", "element": "INT"}, [1, None]),
    ("ma", NESTED, [("a", [1]), ("b", None)]),
    ("ro", ROW, {"x": 1, "y": [("q", [])]}),
)


def target(found: TableLayout) -> Target:
    return Target(found, parse(found))


def stored(file: FileMeta) -> DataFile:
    return DataFile(
        file.name, file.size, file.rows, 0, file.min_sequence, file.max_sequence, 0, file.level
    )


def read_back(found: TableLayout, folder: Path, files: list[FileMeta]) -> list[dict[str, Any]]:
    scan = ScanSpec(found, tuple(found.arrow_schema.names), {})
    batches = (
        batch
        for file in files
        for batch in read_file(scan, LocalFiles(), str(folder), stored(file), Wanted(scan.columns))
    )
    return [row for batch in batches for row in batch.to_pylist()]


def all_types(folder: Path) -> tuple[TableLayout, list[dict[str, Any]]]:
    columns = [(name, kind) for name, kind, *_ in TYPES] + [
        (name, kind) for name, kind, _ in OTHERS
    ]
    found = harness.layout(folder, ("k", "INT NOT NULL"), *columns)
    low = {name: low for name, _, low, _, _ in TYPES} | {name: value for name, _, value in OTHERS}
    high = {name: high for name, _, _, high, _ in TYPES}
    none = dict.fromkeys(low)
    return found, [{"k": 1} | low, {"k": 2} | none, {"k": 3} | none | high]


def test_every_type_comes_back_and_is_stored_as_paimon_stores_it(tmp_path: Path) -> None:
    found, rows = all_types(tmp_path)
    files = write_files(target(found), str(tmp_path), harness.batches(found, rows), 5)
    assert read_back(found, tmp_path, files) == rows
    metadata = pq.read_metadata(tmp_path / files[0].name)
    physical = {
        metadata.schema.column(i).path: metadata.schema.column(i).physical_type
        for i in range(len(metadata.schema))
    }
    assert {name: physical[name] for name, *_ in TYPES} == {name: kind for name, *_, kind in TYPES}
    names = [metadata.schema.column(i).path for i in range(4)]
    assert names == ["_KEY_k", "_SEQUENCE_NUMBER", "_VALUE_KIND", "k"]


def test_statistics_are_exact(tmp_path: Path) -> None:
    found, rows = all_types(tmp_path)
    (file,) = write_files(target(found), str(tmp_path), harness.batches(found, rows), 5)
    bounds = value_stats_of(found, file)
    for name, _, least, greatest, _ in TYPES:
        assert bounds[name] == [least, greatest], name
    assert file.value_stats_columns == ("k", *(name for name, *_ in TYPES))
    assert file.value_stats.nulls == (0, *(1 for _ in TYPES))
    assert keys_of(found, file) == {"k": [1, 3]} == key_stats_of(found, file)
    assert (file.min_sequence, file.max_sequence, file.rows, file.level) == (5, 5, 3, 0)


def test_field_ids_are_paimons(tmp_path: Path) -> None:
    found, rows = all_types(tmp_path)
    (file,) = write_files(target(found), str(tmp_path), harness.batches(found, rows), 5)
    schema = pq.read_schema(tmp_path / file.name)

    def field_id(field: pa.Field) -> int:
        return int(field.metadata[b"PARQUET:field_id"])

    assert [field_id(schema.field(i)) for i in range(4)] == [1073741823, 2147483646, 2147483645, 0]
    array = schema.field("ar")
    assert field_id(array.type.value_field) == 536870911 + 1024 * field_id(array) + 1
    map_field = schema.field("ma")
    assert field_id(map_field.type.key_field) == 536870911 - 1024 * field_id(map_field) - 1
    item = map_field.type.item_field
    assert field_id(item) == 536870911 + 1024 * field_id(map_field) + 1
    assert field_id(item.type.value_field) == 536870911 + 1024 * field_id(map_field) + 2
    inner = schema.field("ro").type.field("y")
    assert field_id(inner) == 91
    assert field_id(inner.type.key_field) == 536870911 - 1024 * 91 - 1


def test_files_roll_at_their_size_and_never_share_a_key(tmp_path: Path) -> None:
    found = harness.layout(
        tmp_path, ("k", "INT NOT NULL"), ("v", "STRING"), target_file_size="4 kb"
    )
    found.options["keyfold.row-group.rows"] = "1024"  # type: ignore[index]
    rows = [{"k": i, "v": f"{i * 7919 % 10007:x}"} for i in range(5000)]
    files = write_files(target(found), str(tmp_path), harness.batches(found, rows, 333), 1)
    assert len(files) > 2
    assert read_back(found, tmp_path, files) == rows
    bounds = [key for file in files for key in keys_of(found, file)["k"]]
    assert bounds == sorted(set(bounds))
    assert all(
        pq.read_metadata(tmp_path / file.name).row_group(0).num_rows <= 1024 for file in files
    )


def test_sequence_and_kind_columns_are_kept(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"))
    batch = pa.record_batch(
        {
            "k": pa.array([1, 2, 3], pa.int32()),
            "_SEQUENCE_NUMBER": pa.array([7, 5, 6]),
            "_VALUE_KIND": pa.array([0, 3, 1], pa.int8()),
        }
    )
    (file,) = write_files(target(found), str(tmp_path), [batch])
    assert (file.min_sequence, file.max_sequence, file.delete_rows) == (5, 7, 2)
    assert pq.read_table(tmp_path / file.name)["_VALUE_KIND"].to_pylist() == [0, 3, 1]


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), target_file_size="1 b")
    found.options["keyfold.row-group.rows"] = "1024"  # type: ignore[index]

    def failing() -> Iterator[pa.RecordBatch]:
        yield from harness.batches(found, [{"k": i} for i in range(3000)], 1024)
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        write_files(target(found), str(tmp_path), failing(), 1)
    assert not list(tmp_path.iterdir())


def test_text_gets_a_dictionary_only_where_it_repeats(tmp_path: Path) -> None:
    found = harness.layout(tmp_path, ("k", "INT NOT NULL"), ("few", "STRING"), ("many", "STRING"))
    rows = [{"k": i, "few": f"{i % 5}", "many": f"{i}"} for i in range(2000)]
    (file,) = write_files(target(found), str(tmp_path), harness.batches(found, rows, 500), 1)
    group = pq.read_metadata(tmp_path / file.name).row_group(0)
    encodings = {group.column(i).path_in_schema: group.column(i).encodings for i in range(6)}
    assert "RLE_DICTIONARY" in encodings["few"]
    assert set(encodings["many"]) == {"PLAIN", "RLE"}
    assert "DELTA_BINARY_PACKED" in encodings["k"]


def test_encodings_and_codecs_follow_a_sample(tmp_path: Path) -> None:
    """Random letters part from their lengths, alike texts don't; only what shrinks has a codec."""
    draw = random.Random(3)
    rows = [
        {
            "k": f"customer-{i:09d}",
            "letters": "".join(draw.choices("abcdefgh", k=10)),
            "real": draw.random(),
            "cents": draw.randrange(400) / 100,
            "number": draw.randrange(1 << 40),
            "none": None,
            "list": [draw.randrange(9)],
        }
        for i in range(20_000)
    ]
    element = {"type": "ARRAY", "element": "INT"}
    columns = [("letters", "STRING"), ("real", "DOUBLE"), ("cents", "DOUBLE"), ("number", "BIGINT")]
    found = harness.layout(
        tmp_path, ("k", "STRING NOT NULL"), *columns, ("none", "STRING"), ("list", element)
    )
    (file,) = write_files(target(found), str(tmp_path), harness.batches(found, rows, 5000), 1)
    group = pq.read_metadata(tmp_path / file.name).row_group(0)
    leaves = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert "DELTA_LENGTH_BYTE_ARRAY" in leaves["letters"].encodings
    assert "PLAIN" in leaves["k"].encodings
    assert "RLE_DICTIONARY" in leaves["cents"].encodings
    assert {path for path, leaf in leaves.items() if leaf.compression == "UNCOMPRESSED"} == {
        "real",
        "number",
    }
    table = pq.read_table(tmp_path / file.name).select(list(rows[0]))
    assert table.to_pylist() == rows


@pytest.mark.parametrize("codec", ["none", "snappy", "lz4", "zstd"])
def test_a_table_has_the_codec_it_names(tmp_path: Path, codec: str) -> None:
    found = harness.layout(
        tmp_path, ("k", "INT NOT NULL"), ("v", "STRING"), **{"file.compression": codec}
    )
    rows = [{"k": i, "v": "value " * 5 + str(i)} for i in range(20_000)]
    (file,) = write_files(target(found), str(tmp_path), harness.batches(found, rows, 20_000), 1)
    group = pq.read_metadata(tmp_path / file.name).row_group(0)
    leaf = next(c for c in map(group.column, range(5)) if c.path_in_schema == "v")
    assert leaf.compression == {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
