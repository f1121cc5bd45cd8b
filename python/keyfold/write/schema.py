"""The Arrow schema of a data file: column order, field ids, nullability and stored types of
Paimon.

The columns are `_KEY_<name>` copies of the trimmed key (not in a thin file), `_SEQUENCE_NUMBER`,
`_VALUE_KIND`, then all columns of the table. Field ids of nested elements are derived from the
column's id and depth, as Paimon's Java derives them.
"""

from __future__ import annotations

import pyarrow as pa

from keyfold.files.paimon_values import stored_type
from keyfold.merge.marks.mark_columns import FIELDS as MARKS
from keyfold.types.logical import Array, Atomic, DataType, Map, Row
from keyfold.wire.layout import TableLayout
from keyfold.wire.specs import KIND, SEQUENCE

KEY_PREFIX = "_KEY_"
KEY_ID_BASE = 1073741823
SEQUENCE_ID = 2147483646
KIND_ID = 2147483645
MARK_IDS = (2147483601, 2147483602)
NESTED_ID_BASE = 536870911
_DEPTHS = 1024


def file_schema(
    layout: TableLayout, *, is_thin: bool = False, is_marked: bool = False
) -> pa.Schema:
    """All columns of a data file of this table, with Parquet field ids. The marks of partial writes
    come last.
    """
    keys = [] if is_thin else [layout.column(name) for name in layout.key]
    copies = [
        _field(KEY_PREFIX + column.name, column.type, KEY_ID_BASE + column.id) for column in keys
    ]
    system = [
        pa.field(SEQUENCE, pa.int64(), False, _id(SEQUENCE_ID)),
        pa.field(KIND, pa.int8(), False, _id(KIND_ID)),
    ]
    marks = [
        field.with_metadata(_id(field_id))
        for field, field_id in zip(MARKS, MARK_IDS, strict=True)
        if is_marked
    ]
    own = [_field(column.name, column.type, column.id) for column in layout.columns]
    return pa.schema([*copies, *system, *own, *marks])


def _id(field_id: int) -> dict[bytes, bytes]:
    return {b"PARQUET:field_id": str(field_id).encode()}


def _field(name: str, data_type: DataType, field_id: int) -> pa.Field:
    return pa.field(name, _arrow(data_type, field_id, 0), data_type.nullable, _id(field_id))


def _nested(name: str, data_type: DataType, column: int, depth: int, field_id: int) -> pa.Field:
    is_nullable = data_type.nullable and name != "key"
    return pa.field(name, _arrow(data_type, column, depth), is_nullable, _id(field_id))


def _arrow(data_type: DataType, column: int, depth: int) -> pa.DataType:
    offset = _DEPTHS * column + depth + 1
    match data_type:
        case Array(element):
            return pa.list_(_nested("element", element, column, depth + 1, NESTED_ID_BASE + offset))
        case Map(key, value):
            return pa.map_(
                _nested("key", key, column, depth + 1, NESTED_ID_BASE - offset),
                _nested("value", value, column, depth + 1, NESTED_ID_BASE + offset),
            )
        case Row(fields):
            return pa.struct([_field(f.name, f.type, f.id) for f in fields])
        case Atomic():
            return stored_type(data_type)
