"""Tables of other engines: what we can't honour is refused by option name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import NotSupportedError
from keyfold.storage.commits import commit
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.support import check_files, check_readable, check_writable
from keyfold.wire.layout import TableLayout
from tests.option_names import option_name, option_names
from tests.storage import tables
from tests.storage.crafted import Metadata


def changed(folder: Path, **options: str) -> TableLayout:
    found = tables.table(folder).layout
    named = option_names(options)
    return replace(found, options={**found.options, **named})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("bucket", "-3"),
        ("file__format", "lance"),
        ("manifest__format", "orc"),
        ("data_file__path_directory", "data"),
        ("query_auth__enabled", "true"),
        ("branch", "b"),
        ("scan__snapshot_id", "1"),
        ("scan__mode", "from-snapshot"),
        ("scan__bucket", "0"),
        ("chain_table__enabled", "true"),
        ("row_tracking__enabled", "true"),
        ("data_evolution__enabled", "true"),
        ("pk_clustering_override", "true"),
    ],
)
def test_unreadable(tmp_path: Path, option: str, value: str) -> None:
    name = option_name(option)
    with pytest.raises(NotSupportedError, match=f"can't be read here: its option {name} is"):
        check_readable(changed(tmp_path, **{option: value}))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("file__format", "orc"),
        ("file__format", "avro"),
        ("changelog_file__format", "avro"),
        ("bucket_function__type", "mod"),
        ("data_file__external_paths", "s3://x"),
        ("metadata__iceberg__storage", "table-location"),
        ("index_file_in_data_file_dir", "true"),
    ],
)
def test_readable_but_not_writable(tmp_path: Path, option: str, value: str) -> None:
    layout = changed(tmp_path, **{option: value})
    check_readable(layout)
    with pytest.raises(NotSupportedError, match="can't be written here: its option"):
        check_writable(layout)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("query_auth__enabled", "true"),
        ("scan__tag_name", "a"),
    ],
)
def test_what_only_readers_must_honour(tmp_path: Path, option: str, value: str) -> None:
    check_writable(changed(tmp_path, **{option: value}))


def test_numbers_of_buckets_that_mean_nothing(tmp_path: Path) -> None:
    layout = changed(tmp_path, bucket="-3")
    with pytest.raises(NotSupportedError, match="can't be read here: its option bucket is '-3'"):
        check_readable(layout)
    with pytest.raises(NotSupportedError, match="can't be written here: its option bucket is"):
        check_writable(layout)
    for bucket in ("-1", "-2"):
        check_writable(changed(tmp_path / bucket, bucket=bucket))


def test_harmless_options_pass(tmp_path: Path) -> None:
    check_writable(changed(tmp_path, snapshot__time_retained="1 h", num_levels="6"))


def test_keys_decide(tmp_path: Path) -> None:
    layout = changed(tmp_path)
    check_readable(replace(layout, primary_key=()))
    with pytest.raises(NotSupportedError, match="has no primary key: append-only tables are read"):
        check_writable(replace(layout, primary_key=()))
    across = replace(layout, partition_keys=("v",))
    check_readable(across)
    with pytest.raises(NotSupportedError, match="lacks partition column v"):
        check_writable(across)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("_FILE_NAME", "data-1-0.csv", r"data-1-0\.csv is not Parquet, ORC or Avro"),
        ("_EXTERNAL_PATH", "s3://elsewhere/x", "lies outside the table"),
    ],
)
def test_files_decide(tmp_path: Path, part: str, value: str, message: str) -> None:
    found = tables.table(tmp_path)
    commit.append(found, tables.spec(found), [tables.message(found)])
    (file,) = tables.reload(found).live_files()
    record: dict[str, Any] = {**file.record, "_FILE": {**file.file, part: value}}
    odd = LiveFile.of(record, file.partition, file.shapes)
    with pytest.raises(NotSupportedError, match=message):
        check_files(found.layout, [odd])
    tables.reload(found).check_readable()


def test_indexes_of_keys_are_no_concern_of_readers(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    commit.append(found, tables.spec(found), [tables.message(found)])
    Metadata(found).index("index-1")
    tables.reload(found).check_readable()
    assert len(tables.reload(found).live_files()) == 1
