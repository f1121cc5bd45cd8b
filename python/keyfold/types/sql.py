"""Column types as SQL text, the inverse of `logical.describe`: `ARRAY<STRUCT<a: INT>>`."""

import re
from dataclasses import replace

from keyfold.errors import NotSupportedError
from keyfold.types.logical import VARIANT, Array, DataType, Field, Map, Row, variant
from keyfold.types.spark import atomic

_NESTED = re.compile(r"^(ARRAY|MAP|STRUCT)\s*<(.*)>$", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(
    r"(?:`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>[^:`]*))\s*:(?P<type>.*?)(?P<required>\s+NOT\s+NULL)?",
    re.IGNORECASE | re.DOTALL,
)
_OPEN, _CLOSE = "<(", ">)"


def from_sql(text: str) -> DataType:
    """Parse Spark's text of a type. Raises NotSupportedError if it is not one that tables take."""
    words = text.strip()
    nested = _NESTED.match(words)
    if nested is None:
        return variant() if words.upper() == VARIANT else atomic(words)
    parts = split(nested[2])
    match nested[1].upper(), parts:
        case "ARRAY", [element]:
            return Array(from_sql(element))
        case "MAP", [key, value]:
            return Map(from_sql(key), from_sql(value))
        case "STRUCT", _:
            return Row(tuple(_field(place, part) for place, part in enumerate(parts)))
    raise NotSupportedError(f"type {words} is not supported")


def split(text: str) -> list[str]:
    """The parts of a text between commas that no bracket or quote encloses; none of a blank."""
    parts, depth, quote, start = [], 0, "", 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'`":
            quote = letter
        elif letter == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
        else:
            depth += (letter in _OPEN) - (letter in _CLOSE)
    rest = text[start:].strip()
    return [*parts, rest] if rest or parts else []


def _field(place: int, text: str) -> Field:
    found = _FIELD.fullmatch(text)
    if found is None:
        raise NotSupportedError(f"field {text} of a STRUCT: expected a name, a colon and a type")
    quoted, plain = found["quoted"], found["plain"]
    name = plain.strip() if quoted is None else quoted.replace("``", "`")
    kind = from_sql(found["type"])
    return Field(place, name, replace(kind, nullable=False) if found["required"] else kind)
