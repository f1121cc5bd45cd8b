"""The program by which a kernel fills the columns of an Avro data file: its steps, made of the
writer's schema.

Columns are asked for by name. Others are passed over, whatever their types are.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from keyfold.errors import NotSupportedError
from keyfold.kernels.avro import slots as steps
from keyfold.kernels.buffers import Rows
from keyfold.stores.avro_blocks import check_nested, short_name

LIST, RECORD = "list", "record"
_MOST_STEPS = 1 << 16  # a type that is named in types that are named has any number of steps
_SCHEMAS_KEPT = 64
_PLAIN: Mapping[str, tuple[int, int]] = {
    "boolean": (steps.RAW, 1),
    "int": (steps.NUMBER, 32),
    "long": (steps.NUMBER, 64),
    "float": (steps.RAW, 4),
    "double": (steps.RAW, 8),
    "bytes": (steps.BYTES, 0),
    "string": (steps.TEXT, 0),
    "enum": (steps.NUMBER, 32),
}


@dataclass(frozen=True)
class AvroColumn:
    """A column of slots: its number, its Avro type, or LIST or RECORD, and its logical type. The
    `parts` are the columns of a record's fields by name, and the column of a list's items; those of
    a map are records.
    """

    number: int
    kind: str
    logical: str | None = None
    parts: "Mapping[str, AvroColumn]" = field(default_factory=dict)

    def of_rows(self) -> "Iterator[AvroColumn]":
        """The columns that have a slot for each of its own."""
        yield self
        if self.kind == RECORD:
            for part in self.parts.values():
                yield from part.of_rows()


@dataclass(frozen=True)
class AvroProgram:
    """The steps of a record, how many columns they fill, and those of the record's fields."""

    steps: Rows
    count: int
    columns: Mapping[str, AvroColumn]


@lru_cache(_SCHEMAS_KEPT)
def names_of(schema: bytes) -> tuple[str, ...]:
    """The names of the fields of a file's records. Raises ValueError if it has no such records."""
    with _understanding():
        return tuple(one["name"] for one in _record_of(_understood(schema))["fields"])


@lru_cache(_SCHEMAS_KEPT)
def program_of(schema: bytes, names: tuple[str, ...]) -> AvroProgram:
    """The program that fills the columns of these names. Raises ValueError if a file of the schema
    has no rows, and NotSupportedError if a column is a union of several types.
    """
    with _understanding():
        maker, found = _Maker(), _understood(schema)
        if isinstance(found, list):
            maker.add(steps.BRANCH, len(found))
            leads = [maker.add(steps.JUMP if one != "null" else steps.REFUSED) for one in found]
            for lead, one in zip(leads, found, strict=True):
                if one != "null":
                    maker.arrive(lead)
        parts = _fields(maker, _record_of(found), names, "")
        maker.add(steps.END)
        return AvroProgram(np.array(maker.rows, dtype=np.int64), maker.count, parts)


@contextmanager
def _understanding() -> Iterator[None]:
    """Raises ValueError where a schema is not what a writer makes."""
    try:
        yield
    except (TypeError, AttributeError, LookupError, RecursionError) as error:
        raise ValueError(f"its schema can't be understood: {error!r}") from error


def _understood(schema: bytes) -> Any:
    found = json.loads(schema)
    check_nested(found)
    return found


def _record_of(schema: Any) -> Any:
    """The type of the records. Paimon's writer says that they may be NULL, and none is."""
    found = [one for one in schema if one != "null"] if isinstance(schema, list) else [schema]
    if len(found) != 1 or not isinstance(found[0], dict) or found[0].get("type") != "record":
        raise ValueError("its values are not records")
    return found[0]


@dataclass
class _Maker:
    """A program in the making. `named` has the types that the schema has defined so far."""

    rows: list[tuple[int, int, int]] = field(default_factory=list)
    count: int = 0
    named: dict[str, Any] = field(default_factory=dict)

    def add(self, kind: int, argument: int = 0, column: AvroColumn | None = None) -> int:
        """Add a step; returns its place."""
        if len(self.rows) >= _MOST_STEPS:
            raise ValueError(f"its schema has more than {_MOST_STEPS} values")
        self.rows.append((kind, argument, -1 if column is None else column.number))
        return len(self.rows) - 1

    def arrive(self, place: int) -> None:
        """Let the step at `place` lead to the one that comes next."""
        kind, _, column = self.rows[place]
        self.rows[place] = kind, len(self.rows), column

    def column(self, kind: str, logical: str | None = None) -> AvroColumn:
        """A new column."""
        self.count += 1
        return AvroColumn(self.count - 1, kind, logical)


def _fields(
    maker: _Maker, schema: Any, names: Collection[str] | None, path: str
) -> dict[str, AvroColumn]:
    """The steps of a record's fields, and the columns of those that are named, of all if None."""
    found: dict[str, AvroColumn] = {}
    for one in schema["fields"]:
        name = one["name"]
        if name in found:
            raise ValueError(f"type {schema['name']} has two fields {name}")
        is_wanted = names is None or name in names
        inner = f"{path}.{name}" if path else name
        column = _value(maker, one["type"], inner if is_wanted else None)
        if column is not None:
            found[name] = column
    return found


def _value(maker: _Maker, schema: Any, path: str | None) -> AvroColumn | None:
    """The steps of a value, and its column unless `path`, its name, is None."""
    if isinstance(schema, list):
        return _union(maker, schema, path)
    kind, parts = (schema, {}) if isinstance(schema, str) else (schema["type"], schema)
    while isinstance(kind, dict):
        kind, parts = kind["type"], {**parts, **kind}
    if isinstance(kind, list):
        return _union(maker, kind, path)
    if kind in ("record", "fixed", "enum"):
        maker.named[short_name(parts["name"])] = parts
    if kind == "record":
        return _record(maker, parts, path)
    if kind in ("array", "map"):
        return _items(maker, kind, parts, path)
    if kind == "fixed" or kind in _PLAIN:
        step, argument = _PLAIN.get(kind, (steps.FIXED, parts.get("size", 0)))
        column = None if path is None else maker.column(kind, parts.get("logicalType"))
        maker.add(step, argument, column)
        return column
    return _value(maker, maker.named[short_name(kind)], path)


def _union(maker: _Maker, schema: list[Any], path: str | None) -> AvroColumn | None:
    """The steps of a union: to each branch, and from it to the end; NULL comes last."""
    if path is not None and sum(one != "null" for one in schema) != 1:
        raise NotSupportedError(f"column {path} has values of {schema}, expected one type and NULL")
    maker.add(steps.BRANCH, len(schema))
    leads = [maker.add(steps.JUMP) for _ in schema]
    ends, column = [], None
    for lead, branch in sorted(zip(leads, schema, strict=True), key=lambda one: one[1] == "null"):
        maker.arrive(lead)
        if branch != "null":
            column = _value(maker, branch, path)
        else:
            for one in column.of_rows() if column is not None else ():
                maker.add(steps.NULL, 0, one)
        ends.append(maker.add(steps.JUMP))
    for end in ends:
        maker.arrive(end)
    return column


def _record(maker: _Maker, schema: Any, path: str | None) -> AvroColumn | None:
    if path is None:
        _fields(maker, schema, (), "")
        return None
    own = maker.column(RECORD)
    maker.add(steps.PRESENT, 0, own)
    return AvroColumn(own.number, RECORD, None, _fields(maker, schema, None, path))


def _items(maker: _Maker, kind: str, schema: Any, path: str | None) -> AvroColumn | None:
    own = None if path is None else maker.column(LIST)
    begin = maker.add(steps.LIST, 0, own)
    if kind == "array":
        items = _value(maker, schema["items"], path)
    else:
        pair = {"key": "string", "value": schema["values"]}
        fields = [{"name": name, "type": part} for name, part in pair.items()]
        items = _record(maker, {"name": kind, "fields": fields}, path)
    maker.add(steps.AGAIN, begin, own)
    maker.arrive(begin)
    if own is None or items is None:
        return None
    return AvroColumn(own.number, LIST, None, {"items": items})
