"""Column types as Arrow types: those that Spark's own ArrowUtils makes."""

import pyarrow as pa
from pyarrow import types

from keyfold.errors import NotSupportedError
from keyfold.types.logical import Array, Atomic, DataType, Field, Map, Row
from keyfold.types.type_table import MICROS, MILLIS, TYPES

_SAME = {facts.arrow: name for name, facts in TYPES.items() if facts.length is None}
# Types of the least type here that holds all their values.
_WIDER = {
    "uint8": "SMALLINT",
    "uint16": "INT",
    "uint32": "BIGINT",
    "halffloat": "FLOAT",
    "large_string": "STRING",
    "string_view": "STRING",
    "large_binary": "BYTES",
    "binary_view": "BYTES",
    "date64[ms]": "DATE",
}
_MOST_DIGITS = 38


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
        case Atomic(name="DECIMAL"):
            return pa.decimal128(data_type.length, data_type.scale)
        case Atomic():
            return data_type.facts.arrow


def from_arrow(kind: pa.DataType, nullable: bool = True) -> DataType:
    """The column type that holds all values of an Arrow type: times in microseconds, unsigned
    numbers in the next wider type. Raises NotSupportedError if there is no such type.
    """
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return from_arrow(kind.value_type, nullable)
    name = _SAME.get(kind) or _WIDER.get(str(kind))
    if name is not None:
        return Atomic(name, nullable)
    if types.is_timestamp(kind):
        return Atomic("TIMESTAMP" if kind.tz is None else "TIMESTAMP_LTZ", nullable, MICROS)
    if types.is_time32(kind):
        return Atomic("TIME", nullable, 0 if kind.unit == "s" else MILLIS)
    if types.is_time64(kind):
        raise NotSupportedError(f"Arrow type {kind} is not supported: {TYPES['TIME'].why}")
    if types.is_uint64(kind):
        return Atomic("DECIMAL", nullable, 20, 0)
    if types.is_decimal(kind) and kind.precision <= _MOST_DIGITS and kind.scale >= 0:
        return Atomic("DECIMAL", nullable, kind.precision, kind.scale)
    if types.is_fixed_size_binary(kind):
        return Atomic("BYTES", nullable)
    if types.is_map(kind):
        value = from_arrow(kind.item_type, kind.item_field.nullable)
        return Map(from_arrow(kind.key_type, False), value, nullable)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return Array(from_arrow(kind.value_type, kind.value_field.nullable), nullable)
    if types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return Row(
            tuple(
                Field(place, field.name, from_arrow(field.type, field.nullable))
                for place, field in enumerate(fields)
            ),
            nullable,
        )
    raise NotSupportedError(f"Arrow type {kind} is not supported")
