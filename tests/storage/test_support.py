"""Tables of other engines: what we can't honour is refused by option name."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pytest

from keyfold.errors import NotSupportedError
from keyfold.storage.commits import commit
from keyfold.storage.metadata.entries import LiveFile
from keyfold.storage.support import check_files, check_readable, check_writable
from keyfold.wire.layout import TableLayout
from tests.option_names import option_name, option_names
from tests.storage import tables
from tests.storage.tables import new_table


def changed(folder: Path, **options: str) -> TableLayout:
    found = tables.table(folder).layout
    named = option_names(options)
    return replace(found, options={**found.options, **named})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("deletion_vectors__enabled", "true"),
        ("bucket", "-2"),
        ("file__format", "orc"),
        ("manifest__format", "orc"),
        ("data_file__path_directory", "data"),
        ("query_auth__enabled", "true"),
        ("branch", "b"),
        ("scan__snapshot_id", "1"),
        ("scan__mode", "from-snapshot"),
    ],
)
def test_unreadable(tmp_path: Path, option: str, value: str) -> None:
    name = option_name(option)
    with pytest.raises(NotSupportedError, match=f"can't be read here: its option {name} is"):
        check_readable(changed(tmp_path, **{option: value}))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("bucket", "-1"),
        ("changelog_file__format", "avro"),
        ("bucket_function__type", "mod"),
        ("data_file__external_paths", "s3://x"),
        ("metadata__iceberg__storage", "table-location"),
    ],
)
def test_readable_but_not_writable(tmp_path: Path, option: str, value: str) -> None:
    layout = changed(tmp_path, **{option: value})
    check_readable(layout)
    with pytest.raises(NotSupportedError, match="can't be written here: its option"):
        check_writable(layout)


@pytest.mark.parametrize(
    ("option", "value"), [("query_auth__enabled", "true"), ("scan__tag_name", "a")]
)
def test_what_only_readers_must_honour(tmp_path: Path, option: str, value: str) -> None:
    check_writable(changed(tmp_path, **{option: value}))


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
        ("_FILE_NAME", "data-1-0.orc", r"data-1-0\.orc is not Parquet"),
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


@pytest.mark.parametrize(("kind", "option"), [("DELETION_VECTORS", None), ("HASH", "false")])
def test_indexes_say_whether_rows_are_deleted_by_bitmaps(
    tmp_path: Path, kind: str, option: str | None
) -> None:
    """An option that was on may be off, or gone, and the bitmaps be there."""
    options = {} if option is None else {"deletion_vectors__enabled": option}
    found = tables.table(tmp_path, new_table(**options))
    commit.append(found, tables.spec(found), [tables.message(found)])
    fields = [{"name": name, "type": "string"} for name in ("_INDEX_TYPE", "_FILE_NAME")]
    schema: Any = {"type": "record", "name": "entry", "fields": fields}
    with Path(found.manifests.path("index-manifest-1")).open("wb") as file:
        entries = [{"_INDEX_TYPE": each, "_FILE_NAME": f"index-{each}"} for each in ("HASH", kind)]
        fastavro.writer(file, schema, entries)
    path = Path(found.snapshots.path(1))
    stored = json.loads(path.read_text())
    path.write_text(json.dumps({**stored, "indexManifest": "index-manifest-1"}))
    read = tables.reload(found).check_readable
    if kind == "HASH":
        read()
    else:
        with pytest.raises(NotSupportedError, match="holds deletion vectors"):
            read()
