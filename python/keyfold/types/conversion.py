"""Values stored under one type, as those of the type that their column was given later.

Paimon's ALTER leaves files as they are and converts the values it reads, by rules of its own. The
conversions here give exactly the values of its Java library, in the time zone of the JVM. A change
that is not here is refused when a scan is planned. Imports: errors and other modules of `types`.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from keyfold.errors import NotSupportedError
from keyfold.types import java_text
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import (
    Array,
    Atomic,
    DataType,
    Map,
    Row,
    describe,
    holds,
    with_nullability,
)
from keyfold.types.paimon import is_cut
from keyfold.types.type_table import BINARIES, INTEGERS, MAX_LENGTH, TEXTS, TIMES

Conversion = Callable[[pa.Array], pa.Array]

_INT96 = pa.binary(12)
_PARTS = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_DAY_OF_1970, _MICROS_OF_DAY = 2440588, 86_400_000_000
_FLOATING = {"FLOAT": java_text.FLOAT_BITS, "DOUBLE": java_text.DOUBLE_BITS}


def is_same(stored: DataType, target: DataType) -> bool:
    """Whether the types differ at most in what may be NULL."""
    return with_nullability(stored, True) == with_nullability(target, True)


def keeps_order(stored: DataType, target: DataType) -> bool:
    """Whether statistics of stored values hold for converted ones, as each value stays the same."""
    return holds(with_nullability(target, True), with_nullability(stored, True))


def check(stored: DataType, target: DataType) -> None:
    """Raises NotSupportedError if values of one type can't be converted to the other."""
    match stored, target:
        case Array(inner), Array(element):
            check(inner, element)
        case Map(key, value), Map(new_key, new_value):
            check(key, new_key)
            check(value, new_value)
        case Row(fields), Row(new_fields) if stored.is_variant == target.is_variant:
            known = {field.id: field.type for field in fields}
            for field in new_fields:
                check(known.get(field.id, field.type), field.type)
        case Atomic(), Atomic():
            conversion(stored, target)
        case _:
            raise refused(stored, target)


def refused(stored: DataType, target: DataType) -> NotSupportedError:
    """The error for a change that is not here."""
    return NotSupportedError(
        f"files hold {_shown(stored)} where the table has {_shown(target)} now, which is not "
        "converted here: a full compaction by Paimon stores the new type"
    )


def _shown(kind: DataType) -> str:
    """The type's SQL text; points in time with their digits, which Spark's names don't tell."""
    if isinstance(kind, Atomic) and kind.name in TIMES:
        return kind.spelled(kind.facts.paimon)
    return describe(kind)


def convert(array: pa.Array, stored: Atomic, target: Atomic) -> pa.Array:
    """The values in the Arrow type of `target`; `array` may be in another unit than `stored`."""
    wanted = to_arrow(stored)
    if not array.type.equals(wanted):
        array = _in_unit(array, wanted)
    if stored == target:
        return array
    try:
        return conversion(stored, target)(array)
    except ValueError as error:  # bytes that are not a text, dates beyond all timestamps
        raise NotSupportedError(
            f"a stored {describe(stored)} has no value as {describe(target)}: {error}"
        ) from error


def _in_unit(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The values in the unit of that type; of nanoseconds the microsecond that they are in, as
    Paimon's connector for Spark reads them. Arrow's cast would give a later one before 1970.
    """
    if array.type.equals(_INT96) and pa.types.is_timestamp(wanted):
        return _of_days_and_nanos(array).cast(wanted)
    cut = pc.cast(array, wanted, safe=False)
    if not pa.types.is_timestamp(array.type) or array.type.unit != "ns":
        return cut
    is_later = pc.greater(pc.cast(cut, array.type), array)
    micros = pc.subtract(cut.cast(pa.int64()), is_later.cast(pa.int64()))
    return micros.cast(wanted)


def _of_days_and_nanos(array: pa.Array) -> pa.Array:
    """Microseconds since 1970 of Parquet's INT96: nanoseconds of a day, and its Julian number."""
    known = array if not array.null_count else pc.fill_null(array, bytes(_INT96.byte_width))
    parts = np.frombuffer(known.buffers()[1], _PARTS)[known.offset : known.offset + len(known)]
    days = parts["day"].astype(np.int64) - _DAY_OF_1970
    micros = days * _MICROS_OF_DAY + parts["nanos"] // 1000
    return pa.array(micros, mask=np.asarray(array.is_null()) if array.null_count else None)


def conversion(stored: Atomic, target: Atomic) -> Conversion:
    """The conversion between two types; raises NotSupportedError if it does not exist, or if the
    values would lose digits that are not there any more in the new type.
    """
    if is_cut(stored) and not is_cut(target):
        raise refused(stored, target)
    if is_same(stored, target) or keeps_order(stored, target):
        return _cast(target)
    found = _to_text(stored, target) if target.name in TEXTS else _other(stored, target)
    if found is None:
        raise refused(stored, target)
    return found


def _cast(target: Atomic) -> Conversion:
    arrow = to_arrow(target)
    return lambda array: pc.cast(array, arrow, safe=False)


def _other(stored: Atomic, target: Atomic) -> Conversion | None:
    old, new = stored.name, target.name
    if old in INTEGERS and (new in INTEGERS or new in _FLOATING):
        return _cast(target)  # as Java's (int) and (double) do
    if old in _FLOATING and new in _FLOATING:
        return _cast(target)
    if old == "DECIMAL" and new in INTEGERS and not stored.scale:
        return _decimal_to_whole(target)
    if old == "DATE" and new in TIMES:
        return _days_to_micros if new == "TIMESTAMP" else lambda a: _to_zone(_days_to_micros(a))
    if old in TIMES and new in TIMES and (target.length or 0) >= (stored.length or 0):
        return {
            ("TIMESTAMP", "TIMESTAMP_LTZ"): _to_zone,
            ("TIMESTAMP_LTZ", "TIMESTAMP"): _from_zone,
        }.get((old, new), _cast(target))
    return _cast(target) if old in BINARIES and new == "BYTES" else None


def _decimal_to_whole(target: Atomic) -> Conversion:
    """The low bits, as Java's `intValue` of a `long` takes them."""
    arrow = to_arrow(target)

    def whole(array: pa.Array) -> pa.Array:
        numbers = [None if value is None else int(value) for value in array.to_pylist()]
        longs = [None if n is None else (n + 2**63) % 2**64 - 2**63 for n in numbers]
        return pc.cast(pa.array(longs, pa.int64()), arrow, safe=False)

    return whole


def _days_to_micros(array: pa.Array) -> pa.Array:
    return pc.cast(array, pa.timestamp("us"))


def _to_zone(array: pa.Array) -> pa.Array:
    """The instants of local times, by the clock before a change of clocks. A time that the change
    leaves out moves forward by the gap. If a time comes twice, the earlier instant is taken.
    """
    near = pc.assume_timezone(array, java_text.zone(), ambiguous="earliest", nonexistent="earliest")
    local, instant = (found.cast(pa.int64()) for found in (pc.local_timestamp(near), near))
    micros = pc.subtract(array.cast(pa.int64()), pc.subtract(local, instant))
    return micros.cast(pa.timestamp("us", "UTC"))


def _from_zone(array: pa.Array) -> pa.Array:
    return pc.local_timestamp(array.cast(pa.timestamp("us", java_text.zone())))


def _to_text(stored: Atomic, target: Atomic) -> Conversion | None:
    written = _text_of(stored)
    if written is None or target.name == "STRING" or stored.name in _PLAIN_ONLY:
        return written if target.name == "STRING" else None
    length, pads = target.length or MAX_LENGTH, target.name == "CHAR"

    def fitted(array: pa.Array) -> pa.Array:
        texts = pc.utf8_slice_codeunits(written(array), 0, length)
        return pc.utf8_rpad(texts, length, " ") if pads else texts

    return fitted


_PLAIN_ONLY = (*BINARIES, *TIMES, "DATE")


def _text_of(stored: Atomic) -> Conversion | None:
    name, text = stored.name, Atomic("STRING")
    if name in _FLOATING:
        return lambda array: java_text.floats(array, _FLOATING[name])
    if name == "DECIMAL":
        return lambda array: pa.array(
            [None if value is None else f"{value:f}" for value in array.to_pylist()], pa.utf8()
        )
    if name == "DATE":
        return java_text.dates
    if name == "TIMESTAMP":
        return lambda array: java_text.timestamps(array, stored.length or 0)
    if name == "TIMESTAMP_LTZ":
        return lambda array: java_text.timestamps(_from_zone(array), stored.length or 0)
    if name in BINARIES:
        return lambda array: pc.cast(array, pa.utf8())
    return _cast(text) if name in (*INTEGERS, *TEXTS, "BOOLEAN") else None
