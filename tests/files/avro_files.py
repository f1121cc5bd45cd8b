"""Avro data files as Paimon's writers make them, of random columns and rows, by fastavro."""

import datetime as dt
import itertools
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from io import BytesIO
from random import Random
from typing import Any

import fastavro

from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Array, Atomic, DataType, Field, Map, Row
from keyfold.types.paimon import from_paimon
from tests.random_values import ATOMIC, EPOCH, value

Rows = Sequence[Mapping[str, Any]]
_SHORT = ("TIMESTAMP(3)", "TIMESTAMP(0) WITH LOCAL TIME ZONE", "CHAR(3)", "BINARY(2)")
_ATOMS = (*ATOMIC, *_SHORT)
_PLAIN = {"BOOLEAN": "boolean", "BIGINT": "long", "FLOAT": "float", "DOUBLE": "double"}
_PLAIN |= dict.fromkeys(("TINYINT", "SMALLINT", "INT"), "int")
_PLAIN |= dict.fromkeys(("STRING", "CHAR"), "string")
_PLAIN |= dict.fromkeys(("BYTES", "BINARY"), "bytes")


def a_type(random: Random, depth: int = 2) -> DataType:
    """A random type, with parts or without."""
    which = random.randrange(6 if depth else 3)
    if which < 3:
        return from_paimon(random.choice(_ATOMS))
    if which == 3:
        return Array(a_type(random, depth - 1))
    if which == 4:
        key = from_paimon(random.choice(("STRING NOT NULL", "INT NOT NULL", "DATE NOT NULL")))
        return Map(key, a_type(random, depth - 1))
    count = random.randrange(1, 3)
    return Row(tuple(Field(n, f"f{n}", a_type(random, depth - 1)) for n in range(count)))


def schema_of(columns: Mapping[str, DataType]) -> Any:
    """The schema of the records: they may be NULL, as Paimon's Java library says."""
    fields = [{"name": name, "type": _schema(kind, f"r_{name}")} for name, kind in columns.items()]
    return ["null", {"type": "record", "name": "org.example.r", "fields": fields}]


def _schema(kind: DataType, name: str) -> Any:
    found = _bare(kind, name)
    return ["null", found] if kind.nullable else found


def _bare(kind: DataType, name: str) -> Any:
    match kind:
        case Array(element):
            return {"type": "array", "items": _schema(element, name)}
        case Map(Atomic(name="STRING"), inner):
            return {"type": "map", "values": _schema(inner, name)}
        case Map(key, inner):
            pair = {"key": _schema(key, f"{name}_key"), "value": _schema(inner, f"{name}_value")}
            fields = [{"name": part, "type": its} for part, its in pair.items()]
            return {"type": "array", "items": {"type": "record", "name": name, "fields": fields}}
        case Row(fields):
            listed = [{"name": f.name, "type": _schema(f.type, f"{name}_{f.name}")} for f in fields]
            return {"type": "record", "name": name, "fields": listed}
        case Atomic(name="DECIMAL", length=length, scale=scale):
            digits = {"precision": length, "scale": scale or 0}
            return {"type": "bytes", "logicalType": "decimal", **digits}
        case Atomic(name="DATE"):
            return {"type": "int", "logicalType": "date"}
        case Atomic(name="TIME"):
            return {"type": "int", "logicalType": "time-millis"}
        case Atomic(name=own, length=length) if own.startswith("TIMESTAMP"):
            unit = "millis" if (length or 0) <= 3 else "micros"
            local = "local-" if own == "TIMESTAMP_LTZ" else ""
            return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
    assert isinstance(kind, Atomic)
    return _PLAIN[kind.name]


def raw(given: Any, kind: DataType) -> Any:
    """A value as numbers and bytes, which fastavro writes as they are."""
    if given is None:
        return None
    match kind:
        case Array(element):
            return [raw(item, element) for item in given]
        case Map(Atomic(name="STRING"), inner):
            return {key: raw(item, inner) for key, item in given}
        case Map(key, inner):
            return [{"key": raw(one, key), "value": raw(item, inner)} for one, item in given]
        case Row(fields):
            return {f.name: raw(given[f.name], f.type) for f in fields}
    if isinstance(given, Decimal):
        number = int(given.scaleb(kind.scale or 0, Context(prec=40)))
        return number.to_bytes(
            (number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True
        )
    if isinstance(given, dt.datetime):
        micros = (given.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1)
        return micros // 1000 if (kind.length or 0) <= 3 else micros
    if isinstance(given, dt.time):
        return (dt.datetime.combine(EPOCH, given) - EPOCH) // dt.timedelta(milliseconds=1)
    if isinstance(given, dt.date):
        return (given - EPOCH.date()).days
    return given


def a_value(kind: DataType, random: Random) -> Any:
    """A random value that a column of the type may hold."""
    found = value(to_arrow(kind), random, 0.2 if kind.nullable else 0.0)
    return _cut(found, kind)


def _cut(found: Any, kind: DataType) -> Any:
    """The value with points in time of no more digits than the type has."""
    match kind:
        case Array(element) if found is not None:
            return [_cut(item, element) for item in found]
        case Map(key, inner) if found is not None:
            return [(_cut(one, key), _cut(item, inner)) for one, item in found]
        case Row(fields) if found is not None:
            return {f.name: _cut(found[f.name], f.type) for f in fields}
    if isinstance(found, dt.datetime) and (kind.length or 0) <= 3:
        return found.replace(microsecond=found.microsecond // 1000 * 1000)
    return found


def some_rows(columns: Mapping[str, DataType], count: int, random: Random) -> list[dict[str, Any]]:
    """Random rows of the columns."""
    return [{name: a_value(kind, random) for name, kind in columns.items()} for _ in range(count)]


def avro_file(
    columns: Mapping[str, DataType], rows: Rows, codec: str = "null", block: int = 4000
) -> bytes:
    """A file of the rows, in blocks of about so many bytes."""
    out = BytesIO()
    records: Iterator[Any] = (
        {name: raw(row[name], kind) for name, kind in columns.items()} for row in rows
    )
    schema = fastavro.parse_schema(schema_of(columns))
    fastavro.writer(out, schema, itertools.chain(records), codec=codec, sync_interval=block)
    return out.getvalue()
