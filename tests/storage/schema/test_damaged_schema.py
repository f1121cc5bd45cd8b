"""Schema files that say what no engine writes: each is refused by name, by every statement."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import CorruptDataError
from keyfold.read import metadata, scan_plan
from keyfold.read.request import ReadRequest
from tests.concurrency import jobs
from tests.read import harness
from tests.storage import damaged, tables
from tests.storage.crafted import Metadata

STRUCT = {"type": "ROW", "fields": [{"id": 2, "name": "a", "type": "INT"}]}
COLUMNS = (tables.column("p"), tables.column("k"), tables.column("v"))
Schema = dict[str, Any]


def says(**fields: Any) -> Callable[[Schema], None]:
    return lambda schema: schema.update(fields)


def column(place: int, **fields: Any) -> Callable[[Schema], None]:
    return lambda schema: schema["fields"][place].update(fields)


def inner(*fields: Any) -> Callable[[Schema], None]:
    return column(2, type=STRUCT | {"fields": [*STRUCT["fields"], *fields]})


def option(value: Any) -> Callable[[Schema], None]:
    return lambda schema: schema["options"].update(bucket=value)


def part(**parts: Any) -> Callable[[Schema], None]:
    return column(2, type=parts)


DAMAGE: dict[str, tuple[Callable[[Schema], None], str]] = {
    "an id of text": (says(id="0"), "id is '0', expected a number of 64 bits"),
    "an id that is true": (says(id=True), "id is True"),
    "a version of text": (says(version="3"), "version is '3'"),
    "a time of text": (says(timeMillis="now"), "timeMillis is 'now'"),
    "a comment of numbers": (says(comment=[7]), r"comment is \[7\], expected text"),
    "no fields": (lambda schema: schema.pop("fields"), "'fields'"),
    "fields of text": (says(fields="kv"), "fields is 'kv'"),
    "a field of text": (says(fields=["kv"]), "string indices"),
    "a field's id of text": (column(2, id="2"), "id is '2'"),
    "a field's id below none": (column(2, id=-1), "id is -1"),
    "a field's id that files use": (column(2, id=(1 << 30) - 1), "id is 1073741823"),
    "a field's name of numbers": (column(2, name=7), "name is 7, expected text"),
    "a field's name half a letter": (column(2, name="\ud800"), "name is .*ud800., expected text"),
    "a field's type of numbers": (column(2, type=7), "type is 7"),
    "a field's type without a name": (column(2, type={"element": "INT"}), "'type'"),
    "a description of numbers": (column(2, description=7), "description is 7, expected text"),
    "a default of numbers": (column(2, defaultValue=7), "defaultValue is 7, expected text"),
    "two fields of an id": (column(2, id=1), "field id 1 is there twice"),
    "two fields of a name": (column(2, name="k"), "field name 'k' is there twice"),
    "elements of numbers": (part(type="ARRAY", element=7), "element is 7"),
    "keys of numbers": (part(type="MAP", key=[], value="INT"), r"key is \[\]"),
    "an inner id of text": (inner({"id": "7", "name": "b", "type": "INT"}), "id is '7'"),
    "an inner name of numbers": (inner({"id": 7, "name": 7, "type": "INT"}), "name is 7"),
    "inner fields of a name": (inner({"id": 7, "name": "a", "type": "INT"}), "name 'a' is there"),
    "inner fields of an id": (inner({"id": 2, "name": "b", "type": "INT"}), "id 2 is there twice"),
    "no highest id": (says(highestFieldId=None), "highestFieldId is None"),
    "a highest id that others have": (says(highestFieldId=1), "highestFieldId is 1, a column has"),
    "a highest id without measure": (says(highestFieldId=1 << 31), "highestFieldId is 2147483648"),
    "a key of lists": (says(primaryKeys=["p", ["k"]]), "primaryKeys is"),
    "a key of nothing": (says(primaryKeys=[None, "k"]), "primaryKeys is"),
    "a key of a name": (says(primaryKeys="k"), "primaryKeys is 'k'"),
    "a key that names a column twice": (says(primaryKeys=["p", "k", "k"]), "primaryKeys is"),
    "a key without its column": (says(primaryKeys=["p", "w"]), "'w'.*expected names of fields"),
    "a partition of lists": (says(partitionKeys=[["p"]]), "partitionKeys is"),
    "a partition of objects": (says(partitionKeys=[{}]), "partitionKeys is"),
    "a partition without its column": (says(partitionKeys=["w"]), "'w'.*expected names of fields"),
    "options in a list": (says(options=[["bucket", "1"]]), "options is"),
    "an option's name half a letter": (says(options={"\ud800": ""}), "options is"),
    "an option of numbers": (option(7), "bucket is 7, expected text"),
    "an option of nothing": (option(None), "bucket is None, expected text"),
}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    tables.table(tmp_path, tables.new_table(*COLUMNS, key="p,k", by="p", bucket="1"))
    jobs.written(str(tmp_path), [{"p": 1, "k": 1, "v": 1}])
    return str(tmp_path)


def change(folder: str, how: Callable[[Schema], Any]) -> Path:
    path = damaged.path_of(jobs.table_of(folder), "schema")
    schema = json.loads(path.read_text())
    how(schema)
    path.write_text(json.dumps(schema))
    damaged.forget()
    return path


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_schema(folder: str, what: str) -> None:
    how, said = DAMAGE[what]
    found = jobs.table_of(folder)
    path = change(folder, how)
    with pytest.raises(CorruptDataError, match=f"schema file {path} .*{said}.*restore the file"):
        jobs.table_of(folder)
    kind = metadata.ALL["schemas"]
    with pytest.raises(CorruptDataError, match=f"{path} .*{said}"):
        list(kind.batches(found, ["schema_id"], "UTC"))


def test_a_partition_that_is_no_longer_said(folder: str) -> None:
    """Keys have one more column then than the statistics of stored files."""
    change(folder, says(partitionKeys=[]))
    filters = [harness.where("=", "k", 3)]
    with pytest.raises(CorruptDataError, match="_NULL_COUNTS has 1 numbers, expected 2"):
        scan_plan.plan_read(jobs.table_of(folder), ReadRequest(["k"], filters))


@pytest.mark.parametrize("which", ["_KEY_STATS", "_VALUE_STATS"])
def test_statistics_of_other_columns(folder: str, which: str) -> None:
    Metadata(jobs.table_of(folder)).of_manifest(
        "deltaManifestList", 0, lambda entry: entry["_FILE"][which].update(_NULL_COUNTS=[0] * 9)
    )
    found = jobs.table_of(folder)
    (file,) = found.live_files()
    with pytest.raises(CorruptDataError, match="_NULL_COUNTS has 9 numbers"):
        _ = file.key_stats, file.value_stats(found.layout)


def less(schema: Schema) -> None:
    for name in ("version", "options", "comment", "timeMillis"):
        schema.pop(name, None)


OTHERS: dict[str, Callable[[Schema], Any]] = {
    "what came later is missing": less,
    "what is not said is null": says(version=None, options=None, comment=None, timeMillis=None),
    "fields that are unknown": says(more={"a": [1]}),
    "null for no description": column(2, description=None, defaultValue=None, more=1),
    "ids with gaps": says(highestFieldId=99),
    "a row": inner(),
    "ids that a row shares with columns": inner({"id": 0, "name": "b", "type": "INT"}),
    "lists of maps": part(
        type="ARRAY", element={"type": "MAP NOT NULL", "key": "INT", "value": STRUCT}
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_other_engines_leave_out_or_add(folder: str, what: str) -> None:
    change(folder, OTHERS[what])
    assert [column.name for column in jobs.table_of(folder).layout.columns] == ["p", "k", "v"]
