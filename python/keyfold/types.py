"""Column types: Paimon's logical types, and how they are spelled in Paimon, in Spark and in Arrow.

A leaf: no storage library here. Paimon's JSON is what schema files hold,
Spark's JSON is what its planner sends, Arrow types are those Spark's own ArrowUtils makes. Types
without all three forms are refused by name.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from keyfold.errors import NotSupportedError, TableError

MAX_LENGTH = 2147483647
_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}
_PLAIN_COLLATION = "UTF8_BINARY"
_WIDER = {("FLOAT", "DOUBLE"), ("VARCHAR", "STRING")}
MICROS = 6


@dataclass(frozen=True)
class Atomic:
    """A type without parts. `name` is Paimon's root name; `length` is a length or a precision."""

    name: str
    nullable: bool = True
    length: int | None = None
    scale: int | None = None


@dataclass(frozen=True)
class Array:
    """ARRAY of one element type."""

    element: "DataType"
    nullable: bool = True


@dataclass(frozen=True)
class Map:
    """MAP from one type to another."""

    key: "DataType"
    value: "DataType"
    nullable: bool = True


@dataclass(frozen=True)
class Field:
    """One field of a ROW; the id is drawn from the table's field counter."""

    id: int
    name: str
    type: "DataType"
    comment: str | None = None


@dataclass(frozen=True)
class Row:
    """ROW (Spark's STRUCT) of named fields."""

    fields: tuple[Field, ...]
    nullable: bool = True


DataType = Atomic | Array | Map | Row

_PLAIN = {
    "BOOLEAN": ("boolean", pa.bool_()),
    "TINYINT": ("byte", pa.int8()),
    "SMALLINT": ("short", pa.int16()),
    "INT": ("integer", pa.int32()),
    "BIGINT": ("long", pa.int64()),
    "FLOAT": ("float", pa.float32()),
    "DOUBLE": ("double", pa.float64()),
    "STRING": ("string", pa.utf8()),
    "BYTES": ("binary", pa.binary()),
    "DATE": ("date", pa.date32()),
}
_SPARK_PLAIN = {spark: paimon for paimon, (spark, _) in _PLAIN.items()}
_SQL_NAME = {"BYTES": "BINARY", "TIMESTAMP": "TIMESTAMP_NTZ", "TIMESTAMP_LTZ": "TIMESTAMP"}
_SYNONYM = {"INTEGER": "INT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL"}
_ATOMIC = re.compile(r"^([A-Z_]+)(?:\((\d+)(?:\s*,\s*(\d+))?\))?( WITH LOCAL TIME ZONE)?$")
_SPARK_ATOMIC = re.compile(r"^(decimal|char|varchar)\((\d+)(?:,\s*(-?\d+))?\)$")


def with_nullability(data_type: DataType, nullable: bool) -> DataType:
    """The same type, nullable or NOT NULL."""
    return replace(data_type, nullable=nullable)


# ---- Paimon ----


def from_paimon(json: Any) -> DataType:
    """Parse the JSON of a Paimon schema file (a string, or an object for ARRAY, MAP and ROW)."""
    if isinstance(json, str):
        return _parse_atomic(json)
    text = str(json["type"]).upper()
    nullable = "NOT NULL" not in text
    root = text.split()[0]
    if root == "ARRAY":
        return Array(from_paimon(json["element"]), nullable)
    if root == "MAP":
        return Map(from_paimon(json["key"]), from_paimon(json["value"]), nullable)
    if root == "ROW":
        return Row(tuple(_parse_field(f) for f in json["fields"]), nullable)
    raise NotSupportedError(f"type {root} is not supported")


def _parse_field(json: Any) -> Field:
    return Field(int(json["id"]), json["name"], from_paimon(json["type"]), json.get("description"))


def _parse_atomic(text: str) -> Atomic:
    bare = text.strip().upper()
    nullable = not bare.endswith(" NOT NULL")
    bare = bare.removesuffix(" NOT NULL").removesuffix(" NULL").strip()
    match = _ATOMIC.match(bare)
    if match is None:
        raise NotSupportedError(f"type {text} is not supported")
    root, first, second, zoned = match.groups()
    name = "TIMESTAMP_LTZ" if zoned else _SYNONYM.get(root, root)
    return _checked(name, nullable, int(first) if first else None, int(second) if second else None)


def _checked(name: str, nullable: bool, length: int | None, scale: int | None) -> Atomic:
    if name in _PLAIN:
        return Atomic(name, nullable)
    if name == "DECIMAL":
        return Atomic(name, nullable, 10 if length is None else length, scale or 0)
    if name in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return Atomic(name, nullable, MICROS if length is None else length)
    if name in ("VARCHAR", "VARBINARY") and length == MAX_LENGTH:
        return Atomic("STRING" if name == "VARCHAR" else "BYTES", nullable)
    if name in ("CHAR", "VARCHAR", "BINARY", "VARBINARY"):
        return Atomic(name, nullable, 1 if length is None else length)
    raise NotSupportedError(f"type {name} is not supported")


def to_paimon(data_type: DataType) -> Any:
    """The JSON Paimon's Java and Python write for this type."""
    suffix = "" if data_type.nullable else " NOT NULL"
    match data_type:
        case Array(element):
            return {"type": "ARRAY" + suffix, "element": to_paimon(element)}
        case Map(key, value):
            return {"type": "MAP" + suffix, "key": to_paimon(key), "value": to_paimon(value)}
        case Row(fields):
            return {"type": "ROW" + suffix, "fields": [_field_json(f) for f in fields]}
        case Atomic():
            return _paimon_atomic(data_type) + suffix


def _field_json(field: Field) -> dict[str, Any]:
    json = {"id": field.id, "name": field.name, "type": to_paimon(field.type)}
    return json if field.comment is None else {**json, "description": field.comment}


def _paimon_atomic(data_type: Atomic) -> str:
    if data_type.name == "DECIMAL":
        return f"DECIMAL({data_type.length}, {data_type.scale})"
    if data_type.name == "TIMESTAMP_LTZ":
        return f"TIMESTAMP({data_type.length}) WITH LOCAL TIME ZONE"
    return data_type.name if data_type.length is None else f"{data_type.name}({data_type.length})"


# ---- Spark ----


def from_spark(json: Any, nullable: bool = True) -> DataType:
    """Parse Spark's DataType JSON; VARIANT, TIME, INTERVAL, collations are refused by name."""
    if isinstance(json, str):
        return _parse_spark_atomic(json, nullable)
    kind = json["type"]
    if kind == "array":
        return Array(from_spark(json["elementType"], json["containsNull"]), nullable)
    if kind == "map":
        return Map(
            from_spark(json["keyType"], False),
            from_spark(json["valueType"], json["valueContainsNull"]),
            nullable,
        )
    if kind == "struct":
        return Row(tuple(_spark_field(i, f) for i, f in enumerate(json["fields"])), nullable)
    raise NotSupportedError(f"type {str(kind).upper()} is not supported")


def _spark_field(index: int, json: Any) -> Field:
    metadata = json.get("metadata") or {}
    collations = metadata.get("__COLLATIONS") or {}
    if any(not str(name).upper().endswith(_PLAIN_COLLATION) for name in collations.values()):
        raise NotSupportedError(f"a collated STRING is not supported (field {json['name']})")
    declared = metadata.get("__CHAR_VARCHAR_TYPE_STRING", json["type"])
    return Field(
        index, json["name"], from_spark(declared, json["nullable"]), metadata.get("comment")
    )


def _parse_spark_atomic(text: str, nullable: bool) -> Atomic:
    name = text.strip().lower().removesuffix(f" collate {_PLAIN_COLLATION.lower()}")
    if name in _SPARK_PLAIN:
        return Atomic(_SPARK_PLAIN[name], nullable)
    if name in ("timestamp", "timestamp_ltz"):
        return Atomic("TIMESTAMP_LTZ", nullable, MICROS)
    if name == "timestamp_ntz":
        return Atomic("TIMESTAMP", nullable, MICROS)
    match = _SPARK_ATOMIC.match(name)
    if match is None:
        raise NotSupportedError(f"type {text.upper()} is not supported")
    root, length, scale = match.groups()
    if scale is not None and int(scale) < 0:
        raise NotSupportedError(f"type {text.upper()} is not supported: the scale is negative")
    return _checked(root.upper(), nullable, int(length), int(scale) if scale else None)


def to_spark(data_type: DataType) -> Any:
    """Spark's DataType JSON (its own nullability is kept by the column, not by the type)."""
    match data_type:
        case Array(element):
            return {
                "type": "array",
                "elementType": to_spark(element),
                "containsNull": element.nullable,
            }
        case Map(key, value):
            return {
                "type": "map",
                "keyType": to_spark(key),
                "valueType": to_spark(value),
                "valueContainsNull": value.nullable,
            }
        case Row(fields):
            return {"type": "struct", "fields": [_to_spark_field(f) for f in fields]}
        case Atomic():
            return _spark_atomic(data_type)


def _to_spark_field(field: Field) -> dict[str, Any]:
    metadata = {} if field.comment is None else {"comment": field.comment}
    return {
        "name": field.name,
        "type": to_spark(field.type),
        "nullable": field.type.nullable,
        "metadata": metadata,
    }


def _spark_atomic(data_type: Atomic) -> str:
    match data_type.name:
        case "DECIMAL":
            return f"decimal({data_type.length},{data_type.scale})"
        case "CHAR" | "VARCHAR":
            return f"{data_type.name.lower()}({data_type.length})"
        case "BINARY" | "VARBINARY":
            return "binary"
        case "TIMESTAMP":
            return "timestamp_ntz"
        case "TIMESTAMP_LTZ":
            return "timestamp"
    return _PLAIN[data_type.name][0]


# ---- Arrow ----


def to_arrow(data_type: DataType) -> pa.DataType:
    """The Arrow type of a column in memory: the one Spark's ArrowUtils makes for the Spark type."""
    match data_type:
        case Array(element):
            return pa.list_(pa.field("element", to_arrow(element), element.nullable))
        case Map(key, value):
            return pa.map_(
                pa.field("key", to_arrow(key), False),
                pa.field("value", to_arrow(value), value.nullable),
            )
        case Row(fields):
            return pa.struct([pa.field(f.name, to_arrow(f.type), f.type.nullable) for f in fields])
        case Atomic():
            return _arrow_atomic(data_type)


def _arrow_atomic(data_type: Atomic) -> pa.DataType:
    match data_type.name:
        case "DECIMAL":
            return pa.decimal128(data_type.length, data_type.scale)
        case "CHAR" | "VARCHAR":
            return pa.utf8()
        case "BINARY" | "VARBINARY":
            return pa.binary()
        case "TIMESTAMP":
            return pa.timestamp("us")
        case "TIMESTAMP_LTZ":
            return pa.timestamp("us", tz="UTC")
    return _PLAIN[data_type.name][1]


# ---- text and ids ----


def describe(data_type: DataType) -> str:
    """SQL text of the type as Spark spells it, e.g. `ARRAY<STRUCT<a: INT>>`, nullability aside."""
    match data_type:
        case Array(element):
            return f"ARRAY<{describe(element)}>"
        case Map(key, value):
            return f"MAP<{describe(key)}, {describe(value)}>"
        case Row(fields):
            return f"STRUCT<{', '.join(f'{f.name}: {describe(f.type)}' for f in fields)}>"
        case Atomic(name="DECIMAL"):
            return f"DECIMAL({data_type.length},{data_type.scale})"
        case Atomic(name="CHAR" | "VARCHAR"):
            return f"{data_type.name}({data_type.length})"
    return _SQL_NAME.get(data_type.name, data_type.name)


def holds(wider: DataType, data_type: DataType) -> bool:
    """Whether every value of an atomic type is one of `wider` too, exactly."""
    if not isinstance(wider, Atomic) or not isinstance(data_type, Atomic):
        return wider == data_type
    name, digits = data_type.name, _DIGITS.get(data_type.name)
    if wider.name == name == "VARCHAR":
        return (wider.length or 0) >= (data_type.length or 0)
    if wider.name == "DECIMAL" and (digits is not None or name == "DECIMAL"):
        scale = data_type.scale or 0
        whole = (data_type.length or 0) - scale if digits is None else digits
        more = wider.scale or 0
        return more >= scale and (wider.length or 0) - more >= whole
    if digits is not None:
        return _DIGITS.get(wider.name, 0) >= digits
    return wider == data_type or (name, wider.name) in _WIDER


def is_atomic(data_type: DataType) -> bool:
    """Has no parts: may be a key, and has statistics."""
    return isinstance(data_type, Atomic)


def assign_ids(data_type: DataType, draw: Callable[[], int]) -> DataType:
    """The same type with nested field ids drawn anew: inner fields first, as Paimon does."""
    match data_type:
        case Array(element):
            return replace(data_type, element=assign_ids(element, draw))
        case Map(key, value):
            return replace(data_type, key=assign_ids(key, draw), value=assign_ids(value, draw))
        case Row(fields):
            return replace(data_type, fields=tuple(_assign_field(f, draw) for f in fields))
        case Atomic():
            return data_type


def _assign_field(field: Field, draw: Callable[[], int]) -> Field:
    inner = assign_ids(field.type, draw)
    return replace(field, id=draw(), type=inner)


def check_storable(data_type: DataType, column: str) -> None:
    """Refuse what parses but can't be held: TIMESTAMP beyond microseconds, DECIMAL beyond 38."""
    match data_type:
        case Array(element):
            check_storable(element, column)
        case Map(key, value):
            check_storable(key, column)
            check_storable(value, column)
        case Row(()):
            raise NotSupportedError(f"column {column}: a STRUCT without fields is not supported")
        case Row(fields):
            for field in fields:
                check_storable(field.type, f"{column}.{field.name}")
        case Atomic(name="TIMESTAMP" | "TIMESTAMP_LTZ", length=int(digits)) if digits > MICROS:
            raise NotSupportedError(
                f"column {column}: {_paimon_atomic(data_type)} is not supported: "
                f"Spark keeps {MICROS} digits"
            )
        case Atomic(name="DECIMAL", length=int(digits)) if not 1 <= digits <= 38:
            raise TableError(f"column {column}: DECIMAL holds 1 to 38 digits, not {digits}")
