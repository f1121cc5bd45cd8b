"""Column types as Spark's JSON, which its planner sends."""

import re
from typing import Any

from keyfold.errors import NotSupportedError
from keyfold.types.logical import VARIANT, Array, Atomic, DataType, Field, Map, Row, variant
from keyfold.types.paimon import checked
from keyfold.types.type_table import TIMES, TYPES

_PLAIN_COLLATION = "UTF8_BINARY"
_SYNONYMS = {
    spelled: facts.name
    for facts in reversed(TYPES.values())  # of types that Spark has one of, the first
    for spelled in (facts.spark.partition("(")[0].upper(), *facts.synonyms)
}
_ATOMIC = re.compile(r"^(\w+)(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?$")


def from_spark(json: Any, nullable: bool = True) -> DataType:
    """Parse Spark's DataType JSON. INTERVAL and collations are refused by name."""
    if isinstance(json, str):
        is_variant = json.strip().upper() == VARIANT
        return variant(nullable) if is_variant else atomic(json, nullable)
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


def atomic(text: str, nullable: bool = True) -> Atomic:
    """A type without parts, by the name it has in Spark's JSON or SQL."""
    word = text.strip().upper().removesuffix(f" COLLATE {_PLAIN_COLLATION}")
    match = _ATOMIC.match(word)
    root = None if match is None else _SYNONYMS.get(match[1], match[1])
    if match is None or root not in TYPES:
        why = ": Paimon has none" if word.startswith("INTERVAL") else ""
        raise NotSupportedError(f"type {word} is not supported{why}")
    length, scale = match[2], match[3]
    if scale is not None and int(scale) < 0:
        raise NotSupportedError(f"type {word} is not supported: the scale is negative")
    if root in TIMES:
        return checked(root, nullable, None, None)
    size = int(length) if length else TYPES[root].sparks_length
    return checked(root, nullable, size, int(scale) if scale else None)


def to_spark(data_type: DataType) -> Any:
    """Spark's DataType JSON. The column, not the type, keeps its own nullability."""
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
        case Row(is_variant=True):
            return VARIANT.lower()
        case Row(fields):
            return {"type": "struct", "fields": [_to_spark_field(f) for f in fields]}
        case Atomic():
            return data_type.spelled(data_type.facts.spark)


def column_json(name: str, kind: DataType, comment: str | None = None) -> dict[str, Any]:
    """A column in the form of a question or an answer."""
    return {"name": name, "type": to_spark(kind), "nullable": kind.nullable, "comment": comment}


def _to_spark_field(field: Field) -> dict[str, Any]:
    metadata = {} if field.comment is None else {"comment": field.comment}
    return {
        "name": field.name,
        "type": to_spark(field.type),
        "nullable": field.type.nullable,
        "metadata": metadata,
    }
