"""Namespaces and tables: made, found, renamed, dropped, refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import (
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotSupportedError,
    TableError,
    TableExistsError,
)
from keyfold.storage.catalogs.warehouse import open_catalog
from keyfold.storage.commits import commit
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import open_handle
from keyfold.wire.layout import TableLayout
from tests.storage import tables
from tests.storage.tables import catalog, column, new_table

HOME = ["default"]


def test_a_catalog_needs_a_warehouse() -> None:
    with pytest.raises(TableError, match=r"set spark\.sql\.catalog\.c\.warehouse"):
        open_catalog("c", {})


def test_other_catalogs_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NotSupportedError, match="type glue is not supported"):
        open_catalog("c", {"warehouse": str(tmp_path), "metastore": "glue"})


def test_one_catalog_is_opened_once(tmp_path: Path) -> None:
    assert catalog(tmp_path) is catalog(tmp_path)
    assert catalog(tmp_path) is not catalog(tmp_path / "other")


def test_the_engines_check_is_asked(tmp_path: Path) -> None:
    def refuse(layout: TableLayout, _: TableLayout | None) -> TableLayout:
        raise TableError(f"no engine for {layout.name}")

    with pytest.raises(TableError, match=r"no engine for c\.default\.t"):
        open_catalog("c", {"warehouse": str(tmp_path)}, refuse).create_table(HOME, "t", new_table())


def test_namespaces(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    assert ours.list_namespaces() == [["default"]]
    ours.create_namespace(["shop"], {"comment": "a shop", "owner": "me"})
    assert ours.list_namespaces() == [["default"], ["shop"]]
    location = f"{tmp_path}/shop.db"
    assert ours.load_namespace(["shop"]) == {
        "comment": "a shop",
        "owner": "me",
        "location": location,
    }
    ours.alter_namespace(["shop"], {"comment": "two"}, ["owner"])
    assert ours.load_namespace(["shop"]) == {"comment": "two", "location": location}
    with pytest.raises(NamespaceExistsError):
        ours.create_namespace(["shop"], {})
    assert ours.list_tables(["shop"]) == []
    assert ours.drop_namespace(["shop"], cascade=False)
    assert not ours.drop_namespace(["shop"], cascade=False)
    with pytest.raises(NoSuchNamespaceError):
        ours.load_namespace(["shop"])
    with pytest.raises(NoSuchNamespaceError, match="one level"):
        ours.load_namespace(["a", "b"])


def test_a_namespace_below_another_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotSupportedError, match=r"a\.b can't be made: namespaces have one level"):
        catalog(tmp_path).create_namespace(["a", "b"], {})


def test_a_namespace_with_tables_goes_only_by_cascade(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    ours.create_namespace(["shop"], {})
    ours.create_table(["shop"], "t", new_table())
    with pytest.raises(NamespaceNotEmptyError):
        ours.drop_namespace(["shop"], cascade=False)
    assert ours.drop_namespace(["shop"], cascade=True)
    assert ours.list_namespaces() == [["default"]]


NO_FOLDERS = ["", " a", "a/b", "..", ".hidden", "a.b", "t$files", "x" * 300, "nul\0"]


@pytest.mark.parametrize("name", NO_FOLDERS)
def test_names_that_are_no_folders(tmp_path: Path, name: str) -> None:
    ours = catalog(tmp_path)
    ours.create_table(HOME, "good", new_table())
    with pytest.raises(TableError, match="is not allowed"):
        ours.create_namespace([name], {})
    with pytest.raises(TableError, match="is not allowed"):
        ours.create_table(HOME, name, new_table())
    with pytest.raises(NoSuchTableError):
        ours.load_table(HOME, name)


def test_create_and_load(tmp_path: Path) -> None:
    new = NewTable.from_json(
        {
            "columns": [
                column("id", "long"),
                column("day", "date"),
                column("price", "decimal(10,2)", comment="net"),
                column("tags", {"type": "array", "elementType": "string", "containsNull": True}),
                column("n", "integer", default="40 + 2", default_value=42),
            ],
            "partitioning": ["day"],
            "primary_key": ["day", "id"],
            "properties": {"owner": "me", "comment": "prices", "keyfold.tag.team": "x"},
        }
    )
    made = catalog(tmp_path).create_table(HOME, "t", new)
    described = made.describe()
    assert described["columns"][0] == {
        "name": "id",
        "id": "0",
        "type": "long",
        "nullable": False,
        "comment": None,
        "default": None,
        "default_text": None,
        "state": None,
    }
    assert [c["default"] for c in described["columns"]] == [None, None, None, None, "40 + 2"]
    assert described["primary_key"] == ["day", "id"]
    assert described["partitioning"] == ["day"]
    columns = {"keys": ["id"], "clustering": ["id", "day"]}
    assert described["bucketing"] == {"buckets": 4, **columns}
    assert described["properties"] == {
        "bucket": "4",
        "comment": "prices",
        "keyfold.tag.team": "x",
        "primary-key": "day,id",
        "location": made.layout.location,
        "is_managed_location": "true",
    }
    assert described["version"] == "0:0"
    stored = json.loads(Path(made.layout.location, "schema", "schema-0").read_text())
    assert stored["fields"][0] == {"id": 0, "name": "id", "type": "BIGINT NOT NULL"}
    assert stored["fields"][4]["defaultValue"] == "42"
    assert stored["highestFieldId"] == 4


def test_nested_fields_draw_from_one_counter(tmp_path: Path) -> None:
    inner = {"name": "b", "type": "integer", "nullable": True, "metadata": {}}
    struct = {"type": "struct", "fields": [inner, {**inner, "name": "c"}]}
    made = tables.table(tmp_path, new_table(column("k"), column("s", struct), column("v")))
    stored = json.loads(Path(made.layout.location, "schema", "schema-0").read_text())
    assert [field["id"] for field in stored["fields"]] == [0, 1, 4]
    assert [field["id"] for field in stored["fields"][1]["type"]["fields"]] == [2, 3]
    assert stored["highestFieldId"] == 4


def test_the_key_may_come_from_the_property(tmp_path: Path) -> None:
    new = NewTable((column("a"), column("b")), properties={"primary-key": "b, a"})
    assert catalog(tmp_path).create_table(HOME, "t", new).layout.primary_key == ("b", "a")
    both = NewTable((column("a"), column("b")), (), ("a",), {"primary-key": "b"})
    with pytest.raises(TableError, match="differ"):
        catalog(tmp_path).create_table(HOME, "u", both)


def test_create_twice(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    ours.create_table(HOME, "t", new_table())
    with pytest.raises(TableExistsError):
        ours.create_table(HOME, "t", new_table(column("x"), key="x"))
    kept = ours.create_table(HOME, "t", new_table(column("x"), key="x"), if_not_exists=True)
    assert kept.layout.key == ("k",)
    with pytest.raises(NoSuchNamespaceError):
        ours.create_table(["nowhere"], "t", new_table())
    assert ours.list_tables(HOME) == ["t"]
    assert [path.name for path in (tmp_path / "default.db").iterdir()] == ["t"]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (new_table(key=""), "has no primary key. Add PRIMARY KEY"),
        (new_table(key="zz"), "has no column zz"),
        (new_table(key="k,k"), "names a column twice"),
        (new_table(key="k", by="v", bucket="3"), "lacks partition column v.* bucket is '3'"),
        (new_table(key="k", by="k"), "holds only partition columns"),
        (
            new_table(column("k"), column("x", "interval day")),
            "type INTERVAL DAY .*: Paimon has none",
        ),
        (
            new_table(column("k"), column("x", "time(6)")),
            r"column x: TIME\(6\) is not .*Paimon stores milliseconds",
        ),
        (new_table(column("k"), column("x", "interval day")), "column x: type INTERVAL DAY"),
        (new_table(column("k"), column("K")), "two columns K"),
        (
            new_table(column("k"), column("_VALUE_KIND")),
            "_VALUE_KIND cannot be used as column names",
        ),
        (new_table(column("k"), column("_KEY_k")), "_KEY_k cannot be used as column names"),
        (new_table(column("k"), column("_NAMED")), "_NAMED cannot be used as column names"),
        (
            new_table(column("k", {"type": "array", "elementType": "long", "containsNull": True})),
            "key column k must be of an atomic type, it is ARRAY<BIGINT>",
        ),
        (
            new_table(column("k"), column("p", "double"), key="k,p", by="p"),
            "partition column p can't be DOUBLE",
        ),
        (new_table(bucket="-3"), "or -2 for postponed ones, found '-3'"),
        (
            new_table(column("k"), bucket="-2", **{"sequence.snapshot-ordering": "true"}),
            "sequence.snapshot-ordering does not go with postponed buckets",
        ),
        (new_table(bukket="3"), "bukket .* unknown; did you mean bucket"),
        (new_table(location="/elsewhere"), "LOCATION /elsewhere is not supported"),
    ],
)
def test_refused_at_create(tmp_path: Path, new: NewTable, message: str) -> None:
    with pytest.raises((TableError, NotSupportedError), match=message):
        catalog(tmp_path).create_table(HOME, "t", new)
    assert catalog(tmp_path).list_tables(HOME) == []


def test_rename_and_drop(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    found = tables.table(tmp_path)
    commit.append(found, tables.spec(found), [tables.message(found)])
    ours.create_namespace(["shop"], {})
    ours.rename_table(HOME, "t", ["shop"], "u")
    moved = ours.load_table(["shop"], "u")
    assert len(moved.live_files()) == 1
    with pytest.raises(NoSuchTableError):
        ours.load_table(HOME, "t")
    tables.table(tmp_path)
    with pytest.raises(TableExistsError):
        ours.rename_table(HOME, "t", ["shop"], "u")
    assert ours.drop_table(["shop"], "u")
    assert not ours.drop_table(["shop"], "u")
    assert [path.name for path in (tmp_path / "shop.db").iterdir()] == [".namespace.json"]


def test_a_broken_table_can_be_dropped_or_made_anew(tmp_path: Path) -> None:
    ours = catalog(tmp_path)
    (tmp_path / "default.db" / "broken" / "bucket-0").mkdir(parents=True)
    with pytest.raises(NoSuchTableError):
        ours.load_table(HOME, "broken")
    assert ours.drop_table(HOME, "broken")
    (tmp_path / "default.db" / "broken" / "bucket-0").mkdir(parents=True)
    assert ours.create_table(HOME, "broken", new_table()).layout.key == ("k",)


def test_a_handle_pins_its_snapshot(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    commit.append(found, tables.spec(found), [tables.message(found)])
    handle = json.loads(json.dumps(tables.reload(found).describe()["handle"]))
    commit.append(found, tables.spec(found), [tables.message(found)])
    assert len(open_handle(handle, {}).live_files()) == 1
    assert len(open_handle(handle, {}, latest=True).live_files()) == 2


def test_a_handle_outlives_alter_but_not_drop(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    changes: list[dict[str, Any]] = [{"change": "add_column", "name": "w", "type": "integer"}]
    catalog(tmp_path).alter_table(HOME, "t", changes)
    assert [c.name for c in open_handle(found.handle, {}).layout.columns] == ["k", "v"]
    catalog(tmp_path).drop_table(HOME, "t")
    with pytest.raises(Exception, match="dropped, renamed or replaced"):
        open_handle(found.handle, {})
    tables.table(tmp_path)
    with pytest.raises(Exception, match="dropped, renamed or replaced"):
        open_handle(found.handle, {})


def test_names_of_another_case_are_found(tmp_path: Path) -> None:
    columns = [column("Id"), column("Day", "string"), column("V", "long")]
    options = {"sequence__field": "v", "bucket_key": "ID", "fields__v__ignore_retract": "true"}
    new = new_table(*columns, key="DAY,ID", by="day", **options)
    layout = catalog(tmp_path).create_table(HOME, "t", new).layout
    assert (layout.primary_key, layout.partition_keys) == (("Day", "Id"), ("Day",))
    assert layout.options["sequence.field"] == "V"
    assert layout.options["bucket-key"] == "Id"
    assert layout.options["fields.V.ignore-retract"] == "true"


def test_names_are_what_sql_takes(tmp_path: Path) -> None:
    made = catalog(tmp_path).create_table(HOME, "my table", new_table())
    assert made.layout.name == "test.default.`my table`"
    assert open_handle(made.handle, {}).layout.name == made.layout.name


def test_a_column_needs_a_name(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="a column without a name"):
        catalog(tmp_path).create_table(HOME, "t", new_table(column("k"), column(" ")))


def test_an_id_is_for_life(tmp_path: Path) -> None:
    ours, made = catalog(tmp_path), tables.table(tmp_path).describe()
    changes = [{"change": "add_column", "name": ["w"], "type": "long"}]
    altered = ours.alter_table(HOME, "t", changes).describe()
    assert altered["id"] == made["id"]
    assert altered["version"] != made["version"]
    ours.drop_table(HOME, "t")
    assert tables.table(tmp_path).describe()["id"] != made["id"]
