"""Column types as Paimon's JSON, which schema files hold."""

import re
from collections.abc import Sequence
from typing import Any

from keyfold.errors import NotSupportedError, TableError
from keyfold.types.logical import VARIANT, Array, Atomic, DataType, Field, Map, Row, variant
from keyfold.types.type_table import MAX_LENGTH, TYPES, Family

_SYNONYM = {"INTEGER": "INT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL"}
_UNLIMITED = {"VARCHAR": "STRING", "VARBINARY": "BYTES"}
_ATOMIC = re.compile(r"^([A-Z_]+)(?:\((\d+)(?:\s*,\s*(\d+))?\))?( WITH LOCAL TIME ZONE)?$")


def from_paimon(json: Any) -> DataType:
    """Parse the JSON of a Paimon schema file (a string, or an object for ARRAY, MAP and ROW)."""
    if isinstance(json, str):
        bare = json.strip().upper()
        is_variant = bare.split(None, 1)[:1] == [VARIANT]
        return variant("NOT NULL" not in bare) if is_variant else _parse_atomic(json)
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
    return checked(name, nullable, int(first) if first else None, int(second) if second else None)


def checked(name: str, nullable: bool, length: int | None, scale: int | None) -> Atomic:
    """The type of that name in Paimon, with its numbers or those that it has without."""
    facts = TYPES.get(name)
    if facts is None:
        raise NotSupportedError(f"type {name} is not supported")
    if name in _UNLIMITED and length == MAX_LENGTH:
        return Atomic(_UNLIMITED[name], nullable)
    if facts.length is None:
        return Atomic(name, nullable)
    size = facts.length if length is None else length
    return Atomic(name, nullable, size, (scale or 0) if facts.family is Family.DECIMAL else None)


def to_paimon(data_type: DataType) -> Any:
    """The JSON that Paimon's Java and Python write for this type."""
    suffix = "" if data_type.nullable else " NOT NULL"
    match data_type:
        case Array(element):
            return {"type": "ARRAY" + suffix, "element": to_paimon(element)}
        case Map(key, value):
            return {"type": "MAP" + suffix, "key": to_paimon(key), "value": to_paimon(value)}
        case Row(is_variant=True):
            return VARIANT + suffix
        case Row(fields):
            return {"type": "ROW" + suffix, "fields": [_field_json(f) for f in fields]}
        case Atomic():
            return data_type.spelled(data_type.facts.paimon) + suffix


def _field_json(field: Field) -> dict[str, Any]:
    json = {"id": field.id, "name": field.name, "type": to_paimon(field.type)}
    return json if field.comment is None else {**json, "description": field.comment}


def check_storable(data_type: DataType, column: str, *, by_others: bool = False) -> None:
    """Refuse types that parse but can't be stored, as a TIMESTAMP of more than 6 digits. Of those
    that are stored `by_others`, values that are cut when they are read are no reason.
    """
    match data_type:
        case Array(element):
            check_storable(element, column, by_others=by_others)
        case Map(key, value):
            check_storable(key, column, by_others=by_others)
            check_storable(value, column, by_others=by_others)
        case Row(()):
            raise NotSupportedError(f"column {column}: a STRUCT without fields is not supported")
        case Row(fields):
            if not by_others:
                _check_names(fields, column)
            for field in fields:
                check_storable(field.type, f"{column}.{field.name}", by_others=by_others)
        case Atomic(name="DECIMAL", length=int(digits)) if not 1 <= digits <= data_type.facts.most:
            raise TableError(f"column {column}: DECIMAL holds 1 to 38 digits, not {digits}")
        case Atomic() if by_others and is_cut(data_type):
            return
        case Atomic(length=int(digits)) if digits > data_type.facts.most:
            raise NotSupportedError(
                f"column {column}: {data_type.spelled(data_type.facts.paimon)} is not supported: "
                f"{data_type.facts.why}"
            )


def _check_names(fields: Sequence[Field], column: str) -> None:
    seen: set[str] = set()
    for name in (field.name for field in fields):
        if not name.strip():
            raise TableError(f"column {column}: a field of the STRUCT has no name")
        if name.lower() in seen:
            raise TableError(
                f"column {column}: the STRUCT has two fields {name}, where upper and lower case "
                "are one"
            )
        seen.add(name.lower())


def is_cut(data_type: Atomic) -> bool:
    """Whether values of the type lose digits when they are read."""
    most, more = data_type.facts.most, data_type.facts.most_cut
    return most < (data_type.length or 0) <= more
