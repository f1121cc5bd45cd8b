"""Arrow arrays of any type as arrays of a column's type, if it has no parts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from keyfold.tables.rows.conversions.unfit import Unfit
from keyfold.types.arrow import to_arrow
from keyfold.types.logical import Atomic
from keyfold.types.type_table import Family

_VIEWS = {
    pa.string_view(): pa.utf8(),
    pa.large_utf8(): pa.utf8(),
    pa.binary_view(): pa.binary(),
    pa.large_binary(): pa.binary(),
}
_DAY = 86_400_000_000
_MOST_SCALE = 37  # of a number in 76 digits that leaves 39 before the point
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


class _Changed(ValueError):
    """A value would not stay what it is."""


def plain(array: pa.Array) -> pa.Array:
    """The values without an encoding: dictionaries, runs and views of texts, Arrow's extensions."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        known = kind.extension_name in ("arrow.json", "arrow.uuid")
        return plain(array.storage) if known else array
    if types.is_dictionary(kind):
        return plain(array.dictionary).take(array.indices)
    if types.is_run_end_encoded(kind):
        values = plain(array.values)
        ends = pa.RunEndEncodedArray.from_arrays(array.run_ends, values)
        return pc.run_end_decode(ends.slice(array.offset, len(array)))
    return array.cast(_VIEWS[kind]) if kind in _VIEWS else array


def atoms(array: pa.Array, kind: Atomic, path: str) -> pa.Array:
    """The values of a plain array in the column's type. Raises Unfit if it does not take one."""
    to = to_arrow(kind)
    try:
        found = _CONVERSIONS[kind.facts.family](array, to)
        return _SIZED.get(kind.facts.family, lambda same, _: same)(found, kind)
    except (pa.ArrowException, _Changed):
        raise Unfit(path, kind, array) from None


def _only(*known: Callable[[pa.DataType], bool]) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    """The conversion of a type that takes only one kind of values."""

    def same(array: pa.Array, to: pa.DataType) -> pa.Array:
        if not any(is_of(array.type) for is_of in known):
            raise _Changed
        return pc.cast(array, to)

    return same


def _whole(array: pa.Array, to: pa.DataType) -> pa.Array:
    if not _is_number(array.type):
        raise _Changed
    return pc.cast(array, to)


def _floating(array: pa.Array, to: pa.DataType) -> pa.Array:
    """The nearest number; whole ones only if it is equal."""
    if types.is_decimal(array.type):
        array = pc.cast(pc.cast(array, pa.utf8()), to)
        return _finite(array, array.is_valid())
    if types.is_integer(array.type):
        found = pc.cast(array, to, safe=False)
        if not pc.cast(pc.cast(found, pa.float64()), array.type).equals(array):
            raise _Changed
        return found
    if not types.is_floating(array.type):
        raise _Changed
    found = pc.cast(array, to)
    return _finite(found, pc.is_finite(array)) if _bits(array.type) > _bits(to) else found


def _finite(found: pa.Array, wanted: pa.Array) -> pa.Array:
    if pc.any(pc.and_(pc.is_inf(found), wanted)).as_py():
        raise _Changed
    return found


def _bits(kind: pa.DataType) -> int:
    return int(kind.bit_width)


def _decimal(array: pa.Array, to: pa.DataType) -> pa.Array:
    if types.is_decimal(array.type):
        far = 1.5 * 10.0 ** (to.precision - to.scale)  # beyond 128 bits Arrow's cast wraps around
        if pc.any(pc.greater_equal(pc.abs(pc.cast(array, pa.float64())), far)).as_py():
            raise _Changed
        return pc.cast(array, to)
    if types.is_integer(array.type):
        return pc.cast(pc.cast(array, pa.decimal256(76, to.scale)), to)
    if not types.is_floating(array.type) or not (pc.all(pc.is_finite(array)).as_py() is not False):
        raise _Changed
    return _rounded(pc.cast(array, pa.float64()), to)


def _rounded(array: pa.Array, to: pa.DataType) -> pa.Array:
    """Floating numbers as Spark rounds them: the shortest decimal text that reads back, HALF_UP."""
    if pc.any(pc.greater_equal(pc.abs(array), 10.0 ** (to.precision - to.scale + 1))).as_py():
        raise _Changed
    if to.scale > _MOST_SCALE - 19:  # the digits of small numbers reach beyond 76
        unit = Decimal(1).scaleb(-to.scale)
        texts = [None if value is None else Decimal(repr(value)) for value in array.to_pylist()]
        found = [None if text is None else text.quantize(unit, context=_EXACT) for text in texts]
        return pa.array(found, to)
    small = pc.less(pc.abs(array), 10.0 ** -(to.scale + 1))
    array = pc.if_else(small, 0.0, array) if pc.any(small).as_py() else array
    exact = pc.cast(pc.cast(array, pa.utf8()), pa.decimal256(76, _MOST_SCALE))
    return pc.cast(pc.round(exact, to.scale, "half_towards_infinity"), to)


def _is_number(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _date(array: pa.Array, to: pa.DataType) -> pa.Array:
    """Days; times only if they are at midnight."""
    if types.is_date32(array.type):
        return array
    micros = pc.cast(_instants(array), pa.int64()).to_numpy(zero_copy_only=False)
    if array.null_count:
        micros = micros[array.is_valid().to_numpy(zero_copy_only=False)]
    if np.any(micros.astype(np.int64) % _DAY):
        raise _Changed
    return pc.cast(_instants(array), to)


def _instants(array: pa.Array) -> pa.Array:
    """Dates and times as times of UTC, without a zone."""
    if types.is_date(array.type):
        array = pc.cast(array, pa.timestamp("s" if types.is_date32(array.type) else "ms"))
    if not types.is_timestamp(array.type):
        raise _Changed
    return pc.cast(pc.cast(array, pa.timestamp("us", array.type.tz)), pa.timestamp("us"))


def _moment(array: pa.Array, to: pa.DataType) -> pa.Array:
    """Times; as those without a zone only times of a zone whose clock shows UTC."""
    found = _instants(array)
    if to.tz is not None:
        return pc.cast(found, to)
    zone = array.type.tz if types.is_timestamp(array.type) else None
    if zone not in (None, "UTC"):
        shown = pc.local_timestamp(pc.cast(array, pa.timestamp("us", zone)))
        if not shown.equals(found):
            raise _Changed
    return found


def _of_length(texts: pa.Array, kind: Atomic) -> pa.Array:
    """Texts of a CHAR or VARCHAR as Spark stores them: spaces beyond the length are left out, and a
    CHAR is filled up with spaces.
    """
    length = kind.length or 0
    if not length:
        return texts
    if (pc.max(pc.utf8_length(texts)).as_py() or 0) > length:
        trimmed = pc.utf8_rtrim(texts, " ")
        if (pc.max(pc.utf8_length(trimmed)).as_py() or 0) > length:
            raise _Changed
        texts = pc.utf8_slice_codeunits(texts, 0, length)
    return pc.utf8_rpad(texts, length) if kind.name == "CHAR" else texts


def _of_digits(clocks: pa.Array, kind: Atomic) -> pa.Array:
    """Times of day, of which none has more digits than the column."""
    nanos = pc.fill_null(clocks.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    if np.any(nanos % 10 ** (9 - (kind.length or 0))):
        raise _Changed
    return clocks


_SIZED = {Family.TEXT: _of_length, Family.TIME: _of_digits}
_text = _only(types.is_string)
_bytes = _only(types.is_binary, types.is_fixed_size_binary)
_CONVERSIONS = {
    Family.BOOLEAN: _only(types.is_boolean),
    Family.INTEGER: _whole,
    Family.FLOATING: _floating,
    Family.DECIMAL: _decimal,
    Family.TEXT: _text,
    Family.BINARY: _bytes,
    Family.DATE: _date,
    Family.TIMESTAMP: _moment,
    Family.TIME: _only(types.is_time),
}
