"""The program by which a kernel reads the records of an Avro file, made of its writer's schema.

Fields are found by name, as the versions of Paimon have other ones in another order. Fields that
are declared get the checks of their declaration (`avro_records`), and those of them that are asked
for a column. Others are passed over. Values of another type than the declared one are refused where
they are met, so that a union may have branches that no record takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyfold.kernels.avro import records as steps
from keyfold.kernels.buffers import Rows
from keyfold.storage.metadata.avro_records import (  # fmt: skip
    AvroField,
    Check,
    is_bytes,
    is_int,
    is_long,
    is_name,
    is_text,
    is_time,
)

_MOST_STEPS = 1 << 14  # a type that is named in types that are named has any number of steps
_NUMBERS = ("int", "long")
_OF_TIMES = ("timestamp-millis", "timestamp-micros", "local-timestamp-millis")
# The types in Avro of values that must pass a check, and the step that makes it.
_CHECKED: Mapping[Check, tuple[tuple[str, ...], int, int]] = {
    is_int: (_NUMBERS, steps.NUMBER, 32),
    is_long: (_NUMBERS, steps.NUMBER, 64),
    is_time: (_NUMBERS, steps.NUMBER, 64),
    is_bytes: (("bytes",), steps.BYTES, 0),
    is_text: (("string",), steps.TEXT, 0),
    is_name: (("string",), steps.NAME, 0),
}
_PASSED: Mapping[str, tuple[int, int]] = {
    "boolean": (steps.FIXED, 1),
    "int": (steps.NUMBER, 64),
    "long": (steps.NUMBER, 64),
    "float": (steps.FIXED, 4),
    "double": (steps.FIXED, 8),
    "bytes": (steps.BYTES, 0),
    "string": (steps.TEXT, 0),
}


@dataclass(frozen=True)
class WantedFields:
    """The declared fields of a file's records, and the paths of those that become columns: of
    numbers, and of places of bytes, texts and lists.
    """

    fields: Mapping[str, AvroField]
    numbers: Sequence[str]
    spans: Sequence[str]


@dataclass
class _Maker:
    """A program in the making. `named` has the types that the schema has defined so far."""

    columns: Mapping[str, int]
    rows: list[tuple[int, int, int]] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)

    def add(self, kind: int, argument: int = 0, path: str = "") -> int:
        """Add a step; returns its place."""
        if len(self.rows) >= _MOST_STEPS:
            raise ValueError(f"its schema has more than {_MOST_STEPS} values")
        self.rows.append((kind, argument, self.columns.get(path, -1)))
        return len(self.rows) - 1

    def arrive(self, place: int) -> None:
        """Let the step at `place` lead to the one that comes next."""
        kind, _, column = self.rows[place]
        self.rows[place] = kind, len(self.rows), column


def program_of(schema: Any, wanted: WantedFields) -> Rows:
    """The steps of a record. Raises ValueError if the schema has no such records. It nests to an
    end (`documents`).
    """
    numbered = (enumerate(paths) for paths in (wanted.numbers, wanted.spans))
    maker = _Maker({path: column for paths in numbered for column, path in paths})
    _value(maker, schema, AvroField(None, bool, inside=wanted.fields), "")
    maker.add(steps.END)
    return np.array(maker.rows, dtype=np.int64)


def _value(maker: _Maker, schema: Any, declared: AvroField | None, path: str) -> None:
    """The steps of a value of a type, of a declared field or of another one."""
    if isinstance(schema, list):
        _branches(maker, schema, declared, path)
        return
    name, parts = (schema, {}) if isinstance(schema, str) else (schema["type"], schema)
    while isinstance(name, dict):
        name, parts = name["type"], {**parts, **name}
    if isinstance(name, list):
        _branches(maker, name, declared, path)
    elif name in ("record", "fixed", "enum"):
        maker.named[parts["name"].rpartition(".")[2]] = parts
        _named(maker, name, parts, declared, path)
    elif name in ("array", "map"):
        _items(maker, name, parts, declared, path)
    elif name in _PASSED:
        _plain(maker, name, parts.get("logicalType"), declared, path)
    else:
        _value(maker, maker.named[name.rpartition(".")[2]], declared, path)


def _branches(maker: _Maker, schema: list[Any], declared: AvroField | None, path: str) -> None:
    """The steps of a union: to each branch, and from it to the end."""
    maker.add(steps.BRANCH, len(schema))
    leads = [maker.add(steps.JUMP) for _ in schema]
    ends = []
    for lead, branch in zip(leads, schema, strict=True):
        maker.arrive(lead)
        if branch != "null":
            _value(maker, branch, declared, path)
        elif declared is not None and not declared.nullable:
            maker.add(steps.REFUSED)
        ends.append(maker.add(steps.JUMP))
    for end in ends:
        maker.arrive(end)


def _plain(
    maker: _Maker, name: str, logical: str | None, declared: AvroField | None, path: str
) -> None:
    if declared is None:
        maker.add(*_PASSED[name])
        return
    types, kind, argument = _CHECKED.get(declared.check, ((), steps.REFUSED, 0))
    is_time_of_day = declared.check is is_time and logical in _OF_TIMES
    if name in types and (logical is None or is_time_of_day):
        maker.add(kind, argument, path)
    else:
        maker.add(steps.REFUSED)


def _named(
    maker: _Maker, name: str, parts: Mapping[str, Any], declared: AvroField | None, path: str
) -> None:
    if name == "record" and (declared is None or declared.inside is not None):
        _fields(maker, parts, None if declared is None else declared.inside, path)
    elif declared is not None:
        maker.add(steps.REFUSED)
    elif name == "fixed":
        maker.add(steps.FIXED, parts["size"])
    else:
        maker.add(steps.NUMBER, 32)


def _fields(
    maker: _Maker, parts: Mapping[str, Any], inside: Mapping[str, AvroField] | None, path: str
) -> None:
    names = [one["name"] for one in parts["fields"]]
    if len(set(names)) < len(names):
        raise ValueError(f"type {parts['name']} has two fields of one name")
    for name, declared in (inside or {}).items():
        if not declared.later and name not in names:
            raise ValueError(f"its records have no field {name}")
    for one in parts["fields"]:
        name = one["name"]
        inner = None if inside is None else inside.get(name)
        _value(maker, one["type"], inner, f"{path}.{name}" if path else name)


def _items(
    maker: _Maker, name: str, parts: Mapping[str, Any], declared: AvroField | None, path: str
) -> None:
    items = None if declared is None else declared.items
    if declared is not None and (name == "map" or items is None):
        maker.add(steps.REFUSED)
        return
    begin = maker.add(steps.LIST, 0, path if declared is not None else "")
    if name == "map":
        maker.add(steps.TEXT)
    _value(maker, parts["items" if name == "array" else "values"], items, f"{path}[]")
    maker.add(steps.AGAIN, begin)
    maker.arrive(begin)


def least_bytes(fields: Mapping[str, AvroField]) -> int:
    """The fewest bytes of a record with the fields that all versions have."""
    own = (one for one in fields.values() if not one.later)
    return sum(1 if one.inside is None else least_bytes(one.inside) for one in own)
