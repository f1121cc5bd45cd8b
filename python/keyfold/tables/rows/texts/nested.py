"""A value of JSON as a value of a column's type, with parts or without.

Numbers come as `int` and `Decimal`, so that none has been rounded before its type is known.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from keyfold.tables.rows.conversions.unfit import matched
from keyfold.tables.rows.texts.atoms import Unread, as_python, of_number, of_text
from keyfold.types.logical import Array, Atomic, DataType, Map, Row, with_nullability
from keyfold.types.type_table import Family


class BrokenJson(Exception):
    """A text that is not JSON, with the reason."""


def parsed(text: str) -> Any:
    """The value of a text of JSON. Raises BrokenJson if it is not one."""
    found, end = decoded(text, len(text) - len(text.lstrip()))
    if text[end:].strip():
        raise BrokenJson(f"more behind its end at character {end + 1}")
    return found


def decoded(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at a place of a text, and where it ends. Raises BrokenJson."""
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise BrokenJson(f"{error.msg} at character {error.pos - start + 1}") from None
    except RecursionError:
        raise BrokenJson("too many brackets within brackets") from None
    except ValueError as error:  # a number of thousands of digits, a name that comes twice
        raise BrokenJson(str(error).partition(";")[0]) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} comes twice in one object")
    return found


_DECODER = json.JSONDecoder(parse_float=Decimal, object_pairs_hook=_object)


def of_json(value: Any, kind: DataType, path: str = "") -> Any:
    """The value in Python's classes, maps as lists of pairs. Raises Unread if a part of it is not
    of its type; a field that an object lacks is NULL.
    """
    if value is None:
        return None
    match kind:
        case Atomic():
            return _atom(value, kind, path)
        case Array(element) if isinstance(value, list):
            return [_part(item, element, f"{path}.element") for item in value]
        case Map() if (pairs := _pairs(value, kind.key)) is not None:
            return _map(value, pairs, kind, path)
        case Row() if isinstance(value, dict):
            return _struct(value, kind, path)
    raise Unread(value, kind, "", path)


def _map(value: Any, pairs: Iterable[tuple[Any, Any]], kind: Map, path: str) -> Any:
    keys, values = f"{path}.key", f"{path}.value"
    found = [
        (_part(k, with_nullability(kind.key, False), keys), _part(v, kind.value, values))
        for k, v in pairs
    ]
    numbers = [key + 0.0 if isinstance(key, float) else key for key, _ in found]  # -0.0 is 0.0
    if len(set(map(repr, numbers))) < len(found):
        raise Unread(value, kind, "a key comes twice", path)
    return found


def _struct(value: dict[str, Any], kind: Row, path: str) -> dict[str, Any]:
    names, given = [field.name for field in kind.fields], {}
    for name, part in value.items():
        field = matched(names, name)
        if field is None or field in given:
            what = "has no" if field is None else "has twice the"
            why = f"it {what} field {name!r}; its fields are {', '.join(names)}"
            raise Unread(value, kind, why, path)
        given[field] = part
    return {
        field.name: _part(given.get(field.name), field.type, f"{path}.{field.name}")
        for field in kind.fields
    }


def _part(value: Any, kind: DataType, path: str) -> Any:
    if value is None and not kind.nullable:
        raise Unread(value, kind, "it is NOT NULL", path)
    return of_json(value, kind, path)


def _atom(value: Any, kind: Atomic, path: str) -> Any:
    try:
        if isinstance(value, str):
            return as_python(of_text(value, kind), kind)
        if isinstance(value, bool):
            if kind.facts.family is Family.BOOLEAN:
                return value
        elif isinstance(value, float) and kind.facts.family is Family.FLOATING:
            return value  # NaN and Infinity, which Python's JSON writes so
        elif isinstance(value, int | Decimal) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            return of_number(value, kind)
    except Unread as error:
        raise Unread(error.found, kind, error.why, path) from None
    raise Unread(value, kind, "", path)


def _pairs(value: Any, key: DataType) -> Iterable[tuple[Any, Any]] | None:
    """The entries of a map: of an object, whose names are texts of the keys; of a list of pairs."""
    if isinstance(value, dict):
        if isinstance(key, Atomic):
            return value.items()
        return [(parsed(name), item) for name, item in value.items()]
    is_list = isinstance(value, list) and all(isinstance(p, list) and len(p) == 2 for p in value)
    return [(k, v) for k, v in value] if is_list else None


def of_cell(text: str, kind: DataType) -> Any:
    """The value of a text in a file of columns: nested types are written as JSON there."""
    if isinstance(kind, Atomic):
        return as_python(of_text(text, kind), kind)
    try:
        return of_json(parsed(text), kind)
    except BrokenJson as error:
        raise Unread(text, kind, f"it is not JSON: {error}") from None
