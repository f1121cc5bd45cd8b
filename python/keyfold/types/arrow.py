"""Column types as Arrow types: those that Spark's own ArrowUtils makes."""

import pyarrow as pa

from keyfold.types.logical import SPELLED, Array, Atomic, DataType, Map, Row


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
            return SPELLED[data_type.name][1]
