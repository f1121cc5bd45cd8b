"""Types in their three spellings, and what has no third one."""

import itertools
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from keyfold.errors import KeyfoldError, NotSupportedError, TableError
from keyfold.types import arrow as arrow_types
from keyfold.types import logical, value_text
from keyfold.types import paimon as paimon_types
from keyfold.types import spark as spark_types
from keyfold.types.sql import from_sql
from keyfold.types.type_table import TYPES, Family

UTC = pa.timestamp("us", tz="UTC")
SPELLINGS = [
    # Paimon, Spark, Arrow, SQL
    ("BOOLEAN", "boolean", pa.bool_(), "BOOLEAN"),
    ("TINYINT", "byte", pa.int8(), "TINYINT"),
    ("SMALLINT", "short", pa.int16(), "SMALLINT"),
    ("INT", "integer", pa.int32(), "INT"),
    ("BIGINT", "long", pa.int64(), "BIGINT"),
    ("FLOAT", "float", pa.float32(), "FLOAT"),
    ("DOUBLE", "double", pa.float64(), "DOUBLE"),
    ("STRING", "string", pa.utf8(), "STRING"),
    ("CHAR(5)", "char(5)", pa.utf8(), "CHAR(5)"),
    ("VARCHAR(7)", "varchar(7)", pa.utf8(), "VARCHAR(7)"),
    ("BYTES", "binary", pa.binary(), "BINARY"),
    ("DATE", "date", pa.date32(), "DATE"),
    ("TIME(0)", "time(0)", pa.time64("ns"), "TIME(0)"),
    ("TIME(3)", "time(3)", pa.time64("ns"), "TIME(3)"),
    ("DECIMAL(38, 4)", "decimal(38,4)", pa.decimal128(38, 4), "DECIMAL(38,4)"),
    ("TIMESTAMP(6)", "timestamp_ntz", pa.timestamp("us"), "TIMESTAMP_NTZ"),
    ("TIMESTAMP(6) WITH LOCAL TIME ZONE", "timestamp", UTC, "TIMESTAMP"),
]
ELEMENT = pa.field("element", pa.int32(), False)
NESTED: list[tuple[Any, Any, pa.DataType, str]] = [
    (
        {"type": "ARRAY", "element": "INT NOT NULL"},
        {"type": "array", "elementType": "integer", "containsNull": False},
        pa.list_(ELEMENT),
        "ARRAY<INT>",
    ),
    (
        {"type": "MAP", "key": "STRING NOT NULL", "value": "BIGINT"},
        {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
        pa.map_(pa.utf8(), pa.int64()),
        "MAP<STRING, BIGINT>",
    ),
    (
        {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT", "description": "c"}]},
        {
            "type": "struct",
            "fields": [
                {"name": "x", "type": "integer", "nullable": True, "metadata": {"comment": "c"}}
            ],
        },
        pa.struct([("x", pa.int32())]),
        "STRUCT<x: INT>",
    ),
    (
        "VARIANT",
        "variant",
        pa.struct(
            [pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)]
        ),
        "VARIANT",
    ),
]


@pytest.mark.parametrize(("paimon", "spark", "arrow", "text"), [*SPELLINGS, *NESTED])
def test_spellings(paimon: Any, spark: Any, arrow: pa.DataType, text: str) -> None:
    found = paimon_types.from_paimon(paimon)
    assert paimon_types.to_paimon(found) == paimon
    assert spark_types.to_spark(found) == spark
    assert arrow_types.to_arrow(found) == arrow
    assert logical.describe(found) == text
    assert spark_types.from_spark(spark) == found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("STRUCT<a: INT, b c: INT>", ["a", "b c"]),
        ("STRUCT<`a`: INT, ` b ` : INT>", ["a", " b "]),
        ("STRUCT<`a``b`: INT, ```` : INT>", ["a`b", "`"]),
        ("STRUCT<`a:b`: MAP<STRING, INT>, `a, b`: STRUCT<`>`: INT>>", ["a:b", "a, b"]),
    ],
)
def test_names_of_fields(text: str, names: list[str]) -> None:
    found = from_sql(text)
    assert isinstance(found, logical.Row)
    assert [field.name for field in found.fields] == names


def test_fields_that_are_not_null() -> None:
    found = from_sql("STRUCT<a: INT not null, b: STRUCT<`not null`: INT>>")
    assert isinstance(found, logical.Row)
    assert [field.type.nullable for field in found.fields] == [False, True]
    with pytest.raises(
        NotSupportedError, match="field a INT of a STRUCT: expected a name, a colon"
    ):
        from_sql("STRUCT<a INT>")


@pytest.mark.parametrize(("paimon", "spark", "arrow", "text"), SPELLINGS)
def test_not_null(paimon: str, spark: str, arrow: pa.DataType, text: str) -> None:
    del arrow, text
    found = paimon_types.from_paimon(f"{paimon} NOT NULL")
    assert not found.nullable
    assert paimon_types.to_paimon(found) == f"{paimon} NOT NULL"
    assert spark_types.from_spark(spark, nullable=False) == found
    assert logical.with_nullability(found, True) == paimon_types.from_paimon(paimon)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("INTEGER", "INT"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("NUMERIC(5)", "DECIMAL(5, 0)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIME", "TIME(0)"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("VARCHAR(2147483647)", "STRING"),
        ("VARBINARY(2147483647)", "BYTES"),
        ("varchar(3) not null", "VARCHAR(3) NOT NULL"),
    ],
)
def test_synonyms(text: str, same: str) -> None:
    assert paimon_types.to_paimon(paimon_types.from_paimon(text)) == same


@pytest.mark.parametrize("text", ["BLOB", "NOTHING", "INT("])
def test_paimon_types_without_a_place(text: str) -> None:
    with pytest.raises(NotSupportedError, match="is not supported"):
        paimon_types.from_paimon(text)
    with pytest.raises(NotSupportedError, match="MULTISET"):
        paimon_types.from_paimon({"type": "MULTISET", "element": "INT"})


@pytest.mark.parametrize(
    "spark",
    [
        "void",
        "interval day to second",
        "string collate UTF8_LCASE",
        "decimal(5,-2)",
        {"type": "udt", "class": "x"},
    ],
)
def test_spark_types_without_a_place(spark: Any) -> None:
    with pytest.raises(NotSupportedError, match="is not supported"):
        spark_types.from_spark(spark)


def test_collations_hide_in_metadata() -> None:
    collations = {"__COLLATIONS": {"s": "icu.FR"}}
    field = {"name": "s", "type": "string", "nullable": True, "metadata": collations}
    with pytest.raises(NotSupportedError, match="collated STRING"):
        spark_types.from_spark({"type": "struct", "fields": [field]})


def test_char_hides_in_metadata() -> None:
    metadata = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    field = {"name": "s", "type": "string", "nullable": True, "metadata": metadata}
    found = spark_types.from_spark({"type": "struct", "fields": [field]})
    assert logical.describe(found) == "STRUCT<s: CHAR(3)>"


@pytest.mark.parametrize(
    ("paimon", "kind", "message"),
    [
        ("TIMESTAMP(9)", NotSupportedError, r"column c: TIMESTAMP\(9\) is not supported"),
        (
            "TIME(6)",
            NotSupportedError,
            r"column c: TIME\(6\) is not .*: Paimon stores milliseconds",
        ),
        ("DECIMAL(39, 0)", TableError, "column c: DECIMAL holds 1 to 38 digits, not 39"),
        ({"type": "ARRAY", "element": "TIMESTAMP(7)"}, NotSupportedError, "column c"),
        (
            {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "TIMESTAMP(8)"}]},
            NotSupportedError,
            r"column c\.x",
        ),
        ({"type": "MAP", "key": "INT", "value": "TIMESTAMP(9)"}, NotSupportedError, "column c"),
    ],
)
def test_what_parses_but_cannot_be_held(
    paimon: Any, kind: type[KeyfoldError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        paimon_types.check_storable(paimon_types.from_paimon(paimon), "c")


def test_what_others_may_have_stored() -> None:
    for paimon in ("TIMESTAMP(9)", {"type": "ARRAY", "element": "TIMESTAMP(7)"}):
        paimon_types.check_storable(paimon_types.from_paimon(paimon), "c", by_others=True)
    for paimon in ("TIMESTAMP(10)", "TIME(6)"):
        with pytest.raises(NotSupportedError, match="column c"):
            paimon_types.check_storable(paimon_types.from_paimon(paimon), "c", by_others=True)


def test_ids_are_drawn_inside_first() -> None:
    inner = {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}]}
    outer = {"type": "ROW", "fields": [{"id": 0, "name": "a", "type": inner}]}
    numbers = itertools.count(10)
    found = logical.assign_ids(paimon_types.from_paimon(outer), lambda: next(numbers))
    assert isinstance(found, logical.Row)
    (field,) = found.fields
    assert isinstance(field.type, logical.Row)
    assert (field.type.fields[0].id, field.id) == (10, 11)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("TINYINT", "SMALLINT"),
        ("SMALLINT", "INT"),
        ("INT", "BIGINT"),
        ("FLOAT", "DOUBLE"),
        ("TINYINT", "DECIMAL(3, 0)"),
        ("INT", "DECIMAL(12, 2)"),
        ("BIGINT", "DECIMAL(38, 19)"),
        ("DECIMAL(5, 2)", "DECIMAL(6, 2)"),
        ("DECIMAL(5, 2)", "DECIMAL(38, 10)"),
        ("VARCHAR(3)", "VARCHAR(4)"),
        ("VARCHAR(3)", "STRING"),
        ("TIME(0)", "TIME(3)"),
    ],
)
def test_a_wider_type_holds_what_the_other_does_not(narrow: str, wide: str) -> None:
    small, large = paimon_types.from_paimon(narrow), paimon_types.from_paimon(wide)
    assert logical.holds(large, small)
    assert not logical.holds(small, large)
    assert logical.holds(small, small)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("BIGINT", "DOUBLE"),
        ("BIGINT", "DECIMAL(18, 0)"),
        ("DECIMAL(38, 2)", "DOUBLE"),
        ("DECIMAL(5, 2)", "DECIMAL(6, 4)"),
        ("DATE", "TIMESTAMP(6)"),
        ("STRING", "INT"),
        ("BOOLEAN", "INT"),
    ],
)
def test_neither_type_holds_the_other(one: str, other: str) -> None:
    first, second = paimon_types.from_paimon(one), paimon_types.from_paimon(other)
    assert not logical.holds(first, second)
    assert not logical.holds(second, first)


def test_the_collation_that_spark_writes_out_is_none() -> None:
    for text in ("string", "char(3)", "varchar(4)"):
        assert spark_types.from_spark(f"{text} collate UTF8_BINARY") == spark_types.from_spark(text)
    nested = {"type": "array", "elementType": "string", "containsNull": True}
    for collation, is_plain in (("spark.UTF8_BINARY", True), ("icu.UNICODE_CI", False)):
        metadata = {"__COLLATIONS": {"a.element": collation}}
        field = {"name": "a", "type": nested, "nullable": True, "metadata": metadata}
        if is_plain:
            spark_types.from_spark({"type": "struct", "fields": [field]})
        else:
            with pytest.raises(NotSupportedError, match="collated"):
                spark_types.from_spark({"type": "struct", "fields": [field]})


def test_the_page_of_types_has_those_of_the_table() -> None:
    page = Path(__file__).parents[2] / "docs/tables.md"
    shown = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    for facts in TYPES.values():
        name = "BINARY" if facts.name == "VARBINARY" else facts.sql.partition("(")[0]
        rows = [line for line in shown if re.search(rf"`{name}\b", line.split("|")[1])]
        assert len(rows) == 1, name
        if facts.arrow is not None:
            arrow = re.sub(r"timestamp\[(\w+)(?:, tz=(\w+))?\]", _arguments, str(facts.arrow))
            arrow = re.sub(r"\[(\w+)\]", r"('\1')", arrow.replace("date32[day]", "date32"))
            assert f"`{arrow}`" in rows[0].split("|")[2], name


def _arguments(found: re.Match[str]) -> str:
    return f"timestamp({', '.join(repr(part) for part in found.groups() if part)})"


@pytest.mark.parametrize(
    ("kind", "number", "text"),
    [
        ("DATE", 20_484, "2026-01-31"),
        ("TIME(3)", 86_399_120, "23:59:59.120000"),
        ("TIMESTAMP(6)", 1_769_903_999_120_000, "2026-01-31T23:59:59.120000"),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE", 0, "1970-01-01T00:00:00"),
        ("BIGINT", 7, 7),
        ("DECIMAL(3, 1)", Decimal("1.5"), "1.5"),
        ("DOUBLE", float("inf"), "inf"),
        ("BYTES", b"\xff", "ff"),
    ],
)
def test_values_as_metadata_tables_show_them(kind: str, number: Any, text: Any) -> None:
    assert value_text.shown(number, paimon_types.from_paimon(kind)) == text


def test_a_new_family_touches_few_files() -> None:
    """The section of CONTRIBUTING.md lists them, and each table with an entry for every family."""
    root = Path(__file__).resolve().parents[2]
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("\n## Add a data type\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("| ")]
    named = [name for row in rows for name in re.findall(r"`([\w/…]+\.(?:py|scala))`", row)]
    package = root / "python" / "keyfold"
    listed = {path for name in named if name.endswith(".py") for path in package.glob(name)}
    listed |= {path for name in named for path in root.glob(name.replace("…", "**"))}
    assert len(named) == len(listed) == 8
    tables = {
        path
        for path in package.rglob("*.py")
        if all(f"Family.{family.name}: " in path.read_text(encoding="utf-8") for family in Family)
    }
    assert tables
    assert tables <= listed
