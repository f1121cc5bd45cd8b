"""Blocks of Avro data files as Arrow columns of the types that the table stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from keyfold.files.avro.program import LIST, RECORD, AvroColumn, AvroProgram
from keyfold.kernels.avro.slots import AvroSlots, gather_bytes, gather_decimals, walk_records
from keyfold.kernels.buffers import Mask, Rows, bytes_of, column_of, pack
from keyfold.stores.avro_blocks import DEPTH
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Array, DataType, Map, Row, describe

_BYTES = ("bytes", "string", "fixed")
_WHOLE = ("int", "long")
_OF_FLOATS = {"float": np.uint32, "double": np.uint64}
# What a unit of time has of the smaller one that columns are in: microseconds of points in time,
# nanoseconds of times of day.
_TIMES = {"millis": 1_000, "micros": 1}
_TIMES_OF_DAY = {"time-millis": 1_000_000, "time-micros": 1_000}


@dataclass(frozen=True)
class _Filled:
    """The bytes of some records, and their slots."""

    data: Mask
    slots: AvroSlots

    def of(self, column: AvroColumn) -> tuple[Rows, Rows, Mask]:
        """The numbers of a column, the lengths of its bytes, and which are not NULL."""
        start = self.slots.starts[column.number]
        stop = start + self.slots.counts[column.number]
        slots = self.slots
        return slots.numbers[start:stop], slots.sizes[start:stop], slots.valid[start:stop]


def columns_of(
    content: bytes, rows: int, program: AvroProgram, types: Mapping[str, DataType | None]
) -> list[pa.Array]:
    """The columns of the program, each in the Arrow type of its stored type, or as whole numbers if
    that is None. Raises ValueError if the bytes are not `rows` records.
    """
    filled = _filled(bytes_of(pa.py_buffer(content)), rows, program)
    found = []
    for name, column in program.columns.items():
        stored = types[name]
        if stored is None:
            numbers, _, valid = filled.of(column)
            found.append(column_of(pa.int64(), numbers, valid))
        else:
            found.append(_array(filled, name, column, stored, to_arrow(stored)))
    return found


def check_records(content: bytes, rows: int, program: AvroProgram) -> None:
    """Raises ValueError if the bytes are not `rows` records."""
    _walked(bytes_of(pa.py_buffer(content)), rows, program, _slots(program, ()))


def _slots(program: AvroProgram, counts: Sequence[int] | Rows) -> AvroSlots:
    """Slots of a program's columns, that many each, none of which is filled."""
    total = int(sum(counts))
    starts = np.zeros(program.count + 1, dtype=np.int64)
    starts[1 : len(counts) + 1] = np.cumsum(counts)
    return AvroSlots(
        starts,
        np.zeros(program.count, dtype=np.int64),
        np.zeros(total, dtype=np.int64),
        np.zeros(total, dtype=np.int64),
        np.zeros(total, dtype=np.uint8),
    )


def _walked(data: Mask, rows: int, program: AvroProgram, to: AvroSlots) -> None:
    end = walk_records(data, program.steps, np.zeros(DEPTH + 2, dtype=np.int64), rows, to)
    if end < 0:
        raise ValueError(f"record {-end} of {rows} in a block is not encoded as Avro has it")
    if end < len(data):
        raise ValueError(f"blocks have {len(data) - end} bytes more than their {rows} records")


def _filled(data: Mask, rows: int, program: AvroProgram) -> _Filled:
    counted = _slots(program, ())
    _walked(data, rows, program, counted)
    slots = _slots(program, counted.counts)
    if len(slots.numbers):
        _walked(data, rows, program, slots)
    return _Filled(data, slots)


def _array(
    filled: _Filled, name: str, column: AvroColumn, stored: DataType, wanted: pa.DataType
) -> pa.Array:
    """A column in the Arrow type of its stored type. Raises ValueError if it has other values."""
    match stored:
        case Row(fields) if column.kind == RECORD:
            _, _, valid = filled.of(column)
            children = [
                _array(filled, f"{name}.{one.name}", column.parts[one.name], one.type, part.type)
                for one, part in zip(fields, _parts(wanted), strict=True)
            ]
            return pa.Array.from_buffers(wanted, len(valid), [pack(valid)], children=children)
        case Array(element) if column.kind == LIST:
            items = _array(filled, name, column.parts["items"], element, wanted.value_type)
            return _listed(filled, column, wanted, items)
        case Map() if column.kind == LIST and column.parts["items"].kind == RECORD:
            return _listed(filled, column, wanted, _pairs(filled, name, column, stored, wanted))
        case Array() | Map() | Row():
            raise _other(name, column, stored)
    return _plain(filled, name, column, stored, wanted)


def _parts(wanted: pa.DataType) -> Iterator[pa.Field]:
    return (wanted.field(place) for place in range(wanted.num_fields))


def _pairs(
    filled: _Filled, name: str, column: AvroColumn, stored: Map, wanted: pa.DataType
) -> pa.Array:
    """The entries of a map."""
    pair = column.parts["items"].parts
    entries = pa.struct([wanted.key_field, wanted.item_field])
    keys = _array(filled, name, pair["key"], stored.key, wanted.key_type)
    values = _array(filled, name, pair["value"], stored.value, wanted.item_type)
    if keys.null_count:
        raise ValueError(f"column {name}: a key of a map is NULL")
    return pa.Array.from_buffers(entries, len(keys), [None], children=[keys, values])


def _listed(filled: _Filled, column: AvroColumn, wanted: pa.DataType, items: pa.Array) -> pa.Array:
    counts, _, valid = filled.of(column)
    buffers = [pack(valid), _offsets(counts)]
    return pa.Array.from_buffers(wanted, len(valid), buffers, children=[items])


def _offsets(sizes: Rows) -> pa.Buffer:
    found = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=found[1:])
    return pa.py_buffer(found)


def _plain(
    filled: _Filled, name: str, column: AvroColumn, stored: DataType, wanted: pa.DataType
) -> pa.Array:
    kind, (numbers, sizes, valid) = column.kind, filled.of(column)
    if pa.types.is_boolean(wanted) and kind == "boolean":
        bits = pa.py_buffer(np.packbits(numbers != 0, bitorder="little"))
        return pa.Array.from_buffers(wanted, len(valid), [pack(valid), bits])
    if pa.types.is_floating(wanted) and kind in _OF_FLOATS:
        found = pa.float32() if kind == "float" else pa.float64()
        return column_of(found, numbers.astype(_OF_FLOATS[kind]), valid).cast(wanted)
    if pa.types.is_decimal(wanted) and kind in _BYTES:
        out = np.zeros((len(valid), 2), dtype=np.uint64)
        if (row := gather_decimals(filled.data, numbers, sizes, out)) >= 0:
            raise ValueError(f"column {name}: a number has {sizes[row]} bytes, expected 16 at most")
        return column_of(wanted, out, valid)
    if (pa.types.is_string(wanted) and kind == "string") or (
        pa.types.is_binary(wanted) and kind in _BYTES
    ):
        data = np.empty(int(sizes.sum()), dtype=np.uint8)
        gather_bytes(filled.data, numbers, sizes, data)
        buffers = [pack(valid), _offsets(sizes), pa.py_buffer(data)]
        return pa.Array.from_buffers(wanted, len(valid), buffers)
    if kind not in _WHOLE:
        raise _other(name, column, stored)
    return _whole(name, column, stored, wanted, numbers, valid)


def _whole(
    name: str,
    column: AvroColumn,
    stored: DataType,
    wanted: pa.DataType,
    numbers: npt.NDArray[np.int64],
    valid: Mask,
) -> pa.Array:
    """Whole numbers, days, and times by the unit that the file's schema names."""
    logical = column.logical or ""
    if pa.types.is_timestamp(wanted):
        unit = logical.rpartition("-")[2]
        if "timestamp" not in logical or unit not in _TIMES:
            raise _other(name, column, stored)
        return _times(numbers, valid, _TIMES[unit]).view(wanted)
    if pa.types.is_time(wanted):
        if logical not in _TIMES_OF_DAY:
            raise _other(name, column, stored)
        return _times(numbers, valid, _TIMES_OF_DAY[logical]).view(wanted)
    if not pa.types.is_integer(wanted) and not (pa.types.is_date32(wanted) and logical == "date"):
        raise _other(name, column, stored)
    found = column_of(pa.int64(), numbers, valid)
    return found.cast(pa.int32()).cast(wanted) if pa.types.is_date32(wanted) else found.cast(wanted)


def _times(numbers: Rows, valid: Mask, factor: int) -> pa.Array:
    """The numbers of a smaller unit. Raises ValueError if one has more than 64 bits."""
    most = np.iinfo(np.int64).max // factor
    if len(numbers) and not -most <= int(numbers.min()) <= int(numbers.max()) <= most:
        raise ValueError("a point in time has more than 64 bits")
    return column_of(pa.int64(), numbers * factor, valid)


def _other(name: str, column: AvroColumn, stored: DataType) -> ValueError:
    found = column.kind if column.logical is None else f"{column.kind} ({column.logical})"
    return ValueError(f"column {name}: expected {describe(stored)}, found {found} of Avro")
