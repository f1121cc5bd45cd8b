"""Types in their three spellings, and what has no third one."""

import itertools
from typing import Any

import pyarrow as pa
import pytest

from keyfold import types
from keyfold.errors import KeyfoldError, NotSupportedError, TableError

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
]


@pytest.mark.parametrize(("paimon", "spark", "arrow", "text"), [*SPELLINGS, *NESTED])
def test_spellings(paimon: Any, spark: Any, arrow: pa.DataType, text: str) -> None:
    found = types.from_paimon(paimon)
    assert types.to_paimon(found) == paimon
    assert types.to_spark(found) == spark
    assert types.to_arrow(found) == arrow
    assert types.describe(found) == text
    assert types.from_spark(spark) == found


@pytest.mark.parametrize(("paimon", "spark", "arrow", "text"), SPELLINGS)
def test_not_null(paimon: str, spark: str, arrow: pa.DataType, text: str) -> None:
    del arrow, text
    found = types.from_paimon(f"{paimon} NOT NULL")
    assert not found.nullable
    assert types.to_paimon(found) == f"{paimon} NOT NULL"
    assert types.from_spark(spark, nullable=False) == found
    assert types.with_nullability(found, True) == types.from_paimon(paimon)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("INTEGER", "INT"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("NUMERIC(5)", "DECIMAL(5, 0)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("VARCHAR(2147483647)", "STRING"),
        ("VARBINARY(2147483647)", "BYTES"),
        ("varchar(3) not null", "VARCHAR(3) NOT NULL"),
    ],
)
def test_synonyms(text: str, same: str) -> None:
    assert types.to_paimon(types.from_paimon(text)) == same


@pytest.mark.parametrize("text", ["VARIANT", "TIME(3)", "BLOB", "NOTHING", "INT("])
def test_paimon_types_without_a_place(text: str) -> None:
    with pytest.raises(NotSupportedError, match="is not supported"):
        types.from_paimon(text)
    with pytest.raises(NotSupportedError, match="MULTISET"):
        types.from_paimon({"type": "MULTISET", "element": "INT"})


@pytest.mark.parametrize(
    "spark",
    [
        "variant",
        "void",
        "time(6)",
        "interval day to second",
        "string collate UTF8_LCASE",
        "decimal(5,-2)",
        {"type": "udt", "class": "x"},
    ],
)
def test_spark_types_without_a_place(spark: Any) -> None:
    with pytest.raises(NotSupportedError, match="is not supported"):
        types.from_spark(spark)


def test_collations_hide_in_metadata() -> None:
    field = {"name": "s", "type": "string", "nullable": True, "metadata": {"__COLLATIONS": {}}}
    with pytest.raises(NotSupportedError, match="collated STRING"):
        types.from_spark({"type": "struct", "fields": [field]})


def test_char_hides_in_metadata() -> None:
    metadata = {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    field = {"name": "s", "type": "string", "nullable": True, "metadata": metadata}
    found = types.from_spark({"type": "struct", "fields": [field]})
    assert types.describe(found) == "STRUCT<s: CHAR(3)>"


@pytest.mark.parametrize(
    ("paimon", "kind", "message"),
    [
        ("TIMESTAMP(9)", NotSupportedError, r"column c: TIMESTAMP\(9\) is not supported"),
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
        types.check_storable(types.from_paimon(paimon), "c")


def test_ids_are_drawn_inside_first() -> None:
    inner = {"type": "ROW", "fields": [{"id": 0, "name": "x", "type": "INT"}]}
    outer = {"type": "ROW", "fields": [{"id": 0, "name": "a", "type": inner}]}
    numbers = itertools.count(10)
    found = types.assign_ids(types.from_paimon(outer), lambda: next(numbers))
    assert isinstance(found, types.Row)
    (field,) = found.fields
    assert isinstance(field.type, types.Row)
    assert (field.type.fields[0].id, field.id) == (10, 11)
