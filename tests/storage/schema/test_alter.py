"""ALTER TABLE: what changes, what is refused, and two at once."""

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from keyfold.errors import KeyfoldError
from keyfold.files.initial_values import initial
from keyfold.storage.commits import commit
from keyfold.storage.schema.definition import NewTable
from keyfold.storage.table import Table
from keyfold.stores.local import LocalFiles
from keyfold.types import arrow as arrow_types
from keyfold.types import logical
from keyfold.types import paimon as paimon_types
from keyfold.wire.layout import Column
from tests.storage import tables
from tests.storage.tables import catalog, column, new_table


def alter(found: Table, *changes: dict[str, Any]) -> Table:
    folder = Path(found.layout.location).parent.parent
    return catalog(folder).alter_table(["default"], "t", changes)


def add(name: Any, spark_type: Any = "integer", **more: Any) -> dict[str, Any]:
    return {"change": "add_column", "name": name, "type": spark_type} | more


def put(key: str, value: str) -> dict[str, Any]:
    return {"change": "set_property", "key": key, "value": value}


def widen(name: Any, spark_type: str) -> dict[str, Any]:
    return {"change": "update_column_type", "name": name, "type": spark_type}


def remove(name: Any, **more: Any) -> dict[str, Any]:
    return {"change": "delete_column", "name": name} | more


def rename(name: Any, to: str) -> dict[str, Any]:
    return {"change": "rename_column", "name": name, "to": to}


def move(name: Any, **place: str) -> dict[str, Any]:
    return {"change": "update_column_position", "name": name, "position": place}


def null(name: Any, nullable: bool) -> dict[str, Any]:
    return {"change": "update_column_nullability", "name": name, "nullable": nullable}


def default(name: Any, text: str | None, **more: Any) -> dict[str, Any]:
    return {"change": "update_column_default", "name": name, "default": text} | more


def literal(value: Any, kind: str) -> dict[str, Any]:
    return {"literal": value, "type": kind}


def drop(key: str) -> dict[str, Any]:
    return {"change": "unset_property", "key": key}


def with_data(folder: Path, **options: str) -> Table:
    found = tables.table(folder, new_table(**options))
    commit.append(found, tables.spec(found), [tables.message(found)])
    return found


def test_properties(tmp_path: Path) -> None:
    found = with_data(tmp_path)
    changes = (put("target-file-size", "64mb"), put("comment", "hi"), put("keyfold.tag.a", "b"))
    altered = alter(found, *changes)
    assert altered.options.target_file_size == 64 << 20
    assert altered.layout.comment == "hi"
    assert altered.layout.schema_id == 1
    assert altered.snapshot_id == 1
    cleared = alter(found, drop("target-file-size"), drop("comment"), drop("never-there"))
    assert cleared.options.target_file_size == 128 << 20
    assert cleared.layout.comment is None


def test_what_is_retained_must_agree(tmp_path: Path) -> None:
    found = with_data(tmp_path)
    most, least = put("snapshot.num-retained.max", "3"), put("snapshot.num-retained.min", "2")
    refused = r"num-retained.max \(3\) must not be less than snapshot.num-retained.min \(10\)"
    with pytest.raises(KeyfoldError, match=refused):
        alter(found, most)
    assert alter(found, least, most).options.snapshots_at_most == 3
    with pytest.raises(KeyfoldError, match=refused):
        alter(found, drop("snapshot.num-retained.min"))


def test_columns_are_placed_and_numbered(tmp_path: Path) -> None:
    found = with_data(tmp_path)
    struct = {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True}]}
    altered = alter(
        found,
        add("end"),
        add(["a"], "string", position={"first": ""}, comment="one"),
        add("b", struct, position={"after": "k"}),
    )
    assert [(c.name, c.id) for c in altered.layout.columns] == [
        ("a", 3),
        ("k", 0),
        ("b", 4),
        ("v", 1),
        ("end", 2),
    ]
    stored = json.loads(Path(found.layout.location, "schema", "schema-1").read_text())
    assert stored["highestFieldId"] == 5
    again = alter(found, {"change": "update_column_comment", "name": ["v"], "comment": "value"})
    assert again.layout.column("v").comment == "value"
    assert again.schema(0).columns == found.layout.columns


def test_a_default_on_a_table_without_data(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    altered = alter(found, add("d", "string", default="'x'", default_value="x"))
    assert altered.layout.column("d").default == "'x'"
    stored = json.loads(Path(found.layout.location, "schema", "schema-1").read_text())
    assert stored["fields"][2]["defaultValue"] == "'x'"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("bucket", "8"), "bucket can't be changed once the table holds data.*sys.rescale"),
        (put("merge-engine", "aggregation"), "merge-engine can't be changed once"),
        (put("sequence.field", "v"), "sequence.field can't be changed once"),
        (put("primary-key", "v"), "primary-key can't be changed"),
        (put("primary-key.nullable", "true"), "primary-key.nullable can't be changed"),
        (put("sequence.snapshot-ordering", "true"), "snapshot-ordering can't be changed once"),
        (put("bogus", "1"), "bogus of table test.default.t is unknown"),
        (put("scan.mode", "latest"), "scan.mode .* known to Paimon"),
        (put("write-buffer-size", "many"), "write-buffer-size .* expected a size"),
        (drop("bucket"), "bucket can't be changed"),
        (add("v"), "column v: v exists"),
        (add("V"), "column V: V exists"),
        (add("w", nullable=False), "column w: it must be nullable"),
        (add("w", default="f()"), "column w: its DEFAULT is no constant of an atomic type"),
        (add(["v", "w"]), r"column v\.w: BIGINT has no fields of its own"),
        (add(["u", "w"]), r"column u\.w: there is no u; there are k, v"),
        (add("w", "interval day"), r"ALTER TABLE \S+, column w: type INTERVAL DAY"),
        (add("w", position={"after": "nope"}), "column w: there is no nope"),
        (put("location", "/elsewhere"), "property location can't be changed"),
        (remove("k"), "column k: it is part of the primary key or partitioning, which stay"),
        (remove("u"), "column u: there is no u"),
        (rename("k", "j"), "column k: it is part of the primary key .* hold it as _KEY_k"),
        (rename("v", "K"), "column v: K exists"),
        (rename("v", "_KEY_v"), "_KEY_v cannot be used as column names"),
        (move("v", after="nope"), "column v: there is no nope"),
        (null("k", True), "column k: it is part of the primary key: primary-key.nullable"),
        (null("v", False), "column v: it can't become NOT NULL once the table holds data"),
        (
            {"change": "add_constraint", "sql": "CHECK (v > 0)"},
            r"ADD CONSTRAINT is not supported: CHECK \(v > 0\) would not be enforced",
        ),
        ({"change": "drop_constraint", "name": "p"}, "DROP CONSTRAINT p is not supported"),
        (widen("v", "integer"), "v: changing it from BIGINT to INT is not supported"),
        (widen("v", "double"), "v: changing it from BIGINT to DOUBLE is not supported"),
        (widen("v", "decimal(18,0)"), r"from BIGINT to DECIMAL\(18,0\) is not supported"),
        (widen("k", "decimal(19,0)"), "k: it is part of the primary key or part.*type is fixed"),
        (widen(["v", "w"], "long"), r"column v\.w: BIGINT has no field w"),
        (default(["v", "w"], "1"), r"column v\.w: a field of a STRUCT takes no DEFAULT"),
    ],
)
def test_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    found = with_data(tmp_path)
    with pytest.raises(KeyfoldError, match=message):
        alter(found, put("keyfold.tag.a", "b"), change)
    assert tables.reload(found).layout.schema_id == 0, "all changes or none"


def test_a_column_is_widened(tmp_path: Path) -> None:
    found = with_data(tmp_path)
    altered = alter(found, widen(["v"], "decimal(38,0)"))
    column = altered.layout.column("v")
    assert (column.id, logical.describe(column.type)) == (1, "DECIMAL(38,0)")
    assert column.type.nullable
    assert logical.describe(altered.schema(0).column("v").type) == "BIGINT"


def test_a_sequence_field_keeps_its_type(tmp_path: Path) -> None:
    found = tables.table(tmp_path, new_table(sequence__field="v"))
    with pytest.raises(KeyfoldError, match=r"v: it is a sequence\.field, its type is fixed"):
        alter(found, widen("v", "decimal(38,0)"))


def test_without_data_more_may_change(tmp_path: Path) -> None:
    assert alter(tables.table(tmp_path), put("bucket", "8")).options.bucket == 8


def test_two_alters_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tables.table(tmp_path)
    original = LocalFiles.publish
    lost: list[str] = []

    def racing(self: LocalFiles, path: str, data: bytes) -> bool:
        if path.endswith("schema-1") and not lost:
            lost.append(path)
            alter(found, add("theirs"))
        return original(self, path, data)

    monkeypatch.setattr(LocalFiles, "publish", racing)
    altered = alter(found, add("ours"))
    assert [(c.name, c.id) for c in altered.layout.columns[2:]] == [("theirs", 2), ("ours", 3)]
    assert altered.layout.schema_id == 2


def test_old_files_are_read_with_their_schema(tmp_path: Path) -> None:
    found = with_data(tmp_path)
    altered = alter(found, add("w", position={"first": ""}))
    (file,) = altered.live_files()
    assert file.schema_id == 0
    assert file.value_stats(altered.schema(0)) == {"k": (0, 9, 0), "v": (0, 9, 0)}


def test_columns_of_other_engines_defaults(tmp_path: Path) -> None:
    found = tables.table(tmp_path, new_table(column("k"), column("v", "string")))
    path = Path(found.layout.location, "schema", "schema-0")
    schema = json.loads(path.read_text())
    schema["fields"][1]["defaultValue"] = "it's"
    path.write_text(json.dumps(schema))
    altered = tables.reload(found)
    assert altered.layout.column("v").default == "it's"
    shown = altered.describe()["columns"][1]
    assert (shown["default"], shown["default_text"]) == ("it's", r"CAST('it\'s' AS STRING)")


def test_options_another_engine_set_stay(tmp_path: Path) -> None:
    found = tables.table(tmp_path)
    path = Path(found.layout.location, "schema", "schema-0")
    schema = json.loads(path.read_text())
    schema["options"]["num-levels"] = "6"
    path.write_text(json.dumps(schema))
    altered = alter(found, put("target-file-size", "64mb"))
    assert altered.layout.options["num-levels"] == "6"


def altered_options(folder: Path, change: dict[str, Any], **options: str) -> dict[str, str]:
    """What stands in `fields.…` and naming options after a change of a table with data."""
    columns = [column(name) for name in ("k", "v", "g", "h", "w")]
    made = tables.table(folder, new_table(*columns, **options))
    commit.append(made, tables.spec(made), [tables.message(made)])
    stored = alter(made, change).layout.options
    return {name: text for name, text in stored.items() if name not in ("bucket", "merge-engine")}


GROUPS = {"merge_engine": "partial-update", "fields__g,h__sequence_group": "v,w"}


def test_options_follow_a_column_that_is_renamed(tmp_path: Path) -> None:
    found = altered_options(tmp_path / "1", rename("h", "x"), **GROUPS)
    assert found == {"fields.g,x.sequence-group": "v,w"}
    found = altered_options(tmp_path / "2", rename("v", "x"), **GROUPS)
    assert found == {"fields.g,h.sequence-group": "x,w"}
    found = altered_options(tmp_path / "3", rename("v", "x"), sequence__field="g,v")
    assert found == {"sequence.field": "g,x"}
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}
    found = altered_options(tmp_path / "4", rename("v", "x"), **options)
    assert found == {"fields.x.aggregate-function": "sum"}


def test_options_of_a_column_that_is_dropped_go_with_it(tmp_path: Path) -> None:
    options = {"merge_engine": "aggregation", "fields__v__aggregate_function": "sum"}
    assert altered_options(tmp_path / "1", remove("v"), **options) == {}
    found = altered_options(tmp_path / "2", remove("w"), **GROUPS)
    assert found == {"fields.g,h.sequence-group": "v"}
    for place, (change, given, option) in enumerate(
        (
            (remove("g"), GROUPS, "fields.g,h.sequence-group"),
            (remove("v"), GROUPS | {"fields__g,h__sequence_group": "v"}, "fields.g,h.sequence-gr"),
            (remove("v"), {"sequence__field": "g,v"}, "sequence.field"),
        )
    ):
        with pytest.raises(KeyfoldError, match=f"option {option}.* names it, so it can't be drop"):
            altered_options(tmp_path / f"refused{place}", change, **given)


def test_options_follow_a_field_that_is_renamed(tmp_path: Path) -> None:
    fields = [{"name": name, "type": "integer", "nullable": True} for name in ("x", "y")]
    rows = {"elementType": {"type": "struct", "fields": fields}, "containsNull": True}
    columns = (column("k"), column("v", {"type": "array"} | rows))
    options = {
        "merge_engine": "aggregation",
        "fields__v__aggregate_function": "nested_update",
        "fields__v__nested_key": "x",
    }
    found = tables.table(tmp_path, new_table(*columns, **options))
    with pytest.raises(KeyfoldError, match=r"option fields.v.nested-key names it, so it can't"):
        alter(found, remove(["v", "element", "x"]))
    altered = alter(found, rename(["v", "element", "x"], "z"))
    assert altered.layout.options["fields.v.nested-key"] == "z"
    assert logical.describe(altered.layout.column("v").type) == "ARRAY<STRUCT<z: INT, y: INT>>"


def test_a_default_follows_its_column(tmp_path: Path) -> None:
    made = with_data(tmp_path)
    found = alter(made, add("d", "string", default="'x'", default_value=literal("x", "string")))
    assert (found.layout.column("d").default, initial(found.layout.column("d")).as_py()) == (
        "'x'",
        "x",
    )
    found = alter(
        found, rename("d", "e"), default("e", "'y'", default_value=literal("y", "string"))
    )
    assert found.layout.column("e").default == "'y'"
    assert initial(found.layout.column("e")).as_py() == "x"
    stored = json.loads(Path(found.layout.location, "schema", "schema-2").read_text())
    assert stored["fields"][2]["defaultValue"] == "'y'"
    found = alter(found, default("e", None))
    assert (found.layout.column("e").default, initial(found.layout.column("e")).as_py()) == (
        None,
        "x",
    )
    found = alter(found, remove("e"), add("e", "string"))
    assert initial(found.layout.column("e")).as_py() is None
    assert not [name for name in found.layout.options if name.startswith("keyfold.")]


def test_defaults_are_no_properties(tmp_path: Path) -> None:
    for option in ("keyfold.default.v", "keyfold.initial-default.v"):
        properties = {option: "1"}
        with pytest.raises(KeyfoldError, match=f"{option} is made by a column's DEFAULT only"):
            tables.table(tmp_path, NewTable((column("k"), column("v")), (), ("k",), properties))
        with pytest.raises(KeyfoldError, match=f"property {option} can't be changed"):
            alter(tables.table(tmp_path, name="t"), put(option, "1"))
        catalog(tmp_path).drop_table(["default"], "t")


def test_keys_may_be_renamed_without_data(tmp_path: Path) -> None:
    found = tables.table(tmp_path, new_table(*map(column, "pkv"), by="p", key="p,k"))
    altered = alter(found, rename("k", "key"), rename("p", "part")).layout
    assert (altered.primary_key, altered.partition_keys) == (("part", "key"), ("part",))


def test_nullability(tmp_path: Path) -> None:
    found = tables.table(tmp_path, new_table(column("k"), column("v", "long", nullable=False)))
    assert not alter(found, null("v", False)).layout.column("v").type.nullable
    commit.append(found, tables.spec(found), [tables.message(found)])
    assert alter(found, null("v", True)).layout.column("v").type.nullable
    again = tables.table(tmp_path, name="t2")
    assert again.layout.column("v").type.nullable
    folder = Path(again.layout.location).parent.parent
    required = catalog(folder).alter_table(["default"], "t2", [null("v", False)])
    assert not required.layout.column("v").type.nullable


VALUES = [
    ("BOOLEAN", literal(True, "boolean"), True),
    ("TINYINT", literal(-1, "byte"), -1),
    ("BIGINT", literal("9223372036854775807", "long"), 2**63 - 1),
    ("FLOAT", literal(0.10000000149011612, "float"), 0.10000000149011612),
    ("DOUBLE", literal("-Infinity", "double"), float("-inf")),
    ("DECIMAL(20, 2)", literal("1.5", "decimal(5,1)"), Decimal("1.50")),
    ("DECIMAL(38, 0)", literal(7, "integer"), Decimal(7)),
    ("STRING", literal("it's", "string"), "it's"),
    ("CHAR(4)", literal("ab", "string"), "ab  "),
    ("BYTES", literal("AP8=", "binary"), b"\x00\xff"),
    ("DATE", literal(19782, "date"), datetime.date(2024, 2, 29)),
    ("TIMESTAMP(6)", literal(1_000_000, "timestamp_ntz"), datetime.datetime(1970, 1, 1, 0, 0, 1)),
]


@pytest.mark.parametrize(("kind", "stored", "value"), VALUES, ids=[kind for kind, *_ in VALUES])
def test_what_stored_rows_have_in_an_added_column(kind: str, stored: Any, value: Any) -> None:
    found = initial(Column(1, "c", paimon_types.from_paimon(kind), initial=json.dumps(stored)))
    assert found.as_py() == value
    assert found.type == arrow_types.to_arrow(paimon_types.from_paimon(kind))
